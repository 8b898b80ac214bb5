# SPDX-License-Identifier: Apache-2.0
"""Serializers of device arrays for dask.distributed, and their sizes.

Importing this module registers them, which `registration` does when they are needed.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

from dask.sizeof import sizeof
from distributed.protocol import pickle
from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
from distributed.protocol.serialize import dask_deserialize, dask_serialize

from ..arrow.device_array import DeviceArray
from ..ipc.pickling import ON_DEVICE, pack, unpack

__all__: list[str] = []


def _to_frames_in_place(array: DeviceArray) -> tuple[dict[str, Any], list[Any]]:
    # UCX receives every frame with the CUDA array interface in device memory, also pinned memory.
    return _serialize(array, to_host=array.device_type not in ON_DEVICE)


def _serialize(array: DeviceArray, to_host: bool) -> tuple[dict[str, Any], list[Any]]:
    packed, buffers = pack(array, to_host=to_host)
    labels = pickle.dumps(array._labels) if array._labels else b""
    # Over TCP, the first frame of a message that is not `bytes` is received together with the
    # preceding data, at any address, and each other frame into separate memory. So the first frame
    # is empty; otherwise misaligned bodies would have to be copied.
    frames: list[Any] = [memoryview(bytearray())]
    frames += map(memoryview, buffers) if to_host else buffers
    return {"header": packed, "labels": labels}, frames


def _deserialize(header: dict[str, Any], frames: list[Any]) -> DeviceArray:
    buffers = frames[1:]
    labels = pickle.loads(header["labels"]) if header["labels"] else ()
    return unpack(header["header"], buffers, labels)


dask_serialize.register(DeviceArray, partial(_serialize, to_host=True))
dask_deserialize.register(DeviceArray, _deserialize)
cuda_serialize.register(DeviceArray, _to_frames_in_place)
cuda_deserialize.register(DeviceArray, _deserialize)
sizeof.register(DeviceArray, attrgetter("nbytes"))
