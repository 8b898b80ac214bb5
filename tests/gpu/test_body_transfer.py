# SPDX-License-Identifier: Apache-2.0
"""Bodies of messages are uploaded to a device from every source, in stream order."""

from __future__ import annotations

import io
import os

import pytest

from cudf_arrow_bridge._core.ipc.body_transfer import upload_from, upload_memory
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc.transport.sources import open_source
from testing.device import GPU, side_stream
from testing.ipc.bytes import WritingThread

pytestmark = GPU

CHUNK = 100_000
DATA = os.urandom(1 << 20)
#: More than the pieces of one thread.
LARGE = os.urandom((1 << 24) + 3)


def as_bytes(memory):
    import cupy

    return cupy.asarray(memory).tobytes()


def sources(path):
    path.write_bytes(DATA)
    yield DATA
    yield io.BytesIO(DATA)
    yield path
    reader, writer = os.pipe()
    thread = WritingThread(writer, DATA)
    with open(reader, "rb", buffering=0) as file:
        yield file
    thread.join()


def test_bodies_of_all_sources_are_uploaded(tmp_path, resource):
    stream = resolve_stream(side_stream())
    for each in sources(tmp_path / "data"):
        with open_source(each) as source:
            source.read_exact(100, "something")
            memory = source.upload(len(DATA) - 100, stream, None, CHUNK)
        assert memory.size == len(DATA) - 100
        assert memory.__cuda_array_interface__["stream"] == stream.handle
        assert as_bytes(memory) == DATA[100:]


def test_uploaded_memory_keeps_its_stream_and_resource_alive():
    import rmm.mr

    parts = iter((b"abcd", b"ef"))

    def read_into(piece):
        piece[:] = next(parts)

    resource = rmm.mr.CudaAsyncMemoryResource()
    memory = upload_from(read_into, 6, resolve_stream(side_stream()), resource, 4)
    del resource
    assert as_bytes(memory) == b"abcdef"


def test_large_memory_is_uploaded_by_several_threads():
    memory = upload_memory(LARGE, resolve_stream(side_stream()), None, 1 << 23)
    assert as_bytes(memory) == LARGE


def test_upload_rejects_a_kept_piece():
    kept = []
    with pytest.raises(BufferError, match="the function kept a reference to a piece of a body"):
        upload_from(lambda piece: kept.append(piece[1:]), 10, resolve_stream(None), None, 4)
    assert len(kept[0]) == 3


def test_error_of_a_reader_ends_the_upload():
    def read_into(piece):
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        upload_from(read_into, 10, resolve_stream(None), None, 4)


def test_upload_of_a_truncated_body_raises_an_error(tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    with (
        open_source(tmp_path / "data") as source,
        pytest.raises(
            ValueError, match=r"^byte 0: expected a body of 1,048,577 bytes, got 1,048,576 bytes"
        ),
    ):
        source.upload(len(DATA) + 1, resolve_stream(None), None, CHUNK)
