# SPDX-License-Identifier: Apache-2.0
"""DLPack's C structs as ctypes, and a producer whose structs the tests can corrupt."""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)

import numpy as np

from testing.peers.arrays import _get_name, _get_pointer, _new_capsule

READ_ONLY, IS_COPIED = 1, 2
INT, UINT, FLOAT, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 4, 5, 6
CPU = (1, 0)
NUMBERS = [
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float32", "float64"),
]
#: The names of types that columns do not have, with code and bits. DLPack 1.3 has codes to 17.
UNSUPPORTED = [
    ("int7", INT, 7),
    ("float128", FLOAT, 128),
    ("bfloat16", BFLOAT, 16),
    ("complex64", COMPLEX, 64),
    ("bool32", BOOL, 32),
    ("float8_e3m4", 7, 8),
    ("float4_e2m1fn", 17, 4),
]


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class Unversioned(ctypes.Structure):
    _fields_ = (("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p))


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    )


DELETER = CFUNCTYPE(None, c_void_p)
SET_ERROR = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)


class Exchange(ctypes.Structure):
    """The C exchange interface. Its functions raise a Python exception that they set."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("previous", c_void_p),
        # Consumers may call this function without the GIL.
        ("allocate", CFUNCTYPE(c_int32, POINTER(DLTensor), POINTER(c_void_p), c_void_p, SET_ERROR)),
        ("managed_from_object", PYFUNCTYPE(c_int32, py_object, POINTER(c_void_p))),
        ("object_from_managed", PYFUNCTYPE(c_int32, c_void_p, POINTER(c_void_p))),
        ("view_of_object", PYFUNCTYPE(c_int32, py_object, POINTER(DLTensor))),
        ("current_stream", CFUNCTYPE(c_int32, c_int32, c_int32, POINTER(c_void_p))),
    )

    @classmethod
    def of(cls, tensor_class):
        capsule = tensor_class.__dlpack_c_exchange_api__
        return cls.from_address(_get_pointer(capsule, b"dlpack_exchange_api"))

    def view(self, obj):
        """Return a struct that owns nothing."""
        tensor = DLTensor()
        assert self.view_of_object(obj, ctypes.byref(tensor)) == 0
        return tensor

    def managed(self, obj):
        """Return a struct that has to be deleted."""
        out = c_void_p()
        assert self.managed_from_object(obj, ctypes.byref(out)) == 0
        return Versioned.from_address(out.value)

    def object(self, address):
        """Return the object that takes ownership of a struct."""
        out = c_void_p()
        assert self.object_from_managed(address, ctypes.byref(out)) == 0
        obj = ctypes.cast(out, py_object).value
        ctypes.pythonapi.Py_DecRef(py_object(obj))
        return obj


def delete(struct):
    """Call the deleter of a struct, without the GIL."""
    DELETER(struct.deleter)(ctypes.addressof(struct))


STRUCTS = {b"dltensor": Unversioned, b"dltensor_versioned": Versioned}
_CODES = {"i": INT, "u": UINT, "f": FLOAT, "c": COMPLEX, "b": BOOL}


def struct_of(capsule):
    """Return the struct in an unused capsule, in place."""
    name = _get_name(capsule)
    return STRUCTS[name].from_address(_get_pointer(capsule, name))


# A capsule that is being destroyed must not be referenced again, so these take its address.
_name_at = PYFUNCTYPE(c_char_p, c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer_at = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


@PYFUNCTYPE(None, c_void_p)
def _destroy(capsule):
    """Delete the tensor if no consumer has taken it, as the specification requires."""
    name = _name_at(capsule)
    if name in STRUCTS:
        address = _pointer_at(capsule, name)
        if deleter := STRUCTS[name].from_address(address).deleter:
            DELETER(deleter)(address)


class Producer:
    """A tensor over a NumPy array. Tests can edit its struct, and calls of its deleter are counted.

    Parameters
    ----------
    array
        The array that has the memory.
    edit
        Called with the whole struct before it is exported.
    versioned
        Whether the struct is that of DLPack 1.0.
    """

    alive = set()  # noqa: RUF012 -- C code may call back after the last Python reference is gone

    def __init__(self, array, edit=None, versioned=True):
        self.deleted, self.asked = 0, None
        self._array = array
        self._shape = (c_int64 * max(array.ndim, 1))(*array.shape)
        self._strides = (c_int64 * max(array.ndim, 1))(
            *(s // array.itemsize for s in array.strides)
        )
        self._struct = Versioned(1, 0) if versioned else Unversioned()
        self._struct.dl_tensor = DLTensor(
            array.ctypes.data, *CPU, array.ndim, _CODES[array.dtype.kind], 8 * array.itemsize, 1,
            self._shape, self._strides, 0,
        )  # fmt: skip

        @DELETER
        def delete(address):
            assert address == ctypes.addressof(self._struct)
            self.deleted += 1
            Producer.alive.discard(self)

        self._callback = delete
        self._struct.deleter = ctypes.cast(delete, c_void_p).value
        if edit is not None:
            edit(self._struct)
        self._name = b"dltensor_versioned" if versioned else b"dltensor"

    def capsule(self):
        """Export the tensor. The producer keeps no capsule, so none is left at Python's exit."""
        if self._struct.deleter:
            Producer.alive.add(self)
        return _new_capsule(
            ctypes.addressof(self._struct), self._name, ctypes.cast(_destroy, c_void_p)
        )

    def __dlpack_device__(self):
        return self._struct.dl_tensor.device_type, self._struct.dl_tensor.device_id

    def __dlpack__(self, **arguments):
        self.asked = arguments
        return self.capsule()


class Handing:
    """A producer that returns the given object instead of a capsule."""

    def __init__(self, obj):
        self._obj = obj

    def __dlpack_device__(self):
        return CPU

    def __dlpack__(self, **arguments):
        return self._obj


class Interface:
    """Host memory with the CUDA array interface, like the tests' columns in host memory."""

    def __init__(self, array, **edits):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.ctypes.data if array.size else 0, False),
            "shape": array.shape,
            "strides": None if array.flags.c_contiguous else array.strides,
            "typestr": array.dtype.str,
            "version": 3,
            **edits,
        }


def values(size, dtype, seed=0):
    """Return random numbers of a type."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(dtype)
    if dtype.kind == "f":
        return random.standard_normal(size).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
