# SPDX-License-Identifier: Apache-2.0
"""The same cases with pytest-benchmark: ``pytest benchmarks --benchmark-only``.

Its comparisons and its history are useful during development. ``python -m benchmarks`` measures the
published numbers. ``--benchmark-disable-gc`` disables Python's garbage collector during calls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "pytest_benchmark", reason="no pytest-benchmark: python dev/install.py benchmarks"
)

sys.path.append(str(Path(__file__).parent.parent))

from benchmarks import cases, device
from benchmarks.measure import Case, Contestant
from cudf_arrow_bridge import has_gpu

_ROUNDS = 100


def _contestants() -> Iterator[Any]:
    for case in device.cases() if has_gpu() else cases.cases():
        for contestant in case.contestants:
            name = f"{case.group}: {case.name}: {contestant.name}"
            yield pytest.param(case, contestant, id=name)


@pytest.mark.parametrize(("case", "contestant"), list(_contestants()))
def test_case(case: Case, contestant: Contestant, benchmark: Any) -> None:
    benchmark.group = f"{case.group}: {case.name}"
    benchmark.extra_info.update(contestant=contestant.name, **dict([case.at] if case.at else []))
    prepare = contestant.prepare

    def set_up() -> tuple[tuple[Any, ...], dict[str, Any]]:
        case.settle()
        return (() if prepare is None else (prepare(),)), {}

    if prepare is None and not has_gpu():
        benchmark(contestant.call)
    else:
        benchmark.pedantic(contestant.call, setup=set_up, rounds=_ROUNDS, warmup_rounds=2)
    case.settle()
