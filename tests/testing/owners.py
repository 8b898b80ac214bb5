# SPDX-License-Identifier: Apache-2.0
"""Columns and host memory whose destruction a test can observe."""

from __future__ import annotations

import ctypes
import threading
import weakref

import pyarrow as pa
import pylibcudf as plc
import rmm.mr

from testing.host import to_plc

STRUCT = pa.array([{"a": i, "b": None if i % 3 else str(i)} for i in range(100)])


class Source(plc.Column):
    """A column that supports weak references."""


def source(array):
    plain = to_plc(array)
    return Source(
        plain.type(),
        *(plain.size(), plain.data(), plain.null_mask(), plain.null_count(), plain.offset()),
        plain.children(),
    )


def watched(array):
    """Return a column and a weak reference to it."""
    column = source(array)
    return column, weakref.ref(column)


def source_of(array, gone):
    """Return a column that appends the thread of its destruction to `gone`."""
    column = source(array)
    weakref.finalize(column, lambda: gone.append(threading.get_ident()))
    return column


LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]


class Counted:
    """A memory resource of host memory that records its allocations."""

    def __init__(self):
        self.in_use, self.total = {}, 0
        self.resource = rmm.mr.CallbackMemoryResource(self._allocate, self._free)

    def _allocate(self, size, stream):
        address = LIBC.malloc(max(size, 1))
        self.in_use[address] = size
        self.total += 1
        return address

    def _free(self, address, size, stream):
        assert self.in_use.pop(address) == size
        LIBC.free(address)
