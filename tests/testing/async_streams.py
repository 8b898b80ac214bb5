# SPDX-License-Identifier: Apache-2.0
"""Asynchronous streams taken from C producers that follow scripts, and what is left of them."""

from __future__ import annotations

import asyncio
import errno

import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing.peers.producers import Producer


async def collect(source, limit=None, **options):
    """Take all frames, or a number of them; return their lengths, and the error that ended it."""
    found = []
    stream = bridge.from_arrow_device_async(source, **options)
    try:
        while limit is None or len(found) < limit:
            found.append(rows_of(await anext(stream)))
    except StopAsyncIteration:
        return found, None
    except Exception as error:
        # Once the stream has failed, it is over.
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        return found, error.with_traceback(None)
    finally:
        await stream.aclose()
    return found, None


def rows_of(frame):
    return frame.num_rows() if isinstance(frame, plc.Table) else len(frame)


def consume(script, limit=None, *, here=False, **options):
    """Run a script against the bridge; return the lengths of frames, the error and the producer."""
    producer = Producer(script, here=here)
    found, error = asyncio.run(asyncio.wait_for(collect(producer, limit, **options), 20))
    producer.check()
    return found, error, producer


def sent(producer, count=None):
    """Open the stream and send what is requested, up to a number of batches or a cancel."""
    assert producer.on_schema() == 0
    while (count is None or len(producer.tasks) < count) and producer.wait_for_request():
        producer.on_next_task()


def has_code(error, code):
    """Whether an exception is the one that stands for a code."""
    kinds = {
        errno.EINVAL: ValueError,
        errno.ENOMEM: MemoryError,
        errno.ENOSYS: NotImplementedError,
    }
    kind = kinds.get(code, OSError)
    return isinstance(error, kind) and (kind is not OSError or error.errno == code)
