# SPDX-License-Identifier: Apache-2.0
"""Reading of pyarrow datasets, one record batch at a time, with column selection and filters.

On a GPU, cuDF's chunked reader reads Parquet row groups.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from ..._core.export.array_exporter import ExportInput
from ..._core.schema import SchemaSpec
from ...arrow.errors import check_process
from ...arrow.metadata import from_field, has_dictionary
from ...arrow.schemas import empty, or_default
from ...arrow.text import printable
from ...cuda.ordering import order
from ...cuda.residency import has_gpu
from ...cuda.streams import CUDF_HANDLE, resolve_stream
from ...frames.selected_columns import selected_positions
from .formats import error_text

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from ..._core.protocols import Stream

#: The maximum size of a chunk on the GPU.
_CHUNK_BYTES = 1 << 30


class ParquetReader:
    """Reads columns of Parquet files on the GPU.

    The export restores properties of the fields of the schema that the reader drops, such as time
    zones, if the types of the columns allow it.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        # Shared by all batches, since the spec caches their schema.
        self._spec = SchemaSpec([from_field(field) for field in schema], schema.metadata or {})
        # The reader would return dictionaries as strings.
        self._has_types = len(schema) > 0 and not any(map(has_dictionary, schema.types))

    def can_read(self, fragment: ds.ParquetFileFragment) -> bool:
        """Return whether there is a GPU and a local file has the columns with the same fields."""
        from pyarrow import fs

        stored = fragment.physical_schema
        return (
            has_gpu()
            and self._has_types
            and isinstance(fragment.filesystem, fs.LocalFileSystem)
            # get_field_index returns -1 for duplicate names.
            and all(
                stored.get_field_index(field.name) >= 0 and stored.field(field.name) == field
                for field in self._schema
            )
        )

    def read(self, fragment: ds.ParquetFileFragment, stream: Stream) -> Iterator[ExportInput]:
        """Read the row groups of a fragment chunk by chunk, on cuDF's default stream.

        The CUDA stream of the export waits for each chunk. cuDF's stream waits for that stream
        before the chunk is freed.
        """
        parquet = plc.io.parquet
        source = plc.io.SourceInfo([fragment.path])
        # With pandas metadata, the reader would add index columns.
        options = parquet.ParquetReaderOptions.builder(source).use_pandas_metadata(False).build()
        options.set_column_names(self._schema.names)
        options.set_row_groups([[group.id for group in fragment.row_groups]])
        reader = parquet.ChunkedParquetReader(options, chunk_read_limit=_CHUNK_BYTES)
        while reader.has_next():
            batch = self._input_of(reader.read_chunk())
            order(stream.handle, CUDF_HANDLE)
            yield batch
            del batch

    def _input_of(self, chunk: plc.io.TableWithMetadata) -> ExportInput:
        names = chunk.column_names(include_children=False)
        columns = dict(zip(names, chunk.tbl.columns(), strict=True))
        wanted = [columns[name] for name in self._schema.names]
        freed_on = resolve_stream(None)
        return ExportInput("table", wanted, chunk.tbl.num_rows(), self._spec, freed_on=freed_on)


#: Reads the batches of a file, of which only the columns of the schema are needed.
ReadFile = Callable[["ds.FileFragment", pa.Schema], Generator[pa.RecordBatch, None, None]]


class DatasetSource:
    """The rows of a dataset, read one Parquet row group, Arrow batch or CSV block at a time.

    `columns` and `filter` are those of `to_arrow_device_stream`. `read_file` reads the files of the
    dataset. None: pyarrow's scanner reads them. `names` has the names of the columns that each file
    had when it was opened. None: the dataset is the caller's, or a part of a file.
    """

    def __init__(
        self,
        dataset: ds.Dataset,
        columns: Sequence[str] | None,
        filter: pc.Expression | None,
        read_file: ReadFile | None = None,
        names: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self.schema = _selected_schema(dataset.schema, columns, filter)
        text = self.schema.to_string(show_field_metadata=False, show_schema_metadata=False)
        if "\0" in text:
            line = next(line for line in text.splitlines() if "\0" in line)
            raise ValueError(
                f"the name of a column has a NUL character, which names cannot have: {line!r}"
            )
        self._dataset = dataset
        self._columns = columns
        self._filter = filter
        self._read_file = read_file
        self._names = names

    def objects(self, stream: Stream) -> Iterator[Any]:
        """Read the dataset from the start; see `Source.objects`."""
        process = os.getpid()
        for batch in or_default(self._batches(stream), partial(empty, self.schema)):
            yield batch
            del batch
            check_process(process)

    def split(self, blocksize: int) -> list[DatasetSource] | None:
        """Split the source into one or more parts that another process can read from a pickle.

        `blocksize` is the maximum size of a part of several row groups of a file, in uncompressed
        bytes. Return None if the data is in the memory of this process.
        """
        fragments = list(self._fragments())
        if not all(map(_is_of_file, fragments)):
            return None
        parts = [part for fragment in fragments for part in self._parts_of(fragment, blocksize)]
        return list(map(self._with, parts)) or [self]

    def row_groups(self) -> list[DatasetSource] | None:
        """Return a source for each row group of Parquet files, or None for other datasets."""
        import pyarrow.dataset as ds

        is_parquet = isinstance(getattr(self._dataset, "format", None), ds.ParquetFileFormat)
        return self.split(0) if is_parquet else None

    def _parts_of(self, fragment: ds.FileFragment, blocksize: int) -> list[ds.FileFragment]:
        import pyarrow.dataset as ds

        if not isinstance(fragment, ds.ParquetFileFragment):
            return [fragment]
        parts: list[list[int]] = []
        size = 0
        for part in fragment.split_by_row_group(self._filter, self._dataset.schema):
            (row_group,) = part.row_groups
            size += row_group.total_byte_size
            if not parts or size > blocksize:
                parts.append([])
                size = row_group.total_byte_size
            parts[-1].append(row_group.id)
        return [fragment.subset(row_group_ids=ids) for ids in parts]

    def _with(self, part: ds.FileFragment) -> DatasetSource:
        import pyarrow.dataset as ds

        schema = self._dataset.schema
        dataset = ds.FileSystemDataset([part], schema, part.format, part.filesystem)
        # A part of row groups belongs to the file as it was read for the split.
        names = None
        if self._names is not None and self._read_file is not None:
            names = {part.path: self._names[part.path]}
        return DatasetSource(dataset, self._columns, self._filter, self._read_file, names)

    def _fragments(self) -> Iterator[ds.Fragment]:
        """Iterate over the files, which may have been replaced since they were opened."""
        import pyarrow.dataset as ds

        for fragment in self._dataset.get_fragments(self._filter):
            # `_read` checks Arrow files.
            if self._names is not None and not isinstance(fragment.format, ds.IpcFileFormat):
                # pyarrow keeps the metadata of a Parquet file in its fragment.
                fragment = fragment.format.make_fragment(
                    fragment.path, fragment.filesystem, fragment.partition_expression
                )
                with errors_of(fragment):
                    self._check_names(fragment, fragment.physical_schema.names)
            yield fragment

    @property
    def _read_schema(self) -> pa.Schema:
        """The fields to read of each file."""
        # A filter can need other columns, and a batch without columns has no number of rows.
        is_whole = self._filter is not None or not self._columns
        return self._dataset.schema if is_whole else self.schema

    def _check_names(self, fragment: ds.FileFragment, names: Sequence[str]) -> None:
        """Raise a ValueError if a file lacks a column to read that it had when it was opened."""
        had = () if self._names is None else self._names[fragment.path]
        for name in self._read_schema.names:
            if name in had and name not in names:
                raise ValueError(
                    f"{printable(fragment.path)}: the column {name!r} is gone: the file was "
                    "replaced after it was opened"
                )

    def _batches(self, stream: Stream) -> Iterator[Any]:
        import pyarrow.dataset as ds

        parquet_reader = ParquetReader(self.schema)
        for fragment in self._fragments():
            if self._read_file is not None:
                yield from self._read(fragment, self._read_file)
            elif not isinstance(fragment, ds.ParquetFileFragment):
                # With several threads, a scanner reads ahead up to a gigabyte.
                yield from self._scan(fragment, use_threads=False)
            else:
                # Skips row groups whose statistics exclude all rows of the filter.
                with errors_of(fragment):
                    row_groups = fragment.split_by_row_group(self._filter, self._dataset.schema)
                for row_group in row_groups:
                    if self._filter is None and parquet_reader.can_read(row_group):
                        yield from parquet_reader.read(row_group, stream)
                    else:
                        # Several threads decode the columns. A scan of one row group cannot read
                        # ahead.
                        yield from self._scan(row_group, use_threads=True)

    def _scan(self, fragment: ds.Fragment, use_threads: bool) -> Iterator[pa.RecordBatch]:
        # Do not split row groups and batches. Arrow's ORC reader allocates whole batches of
        # `batch_size` rows, for which it takes 15 seconds, so ORC keeps the default.
        is_orc = _is_of_file(fragment) and fragment.format.default_extname == "orc"
        options = {} if is_orc else {"batch_size": 2**31 - 1}
        scanner = fragment.scanner(
            schema=self._dataset.schema,
            columns=self.schema.names,
            filter=self._filter,
            batch_readahead=0,
            use_threads=use_threads,
            **options,
        )
        with errors_of(fragment):
            yield from filter(len, scanner.to_reader())

    def _read(self, fragment: ds.FileFragment, read_file: ReadFile) -> Iterator[pa.RecordBatch]:
        import pyarrow.dataset as ds

        keys = ds.get_partition_keys(fragment.partition_expression)
        schema = self._read_schema

        def select(batch: pa.RecordBatch) -> pa.RecordBatch:
            if isinstance(fragment.format, ds.IpcFileFormat):
                self._check_names(fragment, batch.schema.names)
            batch = conform(batch, schema, keys)
            if self._filter is not None:
                batch = batch.filter(self._filter)
            return batch if self._columns is None else batch.select(self.schema.names)

        with closing(read_file(fragment, schema)) as batches, errors_of(fragment):
            yield from filter(len, map(select, batches))


@contextmanager
def errors_of(fragment: ds.Fragment) -> Iterator[None]:
    """Name the file and the column in errors of pyarrow, which become `ValueError`."""
    try:
        yield
    except pa.ArrowInvalid as error:
        text = error_text(error, fragment)
        text = f"{fragment.path}: {text}" if _is_of_file(fragment) else text
        raise ValueError(printable(text)) from error


def _selected_schema(
    schema: pa.Schema, columns: Sequence[str] | None, filter: pc.Expression | None
) -> pa.Schema:
    """Return the schema of the selected columns and rows of data with the given schema.

    Raises an error if they are invalid for the data; see `to_arrow_device_stream`.
    """
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    if columns is not None:
        names = schema.names
        columns = [names[i] for i in selected_positions(columns, schema)]
    if filter is not None and not isinstance(filter, pc.Expression):
        raise TypeError(
            'filter: expected an expression such as pyarrow.compute.field("a") > 0, got an '
            f"object of type {type(filter).__name__}"
        )
    if filter is None:
        # pyarrow cannot create empty tables of all types.
        return schema if columns is None else pa.schema(map(schema.field, columns), schema.metadata)
    try:
        # Use an empty table, to detect invalid filters before any rows are read.
        return ds.dataset(schema.empty_table()).to_table(columns=columns, filter=filter).schema
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise ValueError(printable(f"filter={filter}: {error}")) from error


def conform(batch: pa.RecordBatch, schema: pa.Schema, keys: Mapping[str, Any]) -> pa.RecordBatch:
    """Convert a batch to the unified schema; add partition keys, and nulls for missing columns."""
    if not keys and batch.schema.equals(schema, check_metadata=True):
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


def _is_of_file(fragment: ds.Fragment) -> bool:
    import pyarrow.dataset as ds

    # Other fragments read tables, buffers and Python files.
    return isinstance(fragment, ds.FileFragment) and fragment.filesystem is not None
