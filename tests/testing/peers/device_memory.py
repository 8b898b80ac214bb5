# SPDX-License-Identifier: Apache-2.0
"""Arrays of any type in device memory, made without the interop of cuDF or the bridge."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from testing.peers.arrays import Producer, nodes


def all_buffers(array):
    found = array.buffers()
    if pa.types.is_dictionary(array.type):
        found += all_buffers(array.dictionary)
    return found


class OnDevice:
    """A pyarrow array whose buffers are copied to the device, except the last buffer of views.

    That buffer has the sizes of the others. Arrow C++ keeps it in host memory for all devices.
    """

    def __init__(self, array):
        self.kept = []
        self.sizes = {b.address: b.size for b in all_buffers(array) if b}
        self.producer = Producer(array, self.move)
        self.__arrow_c_device_array__ = self.producer.__arrow_c_device_array__

    def move(self, schema, array):
        import cupy

        array.device_type, array.device_id = 2, cupy.cuda.Device().id
        for form, node in zip(nodes(schema), nodes(array.array), strict=True):
            is_view = form.format in (b"vu", b"vz")
            for i in range(node.n_buffers - is_view):
                if self.sizes.get(node.buffers[i]):
                    node.buffers[i] = self.copy(node.buffers[i])

    def copy(self, address):
        import cupy

        host = np.frombuffer(pa.foreign_buffer(address, self.sizes[address]), "uint8")
        self.kept.append(cupy.asarray(host))
        return self.kept[-1].data.ptr
