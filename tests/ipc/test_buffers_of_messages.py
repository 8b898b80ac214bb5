# SPDX-License-Identifier: Apache-2.0
"""Names and sizes of the buffers of arrays over messages, including types that cuDF lacks."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.exchange.pickles import adopted, batch_in, column_in
from testing.ipc import samples as ipc_samples
from testing.ipc.samples import ALL_TYPES
from testing.shared_memory import buffers_of_arrow

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="addresses of the CPU's memory are compared")


@pytest.mark.parametrize("type_", ALL_TYPES)
def test_buffers_match_the_buffers_of_pyarrow(type_):
    batches = [ipc_samples.batch_of(type_), *ipc_samples.batches_of(type_)]
    for array, batch in zip(adopted(batches[0].schema, batches), batches, strict=True):
        found = {(b.address, b.size) for b in array.buffers() if b.size}
        columns = [column for column in batch_in(array).columns if len(batch)]
        for column in columns:
            for buffer in buffers_of_arrow(column):
                # pyarrow rounds up the size of the data buffer of strings.
                assert any(buffer.address == at and size <= buffer.size + 8 for at, size in found)
        assert array.nbytes == sum(buffer.size for buffer in array.buffers())
        assert repr(array)


def test_string_views_list_each_of_their_data_buffers():
    short = pa.array(["x", None], pa.string_view())
    long = pa.array(["x" * 20, "y" * 30], pa.string_view())
    for rows, has_data in ((short, False), (long, True), (pa.concat_arrays([long, long]), True)):
        (array,) = adopted(pa.schema({"a": rows.type}), [pa.record_batch({"a": rows})])
        names = [buffer.name for buffer in array["a"].buffers()]
        assert names[:2] == ["validity", "views"]
        data = column_in(array["a"]).buffers()[2:]
        assert names[2:] == ["data"] * len(data) + ["sizes"]
        sizes = [buffer.size for buffer in array["a"].buffers() if buffer.name == "data"]
        assert sizes == [buffer.size for buffer in data]
        assert (sum(sizes) > 0) == has_data


def test_list_views_and_run_ends_list_their_buffers():
    lists = pa.array([[1, 2], None], pa.list_view(pa.int32()))
    (array,) = adopted(pa.schema({"a": lists.type}), [pa.record_batch({"a": lists})])
    assert [(b.name, b.size) for b in array["a"].buffers()] == [
        ("validity", 1), ("offsets", 8), ("sizes", 8), ("[].validity", 0), ("[].data", 8)
    ]  # fmt: skip
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int16()), pa.array([7, 8]))
    (array,) = adopted(pa.schema({"a": runs.type}), [pa.record_batch({"a": runs})])
    assert sum(b.size for b in array["a"].buffers()) == 4 + 16
