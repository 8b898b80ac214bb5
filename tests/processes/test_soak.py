# SPDX-License-Identifier: Apache-2.0
"""The soak of `testing.exchange.soak` reports each kind of resource that a door leaves."""

from __future__ import annotations

import os
import tempfile
import threading

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab

pytest.importorskip("distributed", reason="the extra dask is not installed")

from testing.exchange import soak
from testing.peers import arrays

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


@pytest.fixture
def found(monkeypatch):
    """Return a function that runs one door only, and returns what it has left."""
    monkeypatch.setattr(soak, "WARM_UP", 5)
    monkeypatch.setattr(soak, "BETWEEN", 5)
    monkeypatch.setattr(soak, "SETTLED", 0.1)

    def run(door):
        monkeypatch.setattr(soak, "DOORS", {"leaky": door})
        _, left = soak.run(0, 1)
        return left

    return run


@pytest.fixture
def stop():
    event = threading.Event()
    yield event
    event.set()


def test_door_that_leaves_nothing_passes(found):
    assert found(lambda step: cab.from_arrow_device(pa.record_batch({"a": [1]}))) == []


def test_errors_of_peers_pass(found):
    def door(step):
        raise soak.PeerError

    assert found(door) == []


def test_thread_descriptor_and_file_are_left(found, stop):
    opened = []
    leaks = {
        "thread": lambda: threading.Thread(target=stop.wait, name="waiting").start(),
        "descriptor": lambda: opened.append(os.open(os.devnull, os.O_RDONLY)),
        "file": lambda: tempfile.NamedTemporaryFile(delete=False).close(),
    }
    for kind, leak in leaks.items():
        left = found(lambda step, leak=leak: leak())
        assert left, kind
        assert all(one.startswith(kind) for one in left)
    for number in opened:
        os.close(number)


def test_memory_is_left(found):
    kept = []
    left = found(lambda step: kept.append(bytearray(b"1" * (32 << 20))))
    assert [one for one in left if "bytes of the process" in one]
    left = found(lambda step: kept.append([object() for _ in range(5_000)]))
    assert [one for one in left if "blocks of Python" in one]
    left = found(lambda step: kept.append(pa.allocate_buffer(1 << 20)))
    assert [one for one in left if "bytes of pyarrow" in one]


def test_peers_that_are_not_released_are_left(found):
    kept = []

    def array(step):
        producer = arrays.Producer(soak.BATCH)
        step.owe("a C array", lambda: producer.releases == 1)
        kept.append(cab.to_arrow_device(producer))

    assert found(array)[0].startswith("a C array of step 0")

    def source(step):
        kept.append(soak.Source(step))

    assert found(source)[0].startswith("a Source in memory of step 0")
