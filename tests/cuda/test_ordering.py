# SPDX-License-Identifier: Apache-2.0
"""Frames are computed on cuDF's stream, which an import on another one orders behind it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.cuda import ordering
from cudf_arrow_bridge.cuda.streams import CUDF_HANDLE, resolve_stream, stream_handle

pytestmark = pytest.mark.skipif(bridge.has_gpu(), reason="names streams that there are not")

BATCH = pa.record_batch({"a": [1, 2], "day": pa.array([0, 1], pa.date32())})
#: The handle of a stream of the caller.
OTHER = 0x5150


@pytest.fixture
def orders(monkeypatch):
    """What was put behind what: pairs of the stream that waits and the one it waits for."""
    made = []
    monkeypatch.setattr(ordering, "order_after", lambda *pair: made.append(pair))
    return made


IMPORTS = {
    "frame": lambda **how: bridge.from_arrow_device(BATCH, **how),
    "series": lambda **how: bridge.from_arrow_device(BATCH.column(1), **how),
    "stream": lambda **how: bridge.from_arrow_device_stream([BATCH], **how),
    "batches": lambda **how: list(bridge.from_arrow_device_stream([BATCH], concat=False, **how)),
    "tensor": lambda **how: bridge.from_dlpack(np.arange(3), **how),
    "matrix": lambda **how: bridge.from_dlpack(np.ones((3, 2), order="F"), **how),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_cudf_computes_behind_the_stream_of_the_import(name, orders):
    IMPORTS[name](stream=OTHER)
    # First what arrived, for cuDF's stream; then what was made there, for the caller's.
    assert orders == [(CUDF_HANDLE, OTHER), (OTHER, CUDF_HANDLE)]


@pytest.mark.parametrize("to", ["cudf", "cudf.pandas"])
def test_frames_are_computed_on_the_stream_of_cudf(to):
    streams = ordering.ImportStreams.of(OTHER, to)
    assert (streams.importing.handle, streams.computing.handle) == (OTHER, CUDF_HANDLE)


def test_each_batch_is_ordered(orders):
    bridge.from_arrow_device_stream([BATCH, BATCH, BATCH], stream=OTHER)
    *arrived, made = orders
    assert arrived[:3] == [(CUDF_HANDLE, OTHER)] * 3
    assert made == (OTHER, CUDF_HANDLE)


@pytest.mark.parametrize("name", IMPORTS)
def test_one_stream_needs_no_order(name, orders):
    IMPORTS[name]()
    IMPORTS[name](stream=resolve_stream(None))
    IMPORTS[name](stream=CUDF_HANDLE)
    IMPORTS[name](stream=OTHER, to="pylibcudf")
    assert orders == []


@pytest.mark.skipif(bridge.has_gpu(), reason="CUDA would be given a stream that does not exist")
def test_without_a_gpu_there_is_nothing_to_order():
    ordering.order_after(OTHER, CUDF_HANDLE)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.intp])
@pytest.mark.parametrize("handle", [0, 1, 2])
def test_handles_may_be_of_numpy(kind, handle):
    assert stream_handle(kind(handle)) == handle
    assert type(resolve_stream(kind(handle)).handle) is int
    assert len(bridge.from_arrow_device(BATCH, stream=kind(handle))) == 2


@pytest.mark.parametrize("make", [int, np.int64])
def test_a_negative_handle_is_none(make):
    with pytest.raises(ValueError, match="stream=-1 found, a CUDA stream's handle expected"):
        bridge.from_arrow_device(BATCH, stream=make(-1))
    with pytest.raises(ValueError, match="stream=-1 found"):
        bridge.to_arrow_device(bridge.from_arrow_device(BATCH), stream=make(-1))


@pytest.mark.parametrize("wrong", [True, np.True_, 1.0, np.float64(1), "1", object()])
def test_what_is_no_stream_is_refused(wrong):
    with pytest.raises(TypeError, match=f"a stream of type {type(wrong).__name__} found"):
        stream_handle(wrong)
