# SPDX-License-Identifier: Apache-2.0
"""Each schema is decoded once, and frames of one schema share no mutable state."""

from __future__ import annotations

import gc
import json

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rmm.mr

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.frames import columns_to_frame, from_pylibcudf
from testing.host_frames import column, content, series
from testing.peers.arrays import Capsules, DeviceOnly

BATCH = pa.record_batch(
    {
        "number": pa.array([1, None, 3]),
        "text": ["a", "b", None],
        "list": [[1], None, [2, 3]],
        "struct": pa.array([{"a": [1.5]}, None, {"a": None}]),
        "zoned": pa.array([1, 2, None], pa.timestamp("ms", "Europe/Berlin")),
        "decimal": pa.array([1, None, 2], pa.decimal128(12, 2)),
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
        "date": pa.array([1, None, 3], pa.date32()),
        "nothing": pa.nulls(3),
        "uuid": pa.array([b"0" * 16, None, b"1" * 16], pa.binary(16)),
        "map": pa.array([[("k", 1)], [], None], pa.map_("string", "int64")),
    }
)


def imported(batch, **arguments):
    return cab.from_arrow_device(DeviceOnly(batch), **arguments)


def renamed(batch, suffix):
    return batch.rename_columns([f"{name}{suffix}" for name in batch.schema.names])


@pytest.fixture
def reads(monkeypatch):
    """Count the schemas that are decoded and the columns whose dtype is determined."""
    count = {"schemas": 0, "dtypes": 0}

    def noting(what, original):
        def noted(*args):
            count[what] += 1
            return original(*args)

        return noted

    for name in ("decode_schema", "decode_field"):
        monkeypatch.setattr(
            columns_to_frame, name, noting("schemas", getattr(columns_to_frame, name))
        )
    monkeypatch.setattr(from_pylibcudf, "_convert", noting("dtypes", from_pylibcudf._convert))
    return count


def test_second_batch_of_a_schema_repeats_only_the_conversions(reads):
    batch = renamed(BATCH, " once")
    first = imported(batch)
    assert reads["schemas"] == 1
    before = dict(reads)
    second = imported(batch.slice(1))
    assert reads["schemas"] == 1
    # The dictionary, its values, the days and the nulls are converted for each batch.
    assert reads["dtypes"] - before["dtypes"] == 4
    assert second.dtypes.to_dict() == {
        **first.dtypes.to_dict(),
        "kind once": second["kind once"].dtype,
    }
    assert content(second) == [rows[1:] for rows in content(first)]


@pytest.mark.parametrize("name", BATCH.schema.names)
def test_repeated_imports_of_a_column_give_equal_columns(name):
    column = BATCH.column(name)
    made = [imported(pa.record_batch({f"{name}, again": column})) for _ in range(3)]
    first, *others = made
    for other in others:
        # Comparing categories needs a GPU; their values are compared below.
        if name != "kind":
            assert other.dtypes.tolist() == first.dtypes.tolist()
        assert content(other) == content(first)
        assert vars(other._data).keys() == vars(first._data).keys()
        # Both are exported with the type of the imported field.
        (leaving,) = pa.schema(cab.to_arrow_device(other))
        assert leaving.type == pa.schema(cab.to_arrow_device(first)).field(0).type
    series = [imported(column, kind="column") for _ in range(2)]
    assert content(series[0]) == content(series[1])


def test_streams_and_arrays_of_one_schema_share_the_decoded_schema(reads):
    batch = renamed(BATCH.select(["number", "text"]), " streamed")
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch, batch.slice(1)])
    frames = list(cab.from_arrow_device_stream(reader, concat=False))
    imported(batch)
    assert reads == {"schemas": 1, "dtypes": 2}
    assert list(map(len, frames)) == [3, 2]


def test_frames_of_one_schema_do_not_share_attrs_or_column_names():
    metadata = json.dumps({"index_columns": [], "columns": [], "attributes": {"k": [1]}})
    batch = pa.record_batch(
        [pa.array([1])], schema=pa.schema([("a", "int64")], metadata={"pandas": metadata})
    )
    one, other = imported(batch), imported(batch)
    assert one.attrs == {"k": [1]}
    one.attrs["k"].append(2)
    one.columns.name = "changed"
    assert other.attrs == imported(batch).attrs == {"k": [1]}
    assert [other.columns.name, imported(batch).columns.name] == [None, None]


class Memory(np.ndarray):
    """The memory of a producer, which logs its release."""

    def __array_finalize__(self, source):
        self.log = getattr(source, "log", None)

    def __del__(self):
        if self.log is not None and self.base is not None:
            self.log.append("memory")


class Dying:
    """A stream, or a function of a memory resource, that logs its deletion."""

    def __init__(self, log, name):
        self.log, self.name = log, name

    def __cuda_stream__(self):
        return (0, 1)

    def __call__(self, *args):
        raise AssertionError("nothing is allocated")

    def __del__(self):
        self.log.append(self.name)


@pytest.mark.parametrize("wraps", ["column", "buffers"])
@pytest.mark.parametrize(
    ("arguments", "is_cycle"),
    [(["stream"], False), (["mr"], False), (["stream"], True), (["stream", "mr"], True)],
)
def test_memory_is_released_before_its_stream_and_memory_resource(wraps, arguments, is_cycle):
    """The collector calls `__del__` of all objects of a cycle before it frees any of them."""
    log = []
    values = np.arange(9).view(Memory)
    values.log = log
    array = pa.Array.from_buffers(pa.int64(), 9, [None, pa.py_buffer(values)])
    del values
    if wraps == "buffers":
        array = pa.ListArray.from_arrays(pa.array(range(10), pa.int32()), array)
    make = {
        "stream": lambda: Dying(log, "stream"),
        "mr": lambda: rmm.mr.CallbackMemoryResource(Dying(log, "mr"), Dying(log, "mr")),
    }
    users = {name: make[name]() for name in arguments}
    column = cab.from_arrow_device(array, to="pylibcudf", **users)
    cycle = [column]
    if is_cycle:
        cycle += [users["stream"], cycle]
    del array, users
    gc.collect()
    assert log == []
    del column, cycle
    gc.collect()
    assert log.index("memory") < log.index(arguments[0])
    assert set(log) == {"memory", *arguments}


def test_renamed_series_keeps_its_dtype_and_range():
    values = column(pa.array([1.5, None, 2.5]), pd.Float64Dtype())
    exported = cab.to_arrow_device(series(values, "a", cudf.RangeIndex(5, 8)))
    _, array = exported.__arrow_c_device_array__()
    schema = exported.schema.with_name("b").__arrow_c_schema__()
    renamed = cab.from_arrow_device(Capsules(schema, array))
    assert renamed.name == "b"
    assert renamed.dtype == pd.Float64Dtype()
    assert (renamed.index.start, renamed.index.stop, renamed.index.step) == (5, 8, 1)
