# SPDX-License-Identifier: Apache-2.0
"""Producers and consumers of streams: objects with one protocol, and calls of C structs."""

from __future__ import annotations

import ctypes
import errno
from ctypes import CFUNCTYPE, c_int, c_int32, c_void_p

import pyarrow as pa
import pytest

from testing.peers.arrays import (
    ArrowArray,
    ArrowDeviceArray,
    ArrowSchema,
    Only,
    _get_name,
    _get_pointer,
    _new_capsule,
)

RELEASE = CFUNCTYPE(None, c_void_p)
GET = CFUNCTYPE(c_int, c_void_p, c_void_p)
GET_ERROR = CFUNCTYPE(c_void_p, c_void_p)


BATCH = pa.record_batch(
    {
        "number": pa.array([None if i % 7 == 0 else i for i in range(70)], pa.int32()),
        "text": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(70)]),
        "flag": pa.array([i % 3 == 0 for i in range(70)]),
        "list": pa.array([list(range(i % 4)) for i in range(70)], pa.list_(pa.int64())),
        # cuDF stores codes in this width, so that all sources have one schema.
        "category": pa.DictionaryArray.from_arrays(
            pa.array([i % 3 for i in range(70)], pa.int8()), ["a", "c", "b"]
        ),
    }
)
HALVES = [BATCH.slice(0, 40), BATCH.slice(40)]


class ArrowArrayStream(ctypes.Structure):
    _fields_ = (
        ("get_schema", c_void_p),
        ("get_next", c_void_p),
        ("get_last_error", c_void_p),
        ("release", c_void_p),
        ("private_data", c_void_p),
    )


class ArrowDeviceArrayStream(ctypes.Structure):
    _fields_ = (("device_type", c_int32), *ArrowArrayStream._fields_)


STRUCTS = {
    b"arrow_array_stream": (ArrowArrayStream, ArrowArray),
    b"arrow_device_array_stream": (ArrowDeviceArrayStream, ArrowDeviceArray),
}
NAMES = {struct: name for name, (struct, _) in STRUCTS.items()}


def struct_of(capsule):
    """Return the C struct in a capsule, in place."""
    name = _get_name(capsule)
    return STRUCTS[name][0].from_address(_get_pointer(capsule, name))


_kept = []


def capsule_of(struct):
    """Return a capsule of an empty struct. The consumer releases the struct."""
    value = struct()
    _kept.append(value)
    return _new_capsule(ctypes.addressof(value), NAMES[struct], None)


class Consumer:
    """A consumer like in C: it calls the callbacks of a capsule's struct, on any thread."""

    def __init__(self, capsule):
        self._capsule = capsule
        self.struct = struct_of(capsule)
        self._array = STRUCTS[_get_name(capsule)][1]

    def _at(self):
        return ctypes.addressof(self.struct)

    def schema(self):
        """Return the code, and the schema if the code is 0."""
        out = ArrowSchema()
        code = GET(self.struct.get_schema)(self._at(), ctypes.addressof(out))
        return code, None if code else pa.Schema._import_from_c(ctypes.addressof(out))

    def next(self):
        """Return the code and the struct, which the caller releases."""
        out = self._array()
        return GET(self.struct.get_next)(self._at(), ctypes.addressof(out)), out

    def rows(self):
        """Request and release an array; return its number of rows, or None at the end."""
        code, out = self.next()
        assert code == 0, (errno.errorcode.get(code), self.error())
        array = getattr(out, "array", out)
        if not array.release:
            return None
        length = array.length
        RELEASE(array.release)(ctypes.addressof(array))
        return length

    def error(self):
        address = GET_ERROR(self.struct.get_last_error)(self._at())
        return None if address is None else ctypes.string_at(address).decode()

    def release(self):
        RELEASE(self.struct.release)(self._at())
        assert not self.struct.release


class DeviceStreamOnly(Only):
    """Exposes only the device stream protocol of an object."""

    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        return self._obj.__arrow_c_device_stream__(requested_schema, **kwargs)


class StreamOnly(Only):
    """Exposes only the host stream protocol of an object."""

    def __arrow_c_stream__(self, requested_schema=None):
        return self._obj.__arrow_c_stream__(requested_schema)


class StreamProducer:
    """A host stream in Python that returns given batches and counts the consumer's calls.

    Parameters
    ----------
    batches
        Record batches of pyarrow. `get_next` returns an int among them as an error code.
    message
        The text that `get_last_error` returns, or None for NULL.
    """

    def __init__(self, schema, batches, message=b"the disk is gone"):
        self.releases, self.pulls, self.live = 0, 0, 0
        self._message = message
        self._failed_schema = schema if isinstance(schema, int) else 0

        @GET
        def get_schema(stream, out):
            if not self._failed_schema:
                schema._export_to_c(out)
            return self._failed_schema

        rest = iter(batches)

        @GET
        def get_next(stream, out):
            self.pulls += 1
            batch = next(rest, None)
            if isinstance(batch, int):
                return batch
            if batch is None:
                ArrowArray.from_address(out).release = None
            else:
                batch._export_to_c(out)
            return 0

        @GET_ERROR
        def get_last_error(stream):
            return None if self._message is None else ctypes.cast(self._text, c_void_p).value

        @RELEASE
        def release(stream):
            self.releases += 1
            ArrowArrayStream.from_address(stream).release = None

        self._text = ctypes.c_char_p(message)
        self._callbacks = get_schema, get_next, get_last_error, release

    def __arrow_c_stream__(self, requested_schema=None):
        capsule = capsule_of(ArrowArrayStream)
        struct = struct_of(capsule)
        for name, callback in zip(
            ("get_schema", "get_next", "get_last_error", "release"), self._callbacks, strict=True
        ):
            setattr(struct, name, ctypes.cast(callback, c_void_p).value)
        return capsule


def delayed(frames):
    """Return a delayed object of Dask for each frame."""
    dask = pytest.importorskip("dask")
    return list(map(dask.delayed, frames))
