# SPDX-License-Identifier: Apache-2.0
"""Exports and imports are ordered by streams, and the host does not wait.

Every test runs a slow kernel on a stream of its own. If an event or a wait is missing, the test
reads zeros in place of values. If the host waits, a stream is done too early.
"""

from __future__ import annotations

import pylibcudf as plc

import cudf_arrow_bridge as bridge
from testing.device import GPU, ROWS, as_cupy, assert_late, read_target, side_stream, synchronize
from testing.peers.arrays import Producer, column_from, read

pytestmark = GPU


def test_export_and_import_do_not_wait_for_a_slow_producer(late):
    """pylibcudf 26.10 takes no stream, and works on the default one."""
    producer, consumer, found = side_stream(), side_stream(), read_target()
    exported = bridge.to_arrow_device(late.column(producer), stream=producer)
    column = column_from(exported, stream=consumer)
    assert_late(late, [(found, column, consumer)], producer)


def test_slices_with_a_mask_do_not_wait_for_a_slow_producer(late, pool):
    """Shifted pointers and masks with a known null count need no wait.

    libcudf's slicing allocates and frees memory, for which `cudaFree` would wait.
    """
    producer, consumer, found = side_stream(), side_stream(), read_target()
    mask = plc.gpumemoryview(plc.null_mask.create_null_mask(ROWS, plc.types.MaskState.ALL_VALID))

    def cut(column):
        return plc.copying.slice(column.with_mask(mask, 0), [8, ROWS])[0]

    # Loading libcudf's kernels may wait for the device.
    column_from(bridge.to_arrow_device(cut(late.column(producer)), stream=producer))
    synchronize()
    column = cut(late.column(producer))
    exported = bridge.to_arrow_device(column, stream=producer)
    column = column_from(exported, stream=consumer)
    late.copy(as_cupy(column.data()), found[8:], consumer, cycles=0)
    assert not producer.done
    consumer.synchronize()
    assert found.get().tolist() == [*[-1] * 8, *range(8, ROWS)]


def test_frames_do_not_wait_for_a_slow_producer(late):
    import cudf

    producer, consumer = side_stream(), side_stream()
    # The first frame of a process is slow.
    warm = bridge.to_arrow_device(plc.Table([late.column(producer)]), stream=producer)
    warm = bridge.from_arrow_device(warm, stream=producer)
    assert warm["0"].sum() == ROWS * (ROWS - 1) // 2
    synchronize()
    table = plc.Table(list(late.columns(2, producer)))
    exported = bridge.to_arrow_device(table, stream=producer)
    frame = bridge.from_arrow_device(exported, stream=consumer)
    assert not producer.done
    assert isinstance(frame, cudf.DataFrame)
    consumer.synchronize()
    assert frame["1"].sum() == ROWS * (ROWS - 1) // 2


def pack_late(late, pool):
    """Return an export of bools that are late, and whether the export waited for the bools."""
    import cupy
    import rmm

    producer = side_stream()
    ones = cupy.full(ROWS // 4, 0x01000100, "int32")

    def bools():
        buffer = rmm.DeviceBuffer(size=ROWS, mr=pool)
        target = as_cupy(buffer)
        target.fill(0)
        synchronize()
        dtype = plc.DataType(plc.TypeId.BOOL8)
        return target, plc.Column.from_rmm_buffer(buffer, dtype, ROWS, [])

    bridge.to_arrow_device(bools()[1], stream=producer)  # loads the kernel
    target, column = bools()
    late.copy(ones, target, producer)
    return bridge.to_arrow_device(column, stream=producer), producer.done


def test_packing_of_bools_is_ordered_after_the_producer(late, pool):
    exported, _ = pack_late(late, pool)
    assert read(exported.to_host(stream=side_stream())).to_pylist() == [False, True] * (ROWS // 2)


def test_packing_of_bools_does_not_block_the_host(late, pool):
    _, waited = pack_late(late, pool)
    assert not waited


def test_unpacking_of_bits_does_not_block_the_host(late, pool):
    import cupy

    producer, consumer = side_stream(), side_stream()

    def unpack():
        bits = Producer(bridge.to_arrow_device(late.column(producer), stream=producer), as_bits)
        return column_from(bits, stream=consumer, mr=pool)

    unpack()  # loads the kernel
    synchronize()
    column = unpack()
    waited = producer.done
    consumer.synchronize()
    bits = cupy.unpackbits(late.values.view("uint8"), bitorder="little")
    assert cupy.array_equal(as_cupy(column.data(), "uint8")[: bits.size], bits)
    assert not waited


def as_bits(schema, array):
    """Edit a `Producer`: declare its int32 values as bits."""
    schema.format = b"b"
    array.array.length = 32 * ROWS


def test_export_of_an_import_is_ordered_after_the_first_producer(late):
    producer, middle, consumer, found = *(side_stream() for _ in range(3)), read_target()
    first = bridge.to_arrow_device(late.column(producer), stream=producer)
    imported = column_from(first, stream=middle)
    again = column_from(bridge.to_arrow_device(imported, stream=middle), stream=consumer)
    assert_late(late, [(found, again, consumer)], producer)


def test_every_capsule_of_an_array_is_ordered_after_the_producer(late):
    producer = side_stream()
    targets = [(read_target(), side_stream()) for _ in range(3)]
    exported = bridge.to_arrow_device(late.column(producer), stream=producer)
    readers = [(target, column_from(exported, stream=stream), stream) for target, stream in targets]
    assert_late(late, readers, producer)


def test_to_host_waits_for_the_producer(late):
    producer = side_stream()
    exported = bridge.to_arrow_device(late.column(producer), stream=producer)
    assert not producer.done
    assert read(exported.to_host(stream=side_stream())).to_pylist() == list(range(ROWS))
