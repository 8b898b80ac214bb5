# SPDX-License-Identifier: Apache-2.0
"""Test how an import on another stream is ordered with cuDF's stream, which makes frames."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda import ordering
from cudf_arrow_bridge.cuda.streams import CUDF_HANDLE, resolve_stream
from cudf_arrow_bridge.import_ import importer

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="uses invalid stream handles")

BATCH = pa.record_batch({"a": [1, 2], "day": pa.array([0, 1], pa.date32())})
#: The handle of the caller's stream.
OTHER = 0x5150


@pytest.fixture
def orders(monkeypatch):
    """Record the calls of `order_after`: the stream that waits and the stream that it waits for."""
    pairs = []
    monkeypatch.setattr(ordering, "order_after", lambda *pair: pairs.append(pair))
    return pairs


IMPORTS = {
    "frame": lambda **how: cab.from_arrow_device(BATCH, **how),
    "series": lambda **how: cab.from_arrow_device(BATCH.column(1), **how),
    "stream": lambda **how: cab.from_arrow_device_stream([BATCH], **how),
    "batches": lambda **how: list(cab.from_arrow_device_stream([BATCH], concat=False, **how)),
    "tensor": lambda **how: cab.from_dlpack(np.arange(3), **how),
    "matrix": lambda **how: cab.from_dlpack(np.ones((3, 2), order="F"), **how),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_import_on_another_stream_is_ordered_with_the_stream_of_cudf(name, orders):
    IMPORTS[name](stream=OTHER)
    # cuDF's stream waits for the imported data; then the caller's stream waits for the frame.
    assert orders == [(CUDF_HANDLE, OTHER), (OTHER, CUDF_HANDLE)]


@pytest.mark.parametrize("to", ["cudf", "cudf.pandas"])
def test_frames_are_computed_on_the_stream_of_cudf(to, monkeypatch):
    monkeypatch.setattr(importer, "check_active", lambda: None)
    imports = importer.Importer(OTHER, None, to, copy=None, validate="minimal", sanitize=True)
    assert (imports.importing.handle, imports.computing.handle) == (OTHER, CUDF_HANDLE)


def test_stream_of_cudf_waits_for_each_imported_batch(orders):
    cab.from_arrow_device_stream([BATCH, BATCH, BATCH], stream=OTHER)
    *arrived, after_import = orders
    assert arrived[:3] == [(CUDF_HANDLE, OTHER)] * 3
    assert after_import == (OTHER, CUDF_HANDLE)


@pytest.mark.parametrize("name", IMPORTS)
def test_import_on_the_stream_of_cudf_or_to_pylibcudf_adds_no_order(name, orders):
    IMPORTS[name]()
    IMPORTS[name](stream=resolve_stream(None))
    IMPORTS[name](stream=CUDF_HANDLE)
    IMPORTS[name](stream=OTHER, to="pylibcudf")
    assert orders == []


def test_decoding_waits_once_for_the_stream_of_the_buffers_of_a_message(orders):
    messages = list(cab.ipc.messages(BATCH, stream=OTHER))
    assert orders == []
    assert [len(array) for array in cab.ipc.from_messages(messages)] == [2]
    assert orders == [(resolve_stream(None).handle, OTHER)]
    assert [len(array) for array in cab.ipc.from_messages(messages, stream=OTHER)] == [2]
    assert len(orders) == 1


def test_order_after_without_a_gpu_does_nothing():
    ordering.order_after(OTHER, CUDF_HANDLE)
