# SPDX-License-Identifier: Apache-2.0
"""Headers and buffers that contradict each other are refused, whatever was changed of them."""

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
#: All of them where somebody asks for it: a minute and more.
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


def test_headers_cut_at_every_byte():
    outcomes = run("cut", 1000)
    assert set(outcomes) == {"ValueError"}
    assert outcomes["ValueError"] > 10_000


@pytest.mark.parametrize("form", ["bytes", "numbers"])
def test_headers_changed_everywhere(form):
    outcomes = run(form, 1000)
    assert outcomes["ValueError"] > 5_000
    assert outcomes["array"] > 500
    assert set(outcomes) <= {"ValueError", "TypeError", "OverflowError", "array"}


def test_mutants():
    outcomes = run("random", MUTANTS)
    assert sum(outcomes.values()) == MUTANTS
    # Both happen: else the mutants would be too harmless or too wild to show anything.
    assert outcomes["array"] > MUTANTS // 25
    assert outcomes["ValueError"] > MUTANTS // 25


BUFFERS = {
    "missing": ([MASK, OFFSETS], r"2 buffers found, more expected: 4 bytes"),
    "none": ([], r"0 buffers found, more expected: 1 bytes"),
    "extra": ([MASK, OFFSETS, TEXT, TEXT], r"4 buffers found, 3 expected"),
    "short": ([MASK, OFFSETS[:12], TEXT], r"buffer 1: 12 bytes found, 16 expected"),
    "long": ([MASK, OFFSETS, b"abcde"], r"buffer 2: 5 bytes found, 4 expected"),
    "empty": ([MASK, b"", TEXT], r"buffer 1: 0 bytes found, 16 expected"),
    "absent": ([None, OFFSETS, TEXT], r"buffer 0: 0 bytes found, 1 expected"),
    "swapped": ([OFFSETS, MASK, TEXT], r"buffer 0: 16 bytes found, 1 expected"),
    "past the text": (
        [MASK, np.array([0, 1, 4, 5], "int32"), TEXT],
        r"a last offset of 5 found, at most 4 bytes of data expected",
    ),
    "negative": ([MASK, np.array([-1, 1, 4, 4], "int32"), TEXT], r"-1 found|offset.*-1"),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_wrong_buffers(name):
    buffers, message = BUFFERS[name]
    with pytest.raises(ValueError, match=message):
        unpack(PACKED.header, buffers)
    assert column_in(unpack(*PACKED)).equals(SOURCE)


def test_runs_that_end_too_early():
    """Who looks for the value of the last row would read behind the last run."""
    batch = pa.record_batch({"a": pc.run_end_encode(pa.array([1, 1, 2]), run_end_type=pa.int16())})
    (array,) = adopted(batch.schema, [batch])
    header, buffers = pack(array["a"])
    for ends in ([2, 3], [2, 9]):
        buffers[0] = np.array(ends, "int16")
        assert pa.array(unpack(header, buffers)).to_pylist() == [1, 1, 2]
    for last in (2, 0, -1):
        buffers[0] = np.array([2, last], "int16")
        with pytest.raises(ValueError, match=f"run end of {last} found, at least 3 expected"):
            unpack(header, buffers)


@pytest.mark.parametrize("buffer", ["text", 7, object()], ids=["text", "number", "object"])
def test_buffers_of_no_memory(buffer):
    with pytest.raises(TypeError, match="found"):
        unpack(PACKED.header, [MASK, OFFSETS, buffer])


HEADERS = {
    "nothing": (b"", r"header: 0 bytes found, at least 24 expected"),
    "magic": (b"CAB\2" + PACKED.header[4:], r"begins with b'CAB\\x02', b'CAB\\x01' expected"),
    "kind": (PACKED.header[:4] + b"\2" + PACKED.header[5:], r"2, 0 and -1 found, flags expected"),
    "first row": (with_number(PACKED.header, 16, -2), r"0, 0 and -2 found"),
    "schema": (with_number(PACKED.header, 8, 2**62), r"a schema of 4,611,.* bytes found, fewer"),
    "negative schema": (with_number(PACKED.header, 8, -8), r"a schema of -8 bytes found, fewer"),
    "odd numbers": (PACKED.header + b"\0", r"and numbers of 8 expected"),
    "more numbers": (PACKED.header + bytes(8), r"numbers found, \d+ expected"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_wrong_headers(name):
    header, message = HEADERS[name]
    with pytest.raises(ValueError, match=message):
        unpack(header, PACKED.buffers)


def test_a_column_has_one_schema():
    header, buffers = pack(cab.to_arrow_device(pa.table({"a": [1], "b": [2]})))
    with pytest.raises(ValueError, match="header: 2 columns found, 1 expected"):
        unpack(header[:4] + b"\0" + header[5:], buffers)


def test_the_schema_of_another():
    head, _, numbers = split(PACKED.header)
    for wrong in (pa.array([1]), pa.array([[1]]), pa.nulls(1), pa.array([{"a": 1}])):
        _, schema, _ = split(pack(cab.to_arrow_device(wrong)).header)
        magic, *flags, _, first_row = HEAD.unpack(head)
        header = HEAD.pack(magic, *flags, len(schema), first_row) + schema + numbers
        with pytest.raises(ValueError, match="found"):
            unpack(header, PACKED.buffers)


def as_packed(header):
    return header[:IS_PACKED] + b"\1" + header[IS_PACKED + 1 :]


def test_packed_bodies_of_host_memory():
    """As they come of a device, to a reader without one."""
    header = as_packed(PACKED.header)
    body = b"".join(map(padded, (MASK, OFFSETS, TEXT)))
    memory = pa.py_buffer(body)
    found = column_in(unpack(header, [memory]))
    assert found.equals(SOURCE)
    assert places([found.buffers()[1]]) == [(memory.address + 64, 16)]
    shifted = unpack(header, [pa.py_buffer(b"." + body)[1:]])
    assert column_in(shifted).equals(SOURCE)
    for wrong in ([MASK, OFFSETS, TEXT], [], [memory[:-1]], [body + bytes(64)], [memory, memory]):
        with pytest.raises(ValueError, match="found"):
            unpack(header, wrong)


def test_sizes_that_overflow_together():
    header = as_packed(PACKED.header)
    begin = len(header) - len(split(header)[2])
    at = begin + 8 * (4 + 2)  # after the counts, and the one node
    for number in (2**63 - 1, (2**61 - 1) << 2, 2**62):
        for where in (at, at + 8, at + 16):
            with pytest.raises(ValueError, match="found"):
                unpack(with_number(header, where, number), [b"".join(map(padded, (MASK, TEXT)))])
