# SPDX-License-Identifier: Apache-2.0
"""Test how an import on another stream is ordered with cuDF's stream, which makes frames."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.cuda import ordering
from cudf_arrow_bridge.cuda.streams import CUDF_HANDLE, resolve_stream, stream_handle
from cudf_arrow_bridge.import_ import importer

pytestmark = pytest.mark.skipif(bridge.has_gpu(), reason="uses invalid stream handles")

BATCH = pa.record_batch({"a": [1, 2], "day": pa.array([0, 1], pa.date32())})
#: The handle of the caller's stream.
OTHER = 0x5150


@pytest.fixture
def orders(monkeypatch):
    """Record the calls of `order_after`: the stream that waits and the stream that it waits for."""
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
def test_import_on_another_stream_is_ordered_with_the_stream_of_cudf(name, orders):
    IMPORTS[name](stream=OTHER)
    # cuDF's stream waits for the imported data; then the caller's stream waits for the frame.
    assert orders == [(CUDF_HANDLE, OTHER), (OTHER, CUDF_HANDLE)]


@pytest.mark.parametrize("to", ["cudf", "cudf.pandas"])
def test_frames_are_computed_on_the_stream_of_cudf(to, monkeypatch):
    monkeypatch.setattr(importer, "check_active", lambda: None)
    made = importer.Importer(OTHER, None, to, copy=None, validate="minimal", sanitize=True)
    assert (made.importing.handle, made.computing.handle) == (OTHER, CUDF_HANDLE)


def test_stream_of_cudf_waits_for_each_imported_batch(orders):
    bridge.from_arrow_device_stream([BATCH, BATCH, BATCH], stream=OTHER)
    *arrived, made = orders
    assert arrived[:3] == [(CUDF_HANDLE, OTHER)] * 3
    assert made == (OTHER, CUDF_HANDLE)


@pytest.mark.parametrize("name", IMPORTS)
def test_import_on_the_stream_of_cudf_or_to_pylibcudf_adds_no_order(name, orders):
    IMPORTS[name]()
    IMPORTS[name](stream=resolve_stream(None))
    IMPORTS[name](stream=CUDF_HANDLE)
    IMPORTS[name](stream=OTHER, to="pylibcudf")
    assert orders == []


@pytest.mark.skipif(bridge.has_gpu(), reason="CUDA would be given a stream that does not exist")
def test_order_after_without_a_gpu_does_nothing():
    ordering.order_after(OTHER, CUDF_HANDLE)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.intp])
@pytest.mark.parametrize("handle", [0, 1, 2])
def test_numpy_integers_are_stream_handles(kind, handle):
    assert stream_handle(kind(handle)) == handle
    assert type(resolve_stream(kind(handle)).handle) is int
    assert len(bridge.from_arrow_device(BATCH, stream=kind(handle))) == 2


@pytest.mark.parametrize("make", [int, np.int64])
def test_negative_handle_is_rejected(make):
    with pytest.raises(ValueError, match="stream: expected the handle of a CUDA stream, got -1:"):
        bridge.from_arrow_device(BATCH, stream=make(-1))
    with pytest.raises(ValueError, match="stream: expected the handle of a CUDA stream, got -1:"):
        bridge.to_arrow_device(bridge.from_arrow_device(BATCH), stream=make(-1))


@pytest.mark.parametrize("wrong", [True, np.True_, 1.0, np.float64(1), "1", object()])
def test_objects_other_than_streams_are_rejected(wrong):
    with pytest.raises(
        TypeError, match=f"^stream: expected .* got an object of type {type(wrong).__name__}$"
    ):
        stream_handle(wrong)
