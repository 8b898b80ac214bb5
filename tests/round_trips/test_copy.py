# SPDX-License-Identifier: Apache-2.0
"""Compare addresses for ``copy=``: None copies if needed, False never, and True always."""

from __future__ import annotations

import contextlib
import copy
import gc
import weakref

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import foreign, samples
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly, Producer
from testing.shared_memory import memory_of_arrow, memory_of_cudf, parts_of_arrow, parts_of_column
from testing.spilling import owners
from testing.strategies import NOT_SLOW, arrays, slices

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="addresses of the CPU's memory are compared")

EVERY_TYPE = [*samples.NESTED_TYPES, *foreign.NESTED_TYPES]
REFUSED = (
    r"copy=False: these columns have to be copied: "
    r"'.*' \(.+\); copy=None"
)


def all_within(parts, memory):
    return all(any(start <= part < end for start, end in memory) for part in parts)


def none_within(parts, memory):
    return not any(start <= part < end for part in parts for start, end in memory)


def drops_a_dictionary(column):
    """Return whether a dictionary at any level has no rows that are not null."""
    if column.type().id() == plc.TypeId.DICTIONARY32 and column.null_count() == column.size():
        return True
    return any(map(drops_a_dictionary, column.children()))


def check_import(array):
    """Import with copy=False succeeds if and only if the usual import shares all memory."""
    memory = memory_of_arrow(array)
    column = cab.from_arrow_device(Producer(array), kind="column", to="pylibcudf")
    parts = parts_of_column(column)
    shares = all_within(parts, memory)
    if shares and drops_a_dictionary(column):
        # The import converts the values and then drops them; copy=False can reject this.
        return True
    options = {"kind": "column", "to": "pylibcudf", "copy": False}
    if not shares:
        with pytest.raises(ValueError, match=REFUSED):
            cab.from_arrow_device(Producer(array), **options)
        return False
    again = cab.from_arrow_device(Producer(array), **options)
    assert all_within(parts_of_column(again), memory)
    return True


@pytest.mark.parametrize(("type_", "nesting"), EVERY_TYPE)
def test_import_without_copy_shares_or_rejects_every_type(type_, nesting):
    array = samples.nest(type_, nesting, samples.MANY, "some")
    for steps in ([(0, len(array))], [(1, 40)], [(32, 40)], [(33, 40)], [(7, 0)]):
        check_import(samples.cut(array, steps))


@NOT_SLOW
@given(arrays(), st.data())
def test_exchange_without_copy_shares_or_rejects_random_arrays(array, data):
    check_import(samples.cut(array, data.draw(slices(len(array)))))
    column = cab.from_arrow_device(Producer(array), kind="column", to="pylibcudf")
    column = samples.cut_column(
        column,
        data.draw(slices(len(array))),
        lambda start, size: foreign.expected_import(array.slice(start, size)).null_count,
    )
    check_export(column, compact=data.draw(st.booleans()))


def check_export(source, **options):
    """Export with copy=False succeeds if and only if the usual export shares all memory."""
    memory = memory_of_cudf(source)
    exported = cab.to_arrow_device(source, **options)
    shares = all_within(parts_of_arrow(exported), memory)
    if shares:
        again = cab.to_arrow_device(source, copy=False, **options)
        assert parts_of_arrow(again) == parts_of_arrow(exported)
    else:
        with pytest.raises(ValueError, match=REFUSED):
            cab.to_arrow_device(source, copy=False, **options)
    copied = cab.to_arrow_device(source, copy=True, **options)
    assert none_within(parts_of_arrow(copied), memory)
    assert copied.schema.equals(exported.schema, check_metadata=True)
    assert pa.array(DeviceOnly(copied)).to_pylist() == pa.array(DeviceOnly(exported)).to_pylist()
    return shares


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_export_without_copy_shares_or_rejects_every_type(type_, nesting):
    column = to_plc(samples.nest(type_, nesting, samples.MANY, "some"))
    check_export(column)
    check_export(
        samples.column_of(samples.nest(type_, nesting, samples.MANY, "some"), [(9, 60)]),
        compact=True,
    )


def test_export_without_copy_rejects_the_conversion_of_a_consumer():
    array = cab.to_arrow_device(to_plc(pa.array(["a"])), copy=False)
    with pytest.raises(ValueError, match=REFUSED):
        array.__arrow_c_device_array__(pa.large_string().__arrow_c_schema__())


TEXTS = pa.array(["x"]).dictionary_encode()
FRAMES = {
    "numbers": pa.array([1.5, None]),
    "texts": pa.array(["x", None]),
    "small codes": TEXTS.cast(pa.dictionary(pa.int8(), pa.string())),
    "dates": pa.array([1, 2], pa.date32()),
    "nothing": pa.nulls(2),
    "wide codes": TEXTS,
    "codes in lists": pa.array([["x"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
}
SHARED_IN_FRAMES = {"numbers", "texts", "small codes"}


@pytest.mark.parametrize("name", FRAMES)
def test_import_without_copy_shares_or_rejects_frames(name):
    batch = pa.record_batch({name: FRAMES[name]})
    memory = memory_of_arrow(batch[name])
    parts = [part for part, _ in memory_of_cudf(cab.from_arrow_device(batch))]
    assert all_within(parts, memory) == (name in SHARED_IN_FRAMES)
    if name in SHARED_IN_FRAMES:
        shared = memory_of_cudf(cab.from_arrow_device(batch, copy=False))
        assert all_within([part for part, _ in shared], memory)
        return
    with pytest.raises(ValueError, match=REFUSED) as error:
        cab.from_arrow_device(batch, copy=False)
    assert f"'{name}" in str(error.value)
    if name != "nothing":
        cab.from_arrow_device(batch, copy=False, to="pylibcudf")


@pytest.mark.parametrize("name", sorted(FRAMES.keys() - SHARED_IN_FRAMES))
def test_rejected_import_releases_its_array_without_the_garbage_collector(name):
    producer = Producer(pa.record_batch({name: FRAMES[name]}))
    gc.disable()
    try:
        with contextlib.suppress(ValueError):
            cab.from_arrow_device(producer, copy=False)
        assert producer.releases == 1
    finally:
        gc.enable()


def test_error_of_copy_false_names_all_columns_to_copy():
    batch = pa.record_batch(
        {"a": [True], "b": [1], "c": [[True]], "d": pa.array([1], pa.time32("s"))}
    )
    producer = Producer(batch)
    with pytest.raises(ValueError, match=r"'a' .*, 'c\[\]' .*, 'd' ") as error:
        cab.from_arrow_device(producer, copy=False)
    assert producer.releases == 1
    assert "'b'" not in str(error.value)
    with pytest.raises(ValueError, match=r"'a' .*, 'c\[\]' "):
        cab.to_arrow_device(batch, copy=False)
    with pytest.raises(ValueError, match=r"'a' .*, 'c\[\]' ") as error:
        cab.to_arrow_device(cab.from_arrow_device(batch), copy=False)
    dates = pa.record_batch({"a": pa.array([1], pa.date32()), "b": [1], "c": pa.nulls(1)})
    with pytest.raises(ValueError, match=r"'a' \(cuDF frames have no dates\), 'c' \(cuDF frames"):
        cab.from_arrow_device(dates, copy=False)


def test_materialized_range_index_is_reported_as_a_copy():
    frame = frame_of({"a": [1, 2]})
    exported = cab.to_arrow_device(frame, preserve_index=True)
    (index,) = (column for column in exported.report() if column.path != "a")
    assert "range" in index.reason
    assert (index.shared_bytes, index.copied_bytes) == (0, 16)
    (column,) = cab.to_arrow_device(frame.index, copy=True).report()
    assert "range" in column.reason
    with pytest.raises(ValueError, match="range index"):
        cab.to_arrow_device(frame, preserve_index=True, copy=False)
    with pytest.raises(ValueError, match="range index"):
        cab.to_arrow_device(frame.index, copy=False)
    cab.to_arrow_device(frame, copy=False)


def frame_of(columns):
    return cab.from_arrow_device(pa.record_batch(columns))


TEXTS_SCHEMA = pa.schema({"a": pa.int64(), "b": pa.large_string()})


def texts_frame():
    return frame_of({"a": np.arange(1000), "b": [str(i) for i in range(1000)]})


#: Copies of a frame, in each way that can later be exported with another schema.
COPIES = {
    "array": lambda frame: cab.to_arrow_device(frame, copy=True),
    "requested schema": lambda frame: cab.to_arrow_device(
        frame, copy=True, requested_schema=TEXTS_SCHEMA
    ),
    "array of an array": lambda frame: cab.to_arrow_device(cab.to_arrow_device(frame), copy=True),
    "array of a consumer": lambda frame: cab.to_arrow_device(
        DeviceOnly(cab.to_arrow_device(frame)), copy=True
    ),
    "copied handle": lambda frame: copy.copy(cab.to_arrow_device(frame, copy=True)),
    "rows": lambda frame: cab.to_arrow_device(frame, copy=True)[:],
    "batch": lambda frame: next(iter(cab.to_arrow_device_stream(frame, copy=True))),
}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_copy_does_not_keep_its_source_alive(make):
    frame = texts_frame()
    expected = cab.to_arrow_device(frame).to_pylist()
    memory = list(map(weakref.ref, owners(frame)))
    copied = make(frame)
    del frame
    gc.collect()
    assert not any(owner() for owner in memory)
    requested = copied.as_requested(TEXTS_SCHEMA)
    assert requested.to_pylist() == expected
    assert requested.schema.field("b").type == pa.large_string()


def test_copy_releases_the_memory_of_a_peer():
    producer = Producer(pa.array(np.arange(1000)))
    copied = cab.to_arrow_device(producer, copy=True)
    assert producer.releases == 1
    assert copied.to_pylist() == list(range(1000))


@pytest.mark.parametrize("copy", [None, True])
def test_concatenation_of_batches_copies_once(copy):
    (column,) = cab.to_arrow_device(pa.chunked_array([[1, 2], [3]]), copy=copy).report()
    assert (column.reason, column.copied_bytes) == ("several batches concatenated", 24)


def test_copy_of_concatenated_batches_copies_a_shared_dictionary():
    dictionary = pa.array(["x", "y"])
    parts = [pa.DictionaryArray.from_arrays(pa.array([i], pa.int8()), dictionary) for i in (0, 1)]
    memory = memory_of_arrow(dictionary)
    copied = cab.to_arrow_device(pa.chunked_array(parts), copy=True)
    assert none_within(parts_of_arrow(copied), memory)
    assert copied.to_pylist() == ["x", "y"]


def test_stream_export_applies_copy_to_each_batch():
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 5, pa.int8()), ["x", "y"])
    frame = frame_of({"a": np.arange(10), "c": texts})
    memory = memory_of_cudf(frame)
    for option, check in ((False, all_within), (True, none_within)):
        batches = list(cab.to_arrow_device_stream(frame, max_rows=3, copy=option))
        assert all(check(parts_of_arrow(batch), memory) for batch in batches)
        rows = [row["a"] for batch in batches for row in batch.to_pylist()]
        assert rows == [*range(10)]
    bools = frame_of({"a": [True, False]})
    with pytest.raises(ValueError, match=REFUSED):
        list(cab.to_arrow_device_stream(bools, copy=False))


def test_stream_import_without_copy_rejects_concatenation():
    table = pa.table({"a": [1, 2, 3, 4]})
    two = pa.Table.from_batches(table.to_batches(max_chunksize=2))
    with pytest.raises(ValueError, match="concat=False"):
        cab.from_arrow_device_stream(two, copy=False)
    one = cab.from_arrow_device_stream(table, copy=False)
    memory = memory_of_arrow(table["a"].chunk(0))
    assert all_within([part for part, _ in memory_of_cudf(one)], memory)
    frames = list(cab.from_arrow_device_stream(two, copy=False, concat=False))
    assert [len(frame) for frame in frames] == [2, 2]


def test_export_of_a_device_array_applies_copy():
    exported = cab.to_arrow_device(to_plc(pa.array([True, False])))
    same = cab.to_arrow_device(exported, copy=False)
    assert parts_of_arrow(same) == parts_of_arrow(exported)
    copied = cab.to_arrow_device(exported, copy=True)
    assert not set(parts_of_arrow(copied)) & set(parts_of_arrow(exported))
    texts = cab.to_arrow_device(to_plc(pa.array(["a"])))
    with pytest.raises(ValueError, match=REFUSED):
        cab.to_arrow_device(texts, copy=False, requested_schema=pa.field("", pa.large_string()))
