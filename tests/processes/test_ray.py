# SPDX-License-Identifier: Apache-2.0
"""Device arrays in Ray's object store, tasks and actors. Reads from the store are zero-copy."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import wait_until
from testing.exchange import ray_cluster as cluster

ray = cluster.ray

pytestmark = [
    pytest.mark.skipif(cab.has_gpu(), reason="of host memory"),
    pytest.mark.usefixtures("ray_cluster"),
    *cluster.RAY_WARNS,
]

ROWS = 20_000
TABLE = pa.table(
    {
        "number": pa.array(range(ROWS)),
        "text": pa.array([None if i % 7 == 0 else f"text {i}" for i in range(ROWS)]),
        "flag": pa.array([i % 3 == 0 for i in range(ROWS)]),
        "list": pa.array([[i] * (i % 4) for i in range(ROWS)]),
        "decimal": pa.array(range(ROWS), pa.decimal128(20, 2)),
        "kind": pa.array([f"kind {i % 5}" for i in range(ROWS)]).dictionary_encode(),
    }
)
#: Labels of several kinds, and an index with a name.
FRAME = pd.DataFrame(
    {("a", 1): [1, 2, 3], ("b", 2): ["x", None, ""]}, index=pd.Index([7, 8, 9], name="rows")
)


@pytest.fixture(scope="module")
def array():
    return cab.to_arrow_device(TABLE)


def test_arrays_of_the_object_store_share_its_memory(array):
    reference = ray.put(array)
    first, second = ray.get(reference), ray.get(reference)
    found = cluster.addresses(first)
    assert set(found) == set(cluster.addresses(array))
    assert all(map(cluster.is_in_store, found.values()))
    assert cluster.addresses(second) == found
    assert not set(found.values()) & set(cluster.addresses(array).values())
    # The memory of the source is not in the store.
    assert not any(map(cluster.is_in_store, cluster.addresses(array).values()))
    assert pa.table(first).equals(TABLE)


def test_buffers_of_the_object_store_are_aligned(array):
    """Ray aligns buffers of 2 KiB and more at 64 bytes, and smaller ones at 8."""
    for rows in (ROWS, 100):
        found = ray.get(ray.put(cab.to_arrow_device(TABLE[:rows])))
        infos = [info for info in found.buffers() if info.address and info.size]
        assert {info.size >= 2048 for info in infos} >= {rows == ROWS}
        for info in infos:
            assert info.address % (64 if info.size >= 2048 else 8) == 0, info


def test_consumers_share_the_memory_of_the_object_store(array):
    found = ray.get(ray.put(array))
    placed = set(cluster.addresses(found).values())
    table = pa.table(found)
    assert cluster.pyarrow_addresses(table) <= placed
    assert not any(
        buffer.is_mutable
        for column in table.columns
        for buffer in column.chunk(0).buffers()
        if buffer
    )
    assert not np.asarray(found["number"]).flags.writeable
    # The import makes the same buffers for any memory.
    assert made_by_import(found) == made_by_import(array) == {"flag.data", "kind.data"}
    assert pl.DataFrame(found).equals(pl.DataFrame(TABLE))


def made_by_import(array):
    """Return the names of the buffers of a frame that the frame does not share with the array."""
    again = cluster.addresses(cab.to_arrow_device(cab.from_arrow_device(array)))
    placed = set(cluster.addresses(array).values())
    return {name for name, address in again.items() if address not in placed}


def itself(obj):
    return obj


def column(obj):
    return obj["number"]


#: Functions that make a view of an array's memory, and functions that return its numbers.
KEEPERS = {
    "array": (itself, column),
    "child": (column, itself),
    "buffer": (lambda array: array.buffer("number.data"), itself),
    "pyarrow": (pa.table, column),
    "numpy": (lambda array: np.asarray(array["number"]), itself),
    "polars": (lambda array: pl.Series(array["number"]), itself),
    "frame": (cab.from_arrow_device, lambda frame: cab.to_arrow_device(frame)["number"]),
    "series": (lambda array: cab.from_arrow_device(array["number"]), cab.to_arrow_device),
}


#: The store has room for these numbers once.
NUMBERS = np.arange(cluster.STORE_SIZE // 8 * 5 // 8)


def put_and_get():
    return ray.get(ray.put(cab.to_arrow_device(pa.table({"number": NUMBERS}))))


def is_room():
    array = put_and_get()
    return all(map(cluster.is_in_store, cluster.addresses(array).values()))


@pytest.mark.parametrize(("keep", "numbers_of"), KEEPERS.values(), ids=KEEPERS)
def test_object_store_keeps_an_object_while_a_view_of_it_lives(keep, numbers_of):
    assert wait_until(is_room)
    array = put_and_get()
    (address,) = cluster.addresses(array).values()
    kept = keep(array)
    del array
    gc.collect()
    for _ in range(3):
        assert not is_room()
    assert cluster.is_in_store(address)
    assert np.array_equal(np.asarray(numbers_of(kept)), NUMBERS)
    del kept
    gc.collect()
    assert wait_until(is_room)


def test_tasks_read_arrays_of_every_type_with_pyarrow_and_polars():
    arrays = cluster.arrays_of_all_types()
    task = ray.remote(cluster.read_by_others)
    batches, frames = ray.get(task.remote(arrays))
    # Read the arrays in this process, which did not receive them.
    expected, expected_frames = cluster.read_by_others(arrays)
    assert len(batches) > 200
    for batch, other in zip(batches, expected, strict=True):
        assert batch.schema.equals(other.schema, check_metadata=True)
        assert batch.equals(other)
    assert sum(frame is not None for frame in frames) > 150
    for frame, other in zip(frames, expected_frames, strict=True):
        assert (frame is None) == (other is None)
        assert frame is None or frame.equals(other)


def test_tasks_return_arrays_of_every_type():
    found = ray.get(ray.remote(cluster.arrays_of_all_types).remote())
    expected = cluster.arrays_of_all_types()
    batches, others = (cluster.read_by_others(arrays)[0] for arrays in (found, expected))
    for batch, other in zip(batches, others, strict=True):
        assert batch.schema.equals(other.schema, check_metadata=True)
        assert batch.equals(other)


def test_small_arrays_are_sent_inline():
    """Ray puts results and arguments of a few KiB into the memory of the process."""
    small = TABLE[3:53]
    assert small.nbytes < cluster.MOST_INLINED
    (found,) = ray.get(ray.remote(lambda array: [array]).remote(cab.to_arrow_device(small)))
    placed = cluster.addresses(found).values()
    assert not any(map(cluster.is_in_store, placed))
    assert all(address % 8 == 0 for address in placed)
    assert pa.table(found).equals(small)
    frame = cab.from_arrow_device(found)
    assert pa.table(cab.to_arrow_device(frame)).cast(small.schema).equals(small)


def test_large_results_are_in_the_object_store():
    def double(array):
        import pyarrow.compute as pc

        table = pa.table(array)
        return cab.to_arrow_device(table.set_column(0, "number", pc.multiply(table[0], 2)))

    found = ray.get(ray.remote(double).remote(ray.put(cab.to_arrow_device(TABLE))))
    assert all(map(cluster.is_in_store, cluster.addresses(found).values()))
    assert pa.table(found)["number"].to_pylist() == [2 * i for i in range(ROWS)]


def test_actors_keep_arrays_with_their_labels():
    class Keeper:
        def keep(self, array):
            self.array = array
            return len(array)

        def give(self):
            return self.array

        def columns(self):
            return list(cab.from_arrow_device(self.array).columns)

    keeper = ray.remote(Keeper).remote()
    sent = cab.to_arrow_device(cab.from_arrow_device(FRAME))
    assert ray.get(keeper.keep.remote(sent)) == 3
    assert ray.get(keeper.columns.remote()) == [("a", 1), ("b", 2)]
    frame = cab.from_arrow_device(ray.get(keeper.give.remote()))
    assert list(frame.columns) == [("a", 1), ("b", 2)]
    assert frame.index.names == ["rows"]
    assert pa.table(cab.to_arrow_device(frame)).equals(pa.table(sent))


def test_tensors_over_buffers_share_the_memory_of_the_object_store():
    """Ray's tensor transports would send a column and its validity bitmap as tensors."""
    array = cab.to_arrow_device(TABLE)
    sent = {"numbers": array["number"], "nulls": array.buffer("text.validity")}
    found = ray.get(ray.put({name: np.from_dlpack(tensor) for name, tensor in sent.items()}))
    assert np.array_equal(found["nulls"], np.asarray(sent["nulls"]))
    series = cab.from_dlpack(found["numbers"])
    exported = cab.to_arrow_device(series)
    (address,) = cluster.addresses(exported).values()
    assert address == found["numbers"].ctypes.data
    assert cluster.is_in_store(address)
    assert np.asarray(exported).tolist() == list(range(ROWS))


def test_stream_of_other_sources_does_not_import_ray():
    script = (
        "import sys, pyarrow as pa, cudf_arrow_bridge as cab\n"
        "assert list(cab.to_arrow_device_stream([pa.table({'a': [1]})]))\n"
        "assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-P", "-c", script], check=True)
