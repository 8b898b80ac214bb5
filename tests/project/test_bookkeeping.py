# SPDX-License-Identifier: Apache-2.0
"""What the C++ core costs, and tables and frames in Python, in what can be counted.

None of it depends on the machine: allocations, instructions, calls of functions. What moves with
versions of Python and of libraries is held to a multiple of what others take in the same run.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import python_bookkeeping
from benchmarks.bookkeeping import FLOORS, Program, counts_instructions
from cudf_arrow_bridge import has_gpu

pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")

#: Instructions as multiples of the floor's at 1000 columns, a third above what they are.
MOST = {"export": 1.6, "export by schema": 1.6, "import": 2.2, "borrow": 1.12}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("bookkeeping"))


@pytest.fixture(scope="module")
def measured(program):
    return {columns: program.measure(columns, rounds=1) for columns in (10, 1000)}


@pytest.mark.parametrize("job", ["export", "export by schema"])
def test_an_export_takes_an_allocation_for_ten_columns_beside_nanoarrows(measured, job):
    """The tree, what is shared of it and the list of its nodes aside, which are in small pieces."""
    few, many = (measured[columns][job]["allocations"] for columns in (10, 1000))
    assert few <= 6
    assert many - few <= 110


def test_an_import_takes_one_allocation_per_column_beside_libcudfs(measured):
    """Each column needs a resource that knows its producer; libcudf allocates the column."""
    few, many = (measured[columns]["import"]["allocations"] for columns in (10, 1000))
    assert many - few <= 2 * 990


def test_borrowing_takes_four_allocations_however_wide_the_table_is(measured):
    """The types of the schema, the columns, the producer's struct, and the share of it."""
    assert [measured[columns]["borrow"]["allocations"] for columns in (10, 1000)] == [4, 4]


@pytest.fixture(scope="module")
def instructions(program):
    return program.instructions(1000)


@pytest.mark.skipif(not counts_instructions(), reason="no valgrind")
@pytest.mark.parametrize("job", MOST)
def test_instructions_stay_near_the_floor(instructions, job):
    floor = instructions[FLOORS[job]]
    # Writing or reading the struct of a column takes some instructions.
    assert 1000 * 10 < instructions[job] < MOST[job] * floor


#: Of 10 columns, and of each further one: the most that Python's tables take, as multiples of what
#: pyarrow takes for the same batch, and frames, as multiples of cuDF's `to_pylibcudf` and
#: `from_pylibcudf`. A third above what they are.
MOST_IN_PYTHON = {
    "table export": {"allocations": (0.8, 0.2), "instructions": (1.3, 0.85)},
    "table import": {"allocations": (0.45, 0.35), "instructions": (0.88, 0.53)},
    "frame export": {"allocations": (1.35, 0.5), "instructions": (0.85, 0.42)},
    "frame import": {"allocations": (0.4, 0.4), "instructions": (0.43, 0.41)},
}

#: Calls of functions by Python's: of 10 columns at most, and of each further one.
CALLS = {
    "table export": (8, 0),
    "table import": (14, 0),
    "frame export": (104, 0),
    "frame import": (460, 41),
}


@pytest.fixture(scope="module")
def in_python(program):
    counted = python_bookkeeping.records(program, instructions=counts_instructions())
    return {entry["job"]: entry for entry in counted}


def stays_near(prices, most):
    """Whether a call and each of its columns take that many times what the floor takes at most."""
    return all(
        0 < ours <= times * floor
        for (ours, floor), times in zip((prices["call"], prices["column"]), most, strict=True)
    )


of_host_memory = pytest.mark.skipif(has_gpu(), reason="of host memory")


@of_host_memory
@pytest.mark.parametrize("job", MOST_IN_PYTHON)
def test_allocations_in_python_stay_near_others(in_python, job):
    assert stays_near(in_python[job]["allocations"], MOST_IN_PYTHON[job]["allocations"])


@of_host_memory
@pytest.mark.skipif(not counts_instructions(), reason="no valgrind")
@pytest.mark.parametrize("job", MOST_IN_PYTHON)
def test_instructions_in_python_stay_near_others(in_python, job):
    assert stays_near(in_python[job]["instructions"], MOST_IN_PYTHON[job]["instructions"])


@of_host_memory
@pytest.mark.parametrize("job", CALLS)
def test_no_column_takes_another_call_in_python(in_python, job):
    """One more would be lost among a column's instructions."""
    most, of_each_column = CALLS[job]
    assert 0 < in_python[job]["calls"]["call"][0] <= most
    # What depends on the order of sets is less than one.
    assert in_python[job]["calls"]["column"][0] < of_each_column + 0.5
