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


@pytest.fixture(scope="module")
def program():
    return Program()


def test_core_allocates_little_more_than_nanoarrow_and_libcudf(program):
    few, many = (
        {job: one["allocations"] for job, one in program.measure(columns, rounds=1).items()}
        for columns in (10, 1000)
    )
    # Nodes are in blocks. The tree, its shared state and the list of blocks are allocated too.
    for job in ("export", "export by schema"):
        assert few[job] <= 7
        assert many[job] - few[job] <= 990 / 3 + 1
    # Each column needs a resource that refers to its producer; libcudf allocates the column.
    assert many["import"] - few["import"] <= 2 * 990
    # The types of the schema, the columns, the producer's struct, and its shared ownership.
    assert few["borrow"] == many["borrow"] == 4


@pytest.mark.skipif(not counts_instructions(), reason="no valgrind")
def test_instructions_of_the_core_stay_near_the_floor(program):
    instructions = program.instructions(1000)
    most = {"export": 1.6, "export by schema": 1.6, "import": 2.2, "borrow": 1.12}
    for job, times in most.items():
        # Writing or reading the struct of a column takes some instructions.
        assert 1000 * 10 < instructions[job] < times * instructions[FLOORS[job]], job


#: The most for 10 columns, and for each further column: up to a third above the real counts. Those
#: of tables are multiples of pyarrow's counts for the same batch. Those of frames are multiples of
#: the counts of cuDF's `to_pylibcudf` and `from_pylibcudf`. Calls are not multiples.
MOST_IN_PYTHON = {
    "table export": {"allocations": (4.1, 8.4), "instructions": (2.2, 2.0), "calls": (11, 0)},
    "table import": {"allocations": (0.45, 0.35), "instructions": (1.0, 0.54), "calls": (24, 0)},
    "frame export": {"allocations": (2.8, 1.8), "instructions": (1.05, 0.65), "calls": (104, 0)},
    "frame import": {"allocations": (0.4, 0.4), "instructions": (0.43, 0.41), "calls": (162, 10)},
}


@pytest.mark.skipif(has_gpu(), reason="of host memory")
def test_tables_and_frames_in_python_stay_near_the_peer(program):
    for counted in python_bookkeeping.records(program, instructions=counts_instructions()):
        job = counted["job"]
        for unit in {"allocations", "instructions"} & counted.keys():
            places = zip(("call", "column"), MOST_IN_PYTHON[job][unit], strict=True)
            for place, times in places:
                ours, floor = counted[unit][place]
                assert 0 < ours <= times * floor, (job, unit, place)
        most, of_each_column = MOST_IN_PYTHON[job]["calls"]
        assert 0 < counted["calls"]["call"][0] <= most, job
        # The order of sets changes the number by less than one.
        assert counted["calls"]["column"][0] < of_each_column + 0.5, job
