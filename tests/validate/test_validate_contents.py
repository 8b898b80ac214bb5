# SPDX-License-Identifier: Apache-2.0
"""Test that full validation rejects only invalid rows, and names their path and row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples, views
from testing.peers.arrays import DeviceOnly, Producer, column_from, refused


def raw(type_, buffers, size, children=(), offset=0):
    """Return an array whose buffers pyarrow has not validated."""
    made = [None if b is None else pa.py_buffer(b) for b in buffers]
    return pa.Array.from_buffers(type_, size, made, offset=offset, children=list(children))


def ints(width, *values):
    return np.array(values, width).tobytes()


def view(text, buffer=0, offset=0, size=None, prefix=None):
    data = text.encode() if isinstance(text, str) else text
    size = len(data) if size is None else size
    if size <= 12:
        return ints("int32", size) + data.ljust(12, b"\0")
    return ints("int32", size) + (prefix or data[:4]) + ints("int32", buffer, offset)


def runs(ends, values=None, size=4, width="int32"):
    # pyarrow checks the last run end, so this function writes the last end afterwards.
    memory = np.array([*ends[:-1], size], width)
    made = raw(pa.from_numpy_dtype(width), [None, memory], len(ends))
    values = pa.array(range(len(ends)), pa.int8()) if values is None else values
    array = raw(pa.run_end_encoded(made.type, values.type), [None], size, [made, values])
    memory[-1] = ends[-1]
    return array


def coded(codes, index_type, count=3):
    indices = pa.array(codes, index_type)
    return pa.DictionaryArray.from_arrays(indices, pa.array(range(count), pa.int8()), safe=False)


LONG = "thirteen more"
NUMBERS = pa.array([1, 2], pa.int8())


def bad_strings(type_, width):
    return raw(type_, [None, ints(width, 0, 3, 1, 4), b"abcd"], 3), ["row 1", "3 to 1"]


def bad_lists(type_, width):
    return raw(type_, [None, ints(width, 0, 2, 1, 2)], 3, [NUMBERS]), ["row 1", "2 to 1"]


def bad_text(type_, width):
    return raw(type_, [None, ints(width, 0, 1, 2), b"a\xff"], 2), ["row 1", "UTF-8"]


NOT_UTF8 = b"thirteen it\xff\xff"
BAD = {
    "string offsets": bad_strings(pa.string(), "int32"),
    "large string offsets": bad_strings(pa.large_string(), "int64"),
    "binary offsets": bad_strings(pa.binary(), "int32"),
    "list offsets": bad_lists(pa.list_(pa.int8()), "int32"),
    "large list offsets": bad_lists(pa.large_list(pa.int8()), "int64"),
    "utf-8": bad_text(pa.string(), "int32"),
    "large utf-8": bad_text(pa.large_string(), "int64"),
    "utf-8 cut in two": (
        raw(pa.string(), [None, ints("int32", 0, 1, 2), "é".encode()], 2),
        ["row 0", "UTF-8"],
    ),
    "utf-8 of short views": (
        raw(pa.string_view(), [None, view("a") + view(b"\xff")], 2),
        ["row 1", "UTF-8"],
    ),
    "utf-8 of long views": (
        raw(pa.string_view(), [None, view("a") + view(NOT_UTF8), NOT_UTF8], 2),
        ["row 1", "UTF-8"],
    ),
    "views behind their buffer": (
        raw(pa.string_view(), [None, view(LONG, offset=1), LONG.encode()], 1),
        ["row 0", "1 to 14"],
    ),
    "views of no buffer": (
        raw(pa.binary_view(), [None, view(LONG, buffer=1), LONG.encode()], 1),
        ["row 0", "buffer 1"],
    ),
    "prefixes of views": (
        raw(pa.string_view(), [None, view(LONG, prefix=b"thir"), b"fourteen more"], 1),
        ["row 0", "prefix"],
    ),
    "list views": (
        raw(
            pa.list_view(pa.int8()), [None, ints("int32", 0, 1), ints("int32", 2, 2)], 2, [NUMBERS]
        ),
        ["row 1", "of 2"],
    ),
    "run ends that descend": (
        runs([2, 3, 1, 4]),
        ["run 2", "expected a run end of at least 4, got 1"],
    ),
    "run ends twice": (runs([2, 2, 4]), ["run 1", "expected a run end of at least 3, got 2"]),
    "run end after the greatest integer": (
        runs([2**63 - 1, 4], width="int64"),
        ["run 1", "expected a run end of at least 9223372036854775808, got 4"],
    ),
    "runs of nothing": (runs([0, 4]), ["run 0", "expected a run end of at least 1, got 0"]),
    "indices": (coded([0, 3, 1], pa.int8()), ["row 1", "index of 3 ", "got 3"]),
    "negative indices": (coded([0, 1, -1], pa.int64()), ["row 2", "index of 3 ", "got -1"]),
    "unsigned indices": (coded([0, 255, 1], pa.uint8()), ["row 1", "index of 3 ", "got 255"]),
    "wide unsigned indices": (coded([2**63, 0], pa.uint64()), ["row 0", "index"]),
}


@pytest.mark.parametrize("name", BAD)
def test_full_validation_names_the_invalid_row_and_the_path_of_its_column(name):
    array, words = BAD[name]
    assert words[0] in refused(ValueError, DeviceOnly(array), validate="full")
    lists = pa.ListArray.from_arrays(pa.array([0, len(array)], pa.int32()), array)
    struct = pa.StructArray.from_arrays([lists], ["price"])
    producer = Producer(pa.record_batch([struct], ["orders"]))
    message = refused(ValueError, producer, kind=None, validate="full")
    for word in ["'orders.price[]'", *words]:
        assert word in message
    assert producer.releases == 1


def test_full_validation_accepts_valid_arrays():
    arrays = [samples.values(type_, samples.MANY, "some") for type_ in samples.TYPES]
    arrays.append(views.string_view(arrays[samples.TYPES.index(pa.string())]))
    lists = samples.as_list(pa.string(), samples.MANY, "some", (9,))
    arrays += [views.list_view(lists, place) for place in views.PLACES]
    arrays += [views.run_ended(lists)[0]]
    for array in arrays:
        for steps in samples.cuts(len(array)):
            part = samples.cut(array, steps)
            assert column_from(part, validate="full").size() == len(part)


def test_full_validation_ignores_values_under_nulls():
    mask = bytes([0b101])
    column = column_from(
        raw(pa.string(), [mask, ints("int32", 0, 1, 2, 3), b"a\xffc"], 3), validate="full"
    )
    assert column.null_count() == 1
    indices = raw(pa.int8(), [mask, ints("int8", 0, 99, 1)], 3)
    array = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    assert column_from(array, validate="full").null_count() == 1
    gone = view(LONG, buffer=7)
    array = raw(pa.string_view(), [mask, view("a") + gone + view("c"), LONG.encode()], 3)
    assert column_from(array, validate="full").null_count() == 1


def test_full_validation_ignores_rows_outside_a_slice():
    array = raw(pa.string(), [None, ints("int32", 0, 3, 1, 2, 3), b"abcd"], 4)
    assert column_from(array.slice(2, 1), validate="full").size() == 1
    whole = refused(ValueError, DeviceOnly(array.slice(0, 3)), validate="full")
    assert "row 1" in whole


@pytest.mark.parametrize("validate", ["minimal", "full"])
@pytest.mark.parametrize("garbage", [-5, 2**30])
@pytest.mark.parametrize(
    "type_", [pa.string(), pa.large_string(), pa.binary(), pa.large_list(pa.int8())], ids=str
)
def test_import_ignores_invalid_offsets_before_a_slice(type_, garbage, validate):
    """The slice has a null that is not empty; its removal also reads the kept rows before it."""
    rows = [[i] if pa.types.is_large_list(type_) else "abc" for i in range(50)]
    whole = pa.array(rows, type_)
    width = "int64" if str(type_).startswith("large") else "int32"
    offsets = np.frombuffer(whole.buffers()[1], width).copy()
    offsets[33:36] = garbage
    bits = np.full(8, 0xFF, "uint8")
    bits[5] = 0xF7  # row 43
    children = [whole.values] if pa.types.is_large_list(type_) else []
    data = whole.buffers()[2:] if not children else []
    array = raw(type_, [bits, offsets, *data], 10, children, offset=40)
    column = column_from(array, validate=validate)
    expected = [None if i == 3 else row for i, row in enumerate(whole.to_pylist()[40:])]
    found = pa.array(cab.to_arrow_device(column, requested_schema=pa.field("", type_)))
    assert found.to_pylist() == expected


@pytest.mark.parametrize("validate", ["minimal", "full"])
def test_runs_that_end_before_the_length_are_rejected(validate):
    """Both validation levels look up the last run end."""

    def edit(schema, array):
        array.array.length = 4

    producer = Producer(runs([1, 3], size=3), edit)
    message = refused(ValueError, producer, validate=validate)
    assert "run" in message
    assert producer.releases == 1


NULL = [
    *(pa.bool_(), pa.int32(), pa.string(), pa.list_(pa.int8()), pa.list_(pa.int8(), 2)),
    *(pa.struct([("x", pa.int8())]), pa.dictionary(pa.int8(), pa.string()), pa.string_view()),
    *(pa.list_view(pa.int8()), pa.map_(pa.string(), pa.int8())),
]


@pytest.mark.parametrize("size", [1, 8, 70])
@pytest.mark.parametrize("type_", NULL, ids=str)
def test_full_validation_rejects_a_wrong_null_count(type_, size):
    """Rows before the slice are null too, but the null count does not include them."""
    array = pa.nulls(size + 3, type_)[3:]
    for wrong in {0, size - 1}:

        def edit(schema, array, wrong=wrong):
            array.array.null_count = wrong

        message = refused(ValueError, Producer(array, edit), validate="full")
        assert f"expected a null count of {size}, got {wrong}" in message


@pytest.mark.parametrize("validate", ["minimal", "full"])
def test_a_null_count_of_a_run_end_encoded_array_is_rejected(validate):
    """Such an array has no validity buffer: its values have the nulls."""

    def edit(schema, array):
        array.array.null_count = 1

    message = refused(ValueError, Producer(runs([2, 4]), edit), validate=validate)
    assert "a run-end encoded array has no validity buffer" in message


def test_full_validation_accepts_a_bitmap_without_nulls():
    bits = b"\xf8\x07"
    for array in (
        raw(pa.int8(), [bits, ints("int8", *range(11))], 8, offset=3),
        raw(pa.string(), [bits, ints("int32", *range(12)), b"eleven text"], 8, offset=3),
    ):
        assert array.null_count == 0
        assert column_from(array, validate="full").null_count() == 0


@pytest.mark.parametrize("validate", ["minimal", "full"])
def test_views_need_the_sizes_of_their_data_buffers(validate):
    def edit(schema, array):
        array.array.buffers[array.array.n_buffers - 1] = None

    array = raw(pa.string_view(), [None, view(LONG), LONG.encode()], 1)
    message = refused(ValueError, Producer(array, edit), validate=validate)
    assert "the buffer of the sizes of data buffers is null" in message


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("string offsets", marks=pytest.mark.unsound),
        "utf-8",
        pytest.param("indices", marks=pytest.mark.unsound),
    ],
)
def test_minimal_validation_accepts_invalid_rows(name):
    """By default, a zero-copy import does not read the shared buffers."""
    assert column_from(BAD[name][0]).size() == len(BAD[name][0])
