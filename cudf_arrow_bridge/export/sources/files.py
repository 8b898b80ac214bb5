# SPDX-License-Identifier: Apache-2.0
"""Files of Arrow IPC and CSV as record batches, by pyarrow's readers.

pyarrow's scanners read such files on, however slow the consumer is; its readers are asked for one
batch at a time, and read no Arrow batch and at most 32 blocks of CSV ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .datasets import DatasetSource, Query, dataset_of, one_schema, or_empty, with_rows
from .formats import parse_options
from .paths import Files

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from ..._core.protocols import Stream

__all__ = ["FilesSource", "open_files"]

Batches = Generator[pa.RecordBatch, None, None]
#: A file, with what its folders are named.
Path = tuple[str, Mapping[str, Any]]


def open_files(files: Files, query: Query) -> DatasetSource | FilesSource:
    """Open files to read what is wanted of them.

    Raises
    ------
    TypeError, ValueError
        If the files have nothing like it, or cannot be read.
    """
    if files.format == "arrow-stream":
        # pyarrow makes no datasets of Arrow streams.
        paths: list[Path] = [(path, {}) for path in files.paths]
        return FilesSource(files, query, _schema_of_streams(files), paths)
    dataset = dataset_of(files)
    if not isinstance(files.format, str) or files.format == "parquet":
        return DatasetSource(dataset, query)
    return FilesSource(files, query, dataset.schema, _paths_of(dataset, query))


class FilesSource:
    """The rows of files, each Arrow batch and each block of CSV by itself.

    Parameters
    ----------
    files
        The files.
    query
        What is wanted of them.
    stored
        The schema of all files.
    paths
        Those that may have rows of the query's filter.

    Raises
    ------
    TypeError, ValueError
        If the files have nothing like it.
    """

    def __init__(
        self, files: Files, query: Query, stored: pa.Schema, paths: Sequence[Path]
    ) -> None:
        self._files = files
        self._query = query
        self._stored = stored
        self._paths = paths
        self.schema: pa.Schema = query.schema_of(stored)

    def objects(self, stream: Stream) -> Iterator[Any]:
        """Read the files from the beginning; see `exportable_objects`."""
        return or_empty(with_rows(self._batches()), self.schema)

    def split(self, blocksize: int) -> list[FilesSource]:
        """Return a source of each file, at least one; see `DatasetSource.split`."""
        # Only of Parquet it is known what may be read by itself.
        return [
            FilesSource(replace(self._files, paths=[path[0]]), self._query, self._stored, [path])
            for path in self._paths
        ] or [self]

    def _batches(self) -> Iterator[pa.RecordBatch]:
        read = _READERS[str(self._files.format)]
        # A filter may need other columns, and a batch without columns has no rows.
        is_whole = self._query.filter is not None or not self._query.columns
        schema = self._stored if is_whole else self.schema
        for path, keys in self._paths:
            try:
                with closing(read(self._files, path, schema)) as batches:
                    for batch in batches:
                        yield self._query.of(conform(batch, schema, keys), self.schema)
                        del batch
            except pa.ArrowInvalid as error:
                raise ValueError(f"{path}: {error}") from error


def _paths_of(dataset: ds.Dataset, query: Query) -> list[Path]:
    """List the files that may have rows of the filter."""
    import pyarrow.dataset as ds

    # Wrong filters are refused with the right error first.
    query.schema_of(dataset.schema)
    return [
        (fragment.path, ds.get_partition_keys(fragment.partition_expression))
        for fragment in dataset.get_fragments(query.filter)
    ]


def _schema_of_streams(files: Files) -> pa.Schema:
    schemas = []
    for path in files.paths:
        try:
            with pa.ipc.open_stream(files.filesystem.open_input_file(path)) as reader:
                schemas.append(reader.schema)
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path}: {error}") from error
    with one_schema(files):
        return pa.unify_schemas(schemas, promote_options="permissive")


def conform(batch: pa.RecordBatch, schema: pa.Schema, keys: Mapping[str, Any]) -> pa.RecordBatch:
    """Give a batch the schema of all files: with the keys, nulls for columns that are missing."""
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        if field.name in keys:
            columns.append(pa.repeat(pa.scalar(keys[field.name], field.type), len(batch)))
        elif index < 0:
            columns.append(pa.nulls(len(batch), field.type))
        else:
            columns.append(batch.column(index))
    # Casts columns of other types.
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _arrow_file(files: Files, path: str, schema: pa.Schema) -> Batches:
    file = files.filesystem.open_input_file(path)
    options = pa.ipc.IpcReadOptions()
    if not files.memory_map:
        # With this option pyarrow copies, also from mapped files.
        indices = map(pa.ipc.open_file(file).schema.get_field_index, schema.names)
        options.included_fields = [index for index in indices if index >= 0]
    with pa.ipc.open_file(file, options=options) as reader:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


def _arrow_stream(files: Files, path: str, schema: pa.Schema) -> Batches:
    with pa.ipc.open_stream(files.filesystem.open_input_file(path)) as reader:
        yield from reader


def _csv(files: Files, path: str, schema: pa.Schema) -> Batches:
    from pyarrow import csv

    # The input stream decompresses what is named so.
    file = files.filesystem.open_input_stream(path)
    types = csv.ConvertOptions(column_types={field.name: field.type for field in schema})
    parsing = parse_options(files.format)
    with csv.open_csv(file, parse_options=parsing, convert_options=types) as reader:
        yield from reader


_READERS: dict[str, Callable[[Files, str, pa.Schema], Batches]] = {
    "arrow-file": _arrow_file,
    "arrow-stream": _arrow_stream,
    "csv": _csv,
    "tsv": _csv,
}
