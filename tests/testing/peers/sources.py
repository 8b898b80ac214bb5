# SPDX-License-Identifier: Apache-2.0
"""The same batches as every kind of source."""

from __future__ import annotations

import asyncio

import pyarrow as pa

SCHEMA = pa.schema({"a": pa.int64(), "s": pa.string()})


def batch(i):
    return pa.record_batch({"a": [i, None, i + 1], "s": [None, "x" * i, str(i)]}, SCHEMA)


def batches(count):
    return [batch(i) for i in range(count)]


async def later(objects):
    """Yield objects asynchronously; other tasks run before each of them."""
    for each in objects:
        await asyncio.sleep(0)
        yield each


def table(count):
    return pa.Table.from_batches(batches(count), SCHEMA)


def reader(count):
    return pa.RecordBatchReader.from_batches(SCHEMA, batches(count))
