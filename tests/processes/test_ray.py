# SPDX-License-Identifier: Apache-2.0
"""Device arrays in Ray's object store and tasks, streams of references, and Ray datasets."""

from __future__ import annotations

import doctest
import gc
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.device import wait_until
from testing.exchange import crossings
from testing.exchange import ray_cluster as cluster
from testing.ipc.samples import ALL_TYPES, UNUSUAL, batches_of
from testing.peers.streams import StreamOnly

ray = cluster.ray

pytestmark = [
    pytest.mark.skipif(cab.has_gpu(), reason="of host memory"),
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


@pytest.fixture(scope="module", autouse=True)
def ray_cluster():
    with cluster.running_cluster():
        yield


def read(source):
    return pa.table(StreamOnly(cab.to_arrow_device_stream(source)))


def blocks_of(dataset):
    """Return the blocks of a dataset as Ray yields them."""
    return list(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))


def test_arrays_of_the_object_store_share_its_memory():
    array = cab.to_arrow_device(TABLE)
    reference = ray.put(array)
    first, second = ray.get(reference), ray.get(reference)
    found = cluster.addresses(first)
    assert set(found) == set(cluster.addresses(array))
    assert all(map(cluster.is_in_store, found.values()))
    assert cluster.addresses(second) == found
    # The memory of the source is not in the store.
    assert not any(map(cluster.is_in_store, cluster.addresses(array).values()))
    assert pa.table(first).equals(TABLE)
    assert pl.DataFrame(first).equals(pl.DataFrame(TABLE))
    assert cluster.pyarrow_addresses(pa.table(first)) <= set(found.values())
    assert not np.asarray(first["number"]).flags.writeable


#: Functions that make a view of an array's memory, and functions that return its numbers.
KEEPERS = {
    "pyarrow": (pa.table, lambda table: table["number"]),
    "numpy": (lambda array: np.asarray(array["number"]), lambda numbers: numbers),
    "frame": (cab.from_arrow_device, lambda frame: cab.to_arrow_device(frame)["number"]),
}


#: The store has room for these numbers once.
NUMBERS = np.arange(cluster.STORE_SIZE // 8 * 5 // 8)


def array_in_store():
    """Return an array of these numbers in the store, or None if there is no room for them."""
    array = ray.get(ray.put(cab.to_arrow_device(pa.table({"number": NUMBERS}))))
    (address,) = cluster.addresses(array).values()
    return array if cluster.is_in_store(address) else None


@pytest.mark.parametrize(("keep", "numbers_of"), KEEPERS.values(), ids=KEEPERS)
def test_object_store_keeps_an_object_while_a_view_of_it_lives(keep, numbers_of):
    kept = []

    def keep_a_view():
        # Ray frees the memory of other objects later than their last reference.
        kept.extend(keep(array) for array in [array_in_store()] if array is not None)
        return kept

    assert wait_until(keep_a_view)
    gc.collect()
    for _ in range(3):
        assert array_in_store() is None
    assert np.array_equal(np.asarray(numbers_of(kept[0])), NUMBERS)
    kept.clear()
    gc.collect()
    assert wait_until(lambda: array_in_store() is not None)


def test_tasks_read_arrays_of_every_type_and_return_them():
    task = ray.remote(lambda arrays: (arrays, crossings.differences(arrays, None)))
    returned, (wrong, count) = ray.get(task.remote(crossings.arrays_by_name(crossings.BATCHES)))
    assert wrong == crossings.differences(returned, None)[0] == []
    assert count > 10 * len(crossings.BATCHES)


def test_references_are_fetched_in_order_and_a_bounded_number_ahead(monkeypatch):
    objects = [
        cab.to_arrow_device(pa.table({"a": [0]})),
        pa.table({"a": [1]}),
        pd.DataFrame({"a": [2]}),
        pl.DataFrame({"a": [3]}),
        [pa.table({"a": [4]}), pa.table({"a": [5]})],
    ]
    references = [ray.put(obj) for obj in objects]
    fetched, ahead = [], []
    get, wait = ray.get, ray.wait

    def noting_get(reference):
        fetched.append(reference)
        return get(reference)

    def noting_wait(references, *, timeout, fetch_local):
        assert (timeout, fetch_local) == (0, True)
        ahead.extend(references)
        return wait(references, timeout=0, fetch_local=True)

    monkeypatch.setattr(ray, "get", noting_get)
    monkeypatch.setattr(ray, "wait", noting_wait)
    stream = cab.to_arrow_device_stream(references)
    batches = iter(stream)
    assert not fetched
    assert pa.table(next(batches)).to_pydict() == {"a": [0]}
    assert fetched == references[:1]
    assert ahead == references[:3]
    assert [pa.table(batch)["a"][0].as_py() for batch in batches] == [1, 2, 3, 4, 5]
    assert fetched == ahead == references
    # Read the references again, and repeat one of them.
    first = references[0]
    assert read([first, references[1], first, first])["a"].to_pylist() == [0, 1, 0, 0]
    assert read(stream)["a"].to_pylist() == [0, 1, 2, 3, 4, 5]


def test_stream_yields_results_of_tasks_until_a_task_fails():
    def part(index):
        if index == 2:
            raise ArithmeticError("in the third")
        return cab.to_arrow_device(pa.table({"a": [index] * 3}))

    task = ray.remote(max_retries=0)(part)
    assert read(task.remote(7))["a"].to_pylist() == [7] * 3
    batches = iter(cab.to_arrow_device_stream([task.remote(index) for index in range(4)]))
    assert [len(next(batches)) for _ in range(2)] == [3, 3]
    with pytest.raises(ArithmeticError, match="in the third"):
        next(batches)


def test_stream_accepts_a_generator_on_a_worker():
    def parts():
        for index in range(4):
            yield cab.to_arrow_device(pa.table({"a": [index]}))

    references = ray.remote(num_returns="streaming")(parts).remote()
    assert read(references)["a"].to_pylist() == [0, 1, 2, 3]


def test_stream_does_not_read_a_referenced_string_as_a_path(tmp_path):
    with pytest.raises(TypeError, match=r"the list contains the string '.*pathlib\.Path"):
        read(ray.put(str(tmp_path)))


def unusual_table(name):
    schema, batches = UNUSUAL[name]
    return pa.Table.from_batches(batches, schema).replace_schema_metadata({"größe": "ja"})


def table_of_all_types():
    tables = [pa.Table.from_batches(batches_of(*param.values)) for param in ALL_TYPES]
    columns = [column for table in tables for column in table.columns]
    return pa.table(columns, [f"c{i}" for i in range(len(columns))])


@pytest.mark.parametrize(
    "make",
    [
        lambda: unusual_table("no rows"),
        lambda: unusual_table("unknown extension"),
        lambda: unusual_table("dictionary within lists"),
        pytest.param(table_of_all_types, marks=pytest.mark.exhaustive),
    ],
)
def test_dataset_keeps_all_types_and_schemas(make):
    table = make()
    expected = pa.table(cab.to_arrow_device_stream(table))
    stream = cab.to_arrow_device_stream(cab.ray.to_dataset(table))
    for _ in range(2):
        found = pa.table(StreamOnly(stream))
        assert found.schema.equals(expected.schema, check_metadata=True)
        assert found.equals(expected)


def test_batches_of_a_dataset_share_the_blocks_in_the_store():
    frame = cab.from_arrow_device(pa.table({"a": range(10_000), "b": ["x"] * 10_000}))
    dataset = cab.ray.to_dataset(frame, max_rows=4_000)
    addresses = [cluster.pyarrow_addresses(block) for block in blocks_of(dataset)]
    assert [len(each) for each in addresses] == [3, 3, 3]
    for batch, placed in zip(cab.to_arrow_device_stream(dataset), addresses, strict=True):
        assert set(cluster.addresses(batch).values()) == placed
        assert all(map(cluster.is_in_store, placed))


def test_to_dataset_keeps_one_batch_alive_at_a_time():
    alive = []

    def batches():
        for index in range(5):
            gc.collect()
            assert [reference() is None for reference in alive] == [True] * index
            numbers = np.full(1000, index)
            alive.append(weakref.ref(numbers))
            yield pa.table({"a": numbers})
            del numbers

    dataset = cab.ray.to_dataset(batches())
    assert [block["a"][0].as_py() for block in blocks_of(dataset)] == [0, 1, 2, 3, 4]


def test_stream_of_a_dataset_computes_on_demand(tmp_path):
    def note(table):
        (tmp_path / "ran").touch()
        return table

    dataset = ray.data.range(4).map_batches(note, batch_format="pyarrow")
    stream = cab.to_arrow_device_stream(dataset)
    repr(stream)
    assert not (tmp_path / "ran").exists()
    assert pa.table(stream).sort_by("id")["id"].to_pylist() == [0, 1, 2, 3]
    assert (tmp_path / "ran").exists()


def test_stream_yields_blocks_in_order_if_ray_preserves_the_order(tmp_path):
    """The first task waits for the second one."""

    def later(table):
        import time

        end = time.monotonic() + 60
        if table["id"][0].as_py():
            (tmp_path / "second").touch()
        while not (tmp_path / "second").exists() and time.monotonic() < end:
            time.sleep(0.01)
        return table

    dataset = ray.data.range(4, override_num_blocks=2)
    dataset.context.execution_options.preserve_order = True
    mapped = dataset.map_batches(later, batch_format="pyarrow", batch_size=None)
    assert read(mapped)["id"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.exhaustive
@pytest.mark.parametrize("make", [lambda d: d.iterator(), lambda d: d.streaming_split(1)[0]])
def test_stream_accepts_iterators_of_datasets(make):
    iterator = make(ray.data.range(10, override_num_blocks=2))
    for _ in range(2):
        assert read(iterator).sort_by("id")["id"].to_pylist() == list(range(10))


def test_stream_of_a_dataset_without_rows_has_the_schema():
    emptied = ray.data.range(4).map_batches(lambda table: table[:0], batch_format="pyarrow")
    assert read(emptied).schema == pa.schema({"id": pa.int64()})
    pandas = ray.data.from_pandas(pd.DataFrame({"a": [1], "b": ["x"], "c": [[1]]})[:0])
    schema = pa.schema({"a": pa.int64(), "b": pa.string(), "c": pa.null()})
    assert [batch.schema for batch in cab.to_arrow_device_stream(pandas)] == [schema]


def test_stream_of_blocks_with_different_types_raises_an_error():
    dataset = ray.data.from_items([{"a": None}, {"a": 1}], override_num_blocks=2)
    with pytest.raises(pa.ArrowInvalid, match="batch 1 of the stream: column 'a'"):
        read(dataset)


def test_extension_types_of_ray_round_trip():
    """Tensors and objects are imported as their storage types and exported as Ray's types."""
    tensors = ray.data.from_numpy(np.arange(12).reshape(4, 3))
    objects = ray.data.from_items([{"a": frozenset([1])}])
    for dataset in (tensors, objects):
        (block,) = blocks_of(dataset)
        assert isinstance(block.schema.field(0).type, pa.BaseExtensionType)
        frame = cab.from_arrow_device(block)
        (again,) = blocks_of(cab.ray.to_dataset(frame))
        assert again.schema.field(0).equals(block.schema.field(0))
        assert again.column(0).equals(block.column(0))
    assert frame["a"].dtype == "list"


def test_stream_reads_pandas_blocks():
    frames = [pd.DataFrame({"a": [1], "b": ["x"]}), pd.DataFrame({"a": [2], "b": ["y"]})]
    assert read(ray.data.from_pandas(frames)).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_to_dataset_rejects_a_column():
    with pytest.raises(TypeError, match=r"int64, not a table"):
        cab.ray.to_dataset(cab.from_arrow_device(pa.array([1, 2])))


def test_docstring_examples_print_their_output():
    (test,) = doctest.DocTestFinder().find(
        cab.ray.to_dataset, "to_dataset", globs={"cab": cab}, module=False
    )
    assert test.examples
    out = []
    doctest.DocTestRunner().run(test, out=out.append)
    assert not out, "".join(out)
