# SPDX-License-Identifier: Apache-2.0
"""Releases do not invalidate captures of CUDA graphs, and functions reject capturing streams."""

from __future__ import annotations

import contextlib
import threading

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import GPU, as_cupy, on_device, side_stream, synchronize
from testing.peers.arrays import Producer, column_from

pytestmark = GPU

VALUES = list(range(1000))
CAPTURES, REPLAYS = 50, 20
DROPS = CAPTURES * REPLAYS


def imported_column(stream):
    """A column that a thread of the package releases, and its producer."""
    exported = cab.to_arrow_device(on_device(pa.array(VALUES, "int32")))
    producer = Producer(exported)
    return column_from(producer, stream=stream), producer


class Dropping:
    """Drops imported columns on another thread, until all are dropped or the context ends."""

    def __init__(self):
        self._stream = side_stream()
        self._columns = [imported_column(self._stream)[0] for _ in range(DROPS)]
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.dropped = 0
        synchronize()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._done.set()
        self._thread.join()
        cab.drain_releases()

    def _run(self):
        while self._columns and not self._done.wait(0.001):
            self._columns.pop()
            self.dropped += 1


@contextlib.contextmanager
def capturing(stream, graphs):
    """Capture work of cupy in the global mode, and append the graph to a list."""
    import cupy

    with stream:
        stream.begin_capture(cupy.cuda.runtime.streamCaptureModeGlobal)
        try:
            yield
        finally:
            graphs.append(stream.end_capture())


def test_dropped_columns_do_not_invalidate_captures_of_cupy():
    import cupy

    stream = side_stream()
    column, _ = imported_column(stream)
    stream.synchronize()
    source, target = as_cupy(column.data())[:1000], cupy.zeros(1000, dtype="int32")
    cupy.add(source, target, out=cupy.empty_like(target))  # loads the kernel
    dropping = Dropping()
    with dropping:
        for _ in range(CAPTURES):
            graphs = []
            with capturing(stream, graphs):
                cupy.add(source, target, out=target)
            for _ in range(REPLAYS):
                graphs[0].launch(stream)
                stream.synchronize()
    assert target.get().tolist() == [CAPTURES * REPLAYS * value for value in VALUES]
    assert dropping.dropped > CAPTURES


def test_dropped_columns_do_not_invalidate_captures_of_torch():
    torch = pytest.importorskip("torch")
    source = torch.arange(1000, device="cuda", dtype=torch.int32)
    target = torch.zeros_like(source)
    target += 0 * source  # loads the kernels
    dropping = Dropping()
    with dropping:
        for _ in range(CAPTURES):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="global"):
                target += source
            for _ in range(REPLAYS):
                graph.replay()
            torch.cuda.synchronize()
    assert target.tolist() == [CAPTURES * REPLAYS * value for value in VALUES]
    assert dropping.dropped > CAPTURES


def test_exports_and_imports_reject_a_capturing_stream():
    stream, other = side_stream(), side_stream()
    column, _ = imported_column(other)
    exported = cab.to_arrow_device(column, stream=other)
    other.synchronize()
    with capturing(stream, []):
        for call in (
            lambda: cab.to_arrow_device(column, stream=stream),
            lambda: cab.from_arrow_device(exported, stream=stream, to="pylibcudf"),
            lambda: cab.Fences().add(stream),
            lambda: exported.borrow(stream=stream).__enter__(),
        ):
            with pytest.raises(ValueError, match="is capturing a CUDA graph"):
                call()


def test_imports_on_the_default_stream_are_rejected_while_a_blocking_stream_is_capturing():
    import cupy

    column, _ = imported_column(side_stream())
    exported = cab.to_arrow_device(column)
    synchronize()
    with (
        capturing(cupy.cuda.Stream(), []),
        pytest.raises(ValueError, match="legacy default stream"),
    ):
        cab.from_arrow_device(exported, stream=1, to="pylibcudf")


def test_release_on_a_capturing_stream_leaves_the_capture_valid():
    stream = side_stream()
    column, producer = imported_column(stream)
    stream.synchronize()
    with capturing(stream, []):
        del column
    cab.drain_releases()
    assert producer.releases == 1
