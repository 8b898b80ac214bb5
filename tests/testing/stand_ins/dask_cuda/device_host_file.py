# SPDX-License-Identifier: Apache-2.0
"""The objects of a worker: in device memory, in host memory, and on disk."""

import numpy as np
from distributed.protocol import (
    dask_deserialize,
    dask_serialize,
    deserialize,
    deserialize_bytes,
    serialize,
    serialize_bytelist,
)
from distributed.sizeof import safe_sizeof
from distributed.spill import AnyKeyFile
from distributed.utils import nbytes
from zict import Buffer, Func

from .is_device_object import is_device_object


class DeviceSerialized:
    """A device object in host memory: a header and frames."""

    def __init__(self, header, frames):
        self.header = header
        self.frames = frames

    def __sizeof__(self):
        return sum(map(nbytes, self.frames))

    def __reduce_ex__(self, protocol):
        frames = [np.asarray(f) if isinstance(f, memoryview) else f for f in self.frames]
        return DeviceSerialized, (self.header, frames)


@dask_serialize.register(DeviceSerialized)
def _serialize(obj):
    return {"obj-header": obj.header}, obj.frames


@dask_deserialize.register(DeviceSerialized)
def _deserialize(header, frames):
    return DeviceSerialized(header["obj-header"], frames)


def _to_host(obj):
    return DeviceSerialized(*serialize(obj, serializers=("dask", "pickle"), on_error="raise"))


def _to_disk(obj):
    return serialize_bytelist(obj, compression=None, on_error="raise")


def _weight(_key, value):
    return safe_sizeof(value)


class DeviceHostFile:
    """A mapping that moves the least recently used objects to host memory and to disk."""

    def __init__(self, worker_local_directory, *, device_memory_limit, memory_limit):
        file = AnyKeyFile(f"{worker_local_directory}/storage")
        disk = Func(_to_disk, deserialize_bytes, file)
        self.host_buffer = Buffer({}, disk, memory_limit, weight=_weight)
        in_host = Func(_to_host, lambda s: deserialize(s.header, s.frames), self.host_buffer)
        self.device_buffer = Buffer({}, in_host, device_memory_limit, weight=_weight)
        self.device_keys = set()
        self.device = self.device_buffer.fast.d
        self.host = self.host_buffer.fast.d
        self.disk = self.host_buffer.slow.d

    def __setitem__(self, key, value):
        if is_device_object(value):
            self.device_keys.add(key)
            self.device_buffer[key] = value
        else:
            self.host_buffer[key] = value

    def __getitem__(self, key):
        return (self.device_buffer if key in self.device_keys else self.host_buffer)[key]
