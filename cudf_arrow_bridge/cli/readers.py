# SPDX-License-Identifier: Apache-2.0
"""Files the commands understand, told apart by their first bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cudf_arrow_bridge.export.sources.formats import format_of

if TYPE_CHECKING:
    import pyarrow as pa


class ReadError(Exception):
    """A file that cannot be used; the message is one line."""


@dataclass(frozen=True)
class SourceFile:
    """A readable file.

    Attributes
    ----------
    path : Path
        Where it is.
    format : str
        ``parquet``, ``arrow-file``, ``arrow-stream`` or ``csv``.
    """

    path: Path
    format: str

    def schema(self) -> tuple[pa.Schema, int | None]:
        """Read the schema, and the number of rows where the file's metadata states it."""
        with readable(self.path):
            return SCHEMAS[self.format](self.path)

    def table(self, rows: int | None = None) -> pa.Table:
        """Read the first `rows` rows, or all of them."""
        import pyarrow as pa

        with readable(self.path):
            table = pa.Table.from_batches(*READERS[self.format](self.path, rows))
        return table if rows is None else table.slice(0, rows)


def open_file(name: str) -> SourceFile:
    """Detect the format of a file.

    Parameters
    ----------
    name : str
        Path of the file.

    Raises
    ------
    ReadError
        If there is no such file, or the commands cannot read it.
    """
    path = Path(name)
    with readable(path):
        if path.is_dir():
            raise ReadError(f"{name}: is a directory; name the files in it")
        if path.exists() and not path.is_file():
            raise ReadError(f"{name}: is not a regular file")
        with path.open("rb") as file:
            head = file.read(8)
        try:
            return SourceFile(path, format_of(path.name, head))
        except ValueError as error:
            raise ReadError(f"{name}: {error}") from None


def one_batch(table: pa.Table, name: str) -> pa.RecordBatch:
    """Concatenate the chunks of a table, since an export is a single Arrow array.

    Raises
    ------
    ReadError
        If the table does not fit into one cuDF frame.
    """
    import pyarrow as pa

    from cudf_arrow_bridge.import_.concatenate import MAX_ROWS

    if table.num_rows > MAX_ROWS:
        raise ReadError(
            f"{name}: {table.num_rows:,} rows, more than the {MAX_ROWS:,} that a cuDF column"
            " holds; take part of them with --rows"
        )
    if table.num_columns == 0:
        raise ReadError(f"{name}: no columns")
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        try:
            joined = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        except pa.ArrowException as error:
            raise ReadError(
                f"{name}: column {field.name!r} does not fit into one Arrow array ({error});"
                " take part of it with --rows"
            ) from None
        columns.append(joined)
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn errors while reading into a `ReadError`."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise ReadError(f"{path}: no such file") from None
    except (OSError, pa.ArrowException, UnicodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise ReadError(f"{path}: cannot be read: {' '.join(reason.split())}") from None


def _take_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int | None
) -> tuple[list[pa.RecordBatch], pa.Schema]:
    """Collect batches until there are enough rows."""
    result: list[pa.RecordBatch] = []
    num_rows = 0
    for batch in batches:
        result.append(batch)
        num_rows += batch.num_rows
        if rows is not None and num_rows >= rows:
            break
    return result, schema


def _parquet(path: Path, rows: int | None) -> tuple[list[pa.RecordBatch], pa.Schema]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if rows is None:
            table = file.read()
            return table.to_batches(), table.schema
        return _take_rows(file.iter_batches(batch_size=min(rows, 2**20)), file.schema_arrow, rows)


def _arrow_file(path: Path, rows: int | None) -> tuple[list[pa.RecordBatch], pa.Schema]:
    import pyarrow as pa

    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    batches = (reader.get_batch(index) for index in range(reader.num_record_batches))
    return _take_rows(batches, reader.schema, rows)


def _arrow_stream(path: Path, rows: int | None) -> tuple[list[pa.RecordBatch], pa.Schema]:
    import pyarrow as pa

    reader = pa.ipc.open_stream(pa.memory_map(str(path)))
    return _take_rows(reader, reader.schema, rows)


def _csv(path: Path, rows: int | None) -> tuple[list[pa.RecordBatch], pa.Schema]:
    from pyarrow import csv

    if rows is None:
        # Infers column types from the whole file, csv.open_csv only from its first block.
        table = csv.read_csv(path)
        return table.to_batches(), table.schema
    with csv.open_csv(path) as reader:
        return _take_rows(reader, reader.schema, rows)


def _parquet_schema(path: Path) -> tuple[pa.Schema, int | None]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.schema_arrow, file.metadata.num_rows


def _arrow_file_schema(path: Path) -> tuple[pa.Schema, int | None]:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(str(path))).schema, None


def _arrow_stream_schema(path: Path) -> tuple[pa.Schema, int | None]:
    import pyarrow as pa

    return pa.ipc.open_stream(pa.memory_map(str(path))).schema, None


def _csv_schema(path: Path) -> tuple[pa.Schema, int | None]:
    from pyarrow import csv

    with csv.open_csv(path) as reader:
        return reader.schema, None


READERS: dict[str, Callable[[Path, int | None], tuple[list[pa.RecordBatch], pa.Schema]]] = {
    "parquet": _parquet,
    "arrow-file": _arrow_file,
    "arrow-stream": _arrow_stream,
    "csv": _csv,
}
SCHEMAS: dict[str, Callable[[Path], tuple[pa.Schema, int | None]]] = {
    "parquet": _parquet_schema,
    "arrow-file": _arrow_file_schema,
    "arrow-stream": _arrow_stream_schema,
    "csv": _csv_schema,
}
