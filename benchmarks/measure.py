# SPDX-License-Identifier: Apache-2.0
"""Measure contestants against each other on a noisy machine."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
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
        Waits for what a sample may have left running elsewhere; called between them, not timed.
    """

    group: str
    name: str
    contestants: tuple[Contestant, ...]
    at: tuple[str, int] | None = None
    settle: Callable[[], None] = nothing


@dataclass(frozen=True)
class Effort:
    """How long to measure each case."""

    rounds: int
    sample_seconds: float  # that one sample should last


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


#: Of each contestant: its calls, and its calls with the release of what they made.
Measured = dict[str, dict[str, Spread]]


@dataclass
class _Samples:
    call: list[float] = field(default_factory=list)
    with_release: list[float] = field(default_factory=list)


def measure(case: Case, effort: Effort) -> Measured:
    """Measure a case's contestants in turns, so that noise meets all of them alike.

    A sample is some calls in a row whose results are kept; releasing them is timed apart.
    """
    calls = {
        c.name: _calls_per_sample(c, effort.sample_seconds, case.settle) for c in case.contestants
    }
    samples = {c.name: _Samples() for c in case.contestants}
    order = list(case.contestants)
    gc.collect()
    gc.disable()
    try:
        for _ in range(effort.rounds):
            random.shuffle(order)
            for contestant in order:
                called, released = _sample(contestant, calls[contestant.name], case.settle)
                samples[contestant.name].call.append(called)
                samples[contestant.name].with_release.append(called + released)
    finally:
        gc.enable()
    return {
        name: {"call": Spread.of(s.call), "with_release": Spread.of(s.with_release)}
        for name, s in samples.items()
    }


def _sample(contestant: Contestant, calls: int, settle: Callable[[], None]) -> tuple[float, float]:
    call, prepare = contestant.call, contestant.prepare
    arguments = [() if prepare is None else (prepare(),) for _ in range(calls)]
    settle()
    start = time.perf_counter()
    results = [call(*a) for a in arguments]
    called = time.perf_counter()
    del results
    released = time.perf_counter()
    return (called - start) / calls, (released - called) / calls


def _calls_per_sample(contestant: Contestant, seconds: float, settle: Callable[[], None]) -> int:
    _sample(contestant, 1, settle)
    once = statistics.median(_sample(contestant, 1, settle)[0] for _ in range(5))
    return max(1, min(100, round(seconds / once)))
