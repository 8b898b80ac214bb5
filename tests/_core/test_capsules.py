# SPDX-License-Identifier: Apache-2.0
"""Test the details of the PyCapsule protocol, as a producer and as a consumer."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.arrays import (
    Capsules,
    column_from,
    name_of,
    refused,
    struct_of,
)


@pytest.fixture
def exported():
    return cab.to_arrow_device(column_from(pa.array([1, None, 3])))


def test_capsules_have_the_names_of_their_protocol(exported):
    assert name_of(exported.__arrow_c_schema__()) == b"arrow_schema"
    device = exported.__arrow_c_device_array__()
    assert [name_of(capsule) for capsule in device] == [b"arrow_schema", b"arrow_device_array"]
    host = exported.__arrow_c_array__()
    assert [name_of(capsule) for capsule in host] == [b"arrow_schema", b"arrow_array"]


def test_export_accepts_none_for_each_keyword(exported):
    assert exported.__arrow_c_device_array__(None)
    assert exported.__arrow_c_device_array__(requested_schema=None)
    assert exported.__arrow_c_device_array__(stream=None, anything=None)
    assert exported.__arrow_c_array__(requested_schema=None)


def test_export_rejects_an_unknown_keyword_with_a_value(exported):
    with pytest.raises(NotImplementedError, match="anything"):
        exported.__arrow_c_device_array__(anything=1, nothing=None)


def test_each_export_call_returns_new_structs(exported):
    pairs = [exported.__arrow_c_device_array__() for _ in range(2)]
    assert pa.array(Capsules(*pairs[0])).equals(pa.array(Capsules(*pairs[1])))
    for schema, array in pairs:
        assert not struct_of(schema).release
        assert not struct_of(array).array.release
    assert pa.array(exported).to_pylist() == [1, None, 3]


def test_column_has_array_protocols_but_no_stream_protocols(exported):
    for name in ("__arrow_c_schema__", "__arrow_c_device_array__", "__arrow_c_array__"):
        assert hasattr(exported, name)
    for name in ("__arrow_c_stream__", "__arrow_c_device_stream__"):
        assert not hasattr(exported, name)


def test_pyarrow_reads_the_exported_schema(exported):
    assert pa.field(exported) == exported.schema
    table = cab.to_arrow_device(pa.record_batch({"a": [1]}))
    assert pa.schema(table) == table.schema == pa.schema([("a", pa.int64())])


def test_import_consumes_the_capsule():
    capsules = Capsules(*pa.array([1, 2]).__arrow_c_device_array__())
    column = column_from(capsules)
    assert column.size() == 2
    assert not struct_of(capsules._pair[1]).array.release
    for schema in (capsules._pair[0], pa.array([1]).__arrow_c_device_array__()[0]):
        again = Capsules(schema, capsules._pair[1])
        assert "the array is released" in refused(ValueError, again)


def test_consumed_schema_is_rejected():
    schema, array = pa.array([1, 2]).__arrow_c_device_array__()
    pa.array(Capsules(schema, pa.array([1]).__arrow_c_device_array__()[1]))
    assert "the schema capsule is already consumed" in refused(ValueError, Capsules(schema, array))
    assert struct_of(array).array.release


def test_objects_without_a_protocol_are_rejected():
    assert "object" in refused(TypeError, object())
    assert "object" in refused(TypeError, [object()])
