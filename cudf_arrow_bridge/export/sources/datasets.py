# SPDX-License-Identifier: Apache-2.0
"""pyarrow's datasets as record batches, read one at a time; what is wanted of them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...arrow.schemas import empty
from .formats import check_delimiter, format_of, parse_options
from .parquet_reader import ParquetReader
from .paths import Files

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from ..._core.protocols import Stream

__all__ = [
    "DatasetSource",
    "Query",
    "dataset_of",
    "dataset_of_bytes",
    "is_dataset",
    "one_schema",
    "or_empty",
    "with_rows",
]


@dataclass(frozen=True)
class Query:
    """What is wanted of the rows and columns of files; see `to_arrow_device_stream`."""

    columns: Sequence[str] | None = None
    filter: pc.Expression | None = None

    def schema_of(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of what is wanted of data with a schema.

        Raises
        ------
        TypeError
            If columns or filter are not what they have to be.
        KeyError
            If there is no such column.
        ValueError
            If one is named twice, or the filter cannot be computed.
        """
        import pyarrow.compute as pc
        import pyarrow.dataset as ds

        if self.columns is not None:
            self._check_columns(self.columns, schema)
        if self.filter is not None and not isinstance(self.filter, pc.Expression):
            raise TypeError(
                f"filter= of type {type(self.filter).__name__} found, an expression expected, such"
                ' as pyarrow.compute.field("a") > 0'
            )
        columns = None
        if self.columns is not None:
            columns = list(dict.fromkeys([*self.columns, *_index_names(schema)]))
        try:
            # Of no rows, so that what cannot be computed is an error before any are read.
            table = ds.dataset(schema.empty_table()).to_table(columns=columns, filter=self.filter)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise ValueError(f"filter={self.filter}: {error}") from error
        return table.schema

    def _check_columns(self, columns: Sequence[str], schema: pa.Schema) -> None:
        names = [] if isinstance(columns, str) else list(columns)
        if isinstance(columns, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"columns={columns!r} found, a list of names expected")
        known, seen = set(schema.names), set()
        for name in names:
            if name not in known:
                raise KeyError(
                    f"columns: {name!r} found, names among {', '.join(schema.names)} expected"
                )
            if name in seen:
                raise ValueError(f"columns: {name!r} found twice, each column once expected")
            seen.add(name)

    def of(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """Return what is wanted of a batch, with the schema that `schema_of` returned."""
        if self.filter is not None:
            batch = batch.filter(self.filter)
        return batch if self.columns is None else batch.select(schema.names)


def _index_names(schema: pa.Schema) -> list[str]:
    """Return the names of the fields that a schema's metadata names as a frame's index."""
    if not schema.metadata:
        return []
    # Importing cuDF takes a second.
    from ...frames.layout import index_levels

    return [schema.field(level).name for level in index_levels(schema)]


class DatasetSource:
    """The rows of a dataset, each row group of Parquet by itself.

    Parameters
    ----------
    dataset
        The dataset.
    query
        What is wanted of it.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the dataset has nothing like it.
    """

    def __init__(self, dataset: ds.Dataset, query: Query) -> None:
        self.schema = query.schema_of(dataset.schema)
        self._dataset = dataset
        self._query = query

    def objects(self, stream: Stream) -> Iterator[Any]:
        """Read the dataset from its beginning; see `exportable_objects`."""
        return or_empty(self._batches(stream), self.schema)

    def split(self, blocksize: int) -> list[DatasetSource] | None:
        """Split the source into parts that can be pickled and read by another process.

        Parameters
        ----------
        blocksize
            Row groups of one file come together up to so many bytes, uncompressed.

        Returns
        -------
        list of DatasetSource or None
            At least one. None if the data is in the memory of this process.
        """
        fragments = list(self._dataset.get_fragments(self._query.filter))
        if not all(map(_is_of_file, fragments)):
            return None
        parts = [part for fragment in fragments for part in self._parts_of(fragment, blocksize)]
        return [self._with(part) for part in parts] or [self._without_rows()]

    def _parts_of(self, fragment: ds.FileFragment, blocksize: int) -> list[ds.FileFragment]:
        import pyarrow.dataset as ds

        if not isinstance(fragment, ds.ParquetFileFragment):
            return [fragment]
        parts: list[list[int]] = []
        size = 0
        for part in fragment.split_by_row_group(self._query.filter, self._dataset.schema):
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
        return DatasetSource(dataset, self._query)

    def _without_rows(self) -> DatasetSource:
        import pyarrow.dataset as ds
        from pyarrow import fs

        # Nothing is read by them, but a dataset without could not be pickled.
        dataset = ds.FileSystemDataset(
            [], self._dataset.schema, ds.ParquetFileFormat(), fs.LocalFileSystem()
        )
        return DatasetSource(dataset, self._query)

    def _batches(self, stream: Stream) -> Iterator[Any]:
        import pyarrow.dataset as ds

        rows = self._query.filter
        parquet_reader = ParquetReader(self.schema)
        for fragment in self._dataset.get_fragments(rows):
            if not isinstance(fragment, ds.ParquetFileFragment):
                # With several threads a scanner reads on, until there is a gigabyte.
                yield from with_rows(self._scan(fragment, use_threads=False))
                continue
            # Without those that by their statistics hold no row of the filter.
            for row_group in fragment.split_by_row_group(rows, self._dataset.schema):
                if rows is None and parquet_reader.can_read(row_group):
                    yield from parquet_reader.read(row_group, stream)
                else:
                    # Its columns are decoded by several threads. There is no next one to read.
                    yield from with_rows(self._scan(row_group, use_threads=True))

    def _scan(self, fragment: ds.Fragment, use_threads: bool) -> Iterable[pa.RecordBatch]:
        scanner = fragment.scanner(
            schema=self._dataset.schema,
            columns=self.schema.names,
            filter=self._query.filter,
            # Splits no row groups and batches.
            batch_size=2**31 - 1,
            batch_readahead=0,
            use_threads=use_threads,
        )
        batches: Iterable[pa.RecordBatch] = scanner.to_reader()
        return batches


def _is_of_file(fragment: ds.Fragment) -> bool:
    import pyarrow.dataset as ds

    # Others are tables, buffers and Python's files.
    return isinstance(fragment, ds.FileFragment) and fragment.filesystem is not None


def is_dataset(obj: Any) -> bool:
    """Say whether this is a dataset of pyarrow, without importing what makes them."""
    ds = sys.modules.get("pyarrow.dataset")
    return ds is not None and isinstance(obj, ds.Dataset)


def dataset_format(name: str | ds.FileFormat) -> ds.FileFormat:
    """Return pyarrow's format of files by its name in `FORMATS`, or a format as it is."""
    import pyarrow.dataset as ds

    if not isinstance(name, str):
        return name
    if name in ("csv", "tsv"):
        return ds.CsvFileFormat(parse_options(name))
    return {"parquet": ds.ParquetFileFormat, "arrow-file": ds.IpcFileFormat}[name]()


def dataset_of_bytes(source: Any, file_format: ds.FileFormat | None) -> ds.Dataset:
    """Make a dataset of the bytes of a file, or of an open binary file.

    Parameters
    ----------
    source
        Contiguous memory, or a file that stands at its beginning and can seek.
    file_format
        The format; None to tell it by the first bytes.

    Raises
    ------
    TypeError
        If the file is a text file.
    ValueError
        If the format is unknown, or the file stands elsewhere.
    """
    import pyarrow.dataset as ds

    is_file = hasattr(source, "read")
    if isinstance(source, io.TextIOBase):
        raise TypeError("expected a binary file, got a text file")
    if is_file and (position := source.tell()) != 0:
        raise ValueError(f"expected a file at its beginning, got one at byte {position:,}")
    name: Any = file_format
    if file_format is None:
        head = source.read(8) if is_file else bytes(memoryview(source)[:8])
        if is_file:
            source.seek(0)
        name = format_of("", head)
    # pyarrow closes files that it reads from the beginning to the end.
    is_read_at_once = name == "arrow-stream" or isinstance(name, ds.CsvFileFormat)
    if not is_file or is_read_at_once or isinstance(name, ds.JsonFileFormat):
        source = pa.py_buffer(source.read() if is_file else source)
    if name == "arrow-stream":
        with pa.ipc.open_stream(source) as reader:
            return ds.dataset(reader.read_all())
    known = dataset_format(name)
    fragment = known.make_fragment(source)
    return ds.FileSystemDataset([fragment], fragment.physical_schema, known)


def dataset_of(files: Files) -> ds.Dataset:
    """Make a dataset of files, with the schema of all of them.

    Raises
    ------
    ValueError
        If one cannot be read, or there is no such schema.
    """
    import pyarrow.dataset as ds

    options = ds.FileSystemFactoryOptions()
    if files.base is not None:
        options.partitioning_factory = ds.HivePartitioning.discover()
        options.partition_base_dir = files.base
    file_format = dataset_format(files.format)
    factory = ds.FileSystemDatasetFactory(files.filesystem, files.paths, file_format, options)
    with one_schema(files):
        # Of all files: columns that only some of them have are null in the others.
        schema = factory.inspect(promote_options="permissive", fragments=None)
        if files.format == "csv":
            check_delimiter(schema.names)
    return factory.finish(schema)


@contextmanager
def one_schema(files: Files) -> Iterator[None]:
    """Turn what pyarrow says where files have no schema in common into a `ValueError`."""
    try:
        yield
    except pa.ArrowTypeError as error:
        raise ValueError(
            f"{files.name}: {error}; a pyarrow.dataset.Dataset made with a schema can say how they"
            " are read"
        ) from error
    except ValueError as error:
        raise ValueError(f"{files.name}: {error}") from error


def or_empty(arrays: Iterator[Any], schema: Any) -> Iterator[Any]:
    """Give the arrays, or an empty one of the schema if there are none."""
    is_empty = True
    for array in arrays:
        is_empty = False
        yield array
        del array
    if is_empty:
        yield empty(schema)


def with_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Leave out batches without rows."""
    for batch in batches:
        if batch.num_rows:
            yield batch
        del batch
