# SPDX-License-Identifier: Apache-2.0
"""Test tables as streams of one batch, and stream consumers that testing.peers lacks."""

from __future__ import annotations

import arro3.core
import duckdb
import narwhals
import numpy as np
import polars
import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge._core.stream.stream_export import ExportedStream
from testing.host import to_plc
from testing.peers.arrow_cpp import reader_of

ROWS = 10
BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 4 == 0 else i for i in range(ROWS)]),
        "text": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(ROWS)]),
        "real": pa.array([i / 2 for i in range(ROWS)]),
    }
)


def array():
    return bridge.to_arrow_device(bridge.from_arrow_device(BATCH))


def one_pass():
    """Return a stream of a generator; a consumer that opens two passes fails."""
    return bridge.to_arrow_device_stream(
        bridge.from_arrow_device(BATCH.slice(at, 5)) for at in (0, 5)
    )


def many_passes():
    return bridge.to_arrow_device_stream(bridge.from_arrow_device(BATCH), max_rows=3)


def in_duckdb(handed):
    assert handed is not None  # duckdb finds the variable by its name
    return duckdb.sql("select * from handed").to_arrow_table()


TAKERS = {
    "pyarrow reader": lambda obj: pa.RecordBatchReader.from_stream(obj).read_all(),
    "Arrow C++ device reader": lambda obj: reader_of(obj).read_all(),
    "narwhals by pyarrow": lambda obj: narwhals.from_arrow(obj, backend="pyarrow").to_arrow(),
    "narwhals by pandas": lambda obj: narwhals.from_arrow(obj, backend="pandas").to_arrow(),
    "duckdb by name": in_duckdb,
}


@pytest.mark.parametrize("hand", [array, one_pass, many_passes], ids=lambda hand: hand.__name__)
@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_consumers_read_tables_and_streams(take, hand):
    found = take(hand())
    assert found.column_names == BATCH.schema.names
    assert found.to_pylist() == BATCH.to_pylist()


@pytest.mark.skipif(polars.__version__ < "2", reason="polars 1 warns and returns a frame")
def test_polars_from_arrow_returns_a_series_of_structs():
    """polars treats arro3's tables the same way; `polars.DataFrame` returns a frame."""
    for obj in (arro3.core.Table(BATCH), array(), many_passes()):
        taken = polars.from_arrow(obj)
        assert isinstance(taken, polars.Series)
        assert taken.struct.unnest().to_dicts() == BATCH.to_pylist()


def test_duckdb_queries_a_stream_repeatedly():
    handed = many_passes()
    for _ in range(3):
        ((total,),) = duckdb.sql("select sum(number) from handed").fetchall()
        assert total == sum(n or 0 for n in BATCH["number"].to_pylist())
    assert handed.error is None


def test_duckdb_reads_a_wrapper_around_a_one_pass_stream():
    """duckdb reads the schema, releases the stream, and calls the wrapper again for the batches."""

    class Wrapper:
        def __init__(self, stream):
            self.stream, self.calls = stream, 0

        def __arrow_c_stream__(self, requested_schema=None):
            self.calls += 1
            return self.stream.__arrow_c_stream__(requested_schema)

    handed = Wrapper(one_pass())
    assert in_duckdb(handed).to_pylist() == BATCH.to_pylist()
    assert handed.calls > 1


def test_column_has_no_stream_protocols():
    column = bridge.to_arrow_device(to_plc(BATCH["number"]))
    for name in ("__arrow_c_stream__", "__arrow_c_device_stream__"):
        assert not hasattr(column, name)
        with pytest.raises(AttributeError, match=f"{name}: expected a table, got a column"):
            getattr(column, name)
    assert pa.array(column).equals(BATCH["number"])
    assert polars.Series(column).to_list() == BATCH["number"].to_pylist()
    with pytest.raises(TypeError):
        pa.RecordBatchReader.from_stream(column)


def test_struct_column_has_no_stream_protocol():
    rows = pa.array([{"0": 1}, None])
    column = bridge.to_arrow_device(to_plc(rows))
    assert not hasattr(column, "__arrow_c_stream__")
    assert pa.array(column).to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__arrow_c_device_stream__"])
def test_table_exports_a_stream_of_one_batch_that_shares_memory(protocol):
    exported = array()
    getattr(exported, protocol)()  # an unused capsule
    reader = reader_of if "device" in protocol else pa.RecordBatchReader.from_stream
    (batch,) = reader(exported)
    assert batch.equals(pa.record_batch(exported))
    addresses = {b.name: b.address for b in exported.buffers()}
    assert batch["real"].buffers()[1].address == addresses["real.data"]
    exported.release()
    assert batch.to_pylist() == BATCH.to_pylist()
    with pytest.raises(ValueError, match="released"):
        getattr(exported, protocol)()


@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__arrow_c_device_stream__"])
def test_table_exports_a_stream_with_a_requested_schema(protocol):
    exported = array()
    wanted = BATCH.schema.set(1, pa.field("text", pa.large_string()))
    capsule = getattr(exported, protocol)(wanted.__arrow_c_schema__())

    class Handed:
        pass

    setattr(Handed, protocol, lambda self, requested_schema=None: capsule)
    (batch,) = bridge.from_arrow_device_stream(Handed(), concat=False, to="pylibcudf")
    assert batch.columns()[1].children()[0].type().id().name == "INT64"
    with pytest.raises(ValueError, match="expected a requested schema of 3 fields, got 2"):
        getattr(exported, protocol)(pa.schema(list(wanted)[:2]).__arrow_c_schema__())


def test_device_stream_rejects_an_unknown_keyword_with_a_value():
    with pytest.raises(NotImplementedError, match="later"):
        array().__arrow_c_device_stream__(None, later=1)
    array().__arrow_c_device_stream__(None, later=None)


@pytest.fixture
def on_gpu(monkeypatch):
    """Let arrays in host memory report device memory."""
    cuda = bridge.DeviceType.CUDA
    monkeypatch.setattr(bridge.DeviceArray, "device_type", cuda)
    monkeypatch.setattr(bridge.DeviceArray, "__dlpack_device__", lambda self: (cuda, 0))


HOST_PROTOCOLS = {
    "array": lambda exported: exported.__arrow_c_array__(),
    "stream": lambda exported: exported.__arrow_c_stream__(),
    "numpy": lambda exported: np.asarray(exported["real"]),
}


@pytest.mark.parametrize("export", HOST_PROTOCOLS.values(), ids=HOST_PROTOCOLS)
def test_host_protocols_of_device_memory_raise_if_the_export_forbids_copies(export, on_gpu):
    exported = bridge.to_arrow_device(bridge.from_arrow_device(BATCH), copy=False)
    with pytest.raises(ValueError, match=r"copy=False: the consumer .* CUDA memory: to_host\(\)"):
        export(exported)


def test_numpy_gets_a_copy_of_device_memory(on_gpu, monkeypatch):
    copied = np.arange(3)
    monkeypatch.setattr(bridge.DeviceArray, "to_host", lambda self, stream: copied)
    exported = array()["real"]
    assert np.asarray(exported).tolist() == [0, 1, 2]
    assert np.asarray(exported, dtype="float32").dtype == "float32"
    with pytest.raises(ValueError, match="copy=False: the consumer reads host memory"):
        exported.__array__(copy=False)


def test_host_stream_of_device_memory_raises_if_the_export_forbids_copies(monkeypatch):
    class OnGpu(ExportedStream):
        def device_type(self):
            return bridge.DeviceType.CUDA

    monkeypatch.setattr("cudf_arrow_bridge.export.streams.ExportedStream", OnGpu)
    frame = bridge.from_arrow_device(BATCH)
    stream = bridge.to_arrow_device_stream(frame, copy=False)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"copy=False: .* CUDA memory: to_host\(\) copies"):
            stream.__arrow_c_stream__()
    assert reader_of(stream).read_all().to_pylist() == BATCH.to_pylist()
    assert pa.table(bridge.to_arrow_device_stream(frame)).to_pylist() == BATCH.to_pylist()
