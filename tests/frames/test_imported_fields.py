# SPDX-License-Identifier: Apache-2.0
"""Columns are exported with the Arrow fields that they were imported with."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames import cudf_private as private
from testing.samples import cut_column

DAY = dt.date(2024, 2, 29)
NOON = dt.time(12, 30, 5)


#: An array of each type, and the first characters of the dtype in cuDF.
COLUMNS = {
    "date64": (pa.array([DAY, None, DAY], pa.date64()), "datetime64[ms]"),
    "time32": (pa.array([NOON, None, NOON], pa.time32("s")), "timedelta64[s]"),
    "time64": (pa.array([NOON, None, NOON], pa.time64("us")), "timedelta64[us]"),
    "binary": (pa.array([b"a", None, b"\xff\0"], pa.binary()), "list"),
    "fixed_size_binary": (pa.array([b"abcd", None, b"\xff\0\0\0"], pa.binary(4)), "list"),
    "map": (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())), "list"),
    "map of dates": (
        pa.array([[(DAY, b"1")], None, []], pa.map_(pa.date32(), pa.large_binary())),
        "list",
    ),
    "large_string": (pa.array(["a", None, "b"], pa.large_string()), "str"),
    "list of other names": (
        pa.array([[1], None, []], pa.list_(pa.field("element", pa.int32(), metadata={"a": "b"}))),
        "list",
    ),
    "struct": (
        pa.array(
            [{"day": DAY, "at": NOON}, None, {"day": None, "at": None}],
            pa.struct([("day", pa.date32()), pa.field("at", pa.time64("us"), metadata={"a": "b"})]),
        ),
        "struct",
    ),
    "dictionary": (
        pa.array(["a", None, "b"]).cast(pa.dictionary(pa.uint16(), pa.large_string())),
        "category",
    ),
    "dictionary in a list": (
        pa.ListArray.from_arrays([0, 2, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
        "list",
    ),
    "decimal": (pa.array([Decimal("1.5"), None, Decimal("2")], pa.decimal64(9, 2)), "decimal64"),
    "zone": (pa.array([1, None, 2], pa.timestamp("us", "Europe/Oslo")), "datetime64[us, Eur"),
    "null": (pa.nulls(3), "str"),
    "struct of nulls": (pa.array([{"a": None}, None, {}], pa.struct([("a", pa.null())])), "struct"),
}
CASES = pytest.mark.parametrize(("array", "dtype"), COLUMNS.values(), ids=COLUMNS.keys())


def batch_of(array, **options):
    return pa.record_batch([array], schema=pa.schema([pa.field("x", array.type, **options)]))


def exported(frame):
    """Export a frame; return the batch that pyarrow reads and validates."""
    batch = pa.record_batch(cab.to_arrow_device(frame))
    batch.validate(full=True)
    return batch


@CASES
def test_export_of_a_slice_keeps_the_imported_type(array, dtype):
    repeated = pa.concat_arrays([array] * 5)
    frame = cab.from_arrow_device(batch_of(repeated))
    assert str(frame["x"].dtype).startswith(dtype)
    assert exported(cudf.DataFrame({"y": frame["x"]})).schema.field("y").type == array.type
    (column,) = private.columns_of(frame)
    for begin, end in ((0, 15), (1, 8), (9, 15), (3, 3)):
        expected = repeated.slice(begin, end - begin)
        part = cut_column(
            column.plc_column, [(begin, end - begin)], lambda *_, e=expected: e.null_count
        )
        made = private.make_series(private.make_column(part, column.dtype), "x")
        found = pa.array(cab.to_arrow_device(made))
        found.validate(full=True)
        assert found.type == array.type
        assert found.to_pylist() == expected.to_pylist()


def test_null_column_with_values_is_exported_as_strings():
    frame = cab.from_arrow_device(batch_of(pa.nulls(2)))
    (column,) = private.columns_of(frame)
    texts = cab.from_arrow_device(pa.array(["a", None]))
    column._mimic_inplace(private.columns_of(texts)[0], inplace=True)
    assert exported(frame)["x"].to_pylist() == ["a", None]
    empty = cab.from_arrow_device(batch_of(pa.nulls(2)))
    assert exported(empty)["x"].type == pa.null()


def test_batches_after_the_first_have_its_type_instead_of_null():
    def frame(array):
        return cab.from_arrow_device(pa.record_batch([array, array], ["x", "y"]))

    texts, nulls = pa.array(["a"]), pa.nulls(1)
    for first in (texts, nulls):
        stream = cab.to_arrow_device_stream([frame(first), frame(nulls), frame(nulls)])
        assert [array.schema.types for array in stream] == [[first.type, first.type]] * 3
    series = [cab.from_arrow_device(array) for array in (texts, nulls)]
    assert [array.schema.type for array in cab.to_arrow_device_stream(series)] == [texts.type] * 2
    for other in (frame(texts)[["x"]], series[1]):
        with pytest.raises(ValueError, match="batch 1 of the stream"):
            list(cab.to_arrow_device_stream([frame(nulls), other]))
    frames = [frame(nulls), frame(texts)]
    with pytest.raises(ValueError, match=r"'x'.*requested_schema"):
        list(cab.to_arrow_device_stream(frames))
    requested = pa.schema([("x", pa.string()), ("y", pa.string())])
    stream = cab.to_arrow_device_stream(frames, requested_schema=requested)
    assert [array.to_pylist()[0]["x"] for array in stream] == [None, "a"]


@pytest.mark.skipif(cab.has_gpu(), reason="libcudf writes the offsets of strings")
@pytest.mark.parametrize(
    "nulls",
    [pa.nulls(1 << 28), pa.RunEndEncodedArray.from_arrays(pa.array([1 << 28]), pa.nulls(1))],
    ids=["null", "run ends"],
)
def test_null_columns_take_no_memory(nulls):
    def peak():
        return int(re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) << 10

    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # sets the peak to the current size
    before = peak()
    array = cab.to_arrow_device(cab.from_arrow_device(nulls))
    assert peak() - before < 1 << 26
    assert (len(array), array.null_count, array.nbytes) == (1 << 28, 1 << 28, 0)


def test_column_replaced_in_place_is_exported_with_its_new_type():
    frame = cab.from_arrow_device(batch_of(pa.array([DAY, DAY], pa.date64())))
    (column,) = private.columns_of(frame)
    other = cab.from_arrow_device(pa.array([1, 2], pa.timestamp("ms")))
    column._mimic_inplace(private.columns_of(other)[0], inplace=True)
    assert exported(frame).schema.field("x").type == pa.timestamp("ms")
    assert exported(frame)["x"].cast(pa.int64()).to_pylist() == [1, 2]


def test_int64_view_of_a_date_column_is_exported_as_int64():
    frame = cab.from_arrow_device(batch_of(pa.array([DAY, DAY], pa.date64())))
    (column,) = private.columns_of(frame)
    numbers = private.make_series(column.astype(np.dtype("int64")), "x")
    assert pa.array(cab.to_arrow_device(numbers)).type == pa.int64()


EXTENSIONS = {
    "map": (pa.array([[("k", b"v")], None], pa.map_(pa.string(), pa.binary())), "a.map"),
    "binary view": (pa.array([b"x" * 20, None], pa.binary_view()), "a.blob"),
    "list of views": (pa.array([["x" * 20], None], pa.list_(pa.string_view())), "a.text"),
    "struct of views": (
        pa.array([{"a": "x" * 20}, None], pa.struct([("a", pa.string_view())])),
        "a.label",
    ),
}


@pytest.mark.parametrize(("array", "name"), EXTENSIONS.values(), ids=EXTENSIONS.keys())
def test_round_trip_keeps_extension_metadata_and_storage_type(array, name):
    metadata = {"ARROW:extension:name": name, "ARROW:extension:metadata": "p", "other": "kept"}
    batch = batch_of(array, metadata=metadata)
    for rows_ in (batch, batch.slice(1), batch.slice(0, 0)):
        found = exported(cab.from_arrow_device(rows_))
        assert found.schema.field("x").equals(batch.schema.field("x"), check_metadata=True)
        assert found["x"].to_pylist() == rows_["x"].to_pylist()


def test_export_uses_an_index_type_that_fits_added_categories():
    codes = pa.array(list(range(100)), pa.int8())
    few = pa.DictionaryArray.from_arrays(codes, pa.array([str(i) for i in range(100)]))
    frame = cab.from_arrow_device(batch_of(few))
    many = cab.from_arrow_device(pa.array([str(i) for i in range(200)]))
    (column,) = private.columns_of(frame)
    dtype = cudf.CategoricalDtype(private.columns_of(many)[0], ordered=False)
    grown = private.make_series(private.make_column(column.plc_column, dtype), "x")
    found = pa.array(cab.to_arrow_device(grown))
    assert found.type.index_type == pa.uint8()
    assert found.to_pylist() == few.to_pylist()


def test_export_of_imported_columns_is_zero_copy():
    for name in ("date64", "time64", "binary", "map", "zone"):
        array = COLUMNS[name][0]
        buffers = cab.to_arrow_device(cab.from_arrow_device(batch_of(array))).buffers()
        assert all(buffer.zero_copy for buffer in buffers), name
        theirs = {b.address for b in array.buffers() if b is not None}
        assert {b.address for b in buffers if b.name.endswith("data")} <= theirs, name


@pytest.mark.parametrize("zone", ["+05:30", "-08:00", "+00:00"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_fixed_offset_zone_is_utc_in_the_frame_and_restored_by_the_export(zone, unit):
    type_ = pa.timestamp(unit, zone)
    instants = pa.array([0, None, 86_399, -1], type_)
    nested = pa.array([{"t": 1}, None, {"t": None}, {"t": 5}], pa.struct([("t", type_)]))
    batch = pa.record_batch({"a": instants, "b": nested})
    frame = cab.from_arrow_device(batch)
    assert str(frame["a"].dtype) == f"datetime64[{unit}, UTC]"
    assert frame["a"].to_arrow().cast(pa.int64()).equals(instants.cast(pa.int64()))
    for part, expected in ((frame, batch), (frame.iloc[1:3], batch[1:3])):
        found = pa.record_batch(cab.to_arrow_device(part, preserve_index=False))
        assert found.schema.types == batch.schema.types
        assert found.to_pydict() == expected.to_pydict()
    series = cab.from_arrow_device(instants)
    assert pa.array(cab.to_arrow_device(series)).equals(instants)


@pytest.mark.parametrize("zone", ["+05:30", "Europe/Berlin"])
def test_pandas_reads_exported_time_zones_without_a_change_of_unit(zone):
    # Nanoseconds cannot represent the year 3000.
    batch = batch_of(pa.array([32_503_680_000_000_000], pa.timestamp("us", zone)))
    found = cab.to_arrow_device(cab.from_arrow_device(batch)).to_pandas()
    pd.testing.assert_frame_equal(found, batch.to_pandas())


@pytest.mark.parametrize("zone", ["+05:30", "Europe/Berlin"])
def test_export_after_a_conversion_to_another_time_zone_has_the_new_zone(zone):
    frame = cab.from_arrow_device(batch_of(pa.array([0, None, 1], pa.timestamp("us", zone))))
    series = frame["x"].dt.tz_convert("Asia/Tokyo")
    exported = cab.to_arrow_device(series)
    assert exported.schema.type == pa.timestamp("us", "Asia/Tokyo")
    assert cab.from_arrow_device(exported).dtype == series.dtype
    assert cab.to_arrow_device(frame["x"]).schema.type == pa.timestamp("us", zone)
