# SPDX-License-Identifier: Apache-2.0
"""Rows and columns of arrays in device memory."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import host, samples
from testing.device import GPU, fetched
from testing.peers.arrays import column_from

pytestmark = GPU


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_slice_of_a_column_has_its_rows(type_, nesting, nulls):
    array = samples.nest(type_, nesting, 75, nulls)
    exported = bridge.to_arrow_device(column_from(array))
    whole = pa.array(exported.to_host())
    for begin, end in ((0, 0), (2, 5), (9, 75), (40, 75)):
        part = exported[begin:end]
        expected = whole.slice(begin, end - begin)
        assert part.null_count == expected.null_count
        assert pa.array(part.to_host()).equals(expected)
        column = fetched(bridge.from_arrow_device(part, to="pylibcudf"))
        assert host.to_arrow(column, expected.type).equals(expected)


def test_columns_and_slices_of_a_table_share_memory():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    exported = bridge.to_arrow_device(bridge.from_arrow_device(table))
    part = exported[["b", "a"]][1:]
    assert part.device_type == exported.device_type
    expected = table.select(["b", "a"]).slice(1)
    assert bridge.from_arrow_device(part).to_arrow().cast(expected.schema).equals(expected)
    addresses = {buffer.address for buffer in part.buffers()}
    assert addresses <= {buffer.address for buffer in exported.buffers()}


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_slices_of_pylibcudf_are_imported(type_, nesting):
    array = samples.nest(type_, nesting, 75, "some")
    (part,) = plc.copying.slice(column_from(array), [9, 60])
    expected = array.slice(9, 51)
    shared = bridge.from_arrow_device(part, to="pylibcudf", copy=False)
    copied = bridge.from_arrow_device(part, to="pylibcudf", copy=True)
    for found in (shared, copied, *bridge.iter_arrow_device_stream([part], to="pylibcudf")):
        assert host.to_arrow(fetched(found), expected.type).equals(expected)
    frames = [bridge.from_arrow_device(plc.Table([part])) for _ in range(2)]
    frames.append(bridge.from_arrow_device_stream(frames))
    assert [len(frame) for frame in frames] == [51, 51, 102]
    for frame in frames[:2]:
        exported = bridge.to_arrow_device(frame).to_host()
        assert exported["0"].to_arrow().to_pylist() == expected.to_pylist()
