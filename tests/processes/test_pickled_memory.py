# SPDX-License-Identifier: Apache-2.0
"""Out-of-band buffers are not copied on either side; slices send only the data of their rows."""

from __future__ import annotations

import ctypes
import pickle
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.ipc.pickling import pack, unpack
from testing import samples
from testing.exchange.pickles import (
    adopted,
    batch_in,
    column_in,
    copied,
    pickle_out_of_band,
    pickle_round_trip,
    places,
    referred,
    referred_of_batch,
)
from testing.ipc import samples as ipc_samples
from testing.ipc.samples import ALL_TYPES
from testing.peers.arrays import Producer, column_from

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="addresses of the CPU's memory are compared")

#: The whole array, and slices: at words of masks, within words, without rows, to the end.
STEPS = [
    [(0, samples.MANY)],
    [(32, 64)],
    [(8, 64)],
    [(1, 64)],
    [(33, 9)],
    [(40, 0)],
    [(64, 73)],
    [(8, 99), (3, 20)],
]


def assert_in_place(found, expected):
    """Check sizes and addresses. The expected address is None for bytes that must be computed."""
    assert [size for _, size in found] == [size for _, size in expected]
    for (address, _), (wanted, _) in zip(found, expected, strict=True):
        assert wanted is None or address == wanted


def check_column(array):
    rows = column_in(array)
    data, buffers = pickle_out_of_band(array)
    assert_in_place(places(buffers), referred(rows))
    given = copied(buffers)
    back = pickle.loads(data, buffers=given)
    found = column_in(back)
    assert found.equals(rows)
    assert_in_place(places(given), referred(found))
    if len(rows):
        # The unpickled array is not a slice: pickling it again makes no bytes.
        assert places(pickle_out_of_band(back)[1]) == places(given)


@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_pickled_slices_of_columns_share_their_memory(type_, nesting):
    source = samples.nest(type_, nesting, samples.MANY, "some", (3, 9))
    arrived = column_from(Producer(source))
    for steps in STEPS:
        column = samples.cut_column(
            arrived, steps, lambda begin, size: source.slice(begin, size).null_count
        )
        check_column(cab.to_arrow_device(column))


@pytest.mark.parametrize("type_", ALL_TYPES)
def test_whole_tables_are_not_copied(type_):
    batch = ipc_samples.batch_of(type_)
    (array,) = adopted(batch.schema, [batch])
    data, buffers = pickle_out_of_band(array)
    expected = referred_of_batch(batch_in(array))
    assert_in_place(places(buffers), expected)
    given = copied(buffers)
    found = referred_of_batch(batch_in(pickle.loads(data, buffers=given)))
    assert_in_place(places(given), found)
    # Only the single offset of an array without rows is computed.
    assert all(size in (4, 8) for address, size in (*expected, *found) if address is None)


def test_whole_array_with_offsets_that_do_not_start_at_0_is_not_copied():
    """Arrow allows these offsets, and other producers export them."""
    lists = pa.array([[True] * 11, [False] * 5, None, [True, False, None]])
    header, buffers = pack(cab.to_arrow_device(lists))
    at = next(i for i, b in enumerate(buffers) if memoryview(b).nbytes == 20)
    buffers[at] = np.array([11, 14, 16, 16, 19], "int32")
    array = unpack(header, buffers)
    rows = column_in(array)
    assert rows.to_pylist() == [[False] * 3, [False] * 2, None, [True, False, None]]
    assert column_in(pickle_round_trip(array)).equals(rows)
    assert places(pickle_out_of_band(array)[1]) == places(buffers)


def test_buffers_and_unpickled_arrays_are_read_only():
    array = cab.to_arrow_device(pa.table({"a": [1, 2], "b": ["x", None]}))
    data, buffers = pickle_out_of_band(array)
    assert len(buffers) == 4
    assert all(buffer.raw().readonly for buffer in buffers)
    # Arrays are read-only even over writable buffers.
    back = pickle.loads(data, buffers=[bytearray(buffer) for buffer in buffers])
    tensors = [
        np.asarray(back["a"]),
        np.from_dlpack(back["a"]),
        np.asarray(back["b"].buffer("data")),
    ]
    tensors.append(np.from_dlpack(back["b"].buffer("offsets")))
    assert [tensor.flags.writeable for tensor in tensors] == [False] * 4
    assert not any(buffer.is_mutable for buffer in batch_in(back).column(0).buffers() if buffer)


def test_only_misaligned_buffers_are_copied():
    source = pa.array([1, None, 3])
    data, buffers = pickle_out_of_band(cab.to_arrow_device(source))
    memory = bytearray(128)
    begin = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % 64
    for shift in range(1, 9):
        (mask, numbers) = buffers
        placed = memoryview(memory)[begin + shift : begin + shift + 24]
        placed[:] = numbers.raw()
        back = pickle.loads(data, buffers=[mask, placed])
        assert column_in(back).equals(source)
        at = column_in(back).buffers()[1].address
        assert (at == places([placed])[0][0]) == (shift == 8)


def test_out_of_band_pickling_allocates_no_memory_for_the_data():
    array = cab.to_arrow_device(pa.table({"a": np.arange(1 << 20), "b": np.arange(1 << 20)}))
    pickle_round_trip(array)
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    back = pickle_round_trip(array)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(back) == 1 << 20
    assert peak < 1 << 16
    assert pa.total_allocated_bytes() == before
