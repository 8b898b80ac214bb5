# SPDX-License-Identifier: Apache-2.0
"""Test the values of `stream=`. Host memory needs no stream, so the tests need no GPU."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.tensor_protocols import _consumer_handle
from cudf_arrow_bridge.cuda.streams import CUDF_HANDLE, resolve_stream, stream_handle
from testing.peers.arrays import assert_same, column_from, read


class Protocol:
    def __cuda_stream__(self):
        return (0, 42)


class PropertyProtocol:
    __cuda_stream__ = (0, 42)


class Both(Protocol):
    ptr = 7


STREAMS = [
    pytest.param(None, CUDF_HANDLE, id="none"),
    pytest.param(0, 0, id="the default stream"),
    pytest.param(42, 42, id="a handle"),
    pytest.param(np.uint8(42), 42, id="NumPy's integer"),
    pytest.param(Protocol(), 42, id="__cuda_stream__"),
    pytest.param(PropertyProtocol(), 42, id="__cuda_stream__ as a property"),
    pytest.param(SimpleNamespace(ptr=42), 42, id="cupy"),
    pytest.param(SimpleNamespace(cuda_stream=42), 42, id="torch"),
    pytest.param(SimpleNamespace(handle=ctypes.c_void_p(42)), 42, id="numba"),
    pytest.param(SimpleNamespace(handle=ctypes.c_void_p(0)), 0, id="numba's default"),
    pytest.param(Both(), 42, id="the protocol before attributes"),
]


@pytest.mark.parametrize(("stream", "handle"), STREAMS)
def test_each_kind_of_stream_is_accepted(stream, handle):
    assert stream_handle(stream) == handle
    assert type(resolve_stream(stream).handle) is int
    array = pa.array([True, None, False])
    exported = cab.to_arrow_device(column_from(array, stream=stream), stream=stream)
    assert_same(read(exported), array)


def test_none_means_the_default_stream_of_cudf():
    """cuDF chooses its default stream when it is loaded."""
    show = (
        "from cudf_arrow_bridge.cuda.streams import *; print(stream_handle(None), stream_handle(0))"
    )
    env = os.environ | {"CUDF_PER_THREAD_STREAM": "1"}
    done = subprocess.run([sys.executable, "-c", show], env=env, capture_output=True, check=True)
    assert done.stdout == b"2 0\n"


@pytest.mark.parametrize(
    "stream", ["0", np.float64(1), np.True_, SimpleNamespace(ptr="x")], ids=repr
)
def test_objects_other_than_streams_are_rejected(stream):
    match = f"^stream: expected None, .* got an object of type {type(stream).__name__}$"
    with pytest.raises(TypeError, match=match):
        stream_handle(stream)


@pytest.mark.parametrize(
    ("stream", "handle"),
    [
        (-1, -1),
        (np.int64(-1), -1),
        (None, 1),
        (1, 1),
        (np.int64(2), 2),
        pytest.param(Protocol(), 42, id="a protocol"),
    ],
    ids=repr,
)
def test_consumer_handle_follows_the_stream_numbers_of_dlpack(stream, handle):
    """In DLPack, -1 requests no order, and None means 1, the legacy default stream."""
    assert _consumer_handle(stream) == handle


@pytest.mark.parametrize(
    ("stream", "error", "found"),
    [
        (0, ValueError, "0"),
        (np.int64(0), ValueError, "0"),
        (-2, ValueError, "-2"),
        (True, TypeError, "an object of type bool"),
    ],
    ids=repr,
)
def test_consumer_handle_rejects_invalid_streams(stream, error, found):
    with pytest.raises(error, match=rf"^stream: expected .* got {found}$"):
        _consumer_handle(stream)
