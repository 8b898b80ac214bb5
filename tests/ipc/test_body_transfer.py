# SPDX-License-Identifier: Apache-2.0
"""Transfer of bodies in host memory in pieces; `csrc/tests/sim` tests device memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge._core.ipc.body import describe_body
from cudf_arrow_bridge._core.ipc.body_transfer import BodyDownload, BodyUpload
from cudf_arrow_bridge.cuda.streams import resolve_stream
from testing.ipc.bytes import address_of


def body_of(*columns):
    """Return the body of a table over columns of bytes."""
    table = pa.table({str(i): column for i, column in enumerate(columns)})
    return describe_body(bridge.to_arrow_device(table)._array, True, resolve_stream(None))


def test_download_of_a_host_body_yields_its_buffers_without_a_copy():
    columns = [np.arange(100, dtype="uint8"), np.arange(100, dtype="uint8")[::-1].copy()]
    body = body_of(*columns)
    assert body.packed_size == 256
    pieces = list(BodyDownload(body, 1))
    assert [len(piece) for piece in pieces] == [100, 28, 100, 28]
    assert [address_of(piece) for piece in pieces[::2]] == list(map(address_of, columns))
    assert not any(pieces[1])
    assert all(piece.readonly for piece in pieces)


def test_pieces_of_a_download_keep_the_memory_alive():
    array = np.arange(100, dtype="uint8")
    gone = weakref.ref(array)
    pieces = list(BodyDownload(body_of(array), 1))
    del array
    gc.collect()
    assert gone() is not None
    assert bytes(pieces[0]) == bytes(range(100))
    del pieces
    gc.collect()
    assert gone() is None


def test_body_without_buffers_yields_no_pieces():
    body = body_of(np.empty(0, "uint8"))
    assert body.packed_size == 0
    assert list(BodyDownload(body, 1)) == []


def test_wrong_arguments_raise_errors():
    with pytest.raises(ValueError, match="chunk_size: expected at least 1, got 0"):
        BodyDownload(body_of(), 0)
    with pytest.raises(TypeError):
        BodyDownload(None, 1)


@pytest.mark.skipif(bridge.has_gpu(), reason="there is a GPU")
def test_uploads_need_a_gpu():
    with pytest.raises(RuntimeError, match="expected a GPU for an upload, got none"):
        BodyUpload(1, resolve_stream(None), None, 1)
