# SPDX-License-Identifier: Apache-2.0
"""Arrays of any type in device memory, made without the interop of cuDF or this package."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from testing.peers.arrays import Producer, nodes


def all_buffers(array):
    found = array.buffers()
    if pa.types.is_dictionary(array.type):
        found += all_buffers(array.dictionary)
    return found


class OnDevice(Producer):
    """A pyarrow array whose buffers are copied to the device, except the last buffer of views.

    That buffer has the sizes of the others. Arrow C++ keeps it in host memory for all devices.
    """

    def __init__(self, array):
        sizes = {b.address: b.size for b in all_buffers(array) if b}
        super().__init__(array, lambda schema, exported: move(schema, exported, sizes))


def move(schema, array, sizes):
    """Copy the buffers of these addresses to the device, and return the copies."""
    import cupy

    copies = []
    array.device_type, array.device_id = 2, cupy.cuda.Device().id
    for form, node in zip(nodes(schema), nodes(array.array), strict=True):
        is_view = form.format in (b"vu", b"vz")
        for i in range(node.n_buffers - is_view):
            if size := sizes.get(node.buffers[i]):
                host = np.frombuffer(pa.foreign_buffer(node.buffers[i], size), "uint8")
                copies.append(cupy.asarray(host))
                node.buffers[i] = copies[-1].data.ptr
    return copies
