# SPDX-License-Identifier: Apache-2.0
"""Names and sizes of the buffers of arrays over messages, including types that cuDF lacks."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import views
from testing.exchange.pickles import adopted, batch_in
from testing.ipc import samples as ipc_samples
from testing.ipc.samples import ALL_TYPES, written
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


SHORT = pa.array(["a", None, ""], pa.string_view())
LONG = pa.array(["of more than twelve bytes", "a"], pa.string_view())


@pytest.mark.parametrize(
    ("parts", "sizes"),
    [([SHORT], []), ([LONG], [25]), ([LONG, SHORT, LONG[:1]], [25, 25])],
    ids=["none", "one", "two"],
)
def test_string_views_list_each_of_their_data_buffers(parts, sizes):
    column = pa.concat_arrays(parts)
    # pyarrow's builders add an empty data buffer.
    buffers = [b for i, b in enumerate(column.buffers()) if i < 2 or b.size]
    column = pa.Array.from_buffers(column.type, len(column), buffers, column.null_count)
    batch = pa.record_batch({"a": column})
    (array,) = cab.ipc.open_stream(written(batch.schema, [batch]))
    found = [(buffer.name, buffer.size) for buffer in array["a"].buffers()]
    assert found[1:] == [
        ("views", 16 * len(column)),
        *(("data", size) for size in sizes),
        ("sizes", 8 * len(sizes)),
    ]


@pytest.mark.parametrize(("type_", "width"), [(pa.list_view, 4), (pa.large_list_view, 8)])
def test_list_views_have_offsets_and_sizes(type_, width):
    batch = pa.record_batch({"a": pa.array([[1, 2], None, []], type_(pa.int8()))})
    (array,) = cab.ipc.open_stream(written(batch.schema, [batch]))
    found = [(buffer.name, buffer.size) for buffer in array["a"].buffers()]
    expected = [("validity", 1), ("offsets", 3 * width), ("sizes", 3 * width)]
    assert found == [*expected, ("[].validity", 0), ("[].data", 2)]


@pytest.mark.parametrize("ends", [pa.int16(), pa.int32(), pa.int64()])
@pytest.mark.parametrize(("start", "size"), [(0, 9), (1, 3), (4, 5), (5, 0), (8, 1)])
def test_messages_of_sliced_runs_contain_only_their_runs(ends, start, size):
    values = pa.array(["a", None, "b", "b", "c", None, "d", "e", "e"])
    runs, _ = views.run_ended(values, ends)
    batch = pa.record_batch({"a": runs})
    (array,) = cab.ipc.open_stream(written(batch.schema, [batch]))
    (found,) = cab.ipc.from_messages(cab.ipc.messages(array[start : start + size]))
    column = pa.record_batch(found).column(0)
    column.validate(full=True)
    expected = runs.slice(start, size)
    assert column.to_pylist() == expected.to_pylist()
    assert len(column.values) == expected.find_physical_length()
