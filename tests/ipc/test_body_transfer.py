# SPDX-License-Identifier: Apache-2.0
"""Transfer of bodies in host memory in pieces; `csrc/tests/sim` tests device memory."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from functools import partial
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge._core.ipc.body import describe_body
from cudf_arrow_bridge._core.ipc.body_transfer import BodyDownload, BodyUpload
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc.transport.sources import open_source
from cudf_arrow_bridge.processes import packing
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


LARGE = bytes(1 << 25)


class Reader:
    """A source that can only be read."""

    def read(self, size):
        return LARGE


def upload(source, begin, monkeypatch):
    target = bytearray(LARGE)
    begin()
    open_source(source).read_into(target)


def download(begin, monkeypatch):
    def pieces(*_):
        begin()
        yield memoryview(LARGE)

    monkeypatch.setattr(packing, "BodyDownload", pieces)
    packing._download(SimpleNamespace(packed_size=len(LARGE)))


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(partial(upload, LARGE), id="upload of memory"),
        pytest.param(partial(upload, Reader()), id="upload from a reader"),
        pytest.param(download, id="download"),
    ],
)
def test_copies_of_large_pieces_release_the_gil(copy, monkeypatch):
    interval = sys.getswitchinterval()
    # Another thread runs only when this one releases the GIL.
    sys.setswitchinterval(1000)
    try:
        # The operating system need not start the other thread during a copy.
        assert any(runs_during(copy, monkeypatch) for _ in range(50))
    finally:
        sys.setswitchinterval(interval)


def runs_during(copy, monkeypatch):
    """Return whether another thread runs after `copy` has called its first argument."""
    begun, ran = threading.Lock(), threading.Event()

    def run():
        with begun:
            ran.set()

    begun.acquire()
    other = threading.Thread(target=run)
    other.start()
    copy(begun.release, monkeypatch)
    result = ran.is_set()
    other.join()
    return result
