# SPDX-License-Identifier: Apache-2.0
"""The helpers of the GPU tests, tested in host memory."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc

import cudf_arrow_bridge as bridge
from testing.device import frame_rows, names_by_position, rows, unnamed, wait_until
from testing.host import to_arrow, to_plc

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
