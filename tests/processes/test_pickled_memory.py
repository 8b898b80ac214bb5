# SPDX-License-Identifier: Apache-2.0
"""Out-of-band buffers are not copied on either side; slices send only the data of their rows."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pyarrow as pa
import pylibcudf as plc
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
    """Check sizes and addresses. The expected address is None for bytes that have to be made."""
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


def test_pickling_of_slices_copies_only_masks_and_offsets():
    """Check the rule of `assert_in_place` with explicit numbers."""
    numbers = pa.array([i if i % 3 else None for i in range(100)])
    texts = pa.array(["ab"] * 100)
    for begin, size in ((0, 48), (32, 48), (32, 50), (8, 48), (9, 50)):
        array = cab.to_arrow_device(samples.column_of(numbers, [(begin, size)]))
        (mask, data) = places(pickle_out_of_band(array)[1])
        rows = column_in(array)
        assert (mask[1], data[1]) == ((size + 7) // 8, 8 * size)
        assert data[0] == rows.buffers()[1].address + 8 * rows.offset
        if is_shared := begin % 32 == 0 and size == 48:
            assert mask[0] == rows.buffers()[0].address + rows.offset // 8
        whole = range(rows.buffers()[0].address, rows.buffers()[0].address + 13)
        assert (mask[0] in whole) == is_shared
        column = samples.column_of(texts, [(begin, 50)])
        (offsets, data) = places(pickle_out_of_band(cab.to_arrow_device(column))[1])
        assert (offsets[1], data) == (204, (column.data().ptr + 2 * begin, 100))
        at = column.child(0).data().ptr + 4 * begin
        assert (offsets[0] == at) == (begin == 0)


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
    # Only the single offset of an array without rows is made.
    assert all(size in (4, 8) for address, size in (*expected, *found) if address is None)


def test_pickled_slices_of_tables_contain_only_their_rows():
    batch = pa.record_batch(
        {str(type_): samples.values(type_, samples.MANY, "some") for type_ in samples.TYPES}
    )
    table = plc.Table([samples.column_of(column, [(16, 30)]) for column in batch.columns])
    array = cab.to_arrow_device(table)
    _, buffers = pickle_out_of_band(array)
    expected = referred_of_batch(batch_in(array))
    assert_in_place(places(buffers), expected)
    whole = sum(size for _, size in referred_of_batch(batch))
    assert sum(size for _, size in expected) < whole / 3


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


@pytest.mark.parametrize("is_out_of_band", [True, False])
def test_out_of_band_pickling_succeeds_without_memory_for_a_copy(is_out_of_band):
    """In-band pickling needs a copy and fails, which shows that the limit of memory works."""
    program = f"""
        import pickle, resource, pyarrow as pa
        import cudf_arrow_bridge as cab
        from testing.ipc.mutants import limit_memory
        array = cab.to_arrow_device(pa.array(range(10)))
        pickle.loads(pickle.dumps(array, 5))
        array = cab.to_arrow_device(pa.nulls(1 << 24, pa.int64()).fill_null(7))
        limit_memory(100 << 20)
        buffers = []
        keep = buffers.append if {is_out_of_band} else None
        try:
            data = pickle.dumps(array, 5, buffer_callback=keep)
            back = pickle.loads(data, buffers=buffers)
        except MemoryError:
            print("no memory")
        else:
            print(len(back), sum(memoryview(buffer).nbytes for buffer in buffers))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    expected = f"{1 << 24} {1 << 27}" if is_out_of_band else "no memory"
    assert done.stdout.strip() == expected, done.stderr
