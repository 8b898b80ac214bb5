# SPDX-License-Identifier: Apache-2.0
"""Transfer of bodies in host memory in pieces; `csrc/tests/sim` tests device memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge._core.ipc.body_transfer import (
    BodyDownload,
    BodyUpload,
    host_body,
    read_fully,
    write_body,
)
from cudf_arrow_bridge.cuda.streams import resolve_stream
from testing.ipc.bytes import address_of


def test_download_of_a_host_body_yields_its_buffers_without_a_copy():
    buffers = [np.arange(100, dtype="uint8"), np.arange(64, dtype="uint8"), np.empty(0, "uint8")]
    pieces = list(BodyDownload(host_body(buffers), 1))
    assert [len(piece) for piece in pieces] == [100, 28, 64]
    assert address_of(pieces[0]) == address_of(buffers[0])
    assert address_of(pieces[2]) == address_of(buffers[1])
    assert not any(pieces[1])
    assert all(piece.readonly for piece in pieces)


def test_pieces_of_a_download_keep_the_memory_alive():
    array = np.arange(100, dtype="uint8")
    gone = weakref.ref(array)
    pieces = list(BodyDownload(host_body([array]), 1))
    del array
    gc.collect()
    assert gone() is not None
    assert bytes(pieces[0]) == bytes(range(100))
    del pieces
    gc.collect()
    assert gone() is None


def test_host_body_prevents_a_resize_of_its_buffers():
    data = bytearray(100)
    body = host_body([data])
    with pytest.raises(BufferError):
        data.append(1)
    assert body.packed_size == 128
    del body
    data.append(1)


def test_host_body_without_buffers_yields_no_pieces():
    assert host_body([]).packed_size == 0
    assert list(BodyDownload(host_body([b"", b""]), 1)) == []


def test_wrong_arguments_raise_errors():
    with pytest.raises(ValueError, match="chunk_size: expected at least 1, got 0"):
        BodyDownload(host_body([]), 0)
    with pytest.raises(ValueError, match="chunk_size: expected at least 1, got 0"):
        write_body(host_body([]), b"", -1, 0)
    with pytest.raises(TypeError):
        BodyDownload(None, 1)
    with pytest.raises(TypeError):
        host_body([1])
    with pytest.raises(BufferError):
        read_fully(0, b"constant")
    with pytest.raises(OSError, match="Bad file descriptor"):
        write_body(host_body([b"x"]), b"", -1, 1)


@pytest.mark.skipif(bridge.has_gpu(), reason="there is a GPU")
def test_uploads_need_a_gpu():
    with pytest.raises(RuntimeError, match="expected a GPU for an upload, got none"):
        BodyUpload(1, resolve_stream(None), None, 1)
