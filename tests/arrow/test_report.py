# SPDX-License-Identifier: Apache-2.0
"""Test `DeviceArray.report`: the shared and copied bytes of each column, and the reasons."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
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
    frame = bridge.from_arrow_device(table)
    return bridge.to_arrow_device(frame)


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


def test_bytes_of_a_report_add_up_to_nbytes(array):
    assert sum(c.shared_bytes + c.copied_bytes for c in array.report()) == array.nbytes


def test_buffers_have_the_reason_of_a_conversion(array):
    by_name = {buffer.name: buffer for buffer in array.buffers()}
    assert by_name["n.data"].zero_copy
    assert by_name["n.data"].reason == ""
    assert not by_name["flag.data"].zero_copy
    assert by_name["flag.data"].reason == "bits in Arrow, bytes in cuDF"


def test_report_of_a_column_has_one_row():
    (column,) = bridge.to_arrow_device(to_plc(pa.array([1, 2]))).report()
    assert column == ("", "int64", 16, 0, "")


def test_report_has_a_text_and_an_html_repr(array):
    lines = repr(array.report()).splitlines()
    assert lines[0].split() == ["column", "Arrow", "type", "shared", "copied", "why"]
    assert lines[1].split() == ["n", "int64", "25", "B", "0", "B"]
    assert lines[2].endswith("1 B     1 B     bits in Arrow, bytes in cuDF")
    html = array.report()._repr_html_()
    assert ">&lt;b&gt;</td>" in html
    assert html.count("<tr>") == 5


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
    (report,) = bridge.to_arrow_device(column, requested_schema=pa.field("", requested)).report()
    assert reason in report.reason
    assert report.copied_bytes > 0


def test_report_names_the_bitmap_that_compact_copies():
    column = samples.column_of(samples.values(pa.int32(), 40, "some"), [(3, 30)])
    (shared,) = bridge.to_arrow_device(column).report()
    (compact,) = bridge.to_arrow_device(column, compact=True).report()
    assert shared.zero_copy
    assert "mask" in compact.reason
    assert compact.copied_bytes == 4


def test_report_of_a_copy_has_the_reason_copy_true(array):
    copied = bridge.to_arrow_device(array, copy=True).report()
    assert {column.reason.rpartition(": ")[2] for column in copied} == {"copy=True"}
    assert [c.shared_bytes for c in copied] == [0] * 4


@pytest.mark.skipif(bridge.has_gpu(), reason="with a GPU, all buffers are copied to the device")
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
    (report,) = bridge.to_arrow_device(DeviceOnly(array)).report()
    assert reason in report.reason
    assert report.copied_bytes > 0


def test_report_lists_buffers_that_an_import_shared_as_shared():
    array = pa.array([[1, 2], [3]], pa.large_list(pa.int64()))
    (report,) = bridge.to_arrow_device(array).report()
    if not bridge.has_gpu():
        assert report.shared_bytes == 3 * 8


def test_report_of_batches_and_children_has_the_reason():
    batches = bridge.to_arrow_device_stream(pa.table({"a": [True, False, True]}), max_rows=2)
    for batch in batches:
        (column,) = batch.report()
        assert column.reason == "bits in Arrow, bytes in cuDF"
        assert batch.children[0].report()[0].reason == column.reason


def test_report_of_a_released_array_raises(array):
    array.release()
    with pytest.raises(ValueError, match="released"):
        array.report()
