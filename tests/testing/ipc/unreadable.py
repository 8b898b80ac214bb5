# SPDX-License-Identifier: Apache-2.0
"""Messages whose buffers lie in pages without read permission.

Run as a program, it imports and exports messages of every type with the bridge. A read of a page
ends the process with a signal. With ``--read``, the program reads a page, as a control.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import sys

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import SCHEMA, Metadata, messages_of

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_NOTHING = 0
#: Minimum bytes of a buffer that is written to an object in its own call.
SMALL = 4096
#: How often the rows are repeated, so that masks have this size.
MANY = 8 * SMALL // ipc_samples.ROWS + 1


class Pages:
    """Copies of buffers, each in its own pages."""

    def __init__(self):
        self._maps = []

    def copy(self, data):
        """Copy a buffer to pages; return a buffer over them, with the content's size."""
        size = max(-(-data.size // mmap.PAGESIZE), 1) * mmap.PAGESIZE
        pages = mmap.mmap(-1, size)
        pages.write(data.to_pybytes())
        address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
        self._maps.append((address, size, data.size))
        return pa.foreign_buffer(address, data.size, base=pages)

    def forbid(self, at_least=0):
        """Forbid reads of the pages, except those of buffers smaller than `at_least`."""
        for address, pages, size in self._maps:
            _protect(address, pages, _NOTHING if size >= at_least else mmap.PROT_READ)

    def allow(self):
        for address, pages, _ in self._maps:
            _protect(address, pages, mmap.PROT_READ)


def _protect(address, size, protection):
    if _LIBC.mprotect(address, size, protection):
        raise OSError(ctypes.get_errno(), "mprotect")


class Sink:
    """Records the addresses and sizes of written data without reading it."""

    def __init__(self):
        self.pieces = []

    def write(self, data):
        buffer = pa.py_buffer(data)
        self.pieces.append((buffer.address, buffer.size))
        return buffer.size

    def flush(self):
        pass


def copied(stream, pages, packed):
    """Yield messages with their bodies in pages: as a whole, or each buffer separately."""
    for metadata, body in messages_of(stream):
        read = Metadata(metadata)
        parts = [] if read.kind == SCHEMA else [body] if packed else read.slices(body)
        yield metadata, [pages.copy(part) for part in parts]


def check(stream, expected, packed):
    """Check that an import, and exports of messages and a stream, do not read the bodies."""
    pages = Pages()
    given = list(copied(stream, pages, packed))
    pages.forbid()
    received = cab.ipc.from_messages(given)
    arrays, schema = list(received), received.schema
    sent = list(cab.ipc.messages(received))
    check_same(given, sent, packed)
    if not packed:
        # Small buffers are copied and written together with the bytes around them.
        pages.forbid(at_least=SMALL)
        check_written(received, sent)
    pages.allow()
    assert schema.equals(expected[0].schema, check_metadata=True)
    for array, batch in zip(arrays, expected, strict=True):
        assert pa.record_batch(array).equals(batch)


def check_written(received, sent):
    """Check that a stream writes large buffers to a sink without a copy."""
    sink = Sink()
    cab.ipc.write_stream(received, sink)
    large = {b.address for message in sent for b in message.buffers if b.size >= SMALL}
    written = {address for address, _ in sink.pieces}
    assert large <= written, f"{len(large - written)} buffers were written from elsewhere"


def check_same(given, sent, packed):
    """Check that messages describe equal bodies and share their memory."""
    assert len(given) == len(sent)
    for (metadata, buffers), message in zip(given, sent, strict=True):
        before, after = Metadata(metadata), Metadata(message.metadata)
        assert after.kind == before.kind
        if before.kind == SCHEMA:
            continue
        assert after.numbers() == before.numbers(), (before.numbers(), after.numbers())
        assert after.body_length == message.body_length
        expected = [buffer.address for buffer in buffers]
        if packed:
            expected = [expected[0] + offset for offset, _ in before.buffers]
        for buffer, address in zip(message.buffers, expected, strict=True):
            if buffer.size and buffer.address != address:
                # Only the one offset of an array without rows may be elsewhere.
                assert bytes(memoryview(buffer)) in (bytes(4), bytes(8))


def streams():
    """Yield names, streams and their batches, of each type and of unusual schemas."""
    cases = {str(type_): [ipc_samples.batch_of(type_)] * 2 for type_ in ipc_samples.TYPES}
    cases |= {
        f"large {type_}": [pa.concat_batches([ipc_samples.batch_of(type_)] * MANY)]
        for type_ in ipc_samples.TYPES
        if type_ not in ipc_samples.RUNS  # run ends may have 16 bits
    }
    cases |= {name: batches for name, (_, batches) in ipc_samples.UNUSUAL.items()}
    for name, batches in cases.items():
        # pyarrow does not always write canonical bodies of arrays without rows.
        if batches := [batch for batch in batches if len(batch)]:
            yield name, ipc_samples.written(batches[0].schema, batches), batches


def main(arguments):
    if "--read" in arguments:
        pages = Pages()
        buffer = pages.copy(pa.py_buffer(b"some text"))
        assert buffer.to_pybytes() == b"some text"
        pages.forbid()
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
