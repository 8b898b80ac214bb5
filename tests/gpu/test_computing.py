# SPDX-License-Identifier: Apache-2.0
"""Algorithms of libcudf and cuDF on imported slices find errors that round trips cannot find."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.computing import CASES, beginning_at, cases_of
from testing.device import GPU, on_device, pylibcudf_rows, sliced, unnamed
from testing.peers.arrays import DeviceOnly, Producer, column_from

pytestmark = GPU


def from_device(array, offset, size):
    """A slice of device memory that we export and import again."""
    return column_from(cab.to_arrow_device(sliced(on_device(array), offset, size)))


def from_host(array, offset, size):
    """A slice of pyarrow's, which is uploaded."""
    return column_from(array.slice(offset, size))


def from_producer(array, offset, size):
    """Device memory of a producer that slices by the offset and keeps the pointers."""
    exported = cab.to_arrow_device(on_device(array))
    return column_from(Producer(exported, beginning_at(offset, size)))


WAYS = [from_device, from_host, from_producer]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("case", CASES, ids=[name for name, _, _ in CASES])
def test_libcudf_computes_on_imported_slices(case, way):
    _, computation, type_ = case
    for nulls in samples.NULLS:
        array = samples.values(type_, samples.MANY, nulls)
        for rows, offset, size in cases_of(computation, array):
            found = pylibcudf_rows(computation.libcudf(way(rows, offset, size)))
            expected = computation.expected(rows.slice(offset, size))
            assert found == unnamed(expected), (nulls, offset, size)


@pytest.mark.parametrize("offset", [0, 1, 9, 33])
def test_cudf_computes_on_imported_slices(offset):
    """Compare the results of cuDF with those of pandas."""
    size = 60
    table = pa.table(
        {
            "key": pa.array([i % 5 for i in range(100)]),
            "number": pa.array([None if i % 7 == 0 else i for i in range(100)], pa.float64()),
            "text": pa.array([None if i % 11 == 0 else f"text {i % 13}" for i in range(100)]),
            # No list is empty: see `computing.cases_of`.
            "list": pa.array([list(range(1 + i % 4)) for i in range(100)]),
        }
    )
    batch = table.slice(offset, size).combine_chunks().to_batches()[0]
    frame = cab.from_arrow_device(DeviceOnly(batch), kind="table")
    pandas = batch.to_pandas()

    sums = frame.groupby("key")["number"].sum().sort_index().to_pandas()
    assert sums.tolist() == pandas.groupby("key")["number"].sum().sort_index().tolist()
    texts = frame["text"].dropna().str.upper().sort_values().to_pandas()
    assert texts.tolist() == pandas["text"].dropna().str.upper().sort_values().tolist()
    items = frame["list"].explode().dropna().to_pandas()
    assert items.tolist() == pandas["list"].explode().dropna().tolist()
    rows = frame.iloc[10:40:3]
    assert rows["key"].to_pandas().tolist() == pandas["key"].iloc[10:40:3].tolist()
    merged = frame[["key", "number"]].merge(frame[["key"]].drop_duplicates(), on="key")
    assert len(merged) == size
