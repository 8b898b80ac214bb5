# SPDX-License-Identifier: Apache-2.0
"""Tasks that the workers of a cluster import."""

from __future__ import annotations

import os

import polars as pl
import pyarrow as pa

from testing.exchange.crossings import arrays_of, contents
from testing.ipc.peers import polars_reads


def make_types(names):
    """Return lists of arrays by the names of `BATCHES`."""
    return {name: list(arrays_of(name)) for name in names}


def read_types(made, makers_process):
    """Return which arrays differ from the originals, and how many pyarrow and polars read."""
    assert os.getpid() != makers_process
    wrong = []
    counts = {"pyarrow": 0, "polars": 0}
    for name, arrays in made.items():
        for i, (array, original) in enumerate(zip(arrays, arrays_of(name), strict=True)):
            expected = contents(original)
            if not contents(array).equals(expected, check_metadata=True):
                wrong.append(f"pyarrow: {name}, array {i}")
            counts["pyarrow"] += 1
            # Polars rejects lists without rows.
            if len(array) and polars_reads(expected.schema):
                if not pl.DataFrame(expected).equals(in_polars(array), null_equal=True):
                    wrong.append(f"polars: {name}, array {i}")
                counts["polars"] += 1
    return wrong, counts


def in_polars(array):
    """Return a polars frame of a batch or a column."""
    if isinstance(array.schema, pa.Schema):
        return pl.DataFrame(array)
    return pl.DataFrame([pl.Series(array.schema.name, array)])
