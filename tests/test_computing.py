# SPDX-License-Identifier: Apache-2.0
"""Check the expectations of `tests/gpu/test_computing.py` on the CPU.

The samples are imported and exported as on a GPU, and the columns are read as libcudf reads them.
The expected rows are compared with rows that Python computes.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest

import cudf_arrow_bridge as bridge
from testing import computing, reading, samples
from testing.computing import CASES, beginning_at, cases_of
from testing.host import to_arrow, to_plc
from testing.peers.arrays import Producer, column_from

BY_PYTHON = {
    "gather": lambda rows: [rows[i] for i in computing.indices(len(rows))],
    "concatenate": lambda rows: [*rows, *rows],
    "filter": lambda rows: [row for i, row in enumerate(rows) if i % 3 != 1],
    "explode": lambda rows: list(chain.from_iterable(row or [None] for row in rows)),
    "count elements": lambda rows: [None if row is None else len(row) for row in rows],
    "reverse lists": lambda rows: [None if row is None else row[::-1] for row in rows],
    "sort": lambda rows: [
        *sorted(row for row in rows if row is not None),
        *(row for row in rows if row is None),
    ],
    "count by value": lambda rows: [
        count for _, count in sorted(Counter(row for row in rows if row is not None).items())
    ],
    "upper": lambda rows: [None if row is None else row.upper() for row in rows],
    "count characters": lambda rows: [None if row is None else len(row) for row in rows],
}


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("case", CASES, ids=[name for name, _, _ in CASES])
def test_expected_rows_of_each_computation_match_python(case, nulls):
    _, computation, type_ = case
    array = samples.values(type_, samples.MANY, nulls)
    for rows, offset, size in cases_of(computation, array):
        part = rows.slice(offset, size)
        producer = Producer(bridge.to_arrow_device(to_plc(rows)), beginning_at(offset, size))
        for column in (column_from(part), column_from(producer)):
            assert to_arrow(column, type_).to_pylist() == part.to_pylist()
            assert reading.read(column, type_) == part.to_pylist()
        assert computation.expected(part) == BY_PYTHON[computation.name](part.to_pylist())
