# SPDX-License-Identifier: Apache-2.0
"""Ray datasets from streams, and streams from Ray datasets."""

from __future__ import annotations

import doctest
import gc
import weakref

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.exchange import ray_cluster as cluster
from testing.ipc.samples import ALL_TYPES, UNUSUAL, batches_of
from testing.peers.streams import StreamOnly

ray = cluster.ray

pytestmark = [
    pytest.mark.skipif(cab.has_gpu(), reason="of host memory"),
    pytest.mark.usefixtures("ray_cluster"),
    *cluster.RAY_WARNS,
]


def blocks_of(dataset):
    """Return the blocks of a dataset as Ray yields them."""
    return list(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))


def read(source):
    return pa.table(StreamOnly(cab.to_arrow_device_stream(source)))


def wide_table():
    """Return a table with columns of all types under distinct names."""
    batches = [batches_of(*param.values) for param in ALL_TYPES]
    tables = [pa.Table.from_batches(each) for each in batches]
    columns = {
        f"{index} {name}": table[name]
        for index, table in enumerate(tables)
        for name in table.column_names
    }
    return pa.table(columns)


@pytest.mark.exhaustive
def test_dataset_keeps_columns_of_every_type():
    table = wide_table()
    expected = pa.table(cab.to_arrow_device_stream(table))
    dataset = cab.ray.to_dataset(table)
    blocks = blocks_of(dataset)
    # Ray omits blocks without rows.
    assert [len(block) for block in blocks] == [19, 22]
    for block in blocks:
        block.validate(full=True)
        assert block.schema.equals(expected.schema, check_metadata=True)
    assert pa.concat_tables(blocks).equals(expected)
    assert read(dataset).equals(expected)
    # The stream can be read repeatedly.
    stream = cab.to_arrow_device_stream(dataset)
    for _ in range(2):
        assert [len(batch) for batch in stream] == [19, 22]


@pytest.mark.parametrize("name", [n for n in UNUSUAL if "metadata" not in n and n != "no columns"])
def test_dataset_keeps_unusual_schemas(name):
    schema, batches = UNUSUAL[name]
    table = pa.Table.from_batches(batches, schema)
    expected = pa.table(cab.to_arrow_device_stream(table))
    found = read(cab.ray.to_dataset(table))
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.equals(expected)


def test_dataset_keeps_the_metadata_of_the_schema():
    schema = pa.schema([pa.field("a", pa.int64(), False, {"größe": "ja"})], {"": "x"})
    table = pa.table([[1, 2]], schema=schema)
    assert read(cab.ray.to_dataset(table)).schema.equals(schema, check_metadata=True)


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


@pytest.mark.exhaustive
def test_map_batches_over_frames_keeps_labels_and_indexes():
    """The recipe of docs/how-to/ray.md."""

    def without_first(table):
        frame = cab.from_arrow_device(table)
        return pa.table(cab.to_arrow_device(frame[1:]).to_host())

    data = pd.DataFrame(
        {"a": [1, 2, 3, 4], "b": pd.Categorical(["x", None, "y", "x"])},
        index=pd.Index([7, 8, 9, 10], name="rows"),
    )
    dataset = cab.ray.to_dataset(cab.from_arrow_device(data), max_rows=2)
    mapped = dataset.map_batches(without_first, batch_format="pyarrow", batch_size=None)
    blocks = sorted(blocks_of(mapped), key=lambda block: block["a"][0].as_py())
    frames = [cab.from_arrow_device(block) for block in blocks]
    assert [frame.index.to_arrow().to_pylist() for frame in frames] == [[8], [10]]
    assert [frame.index.name for frame in frames] == ["rows", "rows"]
    assert [frame["b"].to_arrow().to_pylist() for frame in frames] == [[None], ["x"]]
    assert {str(frame["b"].dtype) for frame in frames} == {"category"}


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
    schema = pa.schema({"a": pa.int8(), "b": pa.list_(pa.string())})
    dataset = cab.ray.to_dataset(schema.empty_table())
    assert read(dataset).schema == schema
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
    dataset = ray.data.from_pandas(frames)
    assert read(dataset).to_pydict() == {"a": [1, 2], "b": ["x", "y"]}


def test_to_dataset_rejects_a_column():
    with pytest.raises(TypeError, match="expected a table, got a column of type int64"):
        cab.ray.to_dataset(cab.from_arrow_device(pa.array([1, 2])))


def test_docstring_examples_print_their_output():
    (test,) = doctest.DocTestFinder().find(
        cab.ray.to_dataset, "to_dataset", globs={"cab": cab}, module=False
    )
    assert len(test.examples) == 5
    out = []
    doctest.DocTestRunner().run(test, out=out.append)
    assert not out, "".join(out)
