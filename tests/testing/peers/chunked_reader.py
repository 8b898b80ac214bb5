# SPDX-License-Identifier: Apache-2.0
"""A substitute for pylibcudf's chunked Parquet reader, which returns tables in host memory."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow.parquet as pq
import pylibcudf as plc

from cudf_arrow_bridge.export.sources import datasets
from testing.host import to_plc

#: Rows of each chunk.
CHUNK_ROWS = 30


class Options:
    """The options of a reader, and their builder."""

    def __init__(self, source):
        self.path, self.pandas_metadata = source, True

    @classmethod
    def builder(cls, source):
        return cls(source)

    def use_pandas_metadata(self, value):
        self.pandas_metadata = value
        return self

    def build(self):
        return self

    def set_column_names(self, names):
        self.columns = names

    def set_row_groups(self, groups):
        self.row_groups = groups


class Reader:
    """Reads a file with pyarrow like cuDF: columns in the order of the file, without time zones."""

    made: list[Options]

    def __init__(self, options, chunk_read_limit):
        assert chunk_read_limit > 0
        self.made.append(options)
        (groups,) = options.row_groups
        table = pq.ParquetFile(options.path).read_row_groups(groups)
        self._table = table.select([n for n in table.column_names if n in options.columns])
        self._chunks = iter(range(0, max(table.num_rows, 1), CHUNK_ROWS))
        self._next = next(self._chunks, None)

    def has_next(self):
        return self._next is not None

    def read_chunk(self):
        chunk = self._table.slice(self._next, CHUNK_ROWS)
        self._next = next(self._chunks, None)
        columns = [to_plc(column.combine_chunks()) for column in chunk.columns]

        def column_names(include_children):
            assert not include_children
            return chunk.column_names

        return SimpleNamespace(tbl=plc.Table(columns), column_names=column_names)


def install(monkeypatch):
    """Read Parquet like with a GPU; return a list to which each reader appends its options."""
    made: list[Options] = []
    reader = type("Reader", (Reader,), {"made": made})
    stand_in = SimpleNamespace(ParquetReaderOptions=Options, ChunkedParquetReader=reader)
    monkeypatch.setattr(plc.io, "parquet", stand_in)
    monkeypatch.setattr(plc.io, "SourceInfo", lambda paths: paths[0])
    monkeypatch.setattr(datasets, "has_gpu", lambda: True)
    return made
