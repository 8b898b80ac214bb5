# SPDX-License-Identifier: Apache-2.0
"""DLPack and the CUDA array interface of pylibcudf, compared with ours."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pylibcudf as plc

import cudf_arrow_bridge as bridge
from testing.device import (
    GPU,
    ROWS,
    as_cupy,
    on_device,
    outcome,
    read_target,
    side_stream,
    synchronize,
)
from testing.peers import dlpack

pytestmark = GPU


def test_dlpack_export_shares_memory(beside):
    column = on_device(pa.array([1, 2, 3]))

    def is_shared(capsule):
        return dlpack.struct_of(capsule).dl_tensor.data == column.data().ptr

    beside(
        row="DLPack",
        what="whether a column shares its memory with the tensor that leaves",
        right=True,
        ours=lambda: is_shared(bridge.to_arrow_device(column).__dlpack__()),
        theirs=lambda: is_shared(plc.interop.to_dlpack(plc.Table([column]))),
    )


def test_dlpack_import_shares_memory(beside):
    import cupy

    source = cupy.arange(3)
    beside(
        row="DLPack",
        what="whether a column shares the memory of the tensor that arrives",
        right=True,
        ours=lambda: bridge.from_dlpack(source, to="pylibcudf").data().ptr == source.data.ptr,
        theirs=lambda: (
            plc.interop.from_dlpack(source.__dlpack__()).columns()[0].data().ptr == source.data.ptr
        ),
    )


def on_gpu(memory):
    """Return an edit of `dlpack.Producer` that makes a tensor over memory of cupy."""

    def edit(struct):
        tensor = struct.dl_tensor
        tensor.data, tensor.device_type, tensor.device_id = memory.data.ptr, 2, 0

    return edit


def test_dlpack_import_accepts_versioned_tensors(beside):
    import cupy

    memory = cupy.asarray(np.arange(3))

    def producer():
        return dlpack.Producer(np.arange(3), on_gpu(memory))

    # Keep the capsule until the end: its destructor must not run while an error is raised.
    capsule = producer().capsule()
    beside(
        row="DLPack",
        what="a tensor of DLPack 1.0 arrives",
        right=3,
        ours=lambda: bridge.from_dlpack(producer(), to="pylibcudf").size(),
        theirs=lambda: plc.interop.from_dlpack(capsule).num_rows(),
    )


def test_dlpack_import_deletes_the_tensor_in_stream_order(late, beside):
    import cupy

    memory = cupy.arange(ROWS, dtype="int32")
    synchronize()

    def deletions(take):
        stream, target = side_stream(), read_target()
        producer = dlpack.Producer(np.empty(ROWS, "int32"), on_gpu(memory), versioned=False)
        late.copy(late.values, target, stream)
        kept = take(producer, stream)
        early = 0 if stream.done else producer.deleted
        stream.synchronize()
        del kept
        return early

    beside(
        row="DLPack",
        what="deletions of a tensor before the stream has come to its import",
        right=0,
        ours=lambda: deletions(lambda p, s: bridge.from_dlpack(p, stream=s, to="pylibcudf")),
        theirs=lambda: deletions(lambda p, s: plc.interop.from_dlpack(p.capsule(), s)),
    )


def test_failed_dlpack_import_deletes_the_tensor(beside):
    import cupy

    memory = cupy.zeros(8, "int64")

    def deletions(take):
        producer = dlpack.Producer(np.zeros((2, 2, 2), "int64"), on_gpu(memory), versioned=False)
        outcome(lambda: take(producer))
        gc.collect()
        return producer.deleted

    beside(
        row="DLPack",
        what="deletions of a tensor of three dimensions, which is refused",
        right=1,
        ours=lambda: deletions(bridge.from_dlpack),
        theirs=lambda: deletions(lambda producer: plc.interop.from_dlpack(producer.capsule())),
    )


def test_cuda_array_interface_import_waits_for_the_producer(late, beside):
    import cupy

    def last(take):
        producer, consumer, found = side_stream(), side_stream(), read_target()
        source = cupy.zeros(ROWS, "int32")
        synchronize()
        late.copy(late.values, source, producer)
        with producer:
            column = take(source, consumer)
        late.copy(as_cupy(column.data()), found, consumer, cycles=0)
        consumer.synchronize()
        value = int(found[-1])
        producer.synchronize()
        return value

    def ours(source, stream):
        return bridge.from_cuda_array_interface(source, stream=stream, to="pylibcudf")

    def theirs(source, stream):
        return plc.Column.from_cuda_array_interface(source, stream=stream)

    beside(
        row="CUDA array interface",
        what="the last value of an array that its own stream makes late: 0 if read too early",
        right=ROWS - 1,
        ours=lambda: last(ours),
        theirs=lambda: last(theirs),
    )
