# SPDX-License-Identifier: Apache-2.0
"""Comparative measurement of contestants on a noisy machine."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


def nothing() -> None:
    """Do nothing: in host memory there is no work to wait for."""


@dataclass(frozen=True)
class Contestant:
    """One way to do the job of a case.

    Attributes
    ----------
    name
        The name of the library.
    call
        The job, which is timed.
    prepare
        The function that returns the argument of each call and is not timed. None: no argument.
    """

    name: str
    call: Callable[..., Any]
    prepare: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Case:
    """One line of the report, which compares the first contestant with each of the others.

    Attributes
    ----------
    group, name
        The kind of the job and its data.
    contestants
        The ways to do the job.
    at
        The parameter that varies in a series of cases, and its value on the axis of a plot.
    settle
        The function that waits for pending work. It is called before the timed call.
    jobs
        The number of jobs per call, such as the batches of a stream. Times are per job.
    converts
        Whether the cost depends on the data instead of the bookkeeping. The results are too large
        to keep many of them, and glibc's malloc, numpy, pyarrow and this package reuse memory in
        different ways.
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
    """How long to measure each case in each of the two modes of `measure`."""

    rounds: int
    sample_seconds: float  # the target duration of a sample
    seconds: float = math.inf  # the time after which `_FEWEST_ROUNDS` are sufficient


_FEWEST_ROUNDS = 20


@dataclass(frozen=True)
class Spread:
    """The median and the quartiles of the samples, in seconds per call."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, samples: list[float]) -> Spread:
        lower, median, upper = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, lower, upper)


#: For each contestant, the parts "dropped" and, unless the case converts, "kept" and
#: "kept_with_release".
Measured = dict[str, dict[str, Spread]]

_Sample = dict[str, float]  # seconds of one job in each part


def measure(case: Case, effort: Effort) -> Measured:
    """Measure the contestants of a case in turns, so that noise affects all of them equally.

    "dropped" times each call with the release of its argument and result, as in processing of a
    stream of batches: memory is reused and the garbage collector is enabled. "kept" keeps all
    results of a sample, so that each call allocates fresh memory, and times their release
    separately. The collector is disabled, since it would traverse more and more objects.
    """
    calls = {c.name: _calls_per_sample(case, c, effort.sample_seconds) for c in case.contestants}
    clock = _clock_seconds()
    gc.collect()
    # First, since kept results fragment the heap.
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
    """Time each call separately, since the preparation of the next one is not timed."""
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
    """Return the overhead of the clock, which is significant for calls of a microsecond."""
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
