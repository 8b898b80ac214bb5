# SPDX-License-Identifier: Apache-2.0
"""Measure contestants against each other on a noisy machine."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Case", "Contestant", "Effort", "Measured", "Spread", "measure"]


def nothing() -> None:
    """All that there is to wait for in host memory."""


@dataclass(frozen=True)
class Contestant:
    """One way to do the job of a case.

    Attributes
    ----------
    name
        Who does it.
    call
        The job, timed.
    prepare
        Makes the argument of each call, not timed; None if the job takes none.
    """

    name: str
    call: Callable[..., Any]
    prepare: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Case:
    """One line of the report: the first contestant is compared with each of the others.

    Attributes
    ----------
    group, name
        What it is.
    contestants
        Who does it.
    at
        What varies in the series of cases that it is of, and its value: where a plot has it.
    settle
        Waits for what is left running elsewhere; called before what is timed.
    jobs
        How many jobs a call does, such as the batches of a stream; times are of one.
    converts
        Whether it is data that takes time and memory, not bookkeeping. A few results fill so much
        memory that they cannot all be kept, and the C library's malloc, numpy, pyarrow and ours
        each have other ways to use it again.
    """

    group: str
    name: str
    contestants: tuple[Contestant, ...]
    at: tuple[str, int] | None = None
    settle: Callable[[], None] = nothing
    jobs: int = 1
    converts: bool = False


@dataclass(frozen=True)
class Effort:
    """How long to measure each case, each of the two ways of `measure`."""

    rounds: int
    sample_seconds: float  # that one sample should last
    seconds: float = math.inf  # after which `_FEWEST_ROUNDS` are enough


_FEWEST_ROUNDS = 20


@dataclass(frozen=True)
class Spread:
    """Seconds per call: the median over the samples and the quartiles around it."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, samples: list[float]) -> Spread:
        lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, lower, upper)


#: Of each contestant, its parts: "dropped" and, unless a case converts, "kept" and
#: "kept_with_release".
Measured = dict[str, dict[str, Spread]]

_Sample = dict[str, float]  # seconds of one job in each part


def measure(case: Case, effort: Effort) -> Measured:
    """Measure a case's contestants in turns, so that noise meets all of them alike.

    Two ways. Dropped: each call with the release of what it took and made, before the next one is
    prepared, as where batches arrive, are used and go; memory is at hand, and the garbage
    collector runs when it runs. Kept: a sample's results all stay, so that each call pays for fresh
    memory, and their release is timed apart; without the collector, which looks through ever more.
    """
    calls = {c.name: _calls_per_sample(case, c, effort.sample_seconds) for c in case.contestants}
    clock = _clock_seconds()
    gc.collect()
    # First, as what is kept leaves the heap in pieces.
    measured = _in_turns(case, effort, lambda c: _dropped(case, c, calls[c.name], clock))
    if case.converts:
        return measured
    gc.disable()
    try:
        kept = _in_turns(case, effort, lambda c: _kept(case, c, calls[c.name]))
    finally:
        gc.enable()
    return {name: {**parts, **kept[name]} for name, parts in measured.items()}


def _in_turns(case: Case, effort: Effort, sample: Callable[[Contestant], _Sample]) -> Measured:
    samples: dict[str, list[_Sample]] = {c.name: [] for c in case.contestants}
    order = list(case.contestants)
    end = time.perf_counter() + effort.seconds
    for done in range(effort.rounds):
        if done >= _FEWEST_ROUNDS and time.perf_counter() > end:
            break
        random.shuffle(order)
        for contestant in order:
            samples[contestant.name].append(sample(contestant))
    return {
        name: {part: Spread.of([one[part] / case.jobs for one in taken]) for part in taken[0]}
        for name, taken in samples.items()
    }


def _dropped(case: Case, contestant: Contestant, calls: int, clock: float) -> _Sample:
    """Time each call by itself, since preparing the next one comes between."""
    now, call, prepare, settle = time.perf_counter, contestant.call, contestant.prepare, case.settle
    taken = 0.0
    for _ in range(calls):
        argument = () if prepare is None else (prepare(),)
        settle()
        start = now()
        call(*argument)
        del argument
        taken += now() - start
    return {"dropped": taken / calls - clock}


def _kept(case: Case, contestant: Contestant, calls: int) -> _Sample:
    now, call, prepare = time.perf_counter, contestant.call, contestant.prepare
    arguments = [() if prepare is None else (prepare(),) for _ in range(calls)]
    case.settle()
    start = now()
    results = [call(*argument) for argument in arguments]
    called = now()
    del results
    released = now()
    return {"kept": (called - start) / calls, "kept_with_release": (released - start) / calls}


def _clock_seconds() -> float:
    """How long timing nothing takes, which is a part of what a microsecond's call seems to."""
    now = time.perf_counter

    def time_nothing() -> float:
        start = now()
        return now() - start

    return statistics.median(time_nothing() for _ in range(1000))


def _calls_per_sample(case: Case, contestant: Contestant, seconds: float) -> int:
    def once() -> float:
        return _dropped(case, contestant, 1, 0.0)["dropped"]

    once()
    return max(1, min(100, round(seconds / statistics.median(once() for _ in range(5)))))
