# SPDX-License-Identifier: Apache-2.0
"""Transfer of bodies between memories; `csrc/tests/sim` tests device memory."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.ipc.body import describe_body
from cudf_arrow_bridge._core.ipc.body_transfer import download_to, upload_from, upload_memory
from cudf_arrow_bridge.cuda.streams import resolve_stream
from cudf_arrow_bridge.ipc import pickling


def test_download_rejects_a_chunk_size_of_zero_and_host_memory():
    empty = describe_body(cab.to_arrow_device(pa.table({}))._array, True, resolve_stream(None))
    with pytest.raises(ValueError, match=r"^chunk_size: .*0$"):
        download_to(print, empty, 0)
    with pytest.raises(ValueError, match="CPU memory"):
        download_to(print, empty, 1)


@pytest.mark.skipif(cab.has_gpu(), reason="there is a GPU")
def test_uploads_need_a_gpu():
    arguments = resolve_stream(None), None, 1
    with pytest.raises(RuntimeError, match=r"upload.*GPU"):
        upload_memory(b"x", *arguments)
    with pytest.raises(RuntimeError, match=r"upload.*GPU"):
        upload_from(print, 1, *arguments)


LARGE = bytes(range(256)) * (1 << 17)


def test_downloads_copy_without_the_gil(monkeypatch):
    interval = sys.getswitchinterval()
    # Another thread runs only when this one releases the GIL.
    sys.setswitchinterval(1000)
    try:
        # The operating system need not start the other thread during a copy.
        assert any(runs_during_download(monkeypatch) for _ in range(50))
    finally:
        sys.setswitchinterval(interval)


def runs_during_download(monkeypatch):
    """Return whether another thread runs during a download of pieces in host memory."""
    begun, ran = threading.Lock(), threading.Event()

    def run():
        with begun:
            ran.set()

    def download_to(write, *_):
        begun.release()
        write(memoryview(LARGE)[:1000])
        write(memoryview(LARGE)[1000:])

    begun.acquire()
    other = threading.Thread(target=run)
    other.start()
    monkeypatch.setattr(pickling, "download_to", download_to)
    found = pickling._download(SimpleNamespace(packed_size=len(LARGE)))
    result = ran.is_set()
    other.join()
    assert found == LARGE
    return result
