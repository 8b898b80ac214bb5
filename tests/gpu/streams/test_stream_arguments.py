# SPDX-License-Identifier: Apache-2.0
"""Streams of every library, as the producer's and as the consumer's stream."""

from __future__ import annotations

import gc
import weakref

import pytest

import cudf_arrow_bridge as bridge
from cudf_arrow_bridge.cuda.streams import stream_handle
from testing.device import GPU, assert_late, read_target, side_stream, wait_until
from testing.peers.arrays import column_from

pytestmark = GPU


def cupy_stream(stream):
    """Return a stream of any library as a stream of cupy."""
    import cupy

    return cupy.cuda.ExternalStream(stream_handle(stream))


def rmm_stream():
    from rmm.pylibrmm.stream import Stream

    return Stream()


def rmm_per_thread():
    from rmm.pylibrmm.stream import PER_THREAD_DEFAULT_STREAM

    return PER_THREAD_DEFAULT_STREAM


def pylibcudf_stream():
    from pylibcudf.utils import CUDF_DEFAULT_STREAM

    return CUDF_DEFAULT_STREAM


def cuda_core_stream():
    core = pytest.importorskip("cuda.core")
    current = core.Device()
    current.set_current()
    return current.create_stream()


def cuda_bindings_stream():
    from cuda.bindings import runtime

    error, stream = runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking)
    assert error == runtime.cudaError_t.cudaSuccess
    return stream


def torch_stream():
    return pytest.importorskip("torch").cuda.Stream()


def numba_stream():
    return pytest.importorskip("numba.cuda").stream()


KEPT = []


def handle():
    KEPT.append(side_stream())
    return KEPT[-1].ptr


def nothing():
    return None


STREAMS = [
    *(nothing, handle, side_stream, rmm_stream, rmm_per_thread, pylibcudf_stream),
    *(cuda_core_stream, cuda_bindings_stream, torch_stream, numba_stream),
]


@pytest.mark.parametrize("make", STREAMS, ids=lambda make: make.__name__)
def test_export_accepts_streams_of_every_library(make, late):
    producer, consumer, found = make(), side_stream(), read_target()
    column = late.column(cupy_stream(producer))
    column = column_from(bridge.to_arrow_device(column, stream=producer), stream=consumer)
    assert_late(late, [(found, column, consumer)], cupy_stream(producer))


@pytest.mark.parametrize("make", STREAMS, ids=lambda make: make.__name__)
def test_import_accepts_streams_of_every_library(make, late):
    producer, consumer, found = side_stream(), make(), read_target()
    exported = bridge.to_arrow_device(late.column(producer), stream=producer)
    column = column_from(exported, stream=consumer)
    assert_late(late, [(found, column, cupy_stream(consumer))], producer)


def test_imported_column_keeps_its_stream_alive(late):
    stream = side_stream()
    gone = weakref.ref(stream)
    column = column_from(bridge.to_arrow_device(late.column(stream), stream=stream), stream=stream)
    del stream
    gc.collect()
    assert gone() is not None
    del column
    assert wait_until(lambda: gone() is None)
