# SPDX-License-Identifier: Apache-2.0
"""Conversions on the device: types and layouts that cuDF lacks, and requested schemas."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import foreign, host, samples, views
from testing.device import GPU, SLICES, fetched, pylibcudf_rows, unnamed
from testing.invariants import violations
from testing.peers.arrays import Producer, assert_same, column_from, forget_null_counts
from testing.peers.device_memory import OnDevice
from testing.unsanitized import (
    BELOW_MASKS,
    OTHERS,
    WITH_OFFSETS,
    with_nulls_at_each_level,
)

pytestmark = GPU


@samples.each_case_with_nulls(foreign.NESTED_TYPES)
def test_import_converts_types_that_cudf_lacks(type_, nesting, nulls):
    base = samples.nest(type_, nesting, samples.MANY, nulls, (9, 1))
    for offset, size in SLICES:
        array = base.slice(offset, size)
        expected = foreign.expected_import(array)
        column = fetched(column_from(Producer(array, forget_null_counts)))
        assert column.null_count() == array.null_count
        assert_same(host.to_arrow(column, expected.type), expected)


def test_import_converts_every_half_float():
    halves = np.arange(2**16, dtype="uint16").view("float16")
    exported = cab.to_arrow_device(column_from(pa.array(halves)))
    found = pa.array(exported.to_host()).to_numpy()
    assert np.array_equal(found, halves.astype("float32"), equal_nan=True)
    assert np.array_equal(np.signbit(found), np.signbit(halves))


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS, *OTHERS], ids=str)
def test_import_removes_data_below_nulls(type_):
    base = with_nulls_at_each_level(samples.values(type_, samples.MANY, "none"))
    for offset, size in SLICES:
        array = base.slice(offset, size)
        expected = foreign.expected_import(array)
        column = fetched(column_from(array))
        assert violations(column) == []
        assert_same(host.to_arrow(column, expected.type), expected)


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS], ids=str)
def test_import_shares_columns_without_data_below_nulls(type_):
    source = column_from(samples.values(type_, samples.MANY, "some"))
    again = column_from(cab.to_arrow_device(source))
    assert host.addresses(again) == host.addresses(source)


@pytest.mark.parametrize("index_type", [pa.int32(), pa.int64(), pa.uint16()], ids=str)
def test_import_rejects_dictionary_indices_without_a_value(index_type):
    values = pa.array(["x", "y"])
    for index in (2, 256, 257):
        indices = pa.array([0, index, 1], index_type)
        array = pa.DictionaryArray.from_arrays(indices, values, safe=False)
        batch = pa.record_batch([array], ["c"])
        other = pa.record_batch([pa.array(["z"]).dictionary_encode().cast(array.type)], ["c"])
        batches = pa.RecordBatchReader.from_batches(batch.schema, [batch, other])
        for take, source in (
            (cab.from_arrow_device, batch),
            (cab.from_arrow_device_stream, batches),
        ):
            with pytest.raises(ValueError, match=rf"column 'c': .*\b{index}\b"):
                take(source)


def test_import_accepts_any_dictionary_index_in_null_rows():
    indices = pa.array([0, 257, 1], pa.int32())
    array = pa.DictionaryArray.from_buffers(
        pa.dictionary(pa.int32(), pa.string()),
        3,
        [pa.py_buffer(bytes([0b101])), indices.buffers()[1]],
        pa.array(["x", "y"]),
    )
    frame = cab.from_arrow_device(pa.record_batch([array], ["c"]))
    assert frame["c"].to_arrow().to_pylist() == ["x", None, "y"]


DAY = dt.date(2024, 2, 29)
NOON = dt.time(12, 30, 5)
BYTES = pa.list_(pa.uint8())

#: Arrays and requested types. The conversions keep the values.
REQUESTS = [
    (pa.array(["a", None, "bc"]), pa.large_string()),
    (pa.array(["a", None, "bc"], pa.large_string()), pa.string()),
    (pa.array([[1], None, []], pa.list_(pa.int32())), pa.large_list(pa.int32())),
    (pa.array([Decimal("1.5"), None], pa.decimal32(9, 2)), pa.decimal128(20, 2)),
    (pa.array([Decimal("1.5"), None], pa.decimal128(38, 2)), pa.decimal32(5, 2)),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.string()),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.dictionary(pa.int8(), pa.string())),
    (pa.array(["a", None, "a"]), pa.dictionary(pa.int16(), pa.string())),
    (pa.array([5, None, 5]), pa.dictionary(pa.int8(), pa.int64())),
    (pa.array([DAY, None], pa.date32()), pa.date64()),
    (pa.array([DAY, None], pa.date64()), pa.date32()),
]
KEPT = [
    pa.array([DAY, None], pa.date32()),
    pa.array([DAY, None], pa.date64()),
    pa.array([NOON, None], pa.time32("s")),
    pa.array([NOON, None], pa.time64("us")),
    pa.array([b"a", None, b"\xff\0"], pa.binary()),
    pa.array([b"a", None, b"\xff\0"], pa.large_binary()),
    pa.array([b"ab", None, b"\xff\0"], pa.binary(2)),
    pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    pa.array([[1], None, []], pa.large_list(pa.int32())),
    pa.ListArray.from_arrays([0, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
]


def on_host(array):
    found = pa.array(array.to_host())
    found.validate(full=True)
    return found


@pytest.mark.parametrize(("array", "target"), REQUESTS, ids=str)
def test_export_converts_to_the_requested_type(array, target):
    for begin, size in ((0, len(array)), (1, len(array) - 1), (0, 0)):
        part = array.slice(begin, size)
        column = cab.from_arrow_device(part, to="pylibcudf", kind="column")
        exported = cab.to_arrow_device(column, requested_schema=pa.field("", target))
        found = on_host(exported)
        assert found.type == target
        assert found.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("array", KEPT, ids=lambda array: str(array.type))
def test_export_of_an_imported_column_keeps_the_arrow_type(array):
    found = on_host(cab.to_arrow_device(cab.from_arrow_device(array)))
    assert found.type == array.type
    assert found.to_pylist() == array.to_pylist()


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([1], pa.timestamp("s")), pa.date32()),
        (pa.array([-1], pa.duration("us")), pa.time64("us")),
        (pa.array([Decimal("1000.00")], pa.decimal64(18, 2)), pa.decimal32(5, 2)),
        (pa.array([[1], [1, 2]], BYTES), pa.binary(1)),
        (pa.array([[None]], BYTES), pa.binary()),
    ],
    ids=str,
)
def test_export_rejects_a_requested_type_that_the_data_does_not_fit(array, target):
    column = cab.from_arrow_device(array, to="pylibcudf", kind="column")
    with pytest.raises(ValueError, match=r"^column '\(top level\)': "):
        cab.to_arrow_device(column, requested_schema=pa.field("", target))


def cases():
    """Yield a name, an array of each layout, and the equal array of a plain layout."""
    for nulls in samples.NULLS:
        text = samples.values(pa.string(), samples.MANY, nulls)
        yield f"string_view-{nulls}", views.string_view(text), text
        for place in views.PLACES:
            for element in (pa.int32(), pa.string(), samples.NESTED[3]):
                lists = samples.as_list(element, samples.MANY, nulls)
                for large in (False, True):
                    view = views.list_view(lists, place, large)
                    yield f"{view.type}-{place}-{nulls}", view, lists
        for type_ in (pa.int32(), pa.bool_(), pa.string(), *samples.NESTED):
            for ends in views.RUN_ENDS:
                runs, expected = views.run_ended(samples.values(type_, samples.MANY, nulls), ends)
                yield f"{runs.type}-{nulls}", runs, expected
        keys = pa.array(["a", None, "bc", None])
        rows = enumerate(samples.mask(samples.MANY, nulls))
        codes = pa.array([None if null else i * 3 % 4 for i, null in rows], pa.uint8())
        yield f"null keys-{nulls}", pa.DictionaryArray.from_arrays(codes, keys), keys.take(codes)


CASES = [pytest.param(array, expected, id=name) for name, array, expected in cases()]


@pytest.mark.parametrize(("array", "expected"), CASES)
def test_import_decodes_views_and_runs(array, expected):
    pytest.importorskip("cupy")
    for offset, size in SLICES:
        column = column_from(OnDevice(array.slice(offset, size)))
        assert pylibcudf_rows(column) == unnamed(expected.slice(offset, size).to_pylist())
    for source in (array, OnDevice(array)):
        column = column_from(source, copy=True, validate="full")
        assert pylibcudf_rows(column) == unnamed(expected.to_pylist())


def wrong_arrays():
    """Yield a name and an array whose row 1 has contents out of bounds."""
    data = b"twenty bytes of text"
    views = {"buffer": (20, 1, 0), "end": (20, 0, 1), "begin": (20, 0, -1), "size": (-1, 0, 0)}
    for name, (size, buffer, offset) in views.items():
        good = struct.pack("<i4sii", 20, data[:4], 0, 0)
        wrong = struct.pack("<i4sii", size, data[:4], buffer, offset)
        for type_ in (pa.string_view(), pa.binary_view()):
            buffers = [None, pa.py_buffer(good + wrong), pa.py_buffer(data)]
            yield f"{type_} {name}", pa.Array.from_buffers(type_, 2, buffers)
    for type_, form in ((pa.list_view(pa.int32()), "i"), (pa.large_list_view(pa.int32()), "q")):
        most = 2 ** (struct.calcsize(form) * 8 - 1) - 1
        for offset, size in ((3, 2), (-1, 2), (2, -1), (5, 0), (most, most)):
            numbers = [pa.py_buffer(struct.pack(f"<2{form}", 0, one)) for one in (offset, size)]
            elements = [pa.array([1, 2, 3, 4], pa.int32())]
            array = pa.Array.from_buffers(type_, 2, [None, *numbers], children=elements)
            yield f"{type_} {offset} {size}", array
    for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        for index in (-1, 2):
            codes, values = pa.array([0, index], type_), pa.array(["a", None])
            array = pa.DictionaryArray.from_arrays(codes, values, safe=False)
            yield f"{type_} {index}", array


@pytest.mark.parametrize("array", [pytest.param(a, id=name) for name, a in wrong_arrays()])
def test_import_rejects_contents_out_of_bounds(array):
    """A kernel that read out of bounds would end the context: all later tests would fail."""
    pytest.importorskip("cupy")
    for source in (array, OnDevice(array)):
        with pytest.raises(ValueError, match=r"row 1: (expected|the size of the view is negative)"):
            column_from(source)


def test_import_rejects_a_null_column_below_a_list_view():
    """libcudf cannot gather a null column. Views in host memory are gathered on the host."""
    pytest.importorskip("cupy")
    lists = samples.as_list(pa.null(), 9, "none")
    with pytest.raises(TypeError, match="libcudf cannot gather columns of the null type"):
        column_from(OnDevice(views.list_view(samples.as_list(lists.type, 9, "none"))))
