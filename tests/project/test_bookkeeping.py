# SPDX-License-Identifier: Apache-2.0
"""The C++ core's own cost, in what does not depend on the machine: allocations, instructions."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.bookkeeping import FLOORS, Program

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


@pytest.mark.skipif(not Program.counts_instructions(), reason="no valgrind")
@pytest.mark.parametrize("job", MOST)
def test_instructions_stay_near_the_floor(instructions, job):
    floor = instructions[FLOORS[job]]
    # Writing or reading the struct of a column takes some instructions.
    assert 1000 * 10 < instructions[job] < MOST[job] * floor
