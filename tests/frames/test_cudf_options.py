# SPDX-License-Identifier: Apache-2.0
"""Exports, imports and conversions of frames under each option of cuDF."""

from __future__ import annotations

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.host_frames import assert_same_object, column, frame, multi, numbers, series
from testing.peers.arrays import DeviceOnly
from testing.spilling import turn_on

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

OPTIONS = [
    ("default_integer_bitwidth", 32),
    ("default_float_bitwidth", 32),
    ("mode.pandas_compatible", True),
    ("spill", True),
]


@pytest.fixture(params=OPTIONS, ids=lambda option: f"{option[0]}={option[1]}")
def option(request, monkeypatch):
    name, value = request.param
    if name == "spill":
        # cuDF reads this option only once.
        turn_on(monkeypatch)
    with cudf.option_context(name, value):
        yield request.param


VALUES = {
    "small": (pa.array([1, None, 3], pa.int8()), np.dtype("int8")),
    "floats": (pa.array([0.5, None, 2.5]), np.dtype("float64")),
    "text": (pa.array(["a", None, "ccc"]), pd.StringDtype(na_value=np.nan)),
    "times": (pa.array([1, None, 3], pa.timestamp("us")), np.dtype("datetime64[us]")),
    "lists": (pa.array([[1], None, [2, 3]]), cudf.ListDtype("int64")),
}


def of(name):
    """Return a column that is made under the option."""
    return column(*VALUES[name])


def categories():
    return column(pa.array([0, 1, None], pa.uint8()), cudf.CategoricalDtype(numbers(2, 7)))


def ranged(values=range(3), name=None):
    return cudf.RangeIndex(values.start, values.stop, values.step, name=name)


OBJECTS = {
    "frame": lambda: frame({"a": numbers(), **{name: of(name) for name in VALUES}}),
    "range index": lambda: frame({"a": of("small")}, index=ranged(range(10, 16, 2), "r")),
    "large range": lambda: frame({"a": of("small")}, index=ranged(range(2**40, 2**40 + 3))),
    "long step": lambda: frame({"a": of("small")}, index=ranged(range(0, 3 * 2**31, 2**31))),
    "descending": lambda: frame({"a": of("small")}, index=ranged(range(3, 0, -1))),
    "levels": lambda: frame({"a": numbers()}, index=multi([numbers(), of("text")], ["x", None])),
    "series": lambda: series(categories(), "s"),
    "series with range": lambda: series(of("floats"), 5, ranged(range(1, 4))),
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("peer", [lambda exported: exported, DeviceOnly], ids=["shared", "peer"])
def test_round_trip_gives_an_equal_object(option, make, peer):
    found = cab.from_arrow_device(peer(cab.to_arrow_device(make())))
    assert_same_object(found, make())


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_export_with_the_index_keeps_its_labels(option, make):
    obj = make()
    exported = pa.record_batch(cab.to_arrow_device(obj, preserve_index=True))
    labels = exported.column(exported.num_columns - 1).to_pylist()
    if isinstance(obj.index, cudf.RangeIndex):
        assert labels == list(range(obj.index.start, obj.index.stop, obj.index.step))
    again = cab.from_arrow_device(exported)
    assert again.index.nlevels == obj.index.nlevels
    again = cab.to_arrow_device(again, preserve_index=True)
    assert pa.record_batch(again).equals(exported, check_metadata=True)


def test_written_range_index_has_the_dtype_of_the_index(option):
    exported = pa.array(cab.to_arrow_device(ranged(range(1, 10, 3))))
    assert exported.equals(pa.array([1, 4, 7], pa.from_numpy_dtype(ranged().dtype)))
    assert len(cab.to_arrow_device(ranged(range(0)))) == 0


def test_labels_that_do_not_fit_the_dtype_of_the_index_are_not_changed(option):
    labels = range(2**31 - 1, 2**31 + 1)
    assert pa.array(cab.to_arrow_device(ranged(labels))).to_pylist() == list(labels)


def test_frame_is_printed_and_converted(option):
    imported = cab.from_arrow_device(pa.record_batch({"a": [1, 2], "b": ["x", "y"]}))
    assert "y" in repr(imported)
    assert imported.to_pandas()["a"].tolist() == [1, 2]
    assert imported.reset_index().to_pandas()["index"].tolist() == [0, 1]
