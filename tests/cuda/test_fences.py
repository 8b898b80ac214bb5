# SPDX-License-Identifier: Apache-2.0
"""Test `Fences` in event loops of the caller. Without a GPU, the tests complete the fences."""

from __future__ import annotations

import os
import resource
import select
import signal
import threading
import time

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.processes import forks, in_fork


@pytest.fixture
def fences():
    return cab.Fences()


@pytest.fixture
def core(fences):
    """Return the core's fence set of `fences`, in which the test completes fences."""
    return fences._fences


def is_readable(fences):
    return select.select([fences], [], [], 0)[0] == [fences]


def reached(*numbers):
    return [cab.FenceResult(number, "reached", "") for number in numbers]


def after(seconds, call, *arguments):
    timer = threading.Timer(seconds, call, arguments)
    timer.start()
    return timer


def array_of(values):
    return cab.to_arrow_device(cab.from_arrow_device(pa.table({"a": values})))


@pytest.mark.skipif(cab.has_gpu(), reason="there is a GPU")
@pytest.mark.parametrize("source", [None, 0, 2, "array"])
def test_without_a_gpu_fences_are_reached_at_once(fences, source):
    fence = fences.add(array_of([1, 2]) if source == "array" else source)
    assert len(fences) == 0
    assert is_readable(fences)
    assert fences.poll() == reached(fence)
    assert not is_readable(fences)
    assert fences.poll() == []


def test_add_rejects_released_arrays_and_invalid_streams(fences):
    array = array_of([1])
    array.release()
    with pytest.raises(ValueError, match="released"):
        fences.add(array)
    with pytest.raises(
        TypeError,
        match=r"^stream: .*str$",
    ):
        fences.add("1")
    with pytest.raises(ValueError, match=r"^stream: .*-1"):
        fences.add(-1)
    assert (len(fences), fences.poll()) == (0, [])


def test_poll_returns_each_result_once_in_order_of_completion(fences, core):
    first, second, third = core.add(), core.add(), core.add()
    assert len(fences) == 3
    assert fences.poll() == []
    core.complete(third)
    assert fences.cancel(first)
    assert not fences.cancel(third)
    assert is_readable(fences)
    assert fences.poll() == [(third, "reached", ""), (first, "cancelled", "")]
    assert not fences.cancel(first)
    assert len(fences) == 1
    core.complete(second)
    assert fences.poll() == reached(second)


@pytest.mark.parametrize("timeout", [-0.001, -1e300, 0, 0.05])
def test_poll_returns_after_its_timeout(fences, core, timeout):
    core.add()
    assert fences
    start = time.perf_counter()
    assert fences.poll(timeout) == []
    assert timeout <= time.perf_counter() - start < 5


@pytest.mark.parametrize("timeout", [None, 1e10, float("inf")])
def test_poll_of_any_timeout_ends_with_a_fence_or_wake(fences, core, timeout):
    fence = core.add()
    seen = []

    def complete():
        seen.append(len(fences))
        core.complete(fence)

    timer = after(0.02, complete)
    assert fences.poll(timeout) == reached(fence)
    timer.join()
    # Other threads ran while the call waited.
    assert seen == [1]
    fences.wake()
    assert fences.poll(timeout) == []


def test_wake_ends_the_current_or_the_next_poll(fences):
    timer = after(0.02, fences.wake)
    assert fences.poll(None) == []
    timer.join()
    fences.wake()
    assert is_readable(fences)
    assert fences.poll(None) == []
    assert not is_readable(fences)


@pytest.fixture
def handler():
    """Return a function that sets the handler of SIGUSR1 for a test."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda function: signal.signal(signal.SIGUSR1, lambda *_: function())
    signal.signal(signal.SIGUSR1, before)


def test_poll_raises_the_exception_of_a_signal_handler(fences, handler):
    def interrupt():
        raise KeyboardInterrupt

    def poll():
        # On a busy machine the signal can arrive before the call of `fences.poll`.
        after(0.02, os.kill, os.getpid(), signal.SIGUSR1)
        fences.poll(20)

    handler(interrupt)
    with pytest.raises(KeyboardInterrupt):
        poll()


def test_a_signal_does_not_end_poll(fences, core, handler):
    handled = []
    fence = core.add()
    handler(lambda: handled.append(1))
    timers = [
        after(0.02, os.kill, os.getpid(), signal.SIGUSR1),
        after(0.06, core.complete, fence),
    ]
    assert fences.poll(20) == reached(fence)
    for timer in timers:
        timer.join()
    assert handled == [1]


def test_descriptor_is_closed_with_the_fences_object():
    fences = cab.Fences()
    descriptor = fences.fileno()
    assert not os.get_inheritable(descriptor)
    fences._fences.add()
    del fences
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_fences_object_without_a_free_descriptor_raises():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(RuntimeError, match="eventfd: Too many open files"):
            cab.Fences()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@forks
def test_forked_child_cannot_use_the_fences_of_its_parent(fences, core):
    fence = core.add()

    def use_in_child():
        core.complete(fence)
        fences.wake()
        assert not fences.cancel(fence)
        assert len(fences) == 0
        for method in (fences.add, fences.poll):
            with pytest.raises(RuntimeError, match="parent"):
                method()
        own = cab.Fences()
        number = own._fences.add()
        assert own.cancel(number)
        return repr(own.poll() == [(number, "cancelled", "")])

    assert in_fork(use_in_child) == "True"
    assert fences.poll() == []
    assert fences.cancel(fence)
    assert len(fences.poll()) == 1
