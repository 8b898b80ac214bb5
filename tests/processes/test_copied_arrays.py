# SPDX-License-Identifier: Apache-2.0
"""`copy.copy` shares memory, `copy.deepcopy` copies it; each copy is released independently."""

from __future__ import annotations

import copy
import gc

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import owners, samples
from testing.exchange.pickles import (
    adopted,
    batch_in,
    column_in,
    referred,
)
from testing.host_frames import assert_same_object, frame, numbers
from testing.ipc import samples as ipc_samples
from testing.ipc.samples import ALL_TYPES
from testing.peers.arrays import DeviceOnly, Producer, assert_same, column_from
from testing.shared_memory import buffers_of_arrow, memory_of_arrow, parts_of_arrow

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="addresses of the CPU's memory are compared")

#: The fields have the names that a column of pylibcudf gets.
STRUCT = pa.array([{"0": i, "1": None if i % 3 else str(i)} for i in range(100)])


def assert_apart(array, source):
    """Check that the arrays share no buffers. The single offset of an empty array may be shared."""
    memory = memory_of_arrow(source)
    for buffer in buffers_of_arrow(array):
        is_within = any(begin <= buffer.address < end for begin, end in memory)
        assert not is_within or buffer.size <= 8


def whole(array):
    """Return a record batch as one pyarrow array."""
    return array if isinstance(array, pa.Array) else pa.StructArray.from_arrays(
        array.columns, fields=list(array.schema)
    )  # fmt: skip


@pytest.mark.parametrize("type_", ALL_TYPES)
def test_copy_shares_and_deepcopy_copies_arrays_of_every_type(type_):
    batches = [ipc_samples.batch_of(type_), *ipc_samples.batches_of(type_)]
    for array, batch in zip(adopted(batches[0].schema, batches), batches, strict=True):
        shallow, deep = copy.copy(array), copy.deepcopy(array)
        source = batch_in(array)
        assert parts_of_arrow(shallow) == parts_of_arrow(array)
        for copied in (shallow, deep):
            assert batch_in(copied).equals(batch)
            assert copied.schema.equals(batch.schema, check_metadata=True)
        assert_apart(whole(batch_in(deep)), whole(source))
        column = copy.deepcopy(array["struct"])
        assert_same(column_in(column), batch["struct"])
        assert_apart(column_in(column), whole(source))


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_deep_copy_of_a_slice_owns_its_rows(type_, nesting):
    source = samples.nest(type_, nesting, samples.MANY, "some", (3, 9))
    arrived = column_from(Producer(source))
    for steps in ([(1, 64)], [(8, 64)], [(64, 73)], [(9, 0)]):
        column = samples.cut_column(
            arrived, steps, lambda begin, size: source.slice(begin, size).null_count
        )
        array = cab.to_arrow_device(column)
        rows = column_in(array)
        deep = copy.deepcopy(array)
        array.release()
        assert_same(column_in(deep), rows)
        assert_apart(column_in(deep), rows)


@pytest.mark.parametrize("type_", [pa.int8(), pa.bool_(), pa.decimal128(38, -3)], ids=str)
def test_deep_copy_of_a_slice_omits_rows_outside_of_the_slice(type_):
    source = samples.values(pa.struct([("0", type_)]), samples.MANY, "some")
    for steps in ([(1, 64)], [(8, 64)], [(64, 73)]):
        array = cab.to_arrow_device(samples.column_of(source, steps))
        deep = copy.deepcopy(array)
        taken = sum(size for _, size in referred(column_in(array)))
        # The copy keeps up to 32 rows before the first one, as other slices do.
        assert deep.nbytes <= taken + 32 * 16 + 4 * len(deep.buffers())


def test_copies_are_released_independently():
    column, gone = owners.watched(STRUCT)
    array = cab.to_arrow_device(column)
    shallow, deep = copy.copy(array), copy.deepcopy(array)
    del column
    array.release()
    gc.collect()
    assert gone() is not None
    assert column_in(shallow).equals(STRUCT)
    shallow.release()
    gc.collect()
    assert gone() is None, "a deep copy keeps its source"
    assert shallow.is_released
    assert not deep.is_released
    assert column_in(deep).equals(STRUCT)


def test_copies_keep_the_labels_and_the_index_of_batches():
    label = frozenset("a")
    source = frame({"a": numbers(7)}, pd.Index([label], dtype=object))
    for make in (copy.copy, copy.deepcopy):
        found = make(cab.to_arrow_device(source))
        assert_same_object(cab.from_arrow_device(found), source)
        assert cab.from_arrow_device(found).columns[0] is label
        *_, last = map(make, cab.to_arrow_device_stream(source, max_rows=3))
        assert list(last.to_pandas().index) == [6]


def test_requested_conversion_of_a_deep_copy_reads_the_copy():
    column, gone = owners.watched(pa.array(["a", None]))
    array = cab.to_arrow_device(column)
    deep = copy.deepcopy(array)
    array.release()
    del array, column
    gc.collect()
    assert gone() is None
    found = pa.array(DeviceOnly(deep), pa.large_string())
    assert_same(found, pa.array(["a", None], pa.large_string()))
