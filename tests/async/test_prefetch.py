# SPDX-License-Identifier: Apache-2.0
"""``async for`` over an asynchronous stream creates batches ahead on another thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
from contextlib import aclosing

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab

ROWS = 50_000


class Frames:
    """Frames that are counted when they are made, and an error after them."""

    def __init__(self, count, error=None):
        self.count, self.error = count, error
        self.num_asked = 0

    def __iter__(self):
        for number in range(self.count):
            self.num_asked += 1
            yield cab.from_arrow_device(batch(number))
        if self.error is not None:
            raise self.error


def batch(number):
    return pa.record_batch({"a": pa.array(range(number, number + ROWS), pa.int64())})


async def until(condition):
    """Run other tasks until a condition holds, and a little longer."""
    for _ in range(1000):
        if condition():
            break
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.002)


@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_at_most_prefetch_batches_are_made_while_the_loop_uses_one(prefetch):
    frames = Frames(7)

    async def main():
        num_taken = 0
        async for each in cab.to_arrow_device_async(frames, prefetch=prefetch):
            num_taken += 1
            assert each.to_arrow().equals(batch(num_taken - 1))
            expected = min(num_taken + prefetch, 7)
            await until(lambda: frames.num_asked >= expected)  # noqa: B023
            assert frames.num_asked == expected
        assert num_taken == 7

    asyncio.run(main())


def test_one_batch_is_made_ahead_by_default():
    frames = Frames(5)

    async def main():
        async with aclosing(aiter(cab.to_arrow_device_async(frames))) as loop:
            await anext(loop)
            await until(lambda: frames.num_asked > 1)
            assert frames.num_asked == 2

    asyncio.run(main())


def test_loop_gets_the_batches_before_the_error_of_a_batch_that_is_made_ahead():
    async def main():
        loop = aiter(cab.to_arrow_device_async(Frames(2, KeyError("mine")), prefetch=5))
        for number in range(2):
            assert (await anext(loop)).to_arrow().equals(batch(number))
            await asyncio.sleep(0.01)
        with pytest.raises(KeyError, match="mine"):
            await anext(loop)

    asyncio.run(main())


@pytest.mark.parametrize("error", [TimeoutError("mine"), concurrent.futures.CancelledError("mine")])
def test_loop_raises_errors_of_its_source_that_asyncio_replaces(error):
    async def main():
        with pytest.raises(type(error)) as caught:
            [each async for each in cab.to_arrow_device_async(Frames(1, error))]
        assert caught.value is error

    asyncio.run(main())


@pytest.mark.parametrize("error", [None, KeyError("mine")])
def test_leaving_the_loop_drops_what_is_made_ahead(error, caplog):
    frames = Frames(3, error)
    before = pa.total_allocated_bytes()

    async def main():
        async with aclosing(aiter(cab.to_arrow_device_async(frames, prefetch=3))) as loop:
            await anext(loop)
            await until(lambda: frames.num_asked == 3)
            assert pa.total_allocated_bytes() >= before + 2 * 8 * ROWS
        await until(lambda: pa.total_allocated_bytes() == before)
        assert pa.total_allocated_bytes() == before

    asyncio.run(main())
    gc.collect()
    assert caplog.text == ""


def test_prefetch_is_at_least_0():
    with pytest.raises(ValueError, match=r"^prefetch: expected at least 0, got -1$"):
        cab.to_arrow_device_async([], prefetch=-1)
    with pytest.raises(TypeError, match=r"^prefetch: expected an integer, got True$"):
        cab.to_arrow_device_async([], prefetch=True)
