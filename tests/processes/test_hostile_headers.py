# SPDX-License-Identifier: Apache-2.0
"""Headers and buffers that contradict each other are rejected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.pickling import pack, unpack
from testing.exchange.pickles import adopted, column_in, places
from testing.ipc.metadata import Metadata
from testing.ipc.mutants import padded

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

SOURCE = pa.array(["a", "bcd", None])
PACKED = pack(cab.to_arrow_device(SOURCE))
MASK, OFFSETS, TEXT = (pa.py_buffer(buffer) for buffer in PACKED[1])
*FLAGS, SCHEMA, BATCH = PACKED[0]

BUFFERS = {
    "missing": ([MASK, OFFSETS], "expected 3 buffers, got 2"),
    "extra": ([MASK, OFFSETS, TEXT, TEXT], "expected 3 buffers, got 4"),
    "short": ([MASK, OFFSETS[:12], TEXT], "buffer 1: expected bytes within 12, got 0 to 16"),
    "absent": ([None, OFFSETS, TEXT], "buffer 0: expected bytes within 0, got 0 to 1"),
    "swapped": ([OFFSETS, MASK, TEXT], "buffer 1: expected bytes within 1, got 0 to 16"),
    "past the text": (
        [MASK, np.array([0, 1, 4, 5], "int32"), TEXT],
        r"column '\(top level\)': expected a last offset of at most 4.* got 5$",
    ),
    "negative": ([MASK, np.array([-1, 1, 4, 4], "int32"), TEXT], "got -1|offset.*-1"),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_unpack_rejects_wrong_buffers(name):
    buffers, message = BUFFERS[name]
    with pytest.raises(ValueError, match=message):
        unpack(PACKED[0], buffers)
    assert column_in(unpack(*PACKED)).equals(SOURCE)


def test_unpack_rejects_run_ends_before_the_last_row():
    """A search for the value of the last row would read past the last run."""
    batch = pa.record_batch({"a": pc.run_end_encode(pa.array([1, 1, 2]), run_end_type=pa.int16())})
    (array,) = adopted(batch.schema, [batch])
    header, buffers = pack(array["a"])
    for ends in ([2, 3], [2, 9]):
        buffers[0] = np.array(ends, "int16")
        assert pa.array(unpack(header, buffers)).to_pylist() == [1, 1, 2]
    for last in (2, 0, -1):
        buffers[0] = np.array([2, last], "int16")
        with pytest.raises(ValueError, match=f"expected a last run end of at least 3, got {last}"):
            unpack(header, buffers)


@pytest.mark.parametrize("buffer", ["text", 7, object()], ids=["text", "number", "object"])
def test_unpack_rejects_objects_without_memory(buffer):
    with pytest.raises(
        TypeError, match=f"expected .* got an object of type {type(buffer).__name__}$"
    ):
        unpack(PACKED[0], [MASK, OFFSETS, buffer])


HEADERS = {
    "kind": (("frame", *PACKED[0][1:]), "expected the kind 'table' or 'column', got 'frame'"),
    "no messages": ((*FLAGS, SCHEMA), "expected 0 buffers, got 3"),
    "no schema": ((*FLAGS, BATCH), "the message is a batch, not a schema"),
    "two schemas": ((*FLAGS, SCHEMA, SCHEMA, BATCH), "the stream has a second schema"),
    "short metadata": ((*FLAGS, SCHEMA, BATCH[:-1]), "metadata byte"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_unpack_rejects_wrong_headers(name):
    header, message = HEADERS[name]
    with pytest.raises(ValueError, match=message):
        unpack(header, PACKED[1])
    with pytest.raises(ValueError, match="the last message is not a record batch"):
        unpack((*FLAGS, SCHEMA), [])


def test_unpack_rejects_a_column_header_with_two_columns():
    header, buffers = pack(cab.to_arrow_device(pa.table({"a": [1], "b": [2]})))
    with pytest.raises(ValueError, match=r"^header: .*column"):
        unpack(("column", *header[1:]), buffers)


def test_unpack_rejects_the_schema_of_another_array():
    for wrong in (pa.array([1]), pa.array([[1]]), pa.nulls(1), pa.array([{"a": 1}])):
        *_, schema, _ = pack(cab.to_arrow_device(wrong))[0]
        with pytest.raises(ValueError, match=r"expected .* got |fewer .* than the schema needs"):
            unpack((*FLAGS, schema, BATCH), PACKED[1])


def as_packed(batch):
    kind, device_type, _, first_row = FLAGS
    return kind, device_type, True, first_row, SCHEMA, batch


def test_unpack_reads_packed_bodies_in_host_memory():
    """A reader without a GPU receives packed bodies that were in device memory."""
    body = b"".join(map(padded, (MASK, OFFSETS, TEXT)))
    memory = pa.py_buffer(body)
    found = column_in(unpack(as_packed(BATCH), [memory]))
    assert found.equals(SOURCE)
    assert places([found.buffers()[1]]) == [(memory.address + 64, 16)]
    shifted = unpack(as_packed(BATCH), [pa.py_buffer(b"." + body)[1:]])
    assert column_in(shifted).equals(SOURCE)
    assert all(address % 8 == 0 for address, _ in places(column_in(shifted).buffers()))
    for wrong in ([MASK, OFFSETS, TEXT], [], [memory[:130]], [memory, memory]):
        with pytest.raises(ValueError, match=r"expected .* got "):
            unpack(as_packed(BATCH), wrong)


def test_unpack_rejects_sizes_whose_sum_overflows():
    body = b"".join(map(padded, (MASK, OFFSETS, TEXT)))
    for number in (2**63 - 1, 2**63 - 64, 2**62):
        for i in range(3):
            batch = Metadata(BATCH).patched(**{f"buffer {2 * i + 1}": number})
            with pytest.raises(ValueError, match=r"expected .* got "):
                unpack(as_packed(batch), [body])
