# SPDX-License-Identifier: Apache-2.0
"""Tasks that the workers of a cluster import."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import cudf_arrow_bridge as cab
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


def numbered(index, rows, path=None):
    """Return an array of numbers, texts and lists; append the process to the file at `path`."""
    if path is not None:
        with Path(path).open("a") as file:
            file.write(f"{os.getpid()}\n")
    values = np.arange(rows) + index
    return cab.to_arrow_device(
        pa.table({"n": values, "text": pa.array(values).cast(pa.string()), "lists": lists(values)})
    )


def lists(values):
    offsets = pa.array(range(len(values) + 1), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(values))


def total(array, index):
    """Return the sum of the numbers; check the first rows of the other columns."""
    read = pa.table(array)
    assert read["lists"][:2].to_pylist() == [[index], [index + 1]]
    assert pl.DataFrame(array)["text"].head(1).to_list() == [str(index)]
    return pc.sum(read["n"]).as_py()


def process_of_worker():
    return os.getpid()


def keys_held(dask_worker):
    return list(dask_worker.data)


def tasks_known(dask_scheduler):
    return list(dask_scheduler.tasks)
