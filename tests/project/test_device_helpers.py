# SPDX-License-Identifier: Apache-2.0
"""The helpers of the GPU tests, tested in host memory."""

from __future__ import annotations

import sys
import weakref
from types import SimpleNamespace

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.device import frame_rows, names_by_position, rows, unnamed, wait_until
from testing.host import to_arrow, to_plc
from testing.peers.arrays import nodes, struct_of
from testing.peers.device_memory import OnDevice

BATCH = pa.record_batch(
    {
        "number": pa.array([1, None, 3], pa.int32()),
        "list": pa.array([[1], [], None]),
        "category": pa.array(["b", None, "a"]).dictionary_encode(),
    }
)


def test_frame_rows_returns_the_rows_of_a_frame():
    assert frame_rows(bridge.from_arrow_device(BATCH)) == BATCH.to_pylist()


def test_frame_rows_returns_the_rows_of_a_series():
    for column in BATCH.columns:
        assert frame_rows(bridge.from_arrow_device(column)) == column.to_pylist()


def test_rows_returns_the_rows_of_an_array_and_a_table():
    array = pa.array(["a", None, "ccc"]).slice(1)
    assert rows(bridge.to_arrow_device(to_plc(array))) == array.to_pylist()
    table = plc.Table([to_plc(array)])
    assert rows(bridge.to_arrow_device(table)) == [{"0": row} for row in array.to_pylist()]


def test_names_by_position_match_the_keys_of_unnamed_rows():
    array = pa.array([[{"a": 1, "b": {"c": "x"}}]])
    column = to_plc(array)
    schema = column._to_schema(names_by_position(column))
    found = to_arrow(column, pa.DataType._import_from_c_capsule(schema))
    assert found.to_pylist() == unnamed(array.to_pylist())


def test_wait_until_returns_false_after_the_timeout():
    assert wait_until(lambda: True)
    assert not wait_until(lambda: False, seconds=0.01)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([["a", None], [], None], pa.large_list(pa.string())),
        pa.array(["b", None, "a"]).dictionary_encode(),
        pa.array([{"a": "too long for the view"}, None], pa.struct([("a", pa.string_view())])),
    ],
    ids=lambda array: str(array.type),
)
def test_buffers_on_the_device_live_until_the_array_is_released(array, monkeypatch):
    made, alive = [], weakref.WeakSet()

    class Copy:
        def __init__(self, host):
            self.memory = host.copy()
            self.data = SimpleNamespace(ptr=self.memory.ctypes.data)
            made.append(self.data.ptr)
            alive.add(self)

    cuda = SimpleNamespace(Device=lambda: SimpleNamespace(id=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=Copy, cuda=cuda))
    schema, exported = OnDevice(array).__arrow_c_device_array__()
    tree = nodes(struct_of(exported).array)
    assert {*made} <= {node.buffers[i] for node in tree for i in range(node.n_buffers)}
    assert len(alive) == len(made) > 0
    del schema
    assert len(alive) == len(made)
    del exported
    assert not alive
