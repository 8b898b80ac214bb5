# SPDX-License-Identifier: Apache-2.0
"""The C++ core's own cost, in what does not depend on the machine: allocations, instructions."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))

from benchmarks.bookkeeping import Program

pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")

#: Instructions as multiples of the floor's at 1000 columns, some above what they are.
MOST = {"export": 9.0, "import": 2.2}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return Program(tmp_path_factory.mktemp("bookkeeping"))


@pytest.fixture(scope="module")
def measured(program):
    return {columns: program.measure(columns, rounds=1) for columns in (10, 1000)}


def test_an_export_takes_a_constant_number_of_allocations(measured):
    few, many = (measured[columns]["export"]["allocations"] for columns in (10, 1000))
    assert 0 < many == few


def test_an_import_takes_one_allocation_per_column_beside_libcudfs(measured):
    """Each column needs a resource that knows its producer; libcudf allocates the column."""
    few, many = (measured[columns]["import"]["allocations"] for columns in (10, 1000))
    assert many - few <= 2 * 990


@pytest.mark.skipif(not Program.counts_instructions(), reason="no valgrind")
@pytest.mark.parametrize("job", MOST)
def test_instructions_stay_near_the_floor(program, job):
    ours, floor = (program.instructions(name, 1000) for name in (job, f"{job} floor"))
    assert 0 < floor < ours < MOST[job] * floor
