# SPDX-License-Identifier: Apache-2.0
"""Messages of every type are imported and exported while their bodies are unreadable.

A read of a body ends the process with SIGSEGV.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc import samples
from testing.ipc.metadata import SCHEMA, Metadata, messages_of

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
NOTHING = 0

#: Batches by the name of a type or of an unusual schema. pyarrow does not always write canonical
#: bodies of arrays without rows.
BATCHES = {str(type_): [samples.batch_of(type_)] * 2 for type_ in samples.TYPES}
BATCHES |= {
    name: batches
    for name, (_, unusual) in samples.UNUSUAL.items()
    if (batches := [batch for batch in unusual if len(batch)])
}


@pytest.fixture(autouse=True)
def _columns_and_arrays_obey_libcudf():
    """Replace the checks of `tests/conftest.py`, which read the bodies."""


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
        self._maps.append((address, size))
        return pa.foreign_buffer(address, data.size, base=pages)

    def protect(self, protection):
        for address, size in self._maps:
            assert LIBC.mprotect(address, size, protection) == 0, os.strerror(ctypes.get_errno())


def copied(stream, pages, packed):
    """Yield messages with their bodies in pages: as a whole, or each buffer separately."""
    for metadata, body in messages_of(stream):
        read = Metadata(metadata)
        parts = [] if read.kind == SCHEMA else [body] if packed else read.slices(body)
        yield metadata, [pages.copy(part) for part in parts]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", BATCHES)
def test_import_and_export_of_messages_read_no_body(name, packed):
    expected, pages = BATCHES[name], Pages()
    schema = expected[0].schema
    given = list(copied(samples.written(schema, expected), pages, packed))
    pages.protect(NOTHING)
    try:
        received = cab.ipc.from_messages(given)
        arrays = list(received)
        sent = list(cab.ipc.messages(received))
    finally:
        pages.protect(mmap.PROT_READ)
    assert_same_memory(given, sent, packed)
    assert received.schema.equals(schema, check_metadata=True)
    for array, batch in zip(arrays, expected, strict=True):
        assert pa.record_batch(array).equals(batch)


def assert_same_memory(given, sent, packed):
    """Check that messages describe equal bodies and share their memory."""
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


def test_pages_are_not_readable(tmp_path):
    pages = Pages()
    buffer = pages.copy(pa.py_buffer(b"some text"))
    pages.protect(NOTHING)
    with (
        open(tmp_path / "file", "wb", buffering=0) as file,
        pytest.raises(OSError, match="address"),
    ):
        os.write(file.fileno(), buffer)
