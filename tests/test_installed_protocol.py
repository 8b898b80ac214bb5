# SPDX-License-Identifier: Apache-2.0
"""cuDF's own classes as consumers meet them, while the protocols are installed and afterwards."""

import threading

import cudf
import duckdb
import nanoarrow as na
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge import installed_protocol
from cudf_arrow_bridge.cuda.streams import cudf_handle_of_all_threads
from testing.host_frames import frame, index, multi, numbers, series

CLASSES = (cudf.DataFrame, cudf.Series, cudf.Index)
ADDED = ("__arrow_c_device_array__", "__arrow_c_device_stream__")
REPLACED = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__")
VALUES = [0, 1, 2]


def attributes():
    """What each class has itself, and what it answers with."""
    names = (*ADDED, *REPLACED)
    own = {cls: {name: vars(cls)[name] for name in names if name in vars(cls)} for cls in CLASSES}
    found = {(cls, name): getattr(cls, name, None) for cls in CLASSES for name in names}
    return own, found


ORIGINAL = attributes()


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    bridge.uninstall_protocol()
    assert attributes() == ORIGINAL


@pytest.fixture
def installed():
    with bridge.install_protocol():
        yield


def flights():
    return frame({"a": numbers(), "b": numbers(start=5)})


def address_of(array):
    return array.buffers()[1].address


@pytest.mark.parametrize(
    "take",
    [
        pa.table,
        pa.record_batch,
        lambda obj: pa.RecordBatchReader.from_stream(obj).read_all(),
        lambda obj: pl.DataFrame(obj).to_arrow(),
        lambda obj: pl.from_dataframe(obj).to_arrow(),
        lambda obj: pa.table(duckdb.sql("from obj").arrow()),
        lambda obj: pa.table(pd.DataFrame.from_arrow(obj)),
        lambda obj: pa.table(na.ArrayStream(obj)),
    ],
)
def test_consumers_take_frames(take, installed):
    assert take(flights()).to_pydict() == {"a": VALUES, "b": [5, 6, 7]}


def test_frames_are_shared_and_keep_their_types(installed):
    days = pa.record_batch({"d": pa.array([1, 2, None], pa.date32())})
    source = flights()
    table = pa.table(source)
    assert address_of(table["a"].chunk(0)) == source["a"]._column.data.ptr
    assert address_of(pa.array(source["a"])) == source["a"]._column.data.ptr
    # cuDF's own stream, which goes by its columns, would make seconds of them.
    assert pa.table(bridge.from_arrow_device(days)).schema.types == [pa.date32()]


@pytest.mark.parametrize("obj", [series(numbers(), "a"), index(numbers()), cudf.RangeIndex(3)])
def test_consumers_take_series_and_indexes(obj, installed):
    assert pa.array(obj).equals(pa.array(VALUES))
    assert pa.chunked_array(obj).to_pylist() == VALUES
    assert pl.Series(obj).to_list() == VALUES
    assert list(pd.Series.from_arrow(obj)) == VALUES
    assert na.Array(obj).to_pylist() == VALUES
    assert pa.array(obj, type=pa.int8()).equals(pa.array(VALUES, pa.int8()))
    # Not a cast that an export knows.
    assert pa.array(obj, type=pa.string()).to_pylist() == ["0", "1", "2"]


def test_a_requested_type_is_what_an_export_makes_of_it(installed):
    # pyarrow has no cast for that.
    octets = bridge.from_arrow_device(pa.array([[97, 98], []], pa.list_(pa.uint8())))
    assert pa.array(octets, type=pa.binary()).equals(pa.array([b"ab", b""], pa.binary()))


@pytest.mark.parametrize("take", [pa.array, pa.table])
def test_the_data_is_complete_whichever_thread_made_it(take, installed, monkeypatch):
    streams = []

    def export(obj, *, stream, **options):
        streams.append(stream)
        return bridge.to_arrow_device(obj, **options)

    monkeypatch.setattr(installed_protocol, "to_arrow_device", export)
    assert len(take(flights())) == 3
    assert streams == [cudf_handle_of_all_threads()]


def test_a_multi_index_is_a_table(installed):
    levels = multi([numbers(), numbers(start=3)], ["x", "y"])
    assert pa.table(levels).to_pydict() == {"x": VALUES, "y": [3, 4, 5]}


def test_streams_take_a_requested_schema(installed):
    schema = pa.schema([pa.field("x", pa.int64()), pa.field("y", pa.int64())])
    reader = pa.RecordBatchReader.from_stream(flights(), schema=schema)
    assert reader.read_all().to_pydict() == {"x": VALUES, "y": [5, 6, 7]}


def test_memory_of_the_gpu_comes_to_the_host_for_consumers_of_host_memory(installed, monkeypatch):
    """Simulated: all arrays say that they are on the GPU, but for what `to_host` gives."""
    host = bridge.to_arrow_device(frame({"a": numbers(start=7)}))
    on_host = []

    def to_host(self, *, stream=None):
        on_host.append(host)
        return host

    kind = property(lambda self: bridge.DeviceType.CPU if self in on_host else cuda)
    cuda = bridge.DeviceType.CUDA
    monkeypatch.setattr(bridge.DeviceArray, "to_host", to_host)
    monkeypatch.setattr(bridge.DeviceArray, "device_type", kind)
    source = frame({"a": numbers()})
    assert pa.table(source).to_pydict() == {"a": [7, 8, 9]}
    assert pa.array(source).to_pylist() == [{"a": 7}, {"a": 8}, {"a": 9}]
    assert len(on_host) == 2
    assert not hasattr(source, "__arrow_c_array__")


def test_it_is_taken_back_at_the_end():
    with bridge.install_protocol():
        assert attributes() != ORIGINAL
        assert all(hasattr(cls, name) for cls in CLASSES for name in (*ADDED, *REPLACED))
    assert attributes() == ORIGINAL


def test_an_inner_use_leaves_the_outer_one_its_methods():
    with bridge.install_protocol():
        before = attributes()
        with bridge.install_protocol():
            assert attributes() == before
        assert attributes() == before
    assert attributes() == ORIGINAL


def test_uses_may_end_in_any_order():
    first, second = bridge.install_protocol(), bridge.install_protocol()
    with second:
        with first:
            pass
        assert pa.array(series(numbers())).to_pylist() == VALUES
    assert attributes() == ORIGINAL


def test_a_use_of_another_thread_stays():
    entered, go_on = threading.Event(), threading.Event()
    found = []

    def use():
        with bridge.install_protocol():
            entered.set()
            go_on.wait(60)
            found.append(pa.array(series(numbers())).to_pylist())

    thread = threading.Thread(target=use)
    with bridge.install_protocol():
        thread.start()
        entered.wait(60)
    go_on.set()
    thread.join()
    assert found == [VALUES]
    assert attributes() == ORIGINAL


def test_an_exception_ends_it_and_is_not_swallowed():
    with pytest.raises(ZeroDivisionError), bridge.install_protocol():
        raise ZeroDivisionError
    assert attributes() == ORIGINAL


def test_for_good_until_it_is_uninstalled():
    bridge.install_protocol()
    bridge.install_protocol()
    with bridge.install_protocol():
        pass
    assert hasattr(cudf.Index, "__arrow_c_device_array__")
    bridge.uninstall_protocol()
    assert attributes() == ORIGINAL
    bridge.uninstall_protocol()
    assert attributes() == ORIGINAL


def test_uninstalling_ends_all_uses():
    with bridge.install_protocol():
        bridge.uninstall_protocol()
        assert attributes() == ORIGINAL
        with bridge.install_protocol():
            pass
        assert attributes() == ORIGINAL


def test_a_use_can_be_entered_again():
    use = bridge.install_protocol()
    for _ in range(2):
        with use:
            assert pa.array(series(numbers())).to_pylist() == VALUES
        assert attributes() == ORIGINAL


@pytest.fixture
def patch():
    """A monkeypatch that ends before `_as_it_was` looks."""
    with pytest.MonkeyPatch.context() as context:
        yield context


@pytest.mark.parametrize("name", ADDED)
def test_a_device_protocol_of_cudfs_own_stays(name, patch):
    own = lambda self, **kwargs: "own"  # noqa: E731
    patch.setattr(cudf.Series, name, own, raising=False)
    with bridge.install_protocol():
        assert vars(cudf.Series)[name] is own
        assert hasattr(cudf.DataFrame, name)
    assert vars(cudf.Series)[name] is own


def test_what_others_set_in_the_meantime_stays(patch):
    own, other = ORIGINAL[0][cudf.DataFrame]["__arrow_c_stream__"], lambda self: "other"
    # To restore it in the end.
    patch.setattr(cudf.DataFrame, "__arrow_c_stream__", own)
    with bridge.install_protocol():
        cudf.DataFrame.__arrow_c_stream__ = other
    assert vars(cudf.DataFrame)["__arrow_c_stream__"] is other
    # Theirs is what there was before the next use.
    with bridge.install_protocol():
        assert pa.table(flights())["a"].to_pylist() == VALUES
    assert vars(cudf.DataFrame)["__arrow_c_stream__"] is other
