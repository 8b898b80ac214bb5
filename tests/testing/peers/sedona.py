# SPDX-License-Identifier: Apache-2.0
"""sedonadb as a producer of asynchronous streams, through its C interface for table providers."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_char_p, c_int, c_size_t, c_uint32, c_void_p

import pytest

from testing.peers.arrays import RELEASE, _get_pointer

#: `importorskip` ignores sedonadb's warnings about optional packages.
sedonadb = pytest.importorskip("sedonadb", reason="sedonadb is not installed")
if sedonadb.__version__ != "0.5.0":
    pytest.skip("the structs below are those of sedonadb 0.5.0", allow_module_level=True)

SCAN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p)
_CAPSULE = b"sedonadb_table_provider"


class Arguments(ctypes.Structure):
    _fields_ = (
        ("json", c_char_p),
        ("size", c_size_t),
        ("plans", c_void_p),
        ("num_plans", c_size_t),
        ("expressions", c_void_p),
        ("num_expressions", c_size_t),
        ("reserved", c_void_p),
    )


class Error(ctypes.Structure):
    _fields_ = (
        ("message", c_void_p),
        ("size", c_uint32),
        ("reserved", c_uint32),
        ("release", c_void_p),
    )


class Provider(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("get_schema", "get_property_schema", "get_property")),
        *((name, c_void_p) for name in ("scan", "insert", "update", "delete_rows", "reserved")),
        *((name, c_void_p) for name in ("release", "private_data")),
    )


class Plan(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("get_schema", "get_property_schema", "get_property")),
        *((name, c_void_p) for name in ("with_property", "execute", "execute_async", "reserved")),
        *((name, c_void_p) for name in ("release", "private_data")),
    )


class Query:
    """The plan of a sedonadb data frame, which has one partition if it is sorted.

    Usage: `with Query(frame) as query: query.produce(address_of_a_handler)`.
    """

    def __init__(self, frame):
        capsule = frame.__sedonadb_table_provider__()
        provider = Provider.from_address(_get_pointer(capsule, _CAPSULE))
        self._plan = Plan()
        _call(SCAN(provider.scan), provider, Arguments(), self._plan)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._plan.release:
            RELEASE(self._plan.release)(ctypes.addressof(self._plan))

    def produce(self, handler):
        """Start the stream of the first partition. Threads of sedonadb then call the handler."""
        text = b'{"partition": 0}'
        execute = SCAN(self._plan.execute_async)
        _call(execute, self._plan, Arguments(text, len(text)), handler)


def _call(function, *arguments):
    """Call a function with the addresses of structs; raise the error that it reports."""
    error = Error()
    addresses = [
        ctypes.addressof(x) if isinstance(x, ctypes.Structure) else x for x in (*arguments, error)
    ]
    if function(*addresses):
        message = ctypes.string_at(error.message, error.size).decode()
        if error.release:
            RELEASE(error.release)(ctypes.addressof(error))
        raise RuntimeError(message)
