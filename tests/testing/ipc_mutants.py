# SPDX-License-Identifier: Apache-2.0
"""Messages changed at random: each is refused, or gives arrays that lie within what was given.

Run as a program: ``python -m testing.ipc_mutants --count 1000 --validate full``. It prints what
became of the mutants as JSON; the number of one that breaks a rule stands in the error.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import mmap
import random
import re
import resource
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing import ipc_samples, samples
from testing.ipc_metadata import SCHEMA, Metadata, messages_of
from testing.ipc_reach import spans
from testing.peers.arrays import DeviceOnly

#: What pyarrow does not take of values, and the bridge does: nobody reads elsewhere for it. Numbers
#: out of their type's range, null rows of list views, and bytes behind a short string.
HARMLESS = re.compile(
    "does not fit in precision|whole number of days|is not within the acceptable range"
    "|Offset invariant failure: (size|offset) for slot|padding bytes were not all zero"
)
#: What `from_messages` may raise over what it was given.
REFUSALS = (ValueError, TypeError, OverflowError)
NUMBERS = [-1, 0, 1, 7, 8, 63, 64, 65, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), -8]
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Guarded:
    """A copy of a buffer, right before a page that nobody may read."""

    def __init__(self, data):
        self.size = data.size
        end = -(-data.size // mmap.PAGESIZE) * mmap.PAGESIZE
        self._pages = mmap.mmap(-1, end + mmap.PAGESIZE)
        # Aligned as Arrow wants it, so up to 63 bytes before the page.
        begin = end - -(-data.size // 64) * 64
        self._pages[begin : begin + data.size] = data.to_pybytes()
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))
        self.address = first + begin
        assert not _LIBC.mprotect(first + end, mmap.PAGESIZE, 0)
        self.buffer = pa.foreign_buffer(self.address, self.size, base=self._pages)


def originals():
    """Small streams, each as a list of metadata and the body's buffers."""
    types = [
        *(pa.int32(), pa.bool_(), pa.string(), pa.large_string(), pa.decimal128(20, 3)),
        *(pa.string_view(), pa.list_view(pa.int32()), pa.binary(3), pa.list_(pa.int16(), 3)),
        *(pa.map_(pa.string(), pa.int32()), pa.run_end_encoded(pa.int16(), pa.string())),
        *(pa.dictionary(pa.int8(), pa.string()), samples.NESTED[1], samples.NESTED[3]),
    ]
    tables = [[ipc_samples.batch_of(type_).select(["some", "list"]).slice(0, 9)] for type_ in types]
    tables.append(list(ipc_samples.replaced())[:3])
    tables.append(ipc_samples.UNUSUAL["dictionary within a dictionary"][1])
    for batches in tables:
        deltas = len(batches) == 3
        stream = ipc_samples.written(batches[0].schema, batches, deltas=deltas)
        yield [(m, _guarded(m, body)) for m, body in messages_of(stream)]


def _guarded(metadata, body):
    read = Metadata(metadata)
    return [] if read.kind == SCHEMA else [Guarded(part) for part in read.slices(body)]


def mutate(rng, messages):
    """Change one message, of the schema, a dictionary or a batch; returns all messages."""
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
    """A hostile number at any aligned place."""
    data = bytearray(metadata)
    width = rng.choice((2, 4, 8))
    at = rng.randrange(len(data) // width) * width
    number = rng.choice(NUMBERS) & (1 << 8 * width) - 1
    data[at : at + width] = number.to_bytes(width, "little")
    return bytes(data)


def _with_count(rng, metadata):
    """Another length, null count, offset or size where the metadata has one."""
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
    """The messages with bytes of one body changed, in memory of its own."""
    changed = [(m, [guarded.buffer for guarded in parts]) for m, parts in messages]
    filled = [m for m in changed if any(part.size for part in m[1])]
    parts = rng.choice(filled)[1]
    i = rng.choice([i for i, part in enumerate(parts) if part.size])
    parts[i] = pa.py_buffer(_flipped(rng, parts[i].to_pybytes(), rng.randrange(1, 4)))
    return changed


def ranges(messages):
    return [(part.address, part.address + part.size) for _, parts in messages for part in parts]


def check_within(array, given):
    """Each buffer is one of those that were given, or a part of it, or memory to be read."""
    for address, reach in spans(array):
        if any(begin <= address <= end and address + (reach or 0) <= end for begin, end in given):
            continue
        assert not any(begin <= address < end for begin, end in given), "reads past the end"
        # Of the bridge's own: what it made of others is there to its end.
        ctypes.string_at(address, reach or 0)


def try_one(number, streams, validate):
    """Send one mutant through; returns what became of it."""
    rng = random.Random(number)
    messages = rng.choice(streams)
    change_body = validate == "full" and rng.randrange(2)
    mutant = (with_bodies_changed if change_body else mutate)(rng, messages)
    given = ranges(mutant)
    count = 0
    arrays = received(mutant, validate)
    while True:
        try:
            array = next(arrays, None)
        except REFUSALS as error:
            return type(error).__name__ if str(error) else "an error that says nothing"
        if array is None:
            return "arrays" if count else "no arrays"
        check_within(array, given)
        if validate == "full":
            check_values(array)
        count += 1


def check_values(array):
    """Have pyarrow look at all values."""
    try:
        pa.record_batch(DeviceOnly(array)).validate(full=True)
    except pa.ArrowInvalid as error:
        if not HARMLESS.search(str(error)):
            raise


def received(messages, validate):
    yield from cab.ipc.from_messages(messages, validate=validate)


def resident():
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def limit_memory(more):
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--validate", choices=["sizes", "minimal", "full"], default="sizes")
    options = parser.parse_args()
    streams = list(originals())
    outcomes, begin, start = Counter(), 0, time.perf_counter()
    for i in range(options.count):
        number = options.first + i
        if i == options.count // 10:
            gc.collect()
            begin = resident()
            limit_memory(256 << 20)
        try:
            outcomes[try_one(number, streams, options.validate)] += 1
        except BaseException as error:
            error.add_note(f"mutant {number}, validate={options.validate!r}")
            raise
    gc.collect()
    seconds = time.perf_counter() - start
    print(json.dumps({"grown": resident() - begin, "seconds": seconds, "outcomes": outcomes}))


if __name__ == "__main__":
    main()
