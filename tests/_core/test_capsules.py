# SPDX-License-Identifier: Apache-2.0
"""Test the details of the PyCapsule protocol, as a producer and as a consumer."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import samples
from testing.peers.arrays import (
    Capsules,
    Producer,
    column_from,
    misnamed,
    name_of,
    nodes,
    refused,
    struct_of,
)


@pytest.fixture
def exported():
    return bridge.to_arrow_device(column_from(pa.array([1, None, 3])))


def test_capsules_have_the_names_of_their_protocol(exported):
    assert name_of(exported.__arrow_c_schema__()) == b"arrow_schema"
    device = exported.__arrow_c_device_array__()
    assert [name_of(capsule) for capsule in device] == [b"arrow_schema", b"arrow_device_array"]
    host = exported.__arrow_c_array__()
    assert [name_of(capsule) for capsule in host] == [b"arrow_schema", b"arrow_array"]


def test_device_members_of_host_memory_name_the_cpu(exported):
    _, capsule = exported.__arrow_c_device_array__()
    array = struct_of(capsule)
    assert (array.device_type, array.device_id) == (1, -1)
    assert array.sync_event is None
    assert list(array.reserved) == [0, 0, 0]


def test_every_schema_and_array_has_a_release_callback(exported):
    nested = bridge.to_arrow_device(column_from(samples.values(samples.NESTED[-1], 9, "some")))
    _, capsule = nested.__arrow_c_device_array__()
    schema = nested.__arrow_c_schema__()
    for struct in [*nodes(struct_of(capsule).array), *nodes(struct_of(schema))]:
        assert struct.release


def test_export_accepts_none_for_each_keyword(exported):
    assert exported.__arrow_c_device_array__(None)
    assert exported.__arrow_c_device_array__(requested_schema=None)
    assert exported.__arrow_c_device_array__(stream=None, anything=None)
    assert exported.__arrow_c_array__(requested_schema=None)


def test_export_rejects_an_unknown_keyword_with_a_value(exported):
    with pytest.raises(NotImplementedError, match="anything"):
        exported.__arrow_c_device_array__(anything=1, nothing=None)


@pytest.mark.parametrize("ask", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_export_ignores_a_requested_schema_of_another_type(exported, ask):
    wish = pa.field("", pa.int32()).__arrow_c_schema__()
    assert struct_of(getattr(exported, ask)(wish)[0]).format == b"l"


@pytest.mark.parametrize("ask", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_requested_schema_with_another_number_of_fields_is_rejected(ask):
    table = bridge.to_arrow_device(plc.Table([column_from(pa.array([1]))]))
    wish = pa.schema([("a", pa.int8()), ("b", pa.int8())])
    with pytest.raises(ValueError, match="of 1 fields, got 2"):
        getattr(table, ask)(wish.__arrow_c_schema__())
    with pytest.raises(ValueError, match="of 1 fields, got 2"):
        bridge.to_arrow_device(table, requested_schema=wish)


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
    table = bridge.to_arrow_device(pa.record_batch({"a": [1]}))
    assert pa.schema(table) == table.schema == pa.schema([("a", pa.int64())])


def test_import_consumes_the_capsule():
    capsules = Capsules(*pa.array([1, 2]).__arrow_c_device_array__())
    column = column_from(capsules)
    assert column.size() == 2
    assert not struct_of(capsules._pair[1]).array.release
    for schema in (capsules._pair[0], pa.array([1]).__arrow_c_device_array__()[0]):
        again = Capsules(schema, capsules._pair[1])
        assert "a released one" in refused(ValueError, again)


def test_consumed_schema_is_rejected():
    schema, array = pa.array([1, 2]).__arrow_c_device_array__()
    pa.array(Capsules(schema, pa.array([1]).__arrow_c_device_array__()[1]))
    assert "a consumed one" in refused(ValueError, Capsules(schema, array))
    assert struct_of(array).array.release


def test_pyarrow_rejects_capsules_that_the_import_consumed():
    capsules = Capsules(*pa.array([1, 2]).__arrow_c_device_array__())
    column_from(capsules)
    with pytest.raises(pa.ArrowInvalid, match="released"):
        pa.array(capsules)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", [b"arrow_array", b"arrow_array_stream", b"", None])
def test_capsules_with_other_names_are_rejected(which, name):
    producer = Producer(pa.array([1, 2]))
    capsules = [producer.schema_capsule, producer.array_capsule]
    expected = name_of(capsules[which]).decode()
    capsules[which] = misnamed(capsules[which], name)
    assert expected in refused(ValueError, Capsules(*capsules))
    assert producer.releases == 0
    del capsules
    producer.drop()
    assert (producer.releases, producer.schema_releases) == (1, 1)


class Fixed(Capsules):
    def __init__(self, pair):
        self._pair = pair


@pytest.mark.parametrize("pair", [(None, None), ("schema", 3), (1,), None], ids=str)
def test_results_other_than_a_pair_of_capsules_are_rejected(pair):
    with pytest.raises((TypeError, ValueError)):
        bridge.from_arrow_device(Fixed(pair), to="pylibcudf")


def test_consumed_host_array_is_rejected():
    class Host:
        pair = pa.array([1]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.pair

    bridge.from_arrow_device(Host(), to="pylibcudf")
    assert "a released one" in refused(ValueError, Host())


def test_objects_without_a_protocol_are_rejected():
    assert "object" in refused(TypeError, object())
    assert "object" in refused(TypeError, [object()])
