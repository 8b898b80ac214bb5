# SPDX-License-Identifier: Apache-2.0
"""Tests of the private names of cuDF that are used, to find the name that a release changes.

`test_dtypes` and `test_cudf_pandas` test the others.
"""

import zoneinfo

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cudf.core.buffer import Buffer, BufferOwner

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.export.shared_columns import share_columns
from cudf_arrow_bridge._core.import_.columns import OwningSpan, types_of
from cudf_arrow_bridge.frames import cudf_private as private
from testing.host import addresses, to_plc
from testing.host_frames import column, frame, numbers
from testing.spilling import turn_on

INTS = pa.array([1, None, 3])


def plain():
    return private.make_column(to_plc(INTS), np.dtype("int64"))


def test_make_column_marks_buffers_as_shared_at_every_depth():
    words = pa.array([["a"], None, ["b", None]])
    made = private.make_column(to_plc(words), cudf.ListDtype(private.DEFAULT_STRING_DTYPE))
    offsets, strings = made.plc_column.children()
    buffers = [made.mask, offsets.data(), strings.data(), strings.null_mask()]
    buffers.append(strings.children()[0].data())
    assert all(len(buffer.owner._slices) == 2 for buffer in buffers)


def test_buffer_sharer_adds_a_reference_to_the_owner():
    buffer = column(INTS, np.dtype("int64")).data
    share_buffer = private.buffer_sharer()
    shared = [share_buffer(buffer), share_buffer(buffer[8:])]
    assert buffer not in shared
    assert [(span.ptr, span.size) for span in shared] == [
        (buffer.ptr, buffer.size),
        (buffer.ptr + 8, buffer.size - 8),
    ]
    assert all(span.owner is buffer.owner for span in shared)
    assert len(buffer.owner._slices) == 3
    shared.pop()
    assert len(buffer.owner._slices) == 2
    shared.pop()
    assert list(buffer.owner._slices) == [buffer]
    assert share_buffer(None) is None


def test_buffer_sharer_supports_subclasses_of_buffer_and_owner():
    class OtherBuffer(Buffer):
        @property
        def ptr(self):
            return super().ptr + 8

    class OtherOwner(BufferOwner):
        @property
        def ptr(self):
            return super().ptr + 16

    array = np.arange(3)
    memory = OwningSpan(array.ctypes.data, array.nbytes, array)
    other = OtherBuffer(owner=BufferOwner(ptr=memory.ptr, size=24, owner=memory))
    owned = Buffer(owner=OtherOwner(ptr=memory.ptr, size=24, owner=memory))
    for buffer, address in ((other, memory.ptr + 8), (owned, memory.ptr + 16)):
        shared = private.buffer_sharer()(buffer)
        assert (shared.ptr, shared.size) == (address, 24)
        assert len(buffer.owner._slices) == 2


def test_buffer_describer_adds_no_reference_and_no_spill_lock(monkeypatch):
    turn_on(monkeypatch)
    buffer = column(INTS, np.dtype("int64")).data
    span = private.buffer_describer()(buffer)
    assert (span.owner, span.size) == (buffer.owner, buffer.size)
    assert span.ptr not in (0, buffer.owner._ptr)
    assert list(buffer.owner._slices) == [buffer]
    assert buffer.owner.spillable
    assert not buffer.owner._spill_locks
    assert private.buffer_describer()(None) is None


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (pa.array([[1], None]), cudf.ListDtype("int64")),
        (pa.array([{"a": [1]}, {"a": None}]), cudf.StructDtype({"a": cudf.ListDtype("int64")})),
        (pa.array([], pa.list_(pa.int64())), cudf.ListDtype("int64")),
    ],
    ids=["list", "struct", "no rows"],
)
def test_schema_of_a_stream_of_nested_columns_that_have_an_empty_data_buffer(array, dtype):
    """Results of libcudf have this buffer. It must keep the address null in schema-only columns."""
    nested = column(array, dtype)
    assert (nested.data.ptr, nested.data.size) == (0, 0)
    stream = cab.to_arrow_device_stream(frame({"a": nested}))
    assert stream.schema.field("a").type == array.type


@pytest.mark.parametrize(
    "labels",
    [
        pd.Index(["a", "b"], name="n"),
        pd.RangeIndex(2),
        pd.Index([1.5, 2.5]),
        pd.MultiIndex.from_tuples([("b", 1), ("a", 2)], names=["u", None]),
        pd.Index([], dtype="str"),
        # Names of the frame's own attributes.
        pd.Index(["_attrs", "_flags"]),
        pd.Index(["_data", "_index"]),
    ],
    ids=lambda labels: str(labels.tolist()),
)
def test_make_frame_sets_the_same_attributes_as_cudf(labels):
    columns = [plain() for _ in labels]
    index = cudf.RangeIndex(3)
    made = private.FrameLabels(labels).make_frame(columns, index, {"k": 1})
    expected = cudf.DataFrame._from_data(
        dict(zip(range(len(columns)), columns, strict=True)), index=index, attrs={"k": 1}
    )
    assert made.attrs == {"k": 1}
    assert vars(made).keys() == vars(expected).keys()
    for name, value in vars(expected).items():
        assert type(vars(made)[name]) is type(value)
    assert made._data.keys() == set(labels)
    assert list(made._columns) == columns
    assert made._index is index
    assert made.flags.allows_duplicate_labels
    pd.testing.assert_index_equal(made.columns, labels, exact=True)


def test_frames_of_the_same_labels_do_not_share_level_names():
    labels = private.FrameLabels(pd.MultiIndex.from_tuples([("b", 1)], names=["u", "v"]))
    one, other = (labels.make_frame([plain()], cudf.RangeIndex(3), {}) for _ in range(2))
    one.columns.names = ["w", "x"]
    assert list(other.columns.names) == ["u", "v"]


@pytest.mark.parametrize("name", ["a", "attrs"])
def test_share_frame_shares_buffers_that_cudf_copies_before_a_write(name):
    original = frame({name: numbers()})
    original.attrs["unit"] = "m"
    shared = private.share_frame(original)
    one, other = (made._columns[0].plc_column.data() for made in (original, shared))
    assert one.ptr == other.ptr
    assert one is not other
    assert len(one.owner._slices) == 2
    shared.attrs["unit"] = "km"
    assert original.attrs == {"unit": "m"}
    assert list(shared.columns) == [name]


@pytest.mark.parametrize(("count", "name"), [(1, "uint8"), (255, "uint8"), (256, "uint16")])
def test_codes_dtype_and_category_values_match_the_categories(count, name):
    values = numbers(count)
    dtype = cudf.CategoricalDtype(values)
    assert private.codes_dtype(dtype) == np.dtype(name)
    found = private.category_values(dtype)
    assert addresses(found.plc_column) == addresses(values.plc_column)


def struct(**fields):
    made = to_plc(pa.array([fields]))
    return private.make_column(made, cudf.StructDtype(dict.fromkeys(fields, "int64")))


def attached(column):
    *_, found = share_columns([column], private.buffer_sharer())
    return found.get(0)


def test_replacing_a_column_in_place_removes_its_attachment():
    made = struct(a=1)
    assert attached(made) is None
    private.attach_to_column(made, "note")
    assert attached(made) == "note"
    frame = private.FrameLabels(pd.Index(["a"])).make_frame([made], cudf.RangeIndex(1), {})
    assert attached(frame._data["a"]) == "note"
    made._mimic_inplace(struct(b=1), inplace=True)
    assert attached(made) is None


def test_attach_to_memory_ignores_a_column_without_memory():
    column = struct(a=1).plc_column
    private.attach_to_memory(column, "struct")
    assert private.attached_to_memory(column, None) is None
    assert private.attached_to_memory(column, "otherwise") == "otherwise"


def test_share_columns_returns_the_attachments_of_columns():
    noted, bare, both = plain(), plain(), plain()
    private.attach_to_memory(noted.plc_column, "memory")
    private.attach_to_column(bare, "column")
    private.attach_to_memory(both.plc_column, "memory")
    private.attach_to_column(both, "column")
    fields = struct(a=1)
    private.attach_to_column(fields, "column")
    # `bare` is like a column that cuDF computed: nothing is attached to its new memory.
    columns = [noted, bare, both, plain(), fields]
    *_, found = share_columns(columns, private.buffer_sharer())
    assert found == {0: "memory", 2: "memory", 4: "column"}


def test_share_columns_returns_columns_dtypes_types_and_attachments():
    words = column(pa.array(["a", None]), private.DEFAULT_STRING_DTYPE)
    private.attach_to_memory(words.plc_column, "note")
    columns = [column(INTS, np.dtype("int64")), words]
    shared, dtypes, types, notes = share_columns(columns, private.buffer_sharer())
    assert [addresses(one) for one in shared] == [addresses(one.plc_column) for one in columns]
    assert [one.null_count() for one in shared] == [1, 1]
    assert dtypes == [one.dtype for one in columns]
    assert types == types_of([one.plc_column for one in columns])
    assert notes == {1: "note"}
    # One reference of the column and one of the span.
    offsets = words.plc_column.children()[0].data()
    assert [len(data.owner._slices) for data in (columns[0].data, words.data, offsets)] == [2] * 3
    del shared
    assert [len(data.owner._slices) for data in (columns[0].data, words.data, offsets)] == [1] * 3


@pytest.mark.parametrize("for_proxies", [False, True])
def test_compatible_timezone_returns_a_zoneinfo_zone(for_proxies):
    # cudf.pandas turns this option on.
    with cudf.option_context("mode.pandas_compatible", for_proxies):
        made = private.compatible_timezone(pd.DatetimeTZDtype("s", "UTC"))
    assert made.tz == zoneinfo.ZoneInfo("UTC")


def test_categorical_dtype_has_the_given_categories():
    values = private.make_column(to_plc(INTS), np.dtype("int64"))
    for ordered in (None, False, True):
        made = private.categorical_dtype(values, ordered)
        assert vars(made) == vars(cudf.CategoricalDtype(values, ordered))
        assert private.category_values(made) is values


def test_objects_of_cudf_have_the_given_columns_names_and_ranges():
    column = plain()
    series = private.make_series(column, ("n", 1), cudf.RangeIndex(2, 5))
    assert (series.name, private.range_of(series.index)) == (("n", 1), range(2, 5))
    for obj in (series, private.make_index([column], ["n"])):
        (found,) = private.columns_of(obj)
        assert found is column
    levels = private.make_index([column, plain()], ["a", "a"])
    assert (type(levels), list(levels.names), len(levels)) == (cudf.MultiIndex, ["a", "a"], 3)


def test_cudf_dtypes_of_arrow_types_and_of_columns():
    assert private.cudf_dtype_from_pa_type(pa.large_string()) == private.DEFAULT_STRING_DTYPE
    durations = to_plc(pa.array([1], pa.duration("ms")))
    assert private.dtype_from_pylibcudf_column(durations) == np.dtype("timedelta64[ms]")
