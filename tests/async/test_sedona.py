# SPDX-License-Identifier: Apache-2.0
"""sedonadb's asynchronous streams: threads, back-pressure, errors and cancellation."""

from __future__ import annotations

import asyncio
import errno
import gc
import random
from contextlib import aclosing

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import foreign
from testing.host import to_arrow
from testing.peers.sedona import Query, sedonadb

RANGE = "SELECT value AS x, 'n' || value AS s FROM range({})"
QUERIES = {
    "strings": "SELECT 'größer ' || repeat('x', value % 9) AS s FROM range(1000) ORDER BY value",
    "nulls": """SELECT nullif(value % 3, 0) AS n, CASE WHEN value % 2 = 0 THEN 's' || value END AS s
        FROM range(1000) ORDER BY value""",
    "nested": """SELECT make_array(value, NULL, value + 1) AS l,
        named_struct('a', value, 'b', make_array('x', NULL)) AS q FROM range(100) ORDER BY value""",
    "geometry": """SELECT value AS x, ST_Point(value, value + 1) AS g,
        ST_Buffer(ST_Point(1, 2), value) AS b FROM range(100) ORDER BY value""",
    "no rows": "SELECT value AS x, 's' AS s FROM range(10) WHERE value > 10 ORDER BY value",
    "many batches": RANGE.format(200_000) + " ORDER BY value",
}


@pytest.fixture(scope="module")
def context():
    return sedonadb.connect()


@pytest.fixture(params=QUERIES.values(), ids=QUERIES)
def answer(request, context):
    return context.sql(request.param)


async def taken(produce, limit=None, **options):
    """Return all batches, or the first `limit`, as pylibcudf tables."""
    found = []
    async with aclosing(cab.from_arrow_device_async(produce, to="pylibcudf", **options)) as all_:
        async for table in all_:
            found.append(table)
            if len(found) == limit:
                break
    return found


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def assert_same_rows(tables, expected):
    """Compare the rows of tables, read by their layout, with those of a pyarrow table."""
    begin = 0
    for table in tables:
        part = expected.slice(begin, table.num_rows()).combine_chunks()
        begin += table.num_rows()
        for column, given in zip(table.columns(), part.columns, strict=True):
            array = foreign.expected_import(given.combine_chunks().cast(plain(given.type)))
            found = to_arrow(column, array.type)
            found.validate(full=True)
            assert found.to_pylist() == array.to_pylist()
    assert begin == expected.num_rows


def plain(type_):
    return pa.string() if type_ == pa.string_view() else type_


def test_imported_batches_equal_those_of_the_synchronous_stream(answer):
    expected = pa.table(answer)
    with Query(answer) as query:
        tables = run(taken(query.produce))
    assert_same_rows(tables, expected)


def test_cancel_after_some_batches_frees_all_memory(context):
    answer = context.sql(RANGE.format(10_000_000))
    rng = random.Random(15)
    gc.collect()
    before = pa.total_allocated_bytes()
    for _ in range(20):
        limit = rng.randrange(1, 12)
        with Query(answer) as query:
            tables = run(taken(query.produce, limit, prefetch=rng.choice([1, 2, 5])))
        assert len(tables) == limit
        assert [table.num_rows() for table in tables] == [8192] * limit
    del tables
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_error_of_a_query_is_raised(context):
    """A division by zero: sedonadb reports code 1 and the text of datafusion."""
    answer = context.sql("SELECT 1 / (value - 50000) AS d FROM range(100000) ORDER BY value")
    with Query(answer) as query, pytest.raises(OSError, match="Divide by zero") as caught:
        run(taken(query.produce))
    assert caught.value.errno == errno.EPERM
