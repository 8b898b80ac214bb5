# SPDX-License-Identifier: Apache-2.0
"""dask.distributed's serializers of device arrays, alone and over its transports."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.exchange.crossings import BATCHES, arrays_of, contents
from testing.host import Memory

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
protocol = distributed.protocol

from testing.exchange import dask_comms  # noqa: E402

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

TABLE = pa.table(
    {
        "ints": pa.array([1, None, 3] * 500, pa.int64()),
        "strings": ["größer", None, ""] * 500,
        "lists": [[1, 2], None, []] * 500,
        "structs": [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}] * 500,
        "categories": pa.array(["b", None, "a"] * 500).dictionary_encode(),
    }
)


@pytest.fixture
def array():
    return cab.to_arrow_device(TABLE)


def addresses_in(array):
    return [buffer.address for buffer in array.buffers() if buffer.size]


def crossed(obj, **options):
    """Serialize an object to messages, and deserialize it from copies of the messages."""
    frames = protocol.dumps({"obj": protocol.to_serialize(obj)}, on_error="raise", **options)
    copies = [bytearray(frame) for frame in frames]
    return protocol.loads(copies)["obj"]


def test_frames_and_deserialized_arrays_share_the_buffers_of_the_array(array):
    header, (first, *frames) = protocol.serialize(array, serializers=("dask",))
    assert header["serializer"] == "dask"
    assert first.nbytes == 0
    assert all(isinstance(frame, memoryview) and frame.readonly for frame in frames)
    assert sorted(map(dask_comms.address_of, frames)) == sorted(addresses_in(array))
    assert sum(frame.nbytes for frame in frames) == array.nbytes
    found = protocol.deserialize(header, [first, *frames])
    assert addresses_in(found) == addresses_in(array)
    of_cuda = protocol.serialize(array, serializers=("cuda",), on_error="raise")
    assert addresses_in(protocol.deserialize(*of_cuda)) == addresses_in(array)
    # The frames keep the memory of the array alive.
    array.release()
    found.release()
    assert contents(protocol.deserialize(header, [first, *frames])).equals(TABLE.to_batches()[0])


@pytest.mark.parametrize("name", BATCHES)
def test_serializers_round_trip_arrays_of_every_type(name):
    for array in arrays_of(name):
        expected = contents(array)
        for serializers in (("dask",), ("cuda",), ("pickle",)):
            found = crossed(array, serializers=serializers)
            assert type(found) is cab.DeviceArray
            assert contents(found).equals(expected, check_metadata=True)
            assert found.schema.equals(array.schema, check_metadata=True)


def test_serializers_keep_labels_of_any_type():
    """JSON does not support this label."""
    frame = cab.from_arrow_device(pa.table({"a": [1, 2]}))
    frame.columns = [frozenset("a")]
    back = cab.from_arrow_device(crossed(cab.to_arrow_device(frame)))
    assert list(back.columns) == [frozenset("a")]


def test_serialization_of_a_released_array_raises_an_error(array):
    array.release()
    with pytest.raises(TypeError, match="Could not serialize object of type DeviceArray") as caught:
        protocol.serialize(array, serializers=("dask",), on_error="raise")
    assert "released" in str(caught.value.__cause__)


def test_frames_that_contradict_the_header_are_rejected(array):
    header, frames = protocol.serialize(array)
    count = len(frames) - 1  # the first frame is empty
    for wrong, match in (
        ([], f"expected {count} buffers, got 0"),
        (frames[:-1], f"expected {count} buffers, got {count - 1}"),
        ([*frames, frames[-1]], f"expected {count} buffers, got {count + 1}"),
        ([frames[0], *frames[2:], frames[1]], "buffer 1: expected bytes within"),
    ):
        with pytest.raises(ValueError, match=match):
            protocol.deserialize(header, wrong)


def test_cuda_serializer_shares_frames_without_the_buffer_protocol(array):
    """Host memory without the buffer protocol replaces device memory, which does not have it."""
    header, (first, *frames) = protocol.serialize(array, serializers=("cuda",))
    assert header["serializer"] == "cuda"
    # No frame is compressed or split.
    assert header["compression"] == (False,) * (1 + len(frames))
    assert sorted(map(dask_comms.address_of, frames)) == sorted(addresses_in(array))
    found = protocol.deserialize(header, [first, *(Memory(pa.py_buffer(f)) for f in frames)])
    assert addresses_in(found) == addresses_in(array)
    assert contents(found).equals(contents(array))


@pytest.mark.parametrize("device_type", cab.DeviceType)
def test_cuda_serializer_sends_only_memory_of_a_gpu_as_device_frames(
    device_type, array, monkeypatch
):
    """Pinned memory has the CUDA array interface too, and UCX would receive it on a GPU."""
    monkeypatch.setattr(cab.DeviceArray, "device_type", device_type)
    _, frames = protocol.serialize(array, serializers=("cuda",), on_error="raise")
    on_host = [isinstance(frame, memoryview) for frame in frames]
    if device_type in (cab.DeviceType.CUDA, cab.DeviceType.CUDA_MANAGED):
        assert on_host == [True, *[False] * (len(frames) - 1)]
    else:
        assert all(on_host)


@pytest.mark.parametrize("shard", [None, 100_000])
def test_bodies_received_over_tcp_are_not_copied(shard, monkeypatch):
    from distributed.comm import tcp

    if shard is not None:
        monkeypatch.setattr(tcp.TCP, "max_shard_size", shard)
    sent = [*dask_comms.arrays_to_send(), cab.to_arrow_device(TABLE)]
    with dask_comms.noting_memory(tcp) as received:
        found = dask_comms.send_over("tcp://127.0.0.1:0", sent)
    for array, original in zip(found, sent, strict=True):
        assert contents(array).equals(contents(original))
        # distributed joins bodies that arrive in shards.
        assert dask_comms.bodies_elsewhere(array, received, shard) == []


def test_spill_buffer_writes_arrays_to_disk_and_reads_arrays_back(tmp_path, array):
    from dask.sizeof import sizeof
    from distributed.spill import SpillBuffer

    expected, size = contents(array), array.nbytes
    assert sizeof(array) == size
    spilled = SpillBuffer(str(tmp_path), target=int(1.5 * size))
    spilled["first"] = array
    del array
    spilled["second"] = cab.to_arrow_device(TABLE)
    assert (set(spilled.memory), set(spilled.disk)) == ({"second"}, {"first"})
    assert spilled.spilled_total.memory == size
    assert contents(spilled["first"]).equals(expected)
    assert (set(spilled.memory), set(spilled.disk)) == ({"first"}, {"second"})
    assert contents(spilled["second"]).equals(expected)


def test_unpack_of_misaligned_frames_releases_the_frames(array):
    """Spilled frames are in one piece of memory, at any address."""
    from cudf_arrow_bridge.ipc.pickling import pack, unpack

    header, buffers = pack(array["ints"])
    whole = bytearray(b"".join([b"\0", *buffers]))
    frames, end = [], 1
    for buffer in buffers:
        frames.append(memoryview(whole)[end : end + buffer.nbytes])
        end += buffer.nbytes
    assert all(dask_comms.address_of(frame) % 8 for frame in frames)
    found = unpack(header, frames)
    frames.clear()
    whole.clear()  # fails if a view exists
    assert contents(found).equals(contents(array["ints"]))


def test_tokens_depend_only_on_the_contents():
    from dask.tokenize import tokenize

    arrays = [cab.to_arrow_device(pa.table({"a": values})) for values in ([1, 2], [1, 2], [1, 3])]
    tokens = [tokenize(array, ensure_deterministic=True) for array in arrays]
    assert tokens[0] == tokens[1] != tokens[2]
