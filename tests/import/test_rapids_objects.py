# SPDX-License-Identifier: Apache-2.0
"""Imports of objects of pylibcudf and cuDF, whose memory is shared without their own protocols."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import io

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.interpreter import add_release_without_gil
from cudf_arrow_bridge.arrow.sources import open_array
from testing import host_frames
from testing.host import addresses, refuse, table_without_protocols, to_plc
from testing.host_frames import assert_same_object
from testing.owners import watched
from testing.peers import native
from testing.peers.arrays import Capsules, struct_of
from testing.samples import NESTED_TYPES, column_of, cut, nest

RELEASE_OF_PYLIBCUDF = "_Z32PylibcudfArrowDeviceArrayReleaseP10ArrowArray"

ARRAYS = [
    pa.array([1, None, 3, 4]),
    pa.array([True, None, False, True]),
    pa.array(["a", None, "ccc", ""]),
    pa.array([[1], None, [], [2, None]]),
    pa.StructArray.from_arrays(
        [pa.array(["x", None, None, "yy"])], ["0"], mask=pa.array([False, True, False, False])
    ),
]


async def collect(batches):
    return [batch async for batch in batches]


def in_async_iterator(obj):
    async def objects():
        yield obj

    return objects()


def through_file(obj):
    cab.ipc.write_file(obj, sink := io.BytesIO())
    return cab.ipc.open_file(sink.getvalue())


def first(batches):
    (batch,) = batches
    return batch


#: Each way to import an object of one batch to pylibcudf.
WAYS = {
    "from_arrow_device": lambda obj: cab.from_arrow_device(obj, to="pylibcudf"),
    "copy": lambda obj: cab.from_arrow_device(obj, to="pylibcudf", copy=True),
    "stream": lambda obj: cab.from_arrow_device_stream(obj, to="pylibcudf"),
    "list": lambda obj: cab.from_arrow_device_stream([obj], to="pylibcudf"),
    "iterator": lambda obj: first(cab.iter_arrow_device_stream(iter([obj]), to="pylibcudf")),
    "async": lambda obj: first(
        asyncio.run(collect(cab.from_arrow_device_async([obj], to="pylibcudf")))
    ),
    "async iterator": lambda obj: first(
        asyncio.run(collect(cab.from_arrow_device_async(in_async_iterator(obj), to="pylibcudf")))
    ),
    "array": lambda obj: cab.from_arrow_device(cab.to_arrow_device(obj), to="pylibcudf"),
    "messages": lambda obj: cab.from_arrow_device_stream(
        cab.ipc.from_messages(cab.ipc.messages([obj])), to="pylibcudf"
    ),
    "file": lambda obj: cab.from_arrow_device_stream(through_file(obj), to="pylibcudf"),
}


def read(obj):
    """Return the rows of a column, a table or a series that pyarrow reads, without its names."""
    if isinstance(obj, (plc.Column, cudf.Series)):
        return pa.array(cab.to_arrow_device(obj)).to_pylist()
    batch = pa.record_batch(cab.to_arrow_device(obj))
    return [column.to_pylist() for column in batch.columns]


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_tables_are_imported_in_every_way(way, offset):
    arrays = [array.slice(offset) for array in ARRAYS]
    assert read(way(table_without_protocols(arrays))) == [array.to_pylist() for array in arrays]


@pytest.mark.parametrize(("type_", "nesting"), NESTED_TYPES)
def test_columns_of_all_types_are_shared(type_, nesting):
    array = nest(type_, nesting, 70, "some")
    for steps in ([], [(3, 50), (6, 40)], [(33, 0)]):
        column = column_of(array, steps)
        found = cab.from_arrow_device(column, to="pylibcudf", copy=False)
        assert addresses(found) == addresses(column)
        series = cab.from_arrow_device(column)
        assert isinstance(series, cudf.Series)
        assert read(found) == read(series) == cut(array, steps).to_pylist()


def test_memory_lives_as_long_as_the_result():
    column, watch = watched(pa.array([1, 2, 3]))
    found = cab.from_arrow_device(column, to="pylibcudf")
    del column
    gc.collect()
    assert watch() is not None
    assert read(found) == [1, 2, 3]
    del found
    gc.collect()
    assert watch() is None


def test_columns_of_a_table_are_selected_without_a_copy():
    table = table_without_protocols(ARRAYS)
    found = cab.from_arrow_device(table, columns=["4", "1"], to="pylibcudf", copy=False)
    expected = [table.columns()[4], table.columns()[1]]
    assert list(map(addresses, found.columns())) == list(map(addresses, expected))
    assert list(cab.from_arrow_device(table, columns=["2", "0"]).columns) == ["2", "0"]


def test_kind_makes_tables_of_structs_and_structs_of_tables():
    structs = pa.array([{"0": 1, "1": "x"}, {"0": 2, "1": None}, {"0": 3, "1": "z"}])
    column = column_of(structs, [(1, 2)])
    table = cab.from_arrow_device(column, kind="table", to="pylibcudf")
    assert read(table) == [[2, 3], [None, "z"]]
    selected = cab.from_arrow_device(column, kind="table", columns=["1"], to="pylibcudf")
    assert read(selected) == [[None, "z"]]
    found = cab.from_arrow_device(table, kind="column", to="pylibcudf")
    assert read(found) == structs.slice(1).to_pylist()


def test_batches_are_concatenated():
    numbers = ARRAYS[0]
    tables = [table_without_protocols([numbers[:3], numbers[1:]]) for _ in range(2)]
    found = cab.from_arrow_device_stream(tables, to="pylibcudf")
    assert read(found) == [[1, None, 3] * 2, [None, 3, 4] * 2]
    with pytest.raises(ValueError, match="copy=False"):
        cab.from_arrow_device_stream(tables, copy=False)


def test_durations_in_days_become_seconds():
    days = plc.Column(
        plc.DataType(plc.TypeId.DURATION_DAYS),
        *(2, to_plc(pa.array([1, 2], pa.int32())).data(), None, 0, 0, []),
    )
    expected = pa.array([86_400, 172_800], pa.duration("s")).to_pylist()
    for to in ("cudf", "pylibcudf"):
        assert read(cab.from_arrow_device(days, to=to)) == expected
    with pytest.raises(ValueError, match="copy=False"):
        cab.from_arrow_device(days, copy=False)


def test_unknown_null_counts_are_counted():
    column = to_plc(pa.array([1, None, 3]))
    unknown = plc.Column(column.type(), 3, column.data(), column.null_mask(), -1, 0, [])
    assert cab.from_arrow_device(unknown, to="pylibcudf").null_count() == 1


INDEX = host_frames.index(host_frames.numbers(start=7), "key")
COLUMNS = {
    "flag": host_frames.column(pa.array([True, None, False]), np.dtype("bool")),
    "number": host_frames.numbers(),
}
FRAMES = {
    "frame": host_frames.frame(COLUMNS),
    "frame with an index": host_frames.frame(COLUMNS, index=INDEX),
    "series": host_frames.series(COLUMNS["flag"], "name"),
    "series with an index": host_frames.series(COLUMNS["number"], "name", INDEX),
}


@pytest.fixture
def no_protocols_of_cudf(monkeypatch):
    monkeypatch.delattr(cudf.DataFrame, "__arrow_c_stream__")
    for cls in (cudf.DataFrame, cudf.Series, cudf.Index):
        monkeypatch.setattr(cls, "to_arrow", refuse)


@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.parametrize(
    "way",
    [
        cab.from_arrow_device,
        cab.from_arrow_device_stream,
        lambda obj, **options: first(cab.iter_arrow_device_stream(obj, **options)),
    ],
    ids=["array", "stream", "iterator"],
)
@pytest.mark.parametrize("obj", FRAMES.values(), ids=FRAMES)
@pytest.mark.usefixtures("no_protocols_of_cudf")
def test_frames_and_series_are_imported_as_they_are(obj, way, copy):
    found = way(obj, copy=copy)
    assert_same_object(found, obj)
    assert found is not obj
    shared = plc_columns(found)[-1].data().ptr == plc_columns(obj)[-1].data().ptr
    assert shared is (copy is not True)


def plc_columns(obj):
    return [column.plc_column for column in obj._columns]


@pytest.mark.usefixtures("no_protocols_of_cudf")
def test_lists_of_frames_are_imported():
    frame = FRAMES["frame with an index"]
    assert_same_object(cab.from_arrow_device_stream([frame]), frame)
    assert len(cab.from_arrow_device_stream([frame, frame])) == 6


def test_a_frame_does_not_change_with_its_import():
    frame = host_frames.frame(COLUMNS)
    found = cab.from_arrow_device(frame)
    del found["flag"]
    found.attrs["origin"] = "import"
    assert list(frame.columns) == ["flag", "number"]
    assert frame.attrs == {}


def test_frames_become_tables_with_their_names():
    table = cab.from_arrow_device(FRAMES["frame with an index"], to="pylibcudf", copy=False)
    assert table.columns()[0].data().ptr == COLUMNS["flag"].plc_column.data().ptr
    assert pa.record_batch(cab.to_arrow_device(table)).schema.names == ["flag", "number", "key"]


def test_columns_of_frames_are_selected_with_the_index():
    found = cab.from_arrow_device(FRAMES["frame with an index"], columns=["number"], copy=False)
    assert list(found.columns) == ["number"]
    assert found.index.name == "key"


def test_an_index_becomes_a_series():
    found = cab.from_arrow_device(INDEX)
    assert isinstance(found, cudf.Series)
    assert found.name == "key"
    assert read(found) == [7, 8, 9]
    assert read(cab.from_arrow_device(cudf.RangeIndex(3))) == [0, 1, 2]
    with pytest.raises(ValueError, match=r"copy=False.*range index"):
        cab.from_arrow_device(cudf.RangeIndex(3), copy=False)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = native.load(native.compile_to(tmp_path_factory.mktemp("native")))
    add_release_without_gil(native.address_of(library.release_requiring_gil))
    return library


def requiring_gil(library, array):
    """Return an object that exports an array whose release requires the GIL."""
    schema, capsule = array.__arrow_c_device_array__()
    struct = struct_of(capsule).array
    library.set_release(struct.release)
    struct.release = native.address_of(library.release_requiring_gil)
    return Capsules(schema, capsule)


def use(imported):
    del imported
    gc.collect()
    cab.drain_releases()


@pytest.mark.parametrize(
    "use_array",
    [
        lambda obj: cab.from_arrow_device(obj, to="pylibcudf"),
        lambda obj: cab.from_arrow_device(obj, to="pylibcudf", copy=True),
        lambda obj: cab.from_arrow_device_stream([obj], to="pylibcudf"),
        lambda obj: cab.from_arrow_device(obj, kind="table", columns=["b"]),
        lambda obj: cab.to_arrow_device(obj).children,
    ],
    ids=["import", "copy", "stream", "selection", "export"],
)
def test_releases_that_require_the_gil_are_called_with_it(library, use_array):
    obj = requiring_gil(library, pa.record_batch({"a": [1, 2], "b": ["x", "y"]}))
    imported = use_array(obj)
    del obj
    use([imported])
    del imported
    gc.collect()
    cab.drain_releases()
    assert (library.count_with_gil(), library.count_without_gil()) == (1, 0)


@pytest.mark.parametrize("options", [{"copy": False}, {"kind": "table"}], ids=str)
def test_releases_after_errors_are_called_with_the_gil(library, options):
    with pytest.raises(ValueError, match=r"copy=False|struct"):
        cab.from_arrow_device(requiring_gil(library, pa.array([True, None])), **options)
    gc.collect()
    assert (library.count_with_gil(), library.count_without_gil()) == (1, 0)


@pytest.mark.parametrize("module", [plc.column, plc.table])
def test_releases_of_pylibcudf_are_known(module):
    release = native.address_of(getattr(ctypes.CDLL(module.__file__), RELEASE_OF_PYLIBCUDF))
    schema, capsule = pa.array([1]).__arrow_c_device_array__()
    struct = struct_of(capsule).array
    own = struct.release, struct.private_data
    struct.release = release
    assert open_array(Capsules(schema, capsule)).length() == 1
    assert struct.release not in (release, own[0])
    struct.release, struct.private_data = own
