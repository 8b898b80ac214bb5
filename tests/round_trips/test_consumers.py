# SPDX-License-Identifier: Apache-2.0
"""Test that other libraries read exported data, and that their data is imported."""

from __future__ import annotations

import runpy
from pathlib import Path

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.peers.consumers import CONSUMERS, KINDS, TABLE, Kind, hand_over, take_back

SCRIPT = Path(__file__).parents[2] / "dev" / "consumers_page.py"

#: A stream that can be read once: consumers that open it twice fail.
GENERATOR = Kind(
    "stream", lambda frame: cab.to_arrow_device_stream(part for part in (frame[:1], frame[1:]))
)
CASES = [
    pytest.param(
        consumer, kind, id=f"{consumer.name}-{'generator' if kind is GENERATOR else kind.name}"
    )
    for consumer in CONSUMERS
    for kind in (*KINDS, GENERATOR)
    if kind.name in consumer.calls
]


@pytest.fixture(autouse=True)
def installed(request):
    params = getattr(request.node, "callspec", None)
    if params is not None and not params.params["consumer"].is_installed:
        pytest.skip(f"{params.params['consumer'].name} not installed")


def plain(arrow):
    """Return the values as Python objects, whose types do not depend on the library."""
    if isinstance(arrow, pa.ChunkedArray):
        return arrow.to_pylist()
    return {name: arrow[name].to_pylist() for name in arrow.column_names}


EXCHANGES = {"consumer reads": hand_over, "import of consumer data": take_back}


@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
@pytest.mark.parametrize(("consumer", "kind"), CASES)
def test_exchange_keeps_every_value(exchange, consumer, kind):
    outcome = exchange(consumer, kind)
    if outcome.error is not None:
        raise outcome.error
    assert plain(outcome.seen) == plain(TABLE["number"] if kind.of_column else TABLE)


def test_consumers_page_is_up_to_date():
    missing = [consumer.name for consumer in CONSUMERS if not consumer.is_installed]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    script = runpy.run_path(str(SCRIPT))
    assert script["PAGE"].read_text() == script["page"](), "run: python dev/consumers_page.py"
