# SPDX-License-Identifier: Apache-2.0
"""Arrow C++ as the peer of device streams, which no Python library on PyPI supports."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
import pytest

from testing.peers.streams import ArrowArrayStream, ArrowDeviceArrayStream, capsule_of, struct_of

SOURCE = Path(__file__).with_name("arrow_cpp.cpp")


@cache
def library():
    compiler = shutil.which("g++") or pytest.skip("needs g++")
    target = Path(mkdtemp()) / "libarrow_cpp.so"
    (folder,) = {Path(found) for found in pa.get_library_dirs()}
    (arrow,) = folder.glob("libarrow.so.*")
    options = ["-std=c++20", "-shared", "-fPIC", "-isystem", pa.get_include()]
    command = [compiler, *options, SOURCE, arrow, f"-Wl,-rpath,{folder}", "-o", target]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def _call(name, source, target):
    error = ctypes.create_string_buffer(1000)
    function = getattr(library(), name)
    if function(ctypes.byref(source), ctypes.byref(target), error, len(error)):
        raise pa.ArrowInvalid(error.value.decode())


def reader_of(producer):
    """Return a pyarrow reader of a device stream that Arrow C++ imports."""
    capsule, target = producer.__arrow_c_device_stream__(), ArrowArrayStream()
    _call("device_to_host", struct_of(capsule), target)
    return pa.RecordBatchReader._import_from_c(ctypes.addressof(target))


class DeviceStream:
    """A pyarrow reader that Arrow C++ exports as a device stream."""

    def __init__(self, reader):
        self._reader = reader

    def __arrow_c_device_stream__(self, requested_schema=None, **kwargs):
        source = ArrowArrayStream()
        self._reader._export_to_c(ctypes.addressof(source))
        capsule = capsule_of(ArrowDeviceArrayStream)
        _call("host_to_device", source, struct_of(capsule))
        return capsule
