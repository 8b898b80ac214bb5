# SPDX-License-Identifier: Apache-2.0
"""The PyCapsule protocol by the letter, as producer and as consumer."""

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


def test_names(exported):
    assert name_of(exported.__arrow_c_schema__()) == b"arrow_schema"
    device = exported.__arrow_c_device_array__()
    assert [name_of(capsule) for capsule in device] == [b"arrow_schema", b"arrow_device_array"]
    host = exported.__arrow_c_array__()
    assert [name_of(capsule) for capsule in host] == [b"arrow_schema", b"arrow_array"]


def test_device_members_on_the_cpu(exported):
    _, capsule = exported.__arrow_c_device_array__()
    array = struct_of(capsule)
    assert (array.device_type, array.device_id) == (1, -1)
    assert array.sync_event is None
    assert list(array.reserved) == [0, 0, 0]


def test_every_node_can_be_released(exported):
    nested = bridge.to_arrow_device(column_from(samples.values(samples.NESTED[-1], 9, "some")))
    _, capsule = nested.__arrow_c_device_array__()
    schema = nested.__arrow_c_schema__()
    for struct in [*nodes(struct_of(capsule).array), *nodes(struct_of(schema))]:
        assert struct.release


def test_known_keywords(exported):
    assert exported.__arrow_c_device_array__(None)
    assert exported.__arrow_c_device_array__(requested_schema=None)
    assert exported.__arrow_c_device_array__(stream=None, anything=None)
    assert exported.__arrow_c_array__(requested_schema=None)


def test_unknown_keywords(exported):
    with pytest.raises(NotImplementedError, match="anything"):
        exported.__arrow_c_device_array__(anything=1, nothing=None)


@pytest.mark.parametrize("ask", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_a_requested_schema_is_a_wish(exported, ask):
    wish = pa.field("", pa.int32()).__arrow_c_schema__()
    assert struct_of(getattr(exported, ask)(wish)[0]).format == b"l"


@pytest.mark.parametrize("ask", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_a_requested_schema_of_another_shape_is_refused(ask):
    table = bridge.to_arrow_device(plc.Table([column_from(pa.array([1]))]))
    wish = pa.schema([("a", pa.int8()), ("b", pa.int8())])
    with pytest.raises(ValueError, match="2 fields found, 1 expected"):
        getattr(table, ask)(wish.__arrow_c_schema__())
    with pytest.raises(ValueError, match="2 fields found, 1 expected"):
        bridge.to_arrow_device(table, requested_schema=wish)


def test_each_call_makes_structs_of_its_own(exported):
    pairs = [exported.__arrow_c_device_array__() for _ in range(2)]
    assert pa.array(Capsules(*pairs[0])).equals(pa.array(Capsules(*pairs[1])))
    for schema, array in pairs:
        assert not struct_of(schema).release
        assert not struct_of(array).array.release
    assert pa.array(exported).to_pylist() == [1, None, 3]


def test_what_consumers_look_for_is_there(exported):
    for name in ("__arrow_c_schema__", "__arrow_c_device_array__", "__arrow_c_array__"):
        assert hasattr(exported, name)
    for name in ("__arrow_c_stream__", "__arrow_c_device_stream__"):
        assert not hasattr(exported, name)


def test_schemas_are_read_by_pyarrow(exported):
    assert pa.field(exported) == exported.schema
    table = bridge.to_arrow_device(pa.record_batch({"a": [1]}))
    assert pa.schema(table) == table.schema == pa.schema([("a", pa.int64())])


def test_a_capsule_is_spent_by_its_import():
    capsules = Capsules(*pa.array([1, 2]).__arrow_c_device_array__())
    column = column_from(capsules)
    assert column.size() == 2
    assert not struct_of(capsules._pair[1]).array.release
    for schema in (capsules._pair[0], pa.array([1]).__arrow_c_device_array__()[0]):
        again = Capsules(schema, capsules._pair[1])
        assert "released already" in refused(ValueError, again)


def test_a_spent_schema_is_refused():
    schema, array = pa.array([1, 2]).__arrow_c_device_array__()
    pa.array(Capsules(schema, pa.array([1]).__arrow_c_device_array__()[1]))
    assert "consumed already" in refused(ValueError, Capsules(schema, array))
    assert struct_of(array).array.release


def test_capsules_of_pyarrow_that_we_spent_are_refused_by_pyarrow():
    capsules = Capsules(*pa.array([1, 2]).__arrow_c_device_array__())
    column_from(capsules)
    with pytest.raises(pa.ArrowInvalid, match="released"):
        pa.array(capsules)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("name", [b"arrow_array", b"arrow_array_stream", b"", None])
def test_capsules_of_other_names_are_refused(which, name):
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
def test_what_is_no_pair_of_capsules_is_refused(pair):
    with pytest.raises((TypeError, ValueError)):
        bridge.from_arrow_device(Fixed(pair), to="pylibcudf")


def test_spent_host_arrays_are_refused():
    class Host:
        pair = pa.array([1]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema=None):
            return self.pair

    bridge.from_arrow_device(Host(), to="pylibcudf")
    assert "released already" in refused(ValueError, Host())


def test_objects_without_a_protocol_are_refused():
    assert "object" in refused(TypeError, object())
    assert "object" in refused(TypeError, [object()])
