# SPDX-License-Identifier: Apache-2.0
"""The costs of the C++ core, and of tables and frames in Python, that can be counted.

The counts of allocations, instructions and function calls do not depend on the machine. Counts
that change with versions of Python and libraries are compared with a peer in the same run.
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

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake"),
]

#: The most instructions at 1000 columns, in multiples of the floor's: a third above the counts.
MOST = {"export": 1.6, "export by schema": 1.6, "import": 2.2, "borrow": 1.12}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("bookkeeping"))


@pytest.fixture(scope="module")
def measured(program):
    return {columns: program.measure(columns, rounds=1) for columns in (10, 1000)}


@pytest.mark.parametrize("job", ["export", "export by schema"])
def test_export_adds_one_allocation_per_five_columns_to_those_of_nanoarrow(measured, job):
    """Nodes are in blocks. The tree, its shared state and the list of blocks are allocated too."""
    few, many = (measured[columns][job]["allocations"] for columns in (10, 1000))
    assert few <= 6
    assert many - few <= 990 / 5 + 1


def test_import_adds_one_allocation_per_column_to_that_of_libcudf(measured):
    """Each column needs a resource that refers to its producer; libcudf allocates the column."""
    few, many = (measured[columns]["import"]["allocations"] for columns in (10, 1000))
    assert many - few <= 2 * 990


def test_borrowing_a_table_of_any_width_takes_four_allocations(measured):
    """The types of the schema, the columns, the producer's struct, and its shared ownership."""
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


#: The most for 10 columns, and for each further column: a third above the real counts. Those of
#: tables are multiples of pyarrow's counts for the same batch. Those of frames are multiples of the
#: counts of cuDF's `to_pylibcudf` and `from_pylibcudf`.
MOST_IN_PYTHON = {
    "table export": {"allocations": (4.1, 8.4), "instructions": (2.2, 2.0)},
    "table import": {"allocations": (0.45, 0.35), "instructions": (0.88, 0.53)},
    "frame export": {"allocations": (2.8, 1.8), "instructions": (1.05, 0.65)},
    "frame import": {"allocations": (0.4, 0.4), "instructions": (0.43, 0.41)},
}

#: The most calls that Python functions make: for 10 columns, and for each further column.
CALLS = {
    "table export": (10, 0),
    "table import": (24, 0),
    "frame export": (104, 0),
    "frame import": (162, 10),
}


@pytest.fixture(scope="module")
def in_python(program):
    counted = python_bookkeeping.records(program, instructions=counts_instructions())
    return {entry["job"]: entry for entry in counted}


def stays_near(prices, most):
    """Return whether a call and each of its columns take at most these multiples of the floor."""
    return all(
        0 < ours <= times * floor
        for (ours, floor), times in zip((prices["call"], prices["column"]), most, strict=True)
    )


of_host_memory = pytest.mark.skipif(has_gpu(), reason="of host memory")


@of_host_memory
@pytest.mark.parametrize("job", MOST_IN_PYTHON)
def test_allocations_in_python_stay_near_those_of_the_peer(in_python, job):
    assert stays_near(in_python[job]["allocations"], MOST_IN_PYTHON[job]["allocations"])


@of_host_memory
@pytest.mark.skipif(not counts_instructions(), reason="no valgrind")
@pytest.mark.parametrize("job", MOST_IN_PYTHON)
def test_instructions_in_python_stay_near_those_of_the_peer(in_python, job):
    assert stays_near(in_python[job]["instructions"], MOST_IN_PYTHON[job]["instructions"])


@of_host_memory
@pytest.mark.parametrize("job", CALLS)
def test_calls_in_python_per_column_do_not_increase(in_python, job):
    """One more call would not be visible in the instructions of a column."""
    most, of_each_column = CALLS[job]
    assert 0 < in_python[job]["calls"]["call"][0] <= most
    # The order of sets changes the number by less than one.
    assert in_python[job]["calls"]["column"][0] < of_each_column + 0.5
