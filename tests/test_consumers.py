# SPDX-License-Identifier: Apache-2.0
"""Test that other libraries read exported data, and that their data is imported."""

from __future__ import annotations

import runpy
from pathlib import Path

import pyarrow as pa
import pytest

from testing.peers.consumers import CONSUMERS, GENERATOR, KINDS, TABLE, hand_over, take_back

SCRIPT = Path(__file__).parents[1] / "dev" / "consumers_page.py"

CASES = [
    pytest.param(consumer, kind, id=f"{consumer.name}-{kind.name}")
    for consumer in CONSUMERS
    for kind in KINDS
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


@pytest.mark.parametrize(("consumer", "kind"), CASES)
def test_consumer_reads_every_value(consumer, kind):
    outcome = hand_over(consumer, kind)
    if outcome.error is not None:
        raise outcome.error
    assert plain(outcome.seen) == plain(TABLE["number"] if kind.of_column else TABLE)


@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda consumer: consumer.name)
def test_consumer_reads_a_one_shot_stream(consumer):
    outcome = hand_over(consumer, GENERATOR)
    if outcome.error is not None:
        raise outcome.error
    assert plain(outcome.seen) == plain(TABLE)


@pytest.mark.parametrize(("consumer", "kind"), CASES)
def test_import_of_consumer_data_has_every_value(consumer, kind):
    outcome = take_back(consumer, kind)
    if outcome.error is not None:
        raise outcome.error
    assert plain(outcome.seen) == plain(TABLE["number"] if kind.of_column else TABLE)


def test_consumers_page_is_up_to_date():
    missing = [consumer.name for consumer in CONSUMERS if not consumer.is_installed]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    script = runpy.run_path(str(SCRIPT))
    assert script["PAGE"].read_text() == script["page"](), "run: python dev/consumers_page.py"
