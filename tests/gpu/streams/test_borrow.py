# SPDX-License-Identifier: Apache-2.0
"""Writes to borrowed memory are ordered after the work of the borrower."""

from __future__ import annotations

import asyncio

import pytest

import cudf_arrow_bridge as bridge
from testing.device import GPU, ROWS, as_cupy, read_target, side_stream, zeros

pytestmark = GPU


def exported_column(late, owner):
    """An exported column of 0, 1, 2..., and its memory as an array of cupy."""
    column = late.column(owner)
    exported = bridge.to_arrow_device(column, stream=owner)
    owner.synchronize()
    return exported, as_cupy(column.data())


def test_writes_of_the_owner_wait_for_the_borrower(late):
    owner, borrower, found = side_stream(), side_stream(), read_target()
    exported, memory = exported_column(late, owner)
    with owner:
        fives = as_cupy(zeros()) - 5
    with exported.borrow(stream=borrower) as borrowed:
        with borrower:
            source = as_cupy(borrowed)
        late.copy(source, found, borrower)
    late.copy(fives, memory, owner, cycles=0)
    assert not borrower.done
    assert not owner.done
    owner.synchronize()
    assert found.get().tolist() == list(range(ROWS))
    assert memory.get().tolist() == [-5] * ROWS


def test_writes_of_the_borrower_wait_for_the_owner_and_precede_its_reads(late):
    owner, borrower, found = side_stream(), side_stream(), read_target()
    exported = bridge.to_arrow_device(late.column(owner), stream=owner)
    with exported.borrow(stream=borrower) as borrowed, borrower:
        memory = as_cupy(borrowed)
        memory += 1
    late.copy(memory, found, owner, cycles=0)
    owner.synchronize()
    assert found.get().tolist() == list(range(1, ROWS + 1))


def test_writes_of_the_owner_wait_for_a_borrower_in_torch(late):
    torch = pytest.importorskip("torch")
    owner, found = side_stream(), read_target()
    exported, memory = exported_column(late, owner)
    borrower = torch.cuda.Stream()
    with exported.borrow(stream=borrower) as borrowed, torch.cuda.stream(borrower):
        torch.cuda._sleep(1 << 28)
        torch.as_tensor(found, device="cuda").copy_(torch.as_tensor(borrowed, device="cuda"))
    with owner:
        memory.fill(-5)
    owner.synchronize()
    assert found.get().tolist() == list(range(ROWS))


def test_async_borrow_waits_for_the_borrower_without_blocking(late):
    owner, borrower, found = side_stream(), side_stream(), read_target()
    exported = bridge.to_arrow_device(late.column(owner), stream=owner)

    async def use_array():
        async with exported.borrow(stream=borrower) as borrowed:
            assert owner.done
            with borrower:
                source = as_cupy(borrowed)
            late.copy(source, found, borrower)
        assert borrower.done

    async def use_array_beside_a_ticking_task():
        ticks = asyncio.create_task(tick())
        await use_array()
        ticks.cancel()

    async def tick():
        while True:
            count.append(1)
            await asyncio.sleep(0.01)

    count = []
    asyncio.run(use_array_beside_a_ticking_task())
    assert len(count) > 10
    assert found.get().tolist() == list(range(ROWS))
