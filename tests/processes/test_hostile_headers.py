# SPDX-License-Identifier: Apache-2.0
"""Headers and buffers that contradict each other are rejected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.processes.packing import HEAD, pack, unpack
from testing.exchange.packs import IS_PACKED, padded, split, with_number
from testing.exchange.pickles import adopted, column_in, places

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

TESTS = Path(__file__).parents[1]
#: Set `PACK_MUTANTS` to test more mutants, which takes a minute and more.
MUTANTS = int(os.getenv("PACK_MUTANTS", "50_000"))

SOURCE = pa.array(["a", "bcd", None])
PACKED = pack(cab.to_arrow_device(SOURCE))
MASK, OFFSETS, TEXT = (pa.py_buffer(buffer) for buffer in PACKED.buffers)


def run(form, count):
    done = subprocess.run(
        [sys.executable, "-m", "testing.exchange.packs", form, "--count", str(count)],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True, text=True, timeout=3600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stderr[-4000:]}"
    found = json.loads(done.stdout)
    assert "an error that says nothing" not in found["outcomes"]
    assert found["grown"] < 16 << 20, "memory grows"
    return found["outcomes"]


def test_header_cut_at_any_byte_is_rejected():
    outcomes = run("cut", 1000)
    assert set(outcomes) == {"ValueError"}
    assert outcomes["ValueError"] > 10_000


@pytest.mark.parametrize("form", ["bytes", "numbers"])
def test_changed_header_raises_an_error_or_gives_an_array(form):
    outcomes = run(form, 1000)
    assert outcomes["ValueError"] > 5_000
    assert outcomes["array"] > 500
    assert set(outcomes) <= {"ValueError", "TypeError", "OverflowError", "array"}


def test_random_mutants_raise_errors_or_give_arrays():
    outcomes = run("random", MUTANTS)
    assert sum(outcomes.values()) == MUTANTS
    # Without both outcomes, the mutants would be too harmless or too damaged to be a test.
    assert outcomes["array"] > MUTANTS // 25
    assert outcomes["ValueError"] > MUTANTS // 25


BUFFERS = {
    "missing": ([MASK, OFFSETS], "expected a buffer of 4 bytes, got 2 in all"),
    "none": ([], "expected a buffer of 1 bytes, got 0 in all"),
    "extra": ([MASK, OFFSETS, TEXT, TEXT], "expected 3 buffers, got 4"),
    "short": ([MASK, OFFSETS[:12], TEXT], "buffer 1: expected 16 bytes, got 12"),
    "long": ([MASK, OFFSETS, b"abcde"], "buffer 2: expected 4 bytes, got 5"),
    "empty": ([MASK, b"", TEXT], "buffer 1: expected 16 bytes, got 0"),
    "absent": ([None, OFFSETS, TEXT], "buffer 0: expected 1 bytes, got 0"),
    "swapped": ([OFFSETS, MASK, TEXT], "buffer 0: expected 1 bytes, got 16"),
    "past the text": (
        [MASK, np.array([0, 1, 4, 5], "int32"), TEXT],
        r"column '\(top level\)': expected a last offset of at most 4.* got 5$",
    ),
    "negative": ([MASK, np.array([-1, 1, 4, 4], "int32"), TEXT], "got -1|offset.*-1"),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_unpack_rejects_wrong_buffers(name):
    buffers, message = BUFFERS[name]
    with pytest.raises(ValueError, match=message):
        unpack(PACKED.header, buffers)
    assert column_in(unpack(*PACKED)).equals(SOURCE)


def test_unpack_rejects_run_ends_before_the_last_row():
    """A search for the value of the last row would read past the last run."""
    batch = pa.record_batch({"a": pc.run_end_encode(pa.array([1, 1, 2]), run_end_type=pa.int16())})
    (array,) = adopted(batch.schema, [batch])
    header, buffers = pack(array["a"])
    for ends in ([2, 3], [2, 9]):
        buffers[0] = np.array(ends, "int16")
        assert pa.array(unpack(header, buffers)).to_pylist() == [1, 1, 2]
    for last in (2, 0, -1):
        buffers[0] = np.array([2, last], "int16")
        with pytest.raises(ValueError, match=f"expected a last run end of at least 3, got {last}"):
            unpack(header, buffers)


@pytest.mark.parametrize("buffer", ["text", 7, object()], ids=["text", "number", "object"])
def test_unpack_rejects_objects_without_memory(buffer):
    with pytest.raises(
        TypeError, match=f"expected .* got an object of type {type(buffer).__name__}$"
    ):
        unpack(PACKED.header, [MASK, OFFSETS, buffer])


HEADERS = {
    "nothing": (b"", "header: expected at least 24 bytes, got 0"),
    "magic": (
        b"CAB\2" + PACKED.header[4:],
        r"header: expected b'CAB\\x01' at the beginning, got b'CAB\\x02'",
    ),
    "kind": (PACKED.header[:4] + b"\2" + PACKED.header[5:], "expected flags, got 2, 0 and -1"),
    "first row": (with_number(PACKED.header, 16, -2), "got 0, 0 and -2"),
    "schema": (
        with_number(PACKED.header, 8, 2**62),
        f"header: expected a shorter schema, got {2**62:,} bytes",
    ),
    "negative schema": (
        with_number(PACKED.header, 8, -8),
        "header: expected a shorter schema, got -8 bytes",
    ),
    "odd numbers": (
        PACKED.header + b"\0",
        "header: expected 136 bytes and 8 for each number, got 209",
    ),
    "more numbers": (PACKED.header + bytes(8), "header: expected 9 numbers, got 10"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_unpack_rejects_wrong_headers(name):
    header, message = HEADERS[name]
    with pytest.raises(ValueError, match=message):
        unpack(header, PACKED.buffers)


def test_unpack_rejects_a_column_header_with_two_columns():
    header, buffers = pack(cab.to_arrow_device(pa.table({"a": [1], "b": [2]})))
    with pytest.raises(ValueError, match="header: expected 1 column, got 2"):
        unpack(header[:4] + b"\0" + header[5:], buffers)


def test_unpack_rejects_the_schema_of_another_array():
    head, _, numbers = split(PACKED.header)
    for wrong in (pa.array([1]), pa.array([[1]]), pa.nulls(1), pa.array([{"a": 1}])):
        _, schema, _ = split(pack(cab.to_arrow_device(wrong)).header)
        magic, *flags, _, first_row = HEAD.unpack(head)
        header = HEAD.pack(magic, *flags, len(schema), first_row) + schema + numbers
        with pytest.raises(ValueError, match=r"expected .* got "):
            unpack(header, PACKED.buffers)


def as_packed(header):
    return header[:IS_PACKED] + b"\1" + header[IS_PACKED + 1 :]


def test_unpack_reads_packed_bodies_in_host_memory():
    """A reader without a GPU receives packed bodies that were in device memory."""
    header = as_packed(PACKED.header)
    body = b"".join(map(padded, (MASK, OFFSETS, TEXT)))
    memory = pa.py_buffer(body)
    found = column_in(unpack(header, [memory]))
    assert found.equals(SOURCE)
    assert places([found.buffers()[1]]) == [(memory.address + 64, 16)]
    shifted = unpack(header, [pa.py_buffer(b"." + body)[1:]])
    assert column_in(shifted).equals(SOURCE)
    for wrong in ([MASK, OFFSETS, TEXT], [], [memory[:-1]], [body + bytes(64)], [memory, memory]):
        with pytest.raises(ValueError, match=r"expected .* got "):
            unpack(header, wrong)


def test_unpack_rejects_sizes_whose_sum_overflows():
    header = as_packed(PACKED.header)
    begin = len(header) - len(split(header)[2])
    at = begin + 8 * (4 + 2)  # after the counts, and the one node
    for number in (2**63 - 1, (2**61 - 1) << 2, 2**62):
        for where in (at, at + 8, at + 16):
            with pytest.raises(ValueError, match=r"expected .* got "):
                unpack(with_number(header, where, number), [b"".join(map(padded, (MASK, TEXT)))])
