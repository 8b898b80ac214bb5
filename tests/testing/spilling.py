# SPDX-License-Identifier: Apache-2.0
"""cuDF's spilling: the owners and the spill locks of objects, and spilling in host memory."""

from __future__ import annotations

import ctypes

import numpy as np

from testing.host import spans


def turn_on(monkeypatch):
    """Turn spilling on for one test, like `CUDF_SPILL=on`; return the manager."""
    from cudf.core.buffer import spill_manager

    made = spill_manager.SpillManager()
    monkeypatch.setattr(spill_manager, "_global_manager", made)
    monkeypatch.setattr(spill_manager, "_global_manager_uninitialized", False)
    return made


def owners(obj):
    """Return the distinct owners of the memory of a cuDF object's columns."""
    found = [span.owner for column in obj._columns for span in spans(column.plc_column)]
    return list(dict.fromkeys(found))


def locks(obj):
    """Return the spill locks on a cuDF object."""
    return {lock for owner in owners(obj) for lock in owner._spill_locks}


class HostBuffer:
    """A substitute for `rmm.DeviceBuffer`, which overwrites its memory on destruction."""

    def __init__(self, ptr=0, size=0):
        self.ptr, self.size = 0, size
        self._memory = np.empty(size, "u1")
        self.ptr = self._memory.ctypes.data
        ctypes.memmove(self.ptr, ptr, size)

    @classmethod
    def to_device(cls, view):
        array = np.frombuffer(view, "u1")
        return cls(array.ctypes.data, array.size)

    @property
    def __cuda_array_interface__(self):
        return {
            "data": (self.ptr, False), "shape": (self.size,), "strides": None, "typestr": "|u1",
            "version": 3,
        }  # fmt: skip

    def __del__(self):
        self._memory.fill(0xDB)


def copy_to_host(ptr, view):
    """Replace `rmm.pylibrmm.device_buffer.copy_ptr_to_host`."""
    ctypes.memmove(np.frombuffer(view, "u1").ctypes.data, ptr, len(view))
