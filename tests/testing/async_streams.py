# SPDX-License-Identifier: Apache-2.0
"""Imports of asynchronous streams from C producers that follow scripts, and waits for tasks."""

from __future__ import annotations

import asyncio
import errno

import cudf
import pytest

import cudf_arrow_bridge as cab
from testing.peers.producers import Producer


async def until(condition):
    """Run other tasks until a condition is true, and then a little longer."""
    for _ in range(1000):
        if condition():
            break
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.002)


async def collect(source, limit=None, **options):
    """Return the lengths of all frames, or of up to `limit`, and the error that ended them."""
    found = []
    stream = cab.from_arrow_device_async(source, **options)
    try:
        while limit is None or len(found) < limit:
            found.append(rows_of(await anext(stream)))
    except StopAsyncIteration:
        return found, None
    except Exception as error:
        # The stream ends after an error.
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return found, error.with_traceback(None)
    finally:
        await stream.aclose()
    return found, None


def rows_of(frame):
    return len(frame) if isinstance(frame, cudf.DataFrame) else frame.num_rows()


def consume(script, limit=None, *, here=False, **options):
    """Import the stream of a script; return the lengths of frames, the error and the producer."""
    producer = Producer(script, here=here)
    found, error = asyncio.run(asyncio.wait_for(collect(producer, limit, **options), 60))
    producer.check()
    return found, error, producer


def sent(producer, count=None):
    """Send the schema, then the requested batches, until `count` batches or a cancellation."""
    assert producer.on_schema() == 0
    while (count is None or len(producer.tasks) < count) and producer.wait_for_request():
        producer.on_next_task()


def has_code(error, code):
    """Return whether an exception is the one for an error code."""
    kinds = {
        errno.EINVAL: ValueError,
        errno.ENOMEM: MemoryError,
        errno.ENOSYS: NotImplementedError,
    }
    kind = kinds.get(code, OSError)
    return isinstance(error, kind) and (kind is not OSError or error.errno == code)
