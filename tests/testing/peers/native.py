# SPDX-License-Identifier: Apache-2.0
"""A consumer in C++, compiled on demand, and structs that it can keep."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

from testing.peers.arrays import RELEASE, struct_of

SOURCE = Path(__file__).with_name("native.cpp")


def compile_to(folder):
    compiler = shutil.which("g++") or pytest.skip("needs g++")
    library = folder / "libnative.so"
    command = [compiler, "-std=c++17", "-shared", "-fPIC", "-pthread", SOURCE, "-o", library]
    subprocess.run(command, check=True)
    return library


def load(library, keep_gil=False):
    """Load the library. With ``keep_gil``, calls of its functions keep the GIL."""
    native = (ctypes.PyDLL if keep_gil else ctypes.CDLL)(str(library))
    for function in ("release_on_thread", "release_at_exit", "release_on_thread_at_exit"):
        getattr(native, function).argtypes = [RELEASE, ctypes.c_void_p]
    native.set_release.argtypes = [ctypes.c_void_p]
    return native


def address_of(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def take(capsule):
    """Move the struct out of a capsule, as a consumer does.

    Return the release callback and the struct's new address. Only the callback frees its memory.
    """
    source = struct_of(capsule)
    kept = ctypes.pythonapi.PyMem_RawMalloc
    kept.restype, kept.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    address = kept(ctypes.sizeof(source))
    ctypes.memmove(address, ctypes.addressof(source), ctypes.sizeof(source))
    array = getattr(source, "array", source)
    release = RELEASE(array.release)
    array.release = None
    return release, address
