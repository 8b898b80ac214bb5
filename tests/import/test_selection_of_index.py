# SPDX-License-Identifier: Apache-2.0
"""``columns=`` keeps the index of a frame in every function that accepts it."""

from __future__ import annotations

import asyncio

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab

PANDAS = pd.DataFrame(
    {"a": [1, 2], "b": [3, 4]},
    pd.MultiIndex.from_arrays([["x", "y"], [0.5, 1.5]], names=["k", None]),
)


def written(path):
    table = pa.Table.from_pandas(PANDAS)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrows":
        cab.ipc.write_stream(table, path)
    else:
        cab.ipc.write_file(table, path)
    return path


def of_file(suffix, source=lambda path: path, **options):
    """Return a function that writes a file and imports columns of it."""

    def read(path, columns):
        opened = source(written(path.with_suffix(suffix)))
        stream = cab.to_arrow_device_stream(opened, columns=columns, **options)
        return cab.from_arrow_device_stream(stream)

    return read


def awaited(source, columns):
    async def read():
        return [frame async for frame in cab.from_arrow_device_async(source, columns=columns)]

    (frame,) = asyncio.run(read())
    return frame


READERS = {
    "array": lambda path, columns: cab.from_arrow_device(
        pa.RecordBatch.from_pandas(PANDAS), columns=columns
    ),
    "frame": lambda path, columns: cab.from_arrow_device(
        cab.to_arrow_device(PANDAS), columns=columns
    ),
    "stream": lambda path, columns: cab.from_arrow_device_stream(
        pa.Table.from_pandas(PANDAS), columns=columns
    ),
    "async": lambda path, columns: awaited(pa.Table.from_pandas(PANDAS), columns),
    "messages": lambda path, columns: cab.from_arrow_device_stream(
        cab.ipc.from_messages(cab.ipc.messages(PANDAS)), columns=columns
    ),
    "parquet": of_file(".parquet"),
    "arrow file": of_file(".arrow"),
    "arrow stream": of_file(".arrows"),
    "filtered": of_file(".parquet", filter=pc.field("b") > 0),
    "dataset": of_file(".parquet", ds.dataset),
}


@pytest.mark.parametrize("columns", [["b"], ["b", "a"], []], ids=str)
@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_columns_option_keeps_the_index_of_the_frame(read, columns, tmp_path):
    found = read(tmp_path / "file", columns)
    pd.testing.assert_frame_equal(found.to_pandas(), PANDAS[columns])


def test_columns_of_a_file_may_name_a_level_of_the_index(tmp_path):
    path = written(tmp_path / "file.parquet")
    stream = cab.to_arrow_device_stream(path, columns=["k", "a"])
    assert pa.table(stream).column_names == ["k", "a", "__index_level_1__"]
    stream = cab.to_arrow_device_stream(path, columns=["k", "a"])
    found = cab.from_arrow_device_stream(stream).to_pandas()
    pd.testing.assert_frame_equal(found, PANDAS[["a"]])
