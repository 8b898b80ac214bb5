# SPDX-License-Identifier: Apache-2.0
"""Requested schemas of exports in device memory, converted by libcudf's algorithms."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU

pytestmark = GPU

DAY = dt.date(2024, 2, 29)
NOON = dt.time(12, 30, 5)
BYTES = pa.list_(pa.uint8())

#: Arrays and requested types. The conversions keep the values.
MET = [
    (pa.array(["a", None, "bc"]), pa.large_string()),
    (pa.array(["a", None, "bc"], pa.large_string()), pa.string()),
    (pa.array([[1], None, []], pa.list_(pa.int32())), pa.large_list(pa.int32())),
    (pa.array([Decimal("1.5"), None], pa.decimal32(9, 2)), pa.decimal128(20, 2)),
    (pa.array([Decimal("1.5"), None], pa.decimal128(38, 2)), pa.decimal32(5, 2)),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.string()),
    (pa.array(["a", None, "a"]).dictionary_encode(), pa.dictionary(pa.int8(), pa.string())),
    (pa.array(["a", None, "a"]), pa.dictionary(pa.int16(), pa.string())),
    (pa.array([5, None, 5]), pa.dictionary(pa.int8(), pa.int64())),
    (pa.array([DAY, None], pa.date32()), pa.date64()),
    (pa.array([DAY, None], pa.date64()), pa.date32()),
]
LEAVE_AS_THEY_WERE = [
    pa.array([DAY, None], pa.date32()),
    pa.array([DAY, None], pa.date64()),
    pa.array([NOON, None], pa.time32("s")),
    pa.array([NOON, None], pa.time64("us")),
    pa.array([b"a", None, b"\xff\0"], pa.binary()),
    pa.array([b"a", None, b"\xff\0"], pa.large_binary()),
    pa.array([b"ab", None, b"\xff\0"], pa.binary(2)),
    pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int32())),
    pa.array([[1], None, []], pa.large_list(pa.int32())),
    pa.ListArray.from_arrays([0, 2, 3], pa.array(["a", "b", "a"]).dictionary_encode()),
]


def on_host(array):
    found = pa.array(array.to_host())
    found.validate(full=True)
    return found


@pytest.mark.parametrize(("array", "target"), MET, ids=str)
def test_export_converts_to_the_requested_type(array, target):
    for begin, size in ((0, len(array)), (1, len(array) - 1), (0, 0)):
        part = array.slice(begin, size)
        column = bridge.from_arrow_device(part, to="pylibcudf", kind="column")
        asked = bridge.to_arrow_device(column, requested_schema=pa.field("", target))
        found = on_host(asked)
        assert found.type == target
        assert found.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("array", LEAVE_AS_THEY_WERE, ids=lambda array: str(array.type))
def test_export_of_an_imported_column_keeps_the_arrow_type(array):
    found = on_host(bridge.to_arrow_device(bridge.from_arrow_device(array)))
    assert found.type == array.type
    assert found.to_pylist() == array.to_pylist()


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([1], pa.timestamp("s")), pa.date32()),
        (pa.array([-1], pa.duration("us")), pa.time64("us")),
        (pa.array([Decimal("1000.00")], pa.decimal64(18, 2)), pa.decimal32(5, 2)),
        (pa.array([[1], [1, 2]], BYTES), pa.binary(1)),
        (pa.array([[None]], BYTES), pa.binary()),
    ],
    ids=str,
)
def test_export_rejects_a_requested_type_that_the_data_does_not_fit(array, target):
    column = bridge.from_arrow_device(array, to="pylibcudf", kind="column")
    with pytest.raises(
        ValueError, match=r"^column .*: expected (whole days|times of day|decimals|lists|no null)"
    ):
        bridge.to_arrow_device(column, requested_schema=pa.field("", target))


def test_export_ignores_a_request_for_string_views():
    column = bridge.from_arrow_device(pa.array(["a"]), to="pylibcudf", kind="column")
    wanted = pa.field("", pa.string_view())
    on_host = bridge.to_arrow_device(column).to_host()
    for source in (column, on_host):
        asked = bridge.to_arrow_device(source, requested_schema=wanted)
        assert asked.schema.type == pa.string()
