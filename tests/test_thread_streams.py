# SPDX-License-Identifier: Apache-2.0
"""The per-thread default stream, which has one handle and is another stream on each thread."""

from __future__ import annotations

import threading

import cudf
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stream_peers import Delayed

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge import batches, exporting, import_streams, stream_exporting, streams
from cudf_arrow_bridge.streams import (
    LEGACY_HANDLE,
    PER_THREAD_HANDLE,
    Stream,
    resolve_stream,
    stream_handle,
)

pytestmark = pytest.mark.skipif(bridge.has_gpu(), reason="names streams that there are not")

BATCH = pa.record_batch({"a": [1, 2, 3, 4]})
#: A stream of the caller's, as a handle.
OTHER = 0x5150


def elsewhere(work):
    """Do something on a thread of its own, and return what it returns."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    (result,) = found
    return result


@pytest.mark.parametrize("handle", [0, LEGACY_HANDLE, OTHER])
def test_other_streams_are_the_same_everywhere(handle):
    stream = Stream(handle, None)
    assert elsewhere(lambda: stream.handle) == stream.handle == handle


def test_another_thread_names_the_legacy_stream():
    stream = resolve_stream(PER_THREAD_HANDLE)
    assert stream.handle == PER_THREAD_HANDLE
    assert elsewhere(lambda: stream.handle) == LEGACY_HANDLE
    assert elsewhere(lambda: stream.__cuda_stream__()) == (0, LEGACY_HANDLE)
    # Also where it is passed on.
    assert elsewhere(lambda: stream_handle(stream)) == LEGACY_HANDLE
    held = elsewhere(lambda: resolve_stream(stream))
    assert held.handle == LEGACY_HANDLE


def test_a_thread_is_not_taken_for_one_that_is_gone():
    made = [elsewhere(lambda: resolve_stream(PER_THREAD_HANDLE)) for _ in range(20)]
    assert {stream.handle for stream in made} == {LEGACY_HANDLE}
    assert {elsewhere(lambda s=stream: s.handle) for stream in made} == {LEGACY_HANDLE}


@pytest.fixture
def per_thread(monkeypatch):
    """CuDF computes on the per-thread default stream, as it is told by an environment variable."""
    for module in (streams, batches):
        monkeypatch.setattr(module, "CUDF_HANDLE", PER_THREAD_HANDLE)


def test_cudfs_stream_is_that_of_whoever_asks(per_thread):
    stream = resolve_stream(None)
    assert stream.handle == PER_THREAD_HANDLE
    assert elsewhere(lambda: stream.handle) == LEGACY_HANDLE
    assert elsewhere(lambda: resolve_stream(None).handle) == PER_THREAD_HANDLE
    assert elsewhere(lambda: stream_handle(None)) == PER_THREAD_HANDLE


@pytest.fixture
def used(monkeypatch):
    """The handles of the streams that arrays are exported on."""
    found = []

    def note(module, name):
        original = getattr(module, name)

        def noting(*arguments):
            (how,) = (one for one in arguments if isinstance(one, exporting.ExportOptions))
            found.append(how.stream.handle)
            return original(*arguments)

        monkeypatch.setattr(module, name, noting)

    note(exporting, "export_parts")
    note(stream_exporting, "slice_parts")
    return found


@pytest.mark.parametrize(
    ("stream", "handle"), [(2, LEGACY_HANDLE), (None, LEGACY_HANDLE), (OTHER, OTHER)]
)
def test_what_another_thread_asks_for_is_exported_behind_the_data(stream, handle, used, per_thread):
    exported = bridge.to_arrow_device(bridge.from_arrow_device(BATCH), stream=stream)
    wanted = pa.schema([("a", pa.decimal128(20))]).__arrow_c_schema__()
    own = used[:]
    elsewhere(lambda: exported.__arrow_c_device_array__(wanted))
    exported.__arrow_c_device_array__(wanted)
    assert own == used[:1] == used[2:]
    assert used[1] == handle


def test_batches_pulled_by_another_thread_are_exported_behind_the_data(used, per_thread):
    frame = bridge.from_arrow_device(BATCH)
    stream = bridge.to_arrow_device_stream([frame, frame])
    next(stream)
    elsewhere(lambda: next(stream))
    assert used == [PER_THREAD_HANDLE, LEGACY_HANDLE]


@pytest.fixture
def orders(monkeypatch):
    """What was put behind what: pairs of the stream that waits and the one it waits for."""
    made = []
    for module in (batches, import_streams):
        monkeypatch.setattr(module, "order_after", lambda *pair: made.append(pair))
    return made


def test_partitions_are_computed_by_any_thread(orders, per_thread):
    def collection():
        return Delayed([bridge.from_arrow_device(BATCH)] * 2)

    list(bridge.to_arrow_device_stream(collection()))
    assert orders == [(PER_THREAD_HANDLE, LEGACY_HANDLE)] * 2
    orders.clear()
    stream = bridge.to_arrow_device_stream(collection())
    # This comes behind all of them as it is.
    elsewhere(lambda: list(stream))
    assert orders == []


def test_partitions_are_computed_on_cudfs_stream(orders):
    collection = Delayed([bridge.from_arrow_device(BATCH)])
    list(bridge.to_arrow_device_stream(collection))
    assert orders == []
    list(bridge.to_arrow_device_stream(collection, stream=OTHER))
    assert orders == [(OTHER, streams.CUDF_HANDLE)]


def test_files_are_read_on_cudfs_stream(orders, monkeypatch, tmp_path):
    def read(path, row_groups):
        ((group,),) = row_groups
        return bridge.from_arrow_device(pq.ParquetFile(path).read_row_group(group))

    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(BATCH), path, row_group_size=2)
    monkeypatch.setattr(batches, "has_gpu", lambda: True)
    monkeypatch.setattr(cudf, "read_parquet", read)
    read_back = list(bridge.to_arrow_device_stream(path, stream=OTHER))
    assert [len(batch) for batch in read_back] == [2, 2]
    assert orders == [(OTHER, streams.CUDF_HANDLE)] * 2
    orders.clear()
    list(bridge.to_arrow_device_stream(path))
    assert orders == []
