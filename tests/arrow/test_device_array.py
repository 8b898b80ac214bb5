# SPDX-License-Identifier: Apache-2.0
"""Test the attributes and methods of `DeviceArray`."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import DeviceOnly, SchemaOnly, column_from, nodes, read, struct_of

ARRAY = pa.array([{"0": 1, "1": ["x", None]}, None, {"0": None, "1": []}])


@pytest.fixture
def column():
    return cab.to_arrow_device(column_from(ARRAY))


@pytest.fixture
def table():
    batch = pa.record_batch({"n": [1, None, 3], "text": ["a", "b", None]})
    return cab.to_arrow_device(DeviceOnly(batch))


def test_device_of_a_host_array_is_the_cpu(column, table):
    for exported in (column, table):
        assert exported.device_type is cab.DeviceType.CPU
        assert exported.device_id == -1
    assert [int(kind) for kind in cab.DeviceType] == [1, 2, 3, 13]


def test_length_null_count_and_nbytes_match_the_data(column, table):
    assert (len(column), column.null_count) == (3, 1)
    assert (len(table), table.null_count) == (3, 0)
    assert column.nbytes == sum(buffer.size for buffer in column.buffers())
    strings = cab.to_arrow_device(column_from(pa.array(["ab", None, "cde", ""] * 10)))
    sizes = {buffer.name: buffer.size for buffer in strings.buffers()}
    assert sizes == {"validity": 5, "offsets": 41 * 4, "data": 50}
    empty = cab.to_arrow_device(plc.Table([column_from(pa.array([], pa.int8()))]))
    assert (len(empty), empty.nbytes) == (0, 0)


def test_schema_is_a_field_for_a_column_and_a_schema_for_a_table(column, table):
    assert isinstance(table.schema, pa.Schema)
    assert table.schema == pa.schema([("n", pa.int64()), ("text", pa.string())])
    assert isinstance(column.schema, pa.Field)
    assert column.schema.type == ARRAY.type
    assert pa.field(SchemaOnly(column)) == column.schema


@pytest.mark.parametrize("name", ["schema", "device_type"])
def test_schema_and_device_type_are_read_only(column, name):
    for exported in (column, cab.to_arrow_device_stream(column)):
        expected = getattr(exported, name)
        with pytest.raises(AttributeError, match=name):
            setattr(exported, name, None)
        assert getattr(exported, name) == expected


def test_children_are_device_arrays(column, table):
    first, second = column.children
    assert read(first).equals(ARRAY.flatten()[0])
    assert second.schema.type == pa.list_(pa.string())
    assert [child.schema.name for child in column.children] == ["0", "1"]
    assert [child.schema.name for child in table.children] == ["n", "text"]
    assert read(table.children[1]).to_pylist() == ["a", "b", None]
    (item,) = second.children
    assert read(item).to_pylist() == ["x", None]
    assert cab.to_arrow_device(pa.array([1])).children == []


def test_children_of_extensions_and_dictionaries():
    storage = pa.array([{"a": 1}], pa.struct([("a", pa.int8())]))
    type_ = pa.opaque(storage.type, "word", "us")
    exported = cab.to_arrow_device(pa.ExtensionArray.from_storage(type_, storage))
    (child,) = exported.children
    assert read(child).to_pylist() == [1]
    exported = cab.to_arrow_device(pa.array(["a", "b", "a"]).dictionary_encode())
    assert exported.children == []
    _, capsule = exported.__arrow_c_device_array__()
    assert len(nodes(struct_of(capsule).array)) == 2


USES = {
    "export": lambda array: array.__arrow_c_device_array__(),
    "export to the host": lambda array: pa.array(array),
    "buffers": lambda array: array.buffers(),
    "children": lambda array: array.children,
    "len": len,
    "null_count": lambda array: array.null_count,
    "device_type": lambda array: array.device_type,
    "device_id": lambda array: array.device_id,
    "nbytes": lambda array: array.nbytes,
    "to_arrow": lambda array: array.to_arrow(),
    "to_pandas": lambda array: array.to_pandas(),
    "num_rows": lambda array: array.num_rows,
    "a column": lambda array: array["0"],
    "a report": lambda array: array.report(),
    "an import": lambda array: cab.from_arrow_device(array, to="pylibcudf"),
    "another export": cab.to_arrow_device,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_uses_of_a_released_array_raise(column, use):
    column.release()
    column.release()
    assert column.is_released
    with pytest.raises(ValueError, match="released"):
        use(column)


def test_released_array_keeps_its_schema_and_repr(column):
    before = column.schema
    column.release()
    assert column.schema == before
    assert "released" in repr(column)
    assert "released" in column._repr_html_()


def test_a_child_outlives_the_release_of_its_parent(column):
    child = column.children[0]
    column.release()
    assert not child.is_released
    assert read(child).equals(ARRAY.flatten()[0])
