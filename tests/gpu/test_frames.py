# SPDX-License-Identifier: Apache-2.0
"""cuDF's frames, series and indexes in device memory, and their protocol methods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import GPU
from testing.peers.arrays import HostOnly
from testing.peers.streams import DeviceStreamOnly

pytestmark = GPU

TIMES = [datetime(2026, 1, 31, 12, tzinfo=UTC) + timedelta(days=30 * i) for i in range(5)]


def mixed(values):
    """Return the five values with the third replaced by null."""
    return [*values[:2], None, *values[3:]]


ARRAYS = {
    "int": pa.array(mixed([1, 2, 3, 4, 5]), pa.int16()),
    "float": pa.array(mixed([0.5, -1.0, 0.0, 2.0, 3.5])),
    "bool": pa.array(mixed([True, False, True, True, False])),
    "text": pa.array(mixed(["", "żółw", "x", "yy", "z" * 40])),
    "time": pa.array(mixed([t.replace(tzinfo=None) for t in TIMES]), pa.timestamp("us")),
    "span": pa.array(mixed([timedelta(hours=i) for i in range(5)]), pa.duration("ms")),
    "decimal": pa.array(mixed([Decimal(i) / 4 for i in range(5)]), pa.decimal128(20, 2)),
    "small decimal": pa.array(mixed([Decimal(i) / 2 for i in range(5)]), pa.decimal32(5, 1)),
    "list": pa.array(mixed([[1], [], [0], [2, None], [3, 4, 5]]), pa.list_(pa.int64())),
    "struct": pa.array(mixed([{"a": i, "b": str(i)} for i in range(5)])),
    "nested": pa.array(mixed([[{"a": [str(i)]}] * i for i in range(5)])),
}
SLICES = [slice(None), slice(1, 4), slice(3, 3), slice(2, None)]


def series(name):
    import cudf

    if name == "zone":
        return series("time").dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    if name == "category":
        # With `ordered=None`, cuDF's own `to_arrow` fails.
        return series("text").astype("category").cat.as_unordered()
    if name == "ordered":
        return series("category").cat.as_ordered()
    return cudf.Series.from_arrow(ARRAYS[name])


NAMES = [*ARRAYS, "zone", "category", "ordered"]


def assert_comes_back(frame):
    """Check that a frame is equal after a round trip, as a frame of pandas and of pyarrow.

    cuDF's own comparison supports neither decimals nor lists nor structs.
    """
    back = cab.from_arrow_device(cab.to_arrow_device(frame))
    pd.testing.assert_frame_equal(back.to_pandas(), frame.to_pandas())
    assert list(back.dtypes) == list(frame.dtypes)
    assert back.to_arrow().equals(frame.to_arrow(), check_metadata=True)
    return back


@pytest.mark.parametrize("part", SLICES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_series_of_every_type_round_trip(name, part):
    original = series(name).rename("a name").iloc[part]
    back = cab.from_arrow_device(cab.to_arrow_device(original))
    pd.testing.assert_series_equal(back.to_pandas(), original.to_pandas())
    assert back.to_arrow().equals(original.to_arrow())


@pytest.mark.parametrize("part", SLICES, ids=str)
def test_frame_with_all_types_round_trips(part):
    import cudf

    frame = cudf.DataFrame({name: series(name) for name in NAMES})
    assert_comes_back(frame.iloc[part])


def indexes():
    import cudf

    return {
        "named": cudf.Index([3, 1, 4, 1, 5], name="row"),
        "text": cudf.Index(["a", "b", "c", "d", "e"]),
        "range": cudf.RangeIndex(10, 20, 2, name="step"),
        "time": cudf.DatetimeIndex(series("time").ffill(), name="when"),
        "multi": cudf.MultiIndex.from_arrays(
            [cudf.Series([1, 1, 2, 2, 3]), cudf.Series(list("ababa"))], names=["n", "t"]
        ),
    }


@pytest.mark.parametrize("name", ["named", "text", "range", "time", "multi"])
@pytest.mark.parametrize("part", SLICES, ids=str)
def test_indexes_round_trip(name, part):
    frame = series("int").to_frame("a")
    frame.index = indexes()[name]
    back = assert_comes_back(frame.iloc[part])
    assert list(back.index.names) == list(frame.index.names)
    assert type(back.index) is type(frame.iloc[part].index)


def test_export_and_import_of_a_frame_share_memory():
    frame = series("float").to_frame("a")
    exported = cab.to_arrow_device(frame)
    assert all(buffer.zero_copy for buffer in exported.buffers())
    again = cab.to_arrow_device(cab.from_arrow_device(exported))
    assert [b.address for b in again.buffers()] == [b.address for b in exported.buffers()]


@pytest.mark.parametrize(
    "values", [["a", "b", "a"], pd.arrays.IntervalArray.from_breaks([0, 1, 2]).take([0, 1, 0])]
)
def test_repeated_values_of_a_dictionary_are_one_category(values):
    indices = pa.array([0, 1, 2, None], pa.int8())
    array = pa.DictionaryArray.from_arrays(indices, pa.array(values))
    series = cab.from_arrow_device(array)
    assert len(series.dtype.categories) == 2
    assert series.to_pandas().cat.codes.to_list() == [0, 1, 0, -1]
    assert repr(series)


def test_cupy_accepts_imported_columns_without_rows():
    import cupy

    frame = cab.from_arrow_device(pa.table({"a": pa.array([], pa.int64())}))
    assert frame["a"].values.shape == cupy.asarray(frame["a"]).shape == (0,)
    assert frame.values.shape == frame.to_cupy().shape == (0, 1)
    assert frame["a"].to_cupy().dtype == frame.iloc[:0].values.dtype == "int64"


@pytest.fixture
def frame():
    import cudf

    return cudf.DataFrame({"a": [1, None, 3], "b": ["x", "y", None]})


def test_install_protocol_lets_host_consumers_read_frames(frame):
    own = type(frame).__arrow_c_stream__
    with cab.install_protocol():
        assert pa.table(frame).to_pydict() == {"a": [1, None, 3], "b": ["x", "y", None]}
        assert pa.array(frame["a"], type=pa.int8()).to_pylist() == [1, None, 3]
        assert pa.chunked_array(frame["a"]).to_pylist() == [1, None, 3]
        assert pa.array(HostOnly(frame["b"])).to_pylist() == ["x", "y", None]
    assert type(frame).__arrow_c_stream__ is own


def test_device_stream_of_a_frame_stays_on_the_gpu(frame):
    with cab.install_protocol():
        (batch,) = cab.to_arrow_device_stream(DeviceStreamOnly(frame))
    assert batch.device_type == cab.DeviceType.CUDA


def test_methods_of_cudf_are_not_replaced_with_a_gpu(frame):
    from cudf_arrow_bridge.frames import host_frames

    assert len(cab.from_arrow_device(frame.arrow_device)) == 3
    replaced = [vars(owner)[name] for owner, name, _ in host_frames.REPLACEMENTS]
    ours = [replacement for *_, replacement in host_frames.REPLACEMENTS]
    assert not any(found is one for found, one in zip(replaced, ours, strict=True))
