# SPDX-License-Identifier: Apache-2.0
"""Test cuDF's classes while the protocol methods are installed and afterwards."""

import threading

import cudf
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.cuda.streams import cudf_handle_of_all_threads
from cudf_arrow_bridge.integrations import protocol_methods
from testing.host_frames import frame, index, multi, numbers, series

CLASSES = (cudf.DataFrame, cudf.Series, cudf.Index)
ADDED = ("__arrow_c_device_array__", "__arrow_c_device_stream__")
REPLACED = ("__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__")
VALUES = [0, 1, 2]


def attributes():
    """Return the attributes that each class defines, and those that `getattr` finds."""
    names = (*ADDED, *REPLACED)
    own = {cls: {name: vars(cls)[name] for name in names if name in vars(cls)} for cls in CLASSES}
    found = {(cls, name): getattr(cls, name, None) for cls in CLASSES for name in names}
    return own, found


ORIGINAL = attributes()


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    cab.uninstall_protocol()
    assert attributes() == ORIGINAL


@pytest.fixture
def installed():
    with cab.install_protocol():
        yield


def flights():
    return frame({"a": numbers(), "b": numbers(start=5)})


def address_of(array):
    return array.buffers()[1].address


def test_frames_share_memory_and_keep_their_types(installed):
    days = pa.record_batch({"d": pa.array([1, 2, None], pa.date32())})
    source = flights()
    table = pa.table(source)
    assert address_of(table["a"].chunk(0)) == source["a"]._column.data.ptr
    assert address_of(pa.array(source["a"])) == source["a"]._column.data.ptr
    # cuDF's own stream has the types of its columns, which are timestamps in seconds.
    assert pa.table(cab.from_arrow_device(days)).schema.types == [pa.date32()]


@pytest.mark.parametrize("obj", [series(numbers(), "a"), index(numbers()), cudf.RangeIndex(3)])
def test_consumers_read_series_and_indexes(obj, installed):
    assert pa.array(obj).equals(pa.array(VALUES))
    assert pl.Series(obj).to_list() == VALUES
    assert pa.array(obj, type=pa.int8()).equals(pa.array(VALUES, pa.int8()))
    # An export does not support this cast; pyarrow does.
    assert pa.array(obj, type=pa.string()).to_pylist() == ["0", "1", "2"]


def test_exports_convert_to_the_requested_type(installed):
    # pyarrow does not support this cast.
    octets = cab.from_arrow_device(pa.array([[97, 98], []], pa.list_(pa.uint8())))
    assert pa.array(octets, type=pa.binary()).equals(pa.array([b"ab", b""], pa.binary()))
    schema = pa.schema([pa.field("x", pa.int64()), pa.field("y", pa.int64())])
    reader = pa.RecordBatchReader.from_stream(flights(), schema=schema)
    assert reader.read_all().to_pydict() == {"x": VALUES, "y": [5, 6, 7]}


def test_conversion_to_a_pyarrow_array_uses_the_stream_of_all_threads(installed, monkeypatch):
    streams = []

    def export(obj, *, stream, **options):
        streams.append(stream)
        return cab.to_arrow_device(obj, **options)

    monkeypatch.setattr(protocol_methods, "to_arrow_device", export)
    assert len(pa.array(flights())) == 3
    assert streams == [cudf_handle_of_all_threads()]


def test_multi_index_is_exported_as_a_table(installed):
    levels = multi([numbers(), numbers(start=3)], ["x", "y"])
    assert pa.table(levels).to_pydict() == {"x": VALUES, "y": [3, 4, 5]}


def test_conversion_to_a_pyarrow_array_copies_gpu_memory_to_the_host(installed, monkeypatch):
    """The test simulates a GPU: all arrays except those of `to_host` report device memory."""
    host = cab.to_arrow_device(frame({"a": numbers(start=7)}))
    on_host = []

    def to_host(self, *, stream=None):
        on_host.append(host)
        return host

    kind = property(lambda self: cab.DeviceType.CPU if self in on_host else cuda)
    cuda = cab.DeviceType.CUDA
    monkeypatch.setattr(cab.DeviceArray, "to_host", to_host)
    monkeypatch.setattr(cab.DeviceArray, "device_type", kind)
    source = frame({"a": numbers()})
    assert pa.array(source).to_pylist() == [{"a": 7}, {"a": 8}, {"a": 9}]
    assert len(on_host) == 1


def test_nested_contexts_restore_the_classes_at_the_last_exit():
    use = cab.install_protocol()
    for _ in range(2):
        with use:
            before = attributes()
            assert all(hasattr(cls, name) for cls in CLASSES for name in (*ADDED, *REPLACED))
            with cab.install_protocol():
                assert attributes() == before
            assert attributes() == before
        assert attributes() == ORIGINAL


def test_context_exit_keeps_the_methods_for_a_context_of_another_thread():
    entered, go_on = threading.Event(), threading.Event()
    found = []

    def use():
        with cab.install_protocol():
            entered.set()
            go_on.wait(60)
            found.append(pa.array(series(numbers())).to_pylist())

    thread = threading.Thread(target=use)
    with cab.install_protocol():
        thread.start()
        entered.wait(60)
    go_on.set()
    thread.join()
    assert found == [VALUES]
    assert attributes() == ORIGINAL


def test_exception_ends_the_context_and_is_raised():
    with pytest.raises(ZeroDivisionError), cab.install_protocol():
        raise ZeroDivisionError
    assert attributes() == ORIGINAL


def test_installation_lasts_until_uninstall_protocol():
    cab.install_protocol()
    cab.install_protocol()
    with cab.install_protocol():
        pass
    assert hasattr(cudf.Index, "__arrow_c_device_array__")
    cab.uninstall_protocol()
    assert attributes() == ORIGINAL
    cab.uninstall_protocol()
    assert attributes() == ORIGINAL


def test_uninstall_protocol_ends_all_contexts():
    with cab.install_protocol():
        cab.uninstall_protocol()
        assert attributes() == ORIGINAL
        with cab.install_protocol():
            pass
        assert attributes() == ORIGINAL


@pytest.fixture
def patch():
    """Return a monkeypatch that ends before `_as_it_was` checks the classes."""
    with pytest.MonkeyPatch.context() as context:
        yield context


@pytest.mark.parametrize("name", ADDED)
def test_device_protocol_of_cudf_is_not_replaced(name, patch):
    own = lambda self, **kwargs: "own"  # noqa: E731
    patch.setattr(cudf.Series, name, own, raising=False)
    with cab.install_protocol():
        assert vars(cudf.Series)[name] is own
        assert hasattr(cudf.DataFrame, name)
    assert vars(cudf.Series)[name] is own


def test_attribute_set_by_other_code_in_the_context_is_kept(patch):
    own, other = ORIGINAL[0][cudf.DataFrame]["__arrow_c_stream__"], lambda self: "other"
    # Restore the attribute at the end of the test.
    patch.setattr(cudf.DataFrame, "__arrow_c_stream__", own)
    with cab.install_protocol():
        cudf.DataFrame.__arrow_c_stream__ = other
    assert vars(cudf.DataFrame)["__arrow_c_stream__"] is other
    # The next context restores the attribute of the other code.
    with cab.install_protocol():
        assert pa.table(flights())["a"].to_pylist() == VALUES
    assert vars(cudf.DataFrame)["__arrow_c_stream__"] is other
