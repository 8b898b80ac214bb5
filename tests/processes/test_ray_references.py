# SPDX-License-Identifier: Apache-2.0
"""Streams of Ray references: objects are fetched in order, a bounded number ahead."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.exchange import ray_cluster as cluster
from testing.peers.streams import StreamOnly

ray = cluster.ray

pytestmark = [
    pytest.mark.skipif(cab.has_gpu(), reason="of host memory"),
    pytest.mark.usefixtures("ray_cluster"),
    *cluster.RAY_WARNS,
]


def read(source):
    return pa.table(StreamOnly(cab.to_arrow_device_stream(source)))


class Counted:
    """Record the calls of `ray.get` and `ray.wait`."""

    def __init__(self, monkeypatch):
        self.got, self.ahead = [], []
        get, wait = ray.get, ray.wait

        def noting_get(reference):
            self.got.append(reference)
            return get(reference)

        def noting_wait(references, **options):
            assert options["timeout"] == 0
            assert options["fetch_local"]
            self.ahead.append(references)
            return wait(references, **options)

        monkeypatch.setattr(ray, "get", noting_get)
        monkeypatch.setattr(ray, "wait", noting_wait)


def test_references_are_fetched_in_order_and_a_bounded_number_ahead(monkeypatch):
    objects = [
        cab.to_arrow_device(pa.table({"a": [0]})),
        pa.table({"a": [1]}),
        pd.DataFrame({"a": [2]}),
        pl.DataFrame({"a": [3]}),
        [pa.table({"a": [4]}), pa.table({"a": [5]})],
    ]
    references = [ray.put(obj) for obj in objects]
    counted = Counted(monkeypatch)
    stream = cab.to_arrow_device_stream(references)
    batches = iter(stream)
    assert not counted.got
    assert pa.table(next(batches)).to_pydict() == {"a": [0]}
    assert counted.got == references[:1]
    assert counted.ahead == [[reference] for reference in references[:3]]
    assert [pa.table(batch)["a"][0].as_py() for batch in batches] == [1, 2, 3, 4, 5]
    assert counted.got == references
    assert counted.ahead == [[reference] for reference in references]
    # Read the references again, and repeat one of them.
    first = references[0]
    assert read([first, references[1], first, first])["a"].to_pylist() == [0, 1, 0, 0]
    assert read(stream)["a"].to_pylist() == [0, 1, 2, 3, 4, 5]


def test_stream_yields_results_of_tasks_until_a_task_fails():
    def part(index):
        if index == 2:
            raise ArithmeticError("in the third")
        return cab.to_arrow_device(pa.table({"a": [index] * 3}))

    task = ray.remote(max_retries=0)(part)
    assert read(task.remote(7))["a"].to_pylist() == [7] * 3
    stream = cab.to_arrow_device_stream([task.remote(index) for index in range(4)])
    batches = iter(stream)
    assert [len(next(batches)) for _ in range(2)] == [3, 3]
    with pytest.raises(ArithmeticError, match="in the third"):
        next(batches)


def test_stream_accepts_a_generator_on_a_worker():
    def parts():
        for index in range(4):
            yield cab.to_arrow_device(pa.table({"a": [index]}))

    references = ray.remote(num_returns="streaming")(parts).remote()
    assert read(references)["a"].to_pylist() == [0, 1, 2, 3]


def test_stream_does_not_read_a_referenced_string_as_a_path(tmp_path):
    with pytest.raises(
        TypeError, match=r"expected pathlib\.Path objects, .* got the string '.*' in a list"
    ):
        read(ray.put(str(tmp_path)))
