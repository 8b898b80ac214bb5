# SPDX-License-Identifier: Apache-2.0
"""Small IPC messages, streams and files, and random changes of them."""

from __future__ import annotations

import ctypes
import mmap

import pyarrow as pa

from testing import samples
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import SCHEMA, Metadata, messages_of

NUMBERS = [-1, 0, 1, 7, 8, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), -8]
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Guarded:
    """A copy of a buffer, directly before a page without read permission."""

    def __init__(self, data):
        self.size = data.size
        end = -(-data.size // mmap.PAGESIZE) * mmap.PAGESIZE
        self._pages = mmap.mmap(-1, end + mmap.PAGESIZE)
        # The copy is aligned to 64 bytes, so it ends up to 63 bytes before the page.
        begin = end - -(-data.size // 64) * 64
        self._pages[begin : begin + data.size] = data.to_pybytes()
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        self.address = first + begin
        assert not _LIBC.mprotect(first + end, mmap.PAGESIZE, 0)
        self.buffer = pa.foreign_buffer(self.address, self.size, base=self._pages)


def batches():
    """Yield batches of few rows, a list for each stream."""
    types = [
        *(pa.int32(), pa.bool_(), pa.string(), pa.large_string(), pa.decimal128(20, 3)),
        *(pa.string_view(), pa.list_view(pa.int32()), pa.binary(3), pa.list_(pa.int16(), 3)),
        *(pa.map_(pa.string(), pa.int32()), pa.run_end_encoded(pa.int16(), pa.string())),
        *(pa.dictionary(pa.int8(), pa.string()), samples.NESTED[1], samples.NESTED[3]),
    ]
    for type_ in types:
        yield [ipc_samples.batch_of(type_).select(["some", "list"]).slice(0, 9)]
    yield list(ipc_samples.replaced())[:3]
    yield ipc_samples.UNUSUAL["dictionary within a dictionary"][1]


def messages():
    """Yield streams, each as a list of messages: the metadata and the body's buffers.

    The buffers are compressed in two of three streams.
    """
    for found in batches():
        for compression in (None, "lz4", "zstd"):
            options = {"compression": compression, "deltas": len(found) == 3}
            stream = ipc_samples.written(found[0].schema, found, **options)
            yield [(metadata, _guarded(metadata, body)) for metadata, body in messages_of(stream)]


def written(file):
    """Yield the bytes of streams or files, with and without compression."""
    for found in batches():
        for compression in (None, "lz4", "zstd"):
            options = {"file": file, "compression": compression, "deltas": len(found) == 3}
            yield ipc_samples.written(found[0].schema, found, **options)


def _guarded(metadata, body):
    read = Metadata(metadata)
    return [] if read.kind == SCHEMA else [Guarded(part) for part in read.slices(body)]


def mutated_messages(rng, messages):
    """Change one message, of the schema, a dictionary or a batch; return all messages."""
    at = rng.randrange(len(messages))
    metadata, buffers = messages[at]
    buffers = [guarded.buffer for guarded in buffers]
    kind = rng.randrange(8)
    if kind <= 1:
        metadata = _flipped(rng, metadata, rng.randrange(1, 4))
    elif kind == 2:
        metadata = _with_number(rng, metadata)
    elif kind <= 4:
        metadata = _with_count(rng, metadata)
    elif kind == 5 and buffers:
        i = rng.randrange(len(buffers))
        buffers[i] = buffers[i][: rng.randrange(buffers[i].size + 1)]
    elif kind == 6 and buffers:
        i, j = rng.randrange(len(buffers)), rng.randrange(len(buffers))
        change = rng.randrange(3)
        if change == 0:
            buffers[i], buffers[j] = buffers[j], buffers[i]
        elif change == 1:
            del buffers[i]
        else:
            buffers.insert(j, buffers[i])
    else:
        metadata = metadata[: rng.randrange(len(metadata))]
    changed = [(m, [guarded.buffer for guarded in parts]) for m, parts in messages]
    changed[at] = metadata, buffers
    if rng.randrange(50) == 0:
        rng.shuffle(changed)
    return changed


def _flipped(rng, metadata, count):
    data = bytearray(metadata)
    for _ in range(count):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 4, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(data)


def _with_number(rng, metadata):
    """Write a hostile number at a random aligned position."""
    data = bytearray(metadata)
    width = rng.choice((2, 4, 8))
    at = rng.randrange(len(data) // width) * width
    number = rng.choice(NUMBERS) & (1 << 8 * width) - 1
    data[at : at + width] = number.to_bytes(width, "little")
    return bytes(data)


def _with_count(rng, metadata):
    """Change a length, null count, offset or size of the metadata."""
    read = Metadata(metadata)
    places = [name for name, place in read.places.items() if place is not None]
    if not places:
        return _flipped(rng, metadata, 1)
    name = rng.choice(places)
    place = read.places[name]
    number = int.from_bytes(metadata[place : place + 8], "little", signed=True)
    near = [number + 1, number - 1, number + 8, number * 2]
    value = rng.choice([*near, *NUMBERS])
    return read.patched(**{name: max(-(2**63), min(value, 2**63 - 1))})


def with_bodies_changed(rng, messages):
    """Return the messages with bytes of one body changed, in a copy of the buffer."""
    changed = [(m, [guarded.buffer for guarded in parts]) for m, parts in messages]
    filled = [m for m in changed if any(part.size for part in m[1])]
    parts = rng.choice(filled)[1]
    i = rng.choice([i for i, part in enumerate(parts) if part.size])
    parts[i] = pa.py_buffer(_flipped(rng, parts[i].to_pybytes(), rng.randrange(1, 4)))
    return changed


def mutated_bytes(rng, data):
    """Change, remove or truncate bytes at a random position."""
    kind = rng.randrange(8)
    if kind <= 3:
        return _flipped(rng, data, rng.randrange(1, 4))
    if kind <= 5:
        return _with_number(rng, data)
    at = rng.randrange(len(data) // 8) * 8
    if kind == 6:
        return data[:at] + data[at + 8 * rng.randrange(9) :]
    return data[:at]
