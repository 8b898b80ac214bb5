# SPDX-License-Identifier: Apache-2.0
"""Test the per-thread default stream, whose handle means a different stream on each thread."""

from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge import to_arrow
from cudf_arrow_bridge._core.import_.array_importer import ArrayImporter, ImportArguments
from cudf_arrow_bridge.cuda import ordering, streams
from cudf_arrow_bridge.cuda.streams import (
    DEFAULT_HANDLE,
    PER_THREAD_HANDLE,
    Stream,
    resolve_stream,
    stream_handle,
)
from cudf_arrow_bridge.export import inputs
from cudf_arrow_bridge.export import streams as export_streams
from cudf_arrow_bridge.export.sources import datasets
from testing.peers import chunked_reader
from testing.peers.streams import delayed

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="uses invalid stream handles")

BATCH = pa.record_batch({"a": [1, 2, 3, 4]})
#: The handle of the caller's stream.
OTHER = 0x5150
#: OTHER exports data of cuDF's stream and waits for it; the free waits for the work on OTHER.
THERE_AND_BACK = [(OTHER, streams.CUDF_HANDLE), (streams.CUDF_HANDLE, OTHER)]


def elsewhere(work):
    """Call `work` on a new thread and return its result."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    (result,) = found
    return result


@pytest.mark.parametrize(
    ("handle", "same", "freed_by_thread"),
    [(0, 0, False), (1, 0, False), (OTHER, OTHER, False), (2, 2, True)],
)
def test_only_the_per_thread_stream_differs_on_another_thread(handle, same, freed_by_thread):
    """Handles 0 and 1 are the same stream, but libcudf's hash tables do not accept 1."""
    stream = Stream(handle, None)
    assert stream.handle == same
    assert elsewhere(lambda: stream.handle) == (DEFAULT_HANDLE if handle == 2 else same)
    assert stream.is_freed_by_thread == freed_by_thread
    assert elsewhere(lambda: stream.is_freed_by_thread) == freed_by_thread


def test_per_thread_stream_has_the_legacy_handle_on_another_thread():
    stream = resolve_stream(PER_THREAD_HANDLE)
    assert stream.handle == PER_THREAD_HANDLE
    assert elsewhere(lambda: stream.__cuda_stream__()) == (0, DEFAULT_HANDLE)
    assert elsewhere(lambda: stream_handle(stream)) == DEFAULT_HANDLE
    held = elsewhere(lambda: resolve_stream(stream))
    assert held.handle == DEFAULT_HANDLE


@pytest.fixture
def per_thread(monkeypatch):
    """Make cuDF compute on the per-thread default stream, as an environment variable does."""
    for module in (streams, datasets):
        monkeypatch.setattr(module, "CUDF_HANDLE", PER_THREAD_HANDLE)


def test_default_stream_of_cudf_is_that_of_the_calling_thread(per_thread):
    stream = resolve_stream(None)
    assert stream.handle == PER_THREAD_HANDLE
    assert elsewhere(lambda: stream.handle) == DEFAULT_HANDLE
    assert elsewhere(lambda: resolve_stream(None).handle) == PER_THREAD_HANDLE
    assert elsewhere(lambda: stream_handle(None)) == PER_THREAD_HANDLE


@pytest.fixture
def used(monkeypatch):
    """Record the handles of the streams that arrays are exported on."""
    handles = []

    class NotingExporter(inputs.InputExporter):
        def export(self, *args):
            handles.append(self.arguments.stream.handle)
            return super().export(*args)

    for module in (to_arrow, inputs):
        monkeypatch.setattr(module, "InputExporter", NotingExporter)
    return handles


@pytest.fixture
def sliced(monkeypatch):
    """Record the handles of the streams that export each batch and that free its object."""
    pairs = []
    original = export_streams.export_slices

    def noting(export_input, rows, arguments, schema):
        freed_on = export_input.freed_on
        pairs.append((arguments.stream.handle, freed_on and freed_on.handle))
        return original(export_input, rows, arguments, schema)

    monkeypatch.setattr(export_streams, "export_slices", noting)
    return pairs


@pytest.mark.parametrize(
    ("stream", "handle"), [(2, DEFAULT_HANDLE), (None, DEFAULT_HANDLE), (OTHER, OTHER)]
)
def test_conversion_on_another_thread_uses_a_stream_ordered_after_the_data(
    stream, handle, used, per_thread
):
    exported = cab.to_arrow_device(cab.from_arrow_device(BATCH), stream=stream)
    wanted = pa.schema([("a", pa.decimal128(20))]).__arrow_c_schema__()
    own = used[:]
    elsewhere(lambda: exported.__arrow_c_device_array__(wanted))
    exported.__arrow_c_device_array__(wanted)
    assert own == used[:1] == used[2:]
    assert used[1] == handle


def test_batch_read_by_another_thread_is_exported_on_the_legacy_stream(sliced, per_thread):
    frame = cab.from_arrow_device(BATCH)
    batches = iter(cab.to_arrow_device_stream([frame, frame]))
    next(batches)
    elsewhere(lambda: next(batches))
    assert [handle for handle, _ in sliced] == [PER_THREAD_HANDLE, DEFAULT_HANDLE]


@pytest.fixture
def orders(monkeypatch):
    """Record the calls of `order_after`: the stream that waits and the stream that it waits for."""
    recorded = []
    monkeypatch.setattr(ordering, "order_after", lambda *pair: recorded.append(pair))
    return recorded


def test_per_thread_stream_waits_for_partitions_of_other_threads(orders, per_thread):
    def collection():
        return delayed([cab.from_arrow_device(BATCH)] * 2)

    list(cab.to_arrow_device_stream(collection()))
    # The second pair orders the free of the partition after the export.
    there_and_back = [(PER_THREAD_HANDLE, DEFAULT_HANDLE), (DEFAULT_HANDLE, PER_THREAD_HANDLE)]
    assert orders == there_and_back * 2
    orders.clear()
    stream = cab.to_arrow_device_stream(collection())
    # The other thread uses the legacy stream, which synchronizes with the streams of all threads.
    elsewhere(lambda: list(stream))
    assert orders == []


def test_partitions_are_computed_on_the_stream_of_cudf(orders):
    collection = delayed([cab.from_arrow_device(BATCH)])
    list(cab.to_arrow_device_stream(collection))
    assert orders == []
    list(cab.to_arrow_device_stream(collection, stream=OTHER))
    assert orders == THERE_AND_BACK


def test_files_are_read_on_the_stream_of_cudf(orders, sliced, monkeypatch, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(BATCH), path, row_group_size=2)
    chunked_reader.install(monkeypatch)
    read_back = list(cab.to_arrow_device_stream(path, stream=OTHER))
    assert [len(batch) for batch in read_back] == [2, 2]
    assert orders == THERE_AND_BACK[:1] * 2
    # The release of each batch, and not the request of the next, orders the free of the memory.
    assert sliced == [(OTHER, streams.CUDF_HANDLE)] * 2
    orders.clear()
    list(cab.to_arrow_device_stream(path))
    assert orders == []


class Noted:
    """A stream that records each handle that it returns."""

    def __init__(self, stream):
        self._stream = stream
        self.handles = []

    @property
    def handle(self):
        self.handles.append(self._stream.handle)
        return self.handles[-1]

    def __getattr__(self, name):
        return getattr(self._stream, name)


def test_each_import_uses_the_stream_handle_of_the_calling_thread():
    stream = Noted(resolve_stream(PER_THREAD_HANDLE))
    schema, _ = BATCH.__arrow_c_device_array__()
    importer = ArrayImporter(schema)
    arguments = ImportArguments(stream, None, None, copy=False, validate="minimal", sanitize=True)

    def import_one():
        stream.handles.clear()
        importer.import_array(BATCH.__arrow_c_device_array__()[1], True, arguments)
        return set(stream.handles)

    assert import_one() == {PER_THREAD_HANDLE}
    assert elsewhere(import_one) == {DEFAULT_HANDLE}
    assert import_one() == {PER_THREAD_HANDLE}


@pytest.mark.parametrize("protocol", ["accessor", "installed"])
def test_protocol_methods_export_on_the_legacy_stream(protocol, used, per_thread):
    frame = cab.from_arrow_device(BATCH)
    with cab.install_protocol():
        obj = frame if protocol == "installed" else frame.arrow_device
        obj.__arrow_c_device_array__()
    assert used == [DEFAULT_HANDLE]


def test_memory_is_freed_by_thread_if_cudf_uses_the_per_thread_stream(per_thread):
    assert Stream(OTHER, None).is_freed_by_thread
