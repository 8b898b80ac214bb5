# SPDX-License-Identifier: Apache-2.0
"""Compare addresses for ``copy=``: None copies if needed, False never, and True always."""

from __future__ import annotations

import contextlib
import copy
import gc
import weakref

import cudf
import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as bridge
from testing import foreign, samples
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly, Producer
from testing.shared_memory import memory_of_arrow, memory_of_cudf, parts_of_arrow, parts_of_column
from testing.spilling import owners
from testing.strategies import NOT_SLOW, arrays, slices

pytestmark = pytest.mark.skipif(
    bridge.has_gpu(), reason="addresses of the CPU's memory are compared"
)

EVERY_TYPE = [*samples.NESTED_TYPES, *foreign.NESTED_TYPES]
REFUSED = (
    r"copy=False: expected columns that can be shared, got columns that have to be copied: "
    r"'.*' \(.+\); copy=None"
)


def all_within(parts, memory):
    return all(any(start <= part < end for start, end in memory) for part in parts)


def none_within(parts, memory):
    return not any(start <= part < end for part in parts for start, end in memory)


def made_by(type_, nesting, nulls="some", size=samples.MANY):
    module = samples if any(p.values == (type_, nesting) for p in samples.NESTED_TYPES) else foreign
    return module.nest(type_, nesting, size, nulls)


def drops_a_dictionary(column):
    """Return whether a dictionary at any level has no rows that are not null."""
    if column.type().id() == plc.TypeId.DICTIONARY32 and column.null_count() == column.size():
        return True
    return any(map(drops_a_dictionary, column.children()))


def check_import(array):
    """Import with copy=False succeeds if and only if the usual import shares all memory."""
    memory = memory_of_arrow(array)
    column = bridge.from_arrow_device(Producer(array), kind="column", to="pylibcudf")
    parts = parts_of_column(column)
    shares = all_within(parts, memory)
    if shares and drops_a_dictionary(column):
        # The import converts the values and then drops them; copy=False can reject this.
        return True
    options = {"kind": "column", "to": "pylibcudf", "copy": False}
    if not shares:
        with pytest.raises(ValueError, match=REFUSED):
            bridge.from_arrow_device(Producer(array), **options)
        return False
    again = bridge.from_arrow_device(Producer(array), **options)
    assert all_within(parts_of_column(again), memory)
    return True


@pytest.mark.parametrize(("type_", "nesting"), EVERY_TYPE)
def test_import_without_copy_shares_or_rejects_every_type(type_, nesting):
    array = made_by(type_, nesting)
    for steps in ([(0, len(array))], [(1, 40)], [(32, 40)], [(33, 40)], [(7, 0)]):
        check_import(samples.cut(array, steps))


def test_import_of_a_list_without_rows_may_drop_a_dictionary():
    bools = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([None], pa.bool_()))
    assert check_import(pa.ListArray.from_arrays(pa.array([0], pa.int32()), bools))


def test_check_import_distinguishes_shared_from_converted_arrays():
    assert check_import(pa.array([1, None, 3]))
    assert not check_import(pa.array([True, None]))


@NOT_SLOW
@given(arrays(), st.data())
def test_import_without_copy_shares_or_rejects_random_arrays(array, data):
    check_import(samples.cut(array, data.draw(slices(len(array)))))


@NOT_SLOW
@given(arrays(), st.data())
def test_export_without_copy_shares_or_rejects_random_columns(array, data):
    column = bridge.from_arrow_device(Producer(array), kind="column", to="pylibcudf")
    column = samples.cut_column(
        column,
        data.draw(slices(len(array))),
        lambda start, size: foreign.expected_import(array.slice(start, size)).null_count,
    )
    check_export(column, compact=data.draw(st.booleans()))


def check_export(source, **options):
    """Export with copy=False succeeds if and only if the usual export shares all memory."""
    memory = memory_of_cudf(source)
    exported = bridge.to_arrow_device(source, **options)
    shares = all_within(parts_of_arrow(exported), memory)
    if shares:
        again = bridge.to_arrow_device(source, copy=False, **options)
        assert parts_of_arrow(again) == parts_of_arrow(exported)
    else:
        with pytest.raises(ValueError, match=REFUSED):
            bridge.to_arrow_device(source, copy=False, **options)
    copied = bridge.to_arrow_device(source, copy=True, **options)
    assert none_within(parts_of_arrow(copied), memory)
    assert copied.schema.equals(exported.schema, check_metadata=True)
    assert pa.array(DeviceOnly(copied)).to_pylist() == pa.array(DeviceOnly(exported)).to_pylist()
    return shares


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_export_without_copy_shares_or_rejects_every_type(type_, nesting):
    column = to_plc(made_by(type_, nesting))
    check_export(column)
    check_export(samples.column_of(made_by(type_, nesting), [(9, 60)]), compact=True)


REQUESTS = [
    (pa.string(), pa.large_string()),
    (pa.list_(pa.int8()), pa.large_list(pa.int8())),
    (pa.string(), pa.dictionary(pa.int32(), pa.string())),
    (pa.string(), pa.string_view()),
    (pa.list_(pa.uint8()), pa.binary()),
    (pa.duration("ms"), pa.time32("ms")),
    (pa.decimal32(9, 2), pa.decimal64(18, 2)),
    (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.string())),
    (pa.dictionary(pa.int8(), pa.string()), pa.string()),
]


@pytest.mark.parametrize(("type_", "requested"), REQUESTS, ids=str)
def test_export_without_copy_rejects_requested_conversions(type_, requested):
    field = pa.field("", requested)
    shares = check_export(to_plc(samples.values(type_, 20, "none")), requested_schema=field)
    assert shares is (requested == pa.binary())


def test_export_without_copy_rejects_the_conversion_of_a_consumer():
    array = bridge.to_arrow_device(to_plc(pa.array(["a"])), copy=False)
    with pytest.raises(ValueError, match=REFUSED):
        array.__arrow_c_device_array__(pa.large_string().__arrow_c_schema__())


FRAMES = {
    "numbers": lambda: pa.table({"a": [1, 2], "b": [1.5, None]}),
    "texts": lambda: pa.table({"a": ["x", None]}),
    "dates": lambda: pa.table({"day": pa.array([1, 2], pa.date32())}),
    "nothing": lambda: pa.table({"n": pa.nulls(2)}),
    "small codes": lambda: pa.table({"c": pa.array(["x"]).dictionary_encode().cast(
        pa.dictionary(pa.int8(), pa.string()))}),
    "wide codes": lambda: pa.table({"c": pa.array(["x"]).dictionary_encode()}),
    "codes in lists": lambda: pa.table(
        {"c": pa.array([["x"]], pa.list_(pa.dictionary(pa.int8(), pa.string())))}),
}  # fmt: skip
SHARED_IN_FRAMES = {"numbers", "texts", "small codes"}


@pytest.mark.parametrize("name", FRAMES)
def test_import_without_copy_shares_or_rejects_frames(name):
    (batch,) = FRAMES[name]().to_batches()
    memory = [part for column in batch.columns for part in memory_of_arrow(column)]
    frame = bridge.from_arrow_device(batch)
    shares = all_within([part for part, _ in memory_of_cudf(frame)], memory)
    assert shares == (name in SHARED_IN_FRAMES)
    if shares:
        assert all_within(
            [p for p, _ in memory_of_cudf(bridge.from_arrow_device(batch, copy=False))], memory
        )
    else:
        with pytest.raises(ValueError, match=REFUSED) as error:
            bridge.from_arrow_device(batch, copy=False)
        assert f"'{batch.schema.names[0]}" in str(error.value)
        if name != "nothing":
            bridge.from_arrow_device(batch, copy=False, to="pylibcudf")


@pytest.mark.parametrize("name", sorted(FRAMES.keys() - SHARED_IN_FRAMES))
def test_rejected_import_releases_its_memory_without_the_garbage_collector(name):
    def allocated_after_import():
        (batch,) = FRAMES[name]().to_batches()
        with contextlib.suppress(ValueError):
            bridge.from_arrow_device(batch, copy=False)
        del batch
        return pa.total_allocated_bytes()

    gc.disable()
    try:
        # The first import fills caches.
        assert allocated_after_import() == allocated_after_import()
    finally:
        gc.enable()


def test_error_of_copy_false_names_all_columns_to_copy():
    batch = pa.record_batch(
        {"a": [True], "b": [1], "c": [[True]], "d": pa.array([1], pa.time32("s"))}
    )
    with pytest.raises(ValueError, match=r"'a' .*, 'c\[\]' .*, 'd' ") as error:
        bridge.from_arrow_device(batch, copy=False)
    assert "'b'" not in str(error.value)
    with pytest.raises(ValueError, match=r"'a' .*, 'c\[\]' ") as error:
        bridge.to_arrow_device(bridge.from_arrow_device(batch), copy=False)
    dates = pa.record_batch({"a": pa.array([1], pa.date32()), "b": [1], "c": pa.nulls(1)})
    with pytest.raises(ValueError, match=r"'a' \(cuDF frames have no dates\), 'c' \(cuDF frames"):
        bridge.from_arrow_device(dates, copy=False)


def test_rejected_array_is_released_once():
    freed = []
    values = np.arange(100, dtype="float16")
    weakref.finalize(values, freed.append, 1)
    array = pa.Array.from_buffers(pa.float16(), 100, [None, pa.py_buffer(values)])
    del values
    with pytest.raises(ValueError, match=REFUSED):
        bridge.from_arrow_device(array, copy=False)
    del array
    gc.collect()
    assert freed == [1]


def test_materialized_range_index_is_reported_as_a_copy():
    frame = cudf.DataFrame({"a": [1]}) if bridge.has_gpu() else frame_of({"a": [1, 2]})
    exported = bridge.to_arrow_device(frame, preserve_index=True)
    (index,) = (column for column in exported.report() if column.path != "a")
    assert "range" in index.reason
    assert (index.shared_bytes, index.copied_bytes) == (0, 16)
    with pytest.raises(ValueError, match="range index"):
        bridge.to_arrow_device(frame, preserve_index=True, copy=False)
    with pytest.raises(ValueError, match="range index"):
        bridge.to_arrow_device(frame.index, copy=False)
    bridge.to_arrow_device(frame, copy=False)


def frame_of(columns):
    return bridge.from_arrow_device(pa.record_batch(columns))


def texts_frame():
    return frame_of({"a": np.arange(1000), "b": [str(i) for i in range(1000)]})


#: Copies of a frame, in each way that can later be exported with another schema.
COPIES = {
    "array": lambda frame: bridge.to_arrow_device(frame, copy=True),
    "requested schema": lambda frame: bridge.to_arrow_device(
        frame, copy=True, requested_schema=pa.schema({"a": pa.int64(), "b": pa.large_string()})
    ),
    "array of an array": lambda frame: bridge.to_arrow_device(
        bridge.to_arrow_device(frame), copy=True
    ),
    "array of a consumer": lambda frame: bridge.to_arrow_device(
        DeviceOnly(bridge.to_arrow_device(frame)), copy=True
    ),
    "copied handle": lambda frame: copy.copy(bridge.to_arrow_device(frame, copy=True)),
    "rows": lambda frame: bridge.to_arrow_device(frame, copy=True)[:],
    "batch": lambda frame: next(iter(bridge.to_arrow_device_stream(frame, copy=True))),
}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_copy_does_not_keep_its_source_alive(make):
    frame = texts_frame()
    expected = bridge.to_arrow_device(frame).to_pylist()
    memory = list(map(weakref.ref, owners(frame)))
    copied = make(frame)
    del frame
    gc.collect()
    assert not any(owner() for owner in memory)
    requested = copied.as_requested(pa.schema({"a": pa.int64(), "b": pa.large_string()}))
    assert requested.to_pylist() == expected
    assert requested.schema.field("b").type == pa.large_string()


def test_write_after_a_copy_needs_no_further_copy():
    column = cudf.core.column.ColumnBase.create(to_plc(pa.array([1, 2])), np.dtype("int64"))
    series = cudf.Series._from_column(column)
    (owner,) = owners(series)
    shared = bridge.to_arrow_device(series)
    assert len(owner._slices) == 2
    del shared
    copied = bridge.to_arrow_device(series, copy=True)
    gc.collect()
    assert len(owner._slices) == 1
    assert copied.to_pylist() == [1, 2]


def test_copy_releases_the_memory_of_a_peer():
    freed = []
    values = np.arange(1000)
    weakref.finalize(values, freed.append, 1)
    array = pa.Array.from_buffers(pa.int64(), 1000, [None, pa.py_buffer(values)])
    del values
    copied = bridge.to_arrow_device(Producer(array), copy=True)
    del array
    gc.collect()
    assert freed == [1]
    assert copied.to_pylist() == list(range(1000))


def test_copied_handle_can_be_exported_after_the_release_of_the_first():
    for first in (bridge.to_arrow_device(texts_frame(), copy=True)[:3], texts_batch()):
        second = copy.copy(first)
        first.release()
        requested = second.as_requested(pa.schema({"a": pa.int64(), "b": pa.large_string()}))
        assert requested.column_names == ["a", "b"]


def texts_batch():
    (batch,) = bridge.to_arrow_device_stream(texts_frame())
    return batch


CHUNKS = pa.chunked_array([[1, 2], [3]])


def test_copy_of_concatenated_batches_copies_once():
    (column,) = bridge.to_arrow_device(CHUNKS, copy=True).report()
    assert (column.reason, column.copied_bytes) == ("several batches concatenated", 24)
    (column,) = bridge.to_arrow_device(CHUNKS).report()
    assert (column.reason, column.copied_bytes) == ("several batches concatenated", 24)


def test_copy_of_concatenated_batches_copies_a_shared_dictionary():
    dictionary = pa.array(["x", "y"])
    parts = [pa.DictionaryArray.from_arrays(pa.array([i], pa.int8()), dictionary) for i in (0, 1)]
    memory = memory_of_arrow(dictionary)
    copied = bridge.to_arrow_device(pa.chunked_array(parts), copy=True)
    assert none_within(parts_of_arrow(copied), memory)
    assert copied.to_pylist() == ["x", "y"]


def test_copy_of_a_range_index_copies_once():
    (column,) = bridge.to_arrow_device(cudf.RangeIndex(3), copy=True).report()
    assert "range" in column.reason


def test_stream_export_applies_copy_to_each_batch():
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 5, pa.int8()), ["x", "y"])
    frame = frame_of({"a": np.arange(10), "c": texts})
    memory = memory_of_cudf(frame)
    for batch in bridge.to_arrow_device_stream(frame, max_rows=3, copy=False):
        assert all_within(parts_of_arrow(batch), memory)
    parts = []
    for batch in bridge.to_arrow_device_stream(frame, max_rows=3, copy=True):
        assert none_within(parts_of_arrow(batch), memory)
        parts.append(batch)
    assert pa.Table.from_batches([pa.record_batch(part) for part in parts])["a"].to_pylist() == [
        *range(10)
    ]
    bools = frame_of({"a": [True, False]})
    with pytest.raises(ValueError, match=REFUSED):
        list(bridge.to_arrow_device_stream(bools, copy=False))


def test_stream_import_without_copy_rejects_concatenation():
    table = pa.table({"a": [1, 2, 3, 4]})
    two = pa.Table.from_batches(table.to_batches(max_chunksize=2))
    with pytest.raises(ValueError, match="concat=False"):
        bridge.from_arrow_device_stream(two, copy=False)
    one = bridge.from_arrow_device_stream(table, copy=False)
    memory = memory_of_arrow(table["a"].chunk(0))
    assert all_within([part for part, _ in memory_of_cudf(one)], memory)
    frames = list(bridge.from_arrow_device_stream(two, copy=False, concat=False))
    assert [len(frame) for frame in frames] == [2, 2]


def test_export_of_pyarrow_data_applies_copy():
    batch = pa.record_batch({"a": [1, 2], "b": [True, None]})
    memory = [part for column in batch.columns for part in memory_of_arrow(column)]
    exported = bridge.to_arrow_device(batch)
    numbers, bools = exported.report()
    assert (numbers.copied_bytes, numbers.reason) == (0, "")
    assert bools.copied_bytes == 1, "the bits"
    assert bools.shared_bytes == 1, "the mask"
    assert bools.reason == "bits in Arrow, bytes in cuDF"
    with pytest.raises(ValueError, match="'b' "):
        bridge.to_arrow_device(batch, copy=False)
    bridge.to_arrow_device(batch.select(["a"]), copy=False)
    assert none_within(parts_of_arrow(bridge.to_arrow_device(batch, copy=True)), memory)


def test_export_of_a_device_array_applies_copy():
    exported = bridge.to_arrow_device(to_plc(pa.array([True, False])))
    same = bridge.to_arrow_device(exported, copy=False)
    assert parts_of_arrow(same) == parts_of_arrow(exported)
    copied = bridge.to_arrow_device(exported, copy=True)
    assert not set(parts_of_arrow(copied)) & set(parts_of_arrow(exported))
    texts = bridge.to_arrow_device(to_plc(pa.array(["a"])))
    with pytest.raises(ValueError, match=REFUSED):
        bridge.to_arrow_device(texts, copy=False, requested_schema=pa.field("", pa.large_string()))


ONLY = [1, 0, "never", "always"]


@pytest.mark.parametrize("copy", ONLY)
def test_invalid_values_of_copy_are_rejected(copy):
    array = pa.array([1])
    column = to_plc(array)
    for call in (
        lambda: bridge.to_arrow_device(column, copy=copy),
        lambda: bridge.to_arrow_device_stream(column, copy=copy),
        lambda: bridge.from_arrow_device(array, copy=copy),
        lambda: bridge.from_arrow_device_stream([array], copy=copy),
        lambda: bridge.from_dlpack(np.arange(3), copy=copy),
    ):
        with pytest.raises(ValueError, match=f"^copy: expected None, False or True, got {copy!r}$"):
            call()


def test_columns_without_rows_need_no_copy():
    for type_ in (pa.bool_(), pa.string(), pa.large_string(), pa.large_list(pa.int8())):
        empty = pa.array([], type_)
        column = bridge.from_arrow_device(empty, kind="column", to="pylibcudf", copy=False)
        assert column.size() == 0
        assert len(bridge.to_arrow_device(column, copy=False)) == 0
    assert isinstance(column, plc.Column)
