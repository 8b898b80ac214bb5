# SPDX-License-Identifier: Apache-2.0
"""Device arrays in both families of dask.distributed's serializers, and how much memory they take.

Importing this registers them. `dask_registration` sees to that when they are needed.
"""

from __future__ import annotations

from typing import Any

from dask.sizeof import sizeof
from distributed.protocol import pickle
from distributed.protocol.cuda import cuda_deserialize, cuda_serialize
from distributed.protocol.serialize import dask_deserialize, dask_serialize

from ..arrow.device_array import DeviceArray
from ..cuda.residency import DeviceType
from ..processes.packing import pack, unpack

__all__: list[str] = []


def _to_host_frames(array: DeviceArray) -> tuple[dict[str, Any], list[Any]]:
    return _serialize(array, to_host=True)


def _to_frames_in_place(array: DeviceArray) -> tuple[dict[str, Any], list[Any]]:
    return _serialize(array, to_host=array.device_type == DeviceType.CPU)


def _serialize(array: DeviceArray, to_host: bool) -> tuple[dict[str, Any], list[Any]]:
    packed = pack(array, to_host=to_host)
    labels = pickle.dumps(array._labels) if array._labels else b""
    # Over TCP, the first frame of a message that is not of `bytes` is received together with what
    # stands before it, at any address, and the others each into memory of their own. So the first
    # one is empty: bodies that arrive where they may not begin would have to be copied.
    frames: list[Any] = [memoryview(bytearray())]
    frames += map(memoryview, packed.buffers) if to_host else packed.buffers
    return {"header": packed.header, "labels": labels}, frames


def _deserialize(header: dict[str, Any], frames: list[Any]) -> DeviceArray:
    _, *buffers = frames
    labels = pickle.loads(header["labels"]) if header["labels"] else ()
    return unpack(header["header"], buffers, labels)


def _size_of(array: DeviceArray) -> int:
    return array.nbytes


dask_serialize.register(DeviceArray, _to_host_frames)
dask_deserialize.register(DeviceArray, _deserialize)
cuda_serialize.register(DeviceArray, _to_frames_in_place)
cuda_deserialize.register(DeviceArray, _deserialize)
sizeof.register(DeviceArray, _size_of)
