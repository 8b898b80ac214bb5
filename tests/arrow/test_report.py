# SPDX-License-Identifier: Apache-2.0
"""Test `DeviceArray.report`: the shared and copied bytes of each column, and the reasons."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly


@pytest.fixture
def array():
    table = pa.record_batch(
        {
            "n": pa.array([1, None, 3], pa.int64()),
            "flag": [True, None, False],
            "<b>": [[True], [], None],
            "text": ["a", "bb", "ccc"],
        }
    )
    frame = cab.from_arrow_device(table)
    return cab.to_arrow_device(frame)


def test_report_has_a_row_for_each_column(array):
    report = array.report()
    assert [column.path for column in report] == ["n", "flag", "<b>", "text"]
    assert [column.arrow_type for column in report] == [str(f.type) for f in array.schema]
    numbers, flags, lists, texts = report
    assert numbers == ("n", "int64", 3 * 8 + 1, 0, "")
    assert (flags.shared_bytes, flags.copied_bytes) == (1, 1)
    assert flags.reason == "bits in Arrow, bytes in cuDF"
    assert (lists.shared_bytes, lists.copied_bytes) == (4 * 4 + 1, 1)
    assert lists.reason == "[]: bits in Arrow, bytes in cuDF"
    assert (texts.shared_bytes, texts.copied_bytes) == (4 * 4 + 6, 0)
    assert [column.zero_copy for column in report] == [True, False, False, True]
    assert sum(c.shared_bytes + c.copied_bytes for c in report) == array.nbytes
    lines = repr(report).splitlines()
    assert lines[0].split() == ["column", "Arrow", "type", "shared", "copied", "why"]
    assert lines[1].split() == ["n", "int64", "25", "B", "0", "B"]
    assert lines[2].endswith("1 B     1 B     bits in Arrow, bytes in cuDF")
    by_name = {buffer.name: (buffer.zero_copy, buffer.reason) for buffer in array.buffers()}
    assert by_name["n.data"] == (True, "")
    assert by_name["flag.data"] == (False, "bits in Arrow, bytes in cuDF")


CONVERSIONS = [
    (pa.string(), pa.large_string(), "offsets of another width"),
    (pa.string(), pa.string_view(), "views in Arrow"),
    (pa.string(), pa.dictionary(pa.int32(), pa.string()), "values become a dictionary"),
    (pa.dictionary(pa.int8(), pa.string()), pa.string(), "the dictionary is decoded"),
    (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int16(), pa.string()), "indices"),
    (pa.decimal32(9, 2), pa.decimal128(20, 2), "values of another width"),
    (pa.duration("s"), pa.time32("s"), "32 bits in Arrow"),
]


@pytest.mark.parametrize(("type_", "requested", "reason"), CONVERSIONS, ids=str)
def test_requested_conversions_have_reasons(type_, requested, reason):
    column = to_plc(samples.values(type_, 20, "none"))
    (report,) = cab.to_arrow_device(column, requested_schema=pa.field("", requested)).report()
    assert reason in report.reason
    assert report.copied_bytes > 0


def test_report_names_the_bitmap_that_compact_copies():
    column = samples.column_of(samples.values(pa.int32(), 40, "some"), [(3, 30)])
    (shared,) = cab.to_arrow_device(column).report()
    (compact,) = cab.to_arrow_device(column, compact=True).report()
    assert shared.zero_copy
    assert "mask" in compact.reason
    assert compact.copied_bytes == 4


def test_report_of_a_copy_has_the_reason_copy_true(array):
    copied = cab.to_arrow_device(array, copy=True).report()
    assert {column.reason.rpartition(": ")[2] for column in copied} == {"copy=True"}
    assert [c.shared_bytes for c in copied] == [0] * 4


@pytest.mark.skipif(cab.has_gpu(), reason="with a GPU, all buffers are copied to the device")
@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (pa.array([1.0], pa.float32()).cast(pa.float16()), "widened"),
        (pa.array([[1]], pa.large_list(pa.int8())), "offsets of another width"),
        (pa.array(["a longer one than views hold"], pa.string_view()), "views in Arrow"),
        (pa.RunEndEncodedArray.from_arrays([2], ["x"]), "runs"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_report_lists_buffers_that_an_import_converted_as_copied(array, reason):
    (report,) = cab.to_arrow_device(DeviceOnly(array)).report()
    assert reason in report.reason
    assert report.copied_bytes > 0
    assert (report.shared_bytes > 0) == pa.types.is_large_list(array.type)


def test_report_of_batches_and_children_has_the_reason():
    batches = cab.to_arrow_device_stream(pa.table({"a": [True, False, True]}), max_rows=2)
    for batch in batches:
        (column,) = batch.report()
        assert column.reason == "bits in Arrow, bytes in cuDF"
        assert batch.children[0].report()[0].reason == column.reason
