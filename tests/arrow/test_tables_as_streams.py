# SPDX-License-Identifier: Apache-2.0
"""Test tables as streams of one batch, and the protocols for host memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
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
    return cab.to_arrow_device(cab.from_arrow_device(BATCH))


@pytest.mark.parametrize("rows", [BATCH["number"], pa.array([{"0": 1}, None])], ids=str)
def test_column_has_no_stream_protocols(rows):
    column = cab.to_arrow_device(to_plc(rows))
    for name in ("__arrow_c_stream__", "__arrow_c_device_stream__"):
        assert not hasattr(column, name)
        with pytest.raises(AttributeError, match=f"{name}: only tables have this attribute"):
            getattr(column, name)
    assert pa.array(column).to_pylist() == rows.to_pylist()
    assert polars.Series(column).to_list() == rows.to_pylist()


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
    handed = SimpleNamespace(**{protocol: lambda requested_schema=None: capsule})
    (batch,) = cab.from_arrow_device_stream(handed, concat=False, to="pylibcudf")
    assert batch.columns()[1].children()[0].type().id().name == "INT64"
    with pytest.raises(ValueError, match=r"3 fields.* 2$"):
        getattr(exported, protocol)(pa.schema(list(wanted)[:2]).__arrow_c_schema__())


def test_device_stream_rejects_an_unknown_keyword_with_a_value():
    with pytest.raises(NotImplementedError, match="later"):
        array().__arrow_c_device_stream__(None, later=1)
    array().__arrow_c_device_stream__(None, later=None)


@pytest.fixture
def on_gpu(monkeypatch):
    """Let arrays in host memory report device memory."""
    cuda = cab.DeviceType.CUDA
    monkeypatch.setattr(cab.DeviceArray, "device_type", cuda)
    monkeypatch.setattr(cab.DeviceArray, "__dlpack_device__", lambda self: (cuda, 0))


HOST_PROTOCOLS = {
    "array": lambda exported: exported.__arrow_c_array__(),
    "stream": lambda exported: exported.__arrow_c_stream__(),
    "numpy": lambda exported: np.asarray(exported["real"]),
}


@pytest.mark.parametrize("export", HOST_PROTOCOLS.values(), ids=HOST_PROTOCOLS)
def test_host_protocols_of_device_memory_raise_if_the_export_forbids_copies(export, on_gpu):
    exported = cab.to_arrow_device(cab.from_arrow_device(BATCH), copy=False)
    with pytest.raises(ValueError, match=r"^copy=False: .*to_host\(\)"):
        export(exported)


def test_numpy_gets_a_copy_of_device_memory(on_gpu, monkeypatch):
    copied = np.arange(3)
    monkeypatch.setattr(cab.DeviceArray, "to_host", lambda self, stream: copied)
    exported = array()["real"]
    assert np.asarray(exported).tolist() == [0, 1, 2]
    assert np.asarray(exported, dtype="float32").dtype == "float32"
    with pytest.raises(ValueError, match=r"^copy=False: .*host memory"):
        exported.__array__(copy=False)


def test_host_stream_of_device_memory_raises_if_the_export_forbids_copies(monkeypatch):
    class OnGpu(ExportedStream):
        def device_type(self):
            return cab.DeviceType.CUDA

    monkeypatch.setattr("cudf_arrow_bridge.export.streams.ExportedStream", OnGpu)
    frame = cab.from_arrow_device(BATCH)
    stream = cab.to_arrow_device_stream(frame, copy=False)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^copy=False: .*to_host\(\)"):
            stream.__arrow_c_stream__()
    assert reader_of(stream).read_all().to_pylist() == BATCH.to_pylist()
    assert pa.table(cab.to_arrow_device_stream(frame)).to_pylist() == BATCH.to_pylist()
