# SPDX-License-Identifier: Apache-2.0
"""`open_file(columns=)`, compared with the columns of the whole file."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.projection import PartialBody
from cudf_arrow_bridge.ipc.transport.sources import open_source
from testing import strategies

ROWS = 40
COLUMNS = {
    "n": pa.array([None if i % 3 else i for i in range(ROWS)]),
    "view": pa.array([f"longer than twelve bytes {i}" for i in range(ROWS)], pa.string_view()),
    "key": pa.array([f"k{i % 3}" for i in range(ROWS)]).dictionary_encode(),
    "none": pa.nulls(ROWS),
    "struct": pa.array([{"x": [i], "y": str(i)} for i in range(ROWS)]),
    "runs": pa.RunEndEncodedArray.from_arrays([9, ROWS], pa.array(["a", None])),
    "views": pa.array(
        [[f"another long text {i}"] for i in range(ROWS)], pa.list_(pa.string_view())
    ),
    "keys": pa.ListArray.from_arrays(
        list(range(ROWS + 1)), pa.array([i % 5 for i in range(ROWS)]).dictionary_encode()
    ),
    "bits": pa.array([i % 2 == 0 for i in range(ROWS)]),
    "uuid": pa.array([bytes(16)] * ROWS, pa.binary(16)).cast(pa.uuid()),
    "half": pa.array(np.arange(ROWS, dtype=np.float16)),
    "list_view": pa.array([[i] for i in range(ROWS)], pa.list_view(pa.int16())),
}
TABLE = pa.table(COLUMNS).replace_schema_metadata({"k": "v"})
CHOICES = [[], ["views", "n"], ["keys", "view"], ["half", "none", "struct"], ["uuid", "runs"]]


class CountingFile(io.FileIO):
    """A file that has no descriptor and counts the bytes that are read."""

    def __init__(self, path):
        super().__init__(path)
        self.count = 0

    def fileno(self):
        raise io.UnsupportedOperation("fileno")

    def readinto(self, view):
        count = super().readinto(view)
        self.count += count
        return count


def written(table, compression=None, max_chunksize=15):
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize)
    return sink.getvalue()


@pytest.fixture(params=[None, "lz4"])
def path(request, tmp_path):
    path = tmp_path / "file.arrow"
    path.write_bytes(written(TABLE, request.param))
    return path


@pytest.mark.parametrize("memory_map", [False, True])
@pytest.mark.parametrize("columns", CHOICES, ids=",".join)
def test_open_file_with_columns_reads_the_same_columns_as_pyarrow(path, columns, memory_map):
    expected = [batch.select(columns) for batch in pa.ipc.open_file(path).read_all().to_batches()]
    with cab.ipc.open_file(path, columns=columns, memory_map=memory_map) as file:
        assert pa.schema(file).equals(expected[0].schema, check_metadata=True)
        assert (len(file), file.num_rows) == (3, ROWS)
        last = file[-1].to_arrow()
        batches = [batch.to_arrow() for batch in file]
    for batch, other in zip([*batches, last], [*expected, expected[-1]], strict=True):
        batch.validate(full=True)
        assert batch.equals(other)


class Tagged(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.int8(), "tests.tagged")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls()


def other_columns():
    codes, numbers, ends = pa.array([0, 0], pa.int8()), pa.array([1, 2]), pa.array([1, 2])
    yield pa.ExtensionArray.from_storage(Tagged(), codes)
    dense = pa.UnionArray.from_dense(codes, pa.array([0, 1], pa.int32()), [numbers])
    for union in (pa.UnionArray.from_sparse(codes, [numbers]), dense):
        yield pa.ExtensionArray.from_storage(pa.opaque(union.type, "name", "vendor"), union)
    lists = pa.DictionaryArray.from_arrays(codes, pa.array([[1]]))
    for values in (pa.RunEndEncodedArray.from_arrays(ends, numbers), lists):
        yield pa.RunEndEncodedArray.from_arrays(ends, values)


@pytest.mark.parametrize("other", list(other_columns()), ids=lambda other: str(other.type))
def test_open_file_reads_columns_beside_others_of_any_type(other):
    """pyarrow cannot make empty arrays of these types, or use them as keys."""
    pa.register_extension_type(Tagged())
    try:
        data = written(pa.table({"x": other, "n": [1, 2]}), max_chunksize=2)
        with cab.ipc.open_file(data, columns=["n"]) as file:
            assert file[0].to_arrow().to_pydict() == {"n": [1, 2]}
    finally:
        pa.unregister_extension_type("tests.tagged")


@given(st.data())
def test_open_file_selects_columns_of_random_files(data):
    size = data.draw(st.integers(0, 30))
    types = data.draw(st.lists(strategies.types, min_size=1, max_size=4))
    columns = [data.draw(strategies.arrays_of(type_, size)) for type_ in types]
    names = [f"c{i}" for i in range(len(types))]
    table = cab.to_arrow_device(pa.RecordBatch.from_arrays(columns, names))
    sink = io.BytesIO()
    cab.ipc.write_file(table, sink)
    chosen = data.draw(st.permutations(names))[: data.draw(st.integers(0, len(names)))]
    for source in (sink.getvalue(), io.BufferedReader(io.BytesIO(sink.getvalue()))):
        with cab.ipc.open_file(source, columns=chosen) as file:
            assert file[0].to_arrow().equals(table.to_arrow().select(chosen))


def test_open_file_with_columns_reads_no_bytes_of_other_columns(tmp_path):
    size = 200_000
    path = tmp_path / "wide.arrow"
    table = pa.table({name: pa.array(np.full(size, ord(name))) for name in "abcdefgh"})
    table = table.append_column("key", pa.array(list(map(str, range(size)))).dictionary_encode())
    path.write_bytes(written(table, max_chunksize=size // 4))
    with CountingFile(path) as source:
        with cab.ipc.open_file(source, columns=["g", "b"]) as file:
            batches = [batch.to_arrow() for batch in file]
        count = source.count
    assert pa.Table.from_batches(batches).equals(table.select(["g", "b"]))
    assert 16 * size < count < 16 * size + 40_000


def test_open_file_with_columns_shares_the_bytes_in_memory():
    memory = pa.py_buffer(written(TABLE))
    with cab.ipc.open_file(memory, columns=["bits", "n"]) as file:
        buffers = file[1].buffers()
    used = [buffer for buffer in buffers if buffer.address and buffer.size]
    assert used
    for buffer in used:
        assert memory.address <= buffer.address < memory.address + memory.size


def test_open_file_with_columns_keeps_the_index_of_a_frame():
    index = pd.MultiIndex.from_product([range(2), ["x", "y"]], names=["i", "j"])
    frame = cab.from_arrow_device(pd.DataFrame({"a": range(4), "b": list("pqrs")}, index))
    sink = io.BytesIO()
    cab.ipc.write_file(frame, sink)
    with cab.ipc.open_file(sink.getvalue(), columns=["b"]) as file:
        found = cab.from_arrow_device(file[0])
    pd.testing.assert_frame_equal(found.to_pandas(), frame.to_pandas()[["b"]])


def test_open_file_rejects_wrong_columns():
    data = written(TABLE)
    for columns, error in ((["zz"], KeyError), ("n", TypeError), (["n", "n"], ValueError)):
        with pytest.raises(error, match="columns"):
            cab.ipc.open_file(data, columns=columns)


def test_part_of_a_body_cannot_seek():
    body = PartialBody(open_source(bytes(range(100))), [(8, 16), (32, 40)])
    assert bytes(body.take(12)) == bytes([*range(8, 16), *range(32, 36)])
    with pytest.raises(io.UnsupportedOperation, match="cannot seek"):
        body.seek(0)
    assert bytes(body.take(4)) == bytes(range(36, 40))
