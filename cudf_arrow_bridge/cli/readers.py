# SPDX-License-Identifier: Apache-2.0
"""Reading of files for the commands; pyarrow detects the types of CSV from the whole file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from cudf_arrow_bridge.arrow.options import path_of
from cudf_arrow_bridge.cli.compare import one_batch
from cudf_arrow_bridge.export.sources.formats import check_delimiter, format_of, parse_options
from cudf_arrow_bridge.import_.streams import MAX_COLUMN_ROWS
from cudf_arrow_bridge.ipc.read import schema_and_headers


class ReadError(Exception):
    """A file that cannot be used; the message is one line."""


@dataclass(frozen=True)
class SourceFile:
    """A readable file; see `format_of` for its format."""

    path: Path | str
    format: str

    def _open(self) -> Any:
        """Return a path, or an open file for a URL (decompressed) or a name that is not UTF-8."""
        if isinstance(self.path, Path):
            try:
                str(self.path).encode()
            except UnicodeEncodeError:
                return pa.OSFile(os.fsencode(self.path))
            return self.path
        return fsspec.open(self.path, compression="infer").open()

    def summary(self) -> tuple[pa.Schema, int | None, tuple[str, ...] | None]:
        """Return the schema, the rows and the codecs of Arrow IPC bodies, without reading data."""
        with readable(self.path):
            if self.format == "parquet":
                with pq.ParquetFile(self._open()) as file:
                    return file.schema_arrow, file.metadata.num_rows, None
            if self.format in ("csv", "tsv"):
                return self._batches()[0], None, None
            schema, headers = schema_and_headers(self._open(), self.format == "arrow-file")
            codecs = {header.codec for header in headers if header.codec}
            rows = sum(header.length for header in headers)
            return schema, rows, tuple(sorted(codecs))

    def batch(self, rows: int | None = None) -> pa.RecordBatch:
        """Read the first `rows` rows, or all of them, as one batch."""
        with readable(self.path):
            table = self._table(rows).slice(0, rows)
            table.validate()
            if table.num_rows > MAX_COLUMN_ROWS:
                raise ValueError(
                    f"{table.num_rows:,} rows, more than the {MAX_COLUMN_ROWS:,} that a cuDF "
                    "column holds; take part of them with --rows"
                )
            if table.num_columns == 0:
                raise ValueError("no columns")
            return one_batch(table)

    def _table(self, rows: int | None) -> pa.Table:
        if self.format in ("csv", "tsv") and rows is None:
            # This infers types from the whole file; csv.open_csv only from the first block.
            return csv.read_csv(self._open_text(), parse_options=parse_options(self.format))
        schema, batches = self._batches(rows)
        taken: list[pa.RecordBatch] = []
        num_rows = 0
        for batch in batches:
            taken.append(batch)
            num_rows += batch.num_rows
            if rows is not None and num_rows >= rows:
                break
        return pa.Table.from_batches(taken, schema)

    def _batches(self, rows: int | None = None) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
        if self.format == "parquet":
            file = pq.ParquetFile(self._open())
            return file.schema_arrow, file.iter_batches(batch_size=min(rows or 2**20, 2**20))
        if self.format == "arrow-file":
            reader = pa.ipc.open_file(self._open())
            return reader.schema, map(reader.get_batch, range(reader.num_record_batches))
        if self.format == "arrow-stream":
            reader = pa.ipc.open_stream(self._open())
        else:
            reader = csv.open_csv(self._open_text(), parse_options=parse_options(self.format))
        return reader.schema, reader

    def _open_text(self) -> Any:
        """Open a CSV file after a check of its delimiter."""
        if self.format == "csv":
            with pa.input_stream(self._open()) as file:
                check_delimiter(file)
        return self._open()


def open_file(name: str) -> SourceFile:
    """Detect the format of a file, or of the file that a URL names."""
    with readable(name):
        path = path_of(name)
        if "://" not in path:
            path = Path(path)
            if path.is_dir():
                raise ValueError("it is a directory; name the files in it")
            if path.exists() and not path.is_file():
                raise ValueError("it is not a regular file")
        with path.open("rb") if isinstance(path, Path) else fsspec.open(path) as file:
            return SourceFile(path, format_of(str(path), file.read(8)))


@contextmanager
def readable(path: Path | str) -> Iterator[None]:
    """Convert errors of reading to a `ReadError`."""
    try:
        yield
    except FileNotFoundError:
        raise ReadError(f"{path}: no such file") from None
    except (OSError, ImportError, pa.ArrowException, TypeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ReadError(f"{path}: cannot be read: {' '.join(reason.split())}") from None
