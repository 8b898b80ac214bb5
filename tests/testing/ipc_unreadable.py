# SPDX-License-Identifier: Apache-2.0
"""Bodies that die of a touch: messages whose buffers lie in pages that nobody may read.

Run as a program it sends the messages of every type through the bridge; ``--read`` is the control,
which reads. Whoever reads a page dies by a signal.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import sys

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing import ipc_samples
from testing.ipc_metadata import SCHEMA, Metadata, messages_of

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_NOTHING = 0


class Pages:
    """Copies of buffers, each in pages of its own."""

    def __init__(self):
        self._maps = []

    def copy(self, data):
        """Copy a buffer; returns one over the pages, with the content's size."""
        size = max(-(-data.size // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        pages = mmap.mmap(-1, size)
        pages.write(data.to_pybytes())
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self._maps.append((pages, address, size))
        return pa.foreign_buffer(address, data.size, base=pages)

    def protect(self, protection):
        for _, address, size in self._maps:
            if _LIBC.mprotect(address, size, protection):
                raise OSError(ctypes.get_errno(), "mprotect")


class Sink:
    """Takes what it is given by address, and reads nothing of it."""

    def __init__(self):
        self.pieces = []

    def write(self, data):
        buffer = pa.py_buffer(data)
        self.pieces.append((buffer.address, buffer.size))
        return buffer.size

    def flush(self):
        pass


def copied(stream, pages, packed):
    """The messages of a stream with their bodies in pages: whole, or each buffer by itself."""
    for metadata, body in messages_of(stream):
        read = Metadata(metadata)
        parts = [] if read.kind == SCHEMA else [body] if packed else read.slices(body)
        yield metadata, [pages.copy(part) for part in parts]


def check(stream, expected, packed):
    """Messages in, arrays, and messages and a stream out, all without a look at the bodies."""
    pages = Pages()
    given = list(copied(stream, pages, packed))
    pages.protect(_NOTHING)
    arrays = list(cab.ipc.from_messages(given))
    schema = cab.ipc.from_messages(given).schema
    sent = list(cab.ipc.messages(cab.ipc.from_messages(given)))
    check_same(given, sent, packed)
    sink = Sink()
    cab.ipc.write_stream(cab.ipc.from_messages(given), sink)
    written = {address for address, size in sink.pieces if size}
    missing = {b.address for message in sent for b in message.buffers if b.size} - written
    assert not missing, f"{len(missing)} buffers were written from elsewhere"
    pages.protect(mmap.PROT_READ)
    assert schema.equals(expected[0].schema, check_metadata=True)
    for array, batch in zip(arrays, expected, strict=True):
        assert pa.record_batch(array).equals(batch)


def check_same(given, sent, packed):
    """The messages say the same of their bodies and have the same memory."""
    assert len(given) == len(sent)
    for (metadata, buffers), message in zip(given, sent, strict=True):
        before, after = Metadata(metadata), Metadata(message.metadata)
        if before.kind == SCHEMA:
            assert after.kind == SCHEMA
            continue
        assert after.numbers() == before.numbers(), (before.numbers(), after.numbers())
        assert after.body_length == message.body_length
        if packed:
            expected = [buffers[0].address + offset for offset, _ in before.buffers]
        else:
            expected = [buffer.address for buffer in buffers]
        pairs = zip(message.buffers, expected, strict=True)
        assert all(b.address == address for b, address in pairs if b.size)


def streams():
    """Names, streams with canonical bodies, and their batches: each type's, and unusual ones."""
    cases = {str(type_): ipc_samples.batches_of(type_) for type_ in ipc_samples.TYPES}
    cases |= {name: batches for name, (_, batches) in ipc_samples.UNUSUAL.items()}
    for name, batches in cases.items():
        # What pyarrow writes of an array without rows is not always what is needed of it.
        if batches := [batch for batch in batches if len(batch)]:
            yield name, ipc_samples.written(batches[0].schema, batches), batches


def main(arguments):
    if "--read" in arguments:
        pages = Pages()
        buffer = pages.copy(pa.py_buffer(b"some text"))
        assert buffer.to_pybytes() == b"some text"
        pages.protect(_NOTHING)
        print("reading", flush=True)
        io.BytesIO().write(buffer)
        print("read", flush=True)
        return
    for name, stream, batches in streams():
        for packed in (False, True):
            print(f"{name}, {'packed' if packed else 'a buffer each'}", flush=True)
            check(stream, batches, packed)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
