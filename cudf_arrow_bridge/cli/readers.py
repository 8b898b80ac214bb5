# SPDX-License-Identifier: Apache-2.0
"""Files the commands understand, told apart by their first bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cudf_arrow_bridge.export.sources.formats import (
    check_delimiter,
    format_by_name,
    format_of,
    parse_options,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.csv import ParseOptions

    from cudf_arrow_bridge.ipc.metadata.headers import Header


class ReadError(Exception):
    """A file that cannot be used; the message is one line."""


@dataclass(frozen=True)
class Summary:
    """What a file states of itself.

    Attributes
    ----------
    schema : pyarrow.Schema
        Its columns.
    rows : int or None
        How many there are; None if it does not say so.
    codecs : tuple of str or None
        How bodies of Arrow IPC are compressed; None for other formats.
    """

    schema: pa.Schema
    rows: int | None
    codecs: tuple[str, ...] | None = None


@dataclass(frozen=True)
class SourceFile:
    """A readable file.

    Attributes
    ----------
    path : Path
        Where it is.
    format : str
        ``parquet``, ``arrow-file``, ``arrow-stream``, ``csv`` or ``tsv``.
    """

    path: Path
    format: str

    def summary(self) -> Summary:
        """Read what the file's metadata states, and none of its data."""
        with readable(self.path):
            return SUMMARIES[self.format](self.path)

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
    except (OSError, pa.ArrowException, TypeError, UnicodeError, ValueError) as error:
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

    import cudf_arrow_bridge as bridge

    try:
        with bridge.ipc.open_file(path, device_type="cpu") as file:
            return _take_rows(map(pa.record_batch, file), file.schema, rows)
    except TypeError:  # cuDF has no type for a column
        reader = pa.ipc.open_file(path)
        batches = (reader.get_batch(index) for index in range(reader.num_record_batches))
        return _take_rows(batches, reader.schema, rows)


def _arrow_stream(path: Path, rows: int | None) -> tuple[list[pa.RecordBatch], pa.Schema]:
    import pyarrow as pa

    import cudf_arrow_bridge as bridge

    try:
        with bridge.ipc.open_stream(path, device_type="cpu") as stream:
            return _take_rows(map(pa.record_batch, stream), stream.schema, rows)
    except TypeError:  # cuDF has no type for a column
        reader = pa.ipc.open_stream(path)
        return _take_rows(reader, reader.schema, rows)


def _csv(path: Path, rows: int | None) -> tuple[list[pa.RecordBatch], pa.Schema]:
    from pyarrow import csv

    if rows is None:
        # Infers column types from the whole file, csv.open_csv only from its first block.
        table = csv.read_csv(path, parse_options=_parse_options(path))
        check_delimiter(table.schema.names)
        return table.to_batches(), table.schema
    with csv.open_csv(path, parse_options=_parse_options(path)) as reader:
        check_delimiter(reader.schema.names)
        return _take_rows(reader, reader.schema, rows)


def _parse_options(path: Path) -> ParseOptions:
    return parse_options(format_by_name(path.name) or "csv")


def _parquet_summary(path: Path) -> Summary:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return Summary(file.schema_arrow, file.metadata.num_rows)


def _arrow_file_summary(path: Path) -> Summary:
    from cudf_arrow_bridge.ipc.read_file import file_headers

    return _summary_of(*file_headers(path))


def _arrow_stream_summary(path: Path) -> Summary:
    from cudf_arrow_bridge.ipc.read_stream import stream_headers

    return _summary_of(*stream_headers(path))


def _summary_of(schema: pa.Schema, headers: Sequence[Header]) -> Summary:
    codecs = {header.layout.codec for header in headers if header.layout.codec is not None}
    rows = sum(header.length for header in headers)
    return Summary(schema, rows, tuple(sorted(codecs)))


def _csv_summary(path: Path) -> Summary:
    from pyarrow import csv

    with csv.open_csv(path, parse_options=_parse_options(path)) as reader:
        check_delimiter(reader.schema.names)
        return Summary(reader.schema, None)


READERS: dict[str, Callable[[Path, int | None], tuple[list[pa.RecordBatch], pa.Schema]]] = {
    "parquet": _parquet,
    "arrow-file": _arrow_file,
    "arrow-stream": _arrow_stream,
    "csv": _csv,
    "tsv": _csv,
}
SUMMARIES: dict[str, Callable[[Path], Summary]] = {
    "parquet": _parquet_summary,
    "arrow-file": _arrow_file_summary,
    "arrow-stream": _arrow_stream_summary,
    "csv": _csv_summary,
    "tsv": _csv_summary,
}
