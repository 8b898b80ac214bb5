# SPDX-License-Identifier: Apache-2.0
"""Queries of polars whose data stays on the GPU, with the GPU engine of cudf-polars."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from .._core.import_.columns import table_of
from .._load import imports_of_extra
from ..arrow.device_array import DeviceArray
from ..arrow.metadata import storage_type_of
from ..arrow.schemas import fields_of, with_fields
from ..cuda.residency import DeviceType, has_gpu
from ..export.cudf_polars_private import evaluate, lazy_frame_class
from ..export.sources.files import is_binary
from ..export.sources.registry import OBJECT, STREAM, open_source, type_of_source
from ..frames.convert import cast, with_children
from ..from_arrow import from_arrow_device
from ..to_arrow import to_arrow_device, to_arrow_device_stream

with imports_of_extra("polars"):
    import polars as pl
    from polars.io.plugins import register_io_source

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from ..arrow.device_array_stream import DeviceArrayStream
    from ..export.sources.datasets import DatasetSource

__all__ = ["collect", "scan"]


def __dir__() -> list[str]:
    return sorted(__all__)


def collect(
    query: pl.LazyFrame, *, engine: str | pl.GPUEngine = "gpu", **options: Any
) -> DeviceArray:
    """Run a query with the GPU engine and export the result, which stays on the GPU.

    ``query.collect(engine="gpu")`` copies the result to the host.

    Parameters
    ----------
    query : polars.LazyFrame
        The query.
    engine : "gpu" or polars.GPUEngine
        The engine, as for ``polars.LazyFrame.collect``. A streaming engine must have its ranks in
        this process, such as ``SPMDEngine``; the result is the partition of its rank.
    **options
        The keywords of `cudf_arrow_bridge.to_arrow_device`. With ``device_type="cuda"``, the
        managed memory of the in-memory executor is exported as plain CUDA memory.

    Returns
    -------
    DeviceArray
        The result. It shares the memory of the engine's frame, which it keeps alive.

    Raises
    ------
    NotImplementedError
        If cudf-polars cannot run the query on a GPU. The message names the unsupported operations.
        ``polars.LazyFrame.collect`` would run the query on the CPU.
    ImportError
        If cudf-polars is missing or of an unsupported release.
    TypeError
        If `query` is not a lazy frame, or `engine` is not a GPU engine.
    ValueError
        If the partitions of the result are in other processes.
    polars.exceptions.PolarsError
        The errors of the query.

    Examples
    --------
    >>> import polars as pl
    >>> query = pl.scan_parquet("flights.parquet").group_by("carrier").len()  # doctest: +SKIP
    >>> frame = cab.from_arrow_device(cab.polars.collect(query))  # doctest: +SKIP
    """
    if not isinstance(query, pl.LazyFrame):
        raise TypeError(f"query: expected a polars.LazyFrame, got {type(query).__name__}")
    if engine == "gpu":
        engine = pl.GPUEngine()
    if not isinstance(engine, pl.GPUEngine):
        raise TypeError(f"engine: expected 'gpu' or a polars.GPUEngine, got {engine!r}")
    return to_arrow_device(evaluate(query, engine), **options)


def scan(
    source: Any,
    *,
    max_rows: int | None = None,
    memory_map: bool = False,
    format: ds.FileFormat | None = None,
    preserve_index: bool | None = None,
) -> pl.LazyFrame:
    """Scan cuDF frames, Arrow data or files as a lazy frame of polars.

    With the GPU engine, data on the GPU is not copied to the host. With the CPU engine, the batches
    become frames of polars, which share host memory and copy data from a GPU.

    Parameters
    ----------
    source
        A source of `to_arrow_device_stream`: a frame, a table, a `DeviceArray`, a stream, files or
        an iterable of frames.
    max_rows, memory_map, format, preserve_index : optional
        See `to_arrow_device_stream`.

    Returns
    -------
    polars.LazyFrame
        The schema is known without reading data, if the schema of the source is. Columns that the
        query does not use are not imported, and not read from files. A limit of rows stops the CPU
        engine early. The query can be collected repeatedly if `source` can be read repeatedly.

    Raises
    ------
    TypeError, ValueError, KeyError, FileNotFoundError
        See `to_arrow_device_stream`. TypeError also if the batches are not tables.

    Notes
    -----
    cudf-polars supports fewer types than libcudf. So dictionaries become their values, bool8
    becomes bool, other extension types their storage, and decimals have 128 bits. Columns of other
    unsupported types, such as binary and times, make the GPU engine fall back to the CPU, as does a
    limit of rows directly after the scan.

    A streaming engine reads Parquet files one row group at a time, also with `max_rows`. It reads
    all batches of other files, streams and iterators before its first operation, because their
    number is unknown. It uploads batches in host memory. An engine with several ranks reads the
    source on rank 0. The engines of Dask and Ray send the source to their workers, as a pickle.

    Examples
    --------
    >>> import polars as pl
    >>> import pyarrow as pa
    >>> frame = cab.from_arrow_device(pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]}))
    >>> query = cab.polars.scan(frame).filter(pl.col("b") == "x").select(pl.col("a").sum())
    >>> query.collect().item()
    4
    """
    options: dict[str, Any] = {
        "max_rows": max_rows,
        "memory_map": memory_map,
        "format": format,
        "preserve_index": preserve_index,
    }
    stream = to_arrow_device_stream(source, **options)
    schema = stream.schema
    if not isinstance(schema, pa.Schema):
        raise TypeError(f"source: the batches are columns of type {schema.type}, not tables")
    schema = pa.schema([_supported(field, None) for field in schema])
    read = _Source(source, options, schema, stream)
    return register_io_source(read, schema=pl.Schema(schema))


#: Requests the storage type. polars 2 creates a type from the name of an Arrow extension type.
_NO_EXTENSION = {"ARROW:extension:name": ""}


def _supported(field: pa.Field, metadata: dict[str, str] | None) -> pa.Field:
    """Return a field with the Arrow type of a column that cudf-polars supports, if there is one.

    `metadata` is that of the field and of its children.
    """
    return field.with_type(_supported_type(field.type, metadata)).with_metadata(metadata)


def _supported_type(given: pa.DataType, metadata: dict[str, str] | None) -> pa.DataType:
    if isinstance(given, pa.Bool8Type):
        return pa.bool_()
    given = storage_type_of(given)
    if pa.types.is_dictionary(given):
        return _supported_type(given.value_type, metadata)
    if pa.types.is_decimal32(given) or pa.types.is_decimal64(given):
        return pa.decimal128(given.precision, given.scale)
    return with_fields(given, [_supported(field, metadata) for field in fields_of(given)])


@dataclass(frozen=True)
class _Source:
    """The function that polars calls for the batches of a scan, with `schema`.

    `options` are those of `to_arrow_device_stream`.
    """

    source: Any
    options: dict[str, Any]
    schema: pa.Schema
    #: The stream of the source. None in another process, which opens the source again.
    stream: DeviceArrayStream | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # The engines of Dask and Ray pickle the queries for their workers.
        if self.stream is not None and (reason := self.stream._source.single_use_reason):
            raise TypeError(f"source: another process cannot read it: {reason}")
        return _Source, (self.source, self.options, self.schema)

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[Any]:
        schema = self.schema
        if with_columns is not None:
            schema = pa.schema([schema.field(name) for name in with_columns])
        of_polars = pl.Schema(schema)
        schema = pa.schema([_supported(field, _NO_EXTENSION) for field in schema])
        # The GPU engine imports cudf-polars before it reads a source, and filters itself.
        if predicate is None and n_rows is None and "cudf_polars.containers" in sys.modules:
            return self._for_gpu(with_columns, schema, of_polars)
        return self._for_cpu(with_columns, schema, of_polars, predicate, n_rows)

    def _for_gpu(
        self, with_columns: list[str] | None, schema: pa.Schema, of_polars: pl.Schema
    ) -> Iterator[Any]:
        """Iterate over one frame for each batch, of a known number if possible.

        The streaming engine reads one frame of a known number at a time, and otherwise all frames
        before its first operation.
        """
        frame_of = partial(_frame_of, schema, of_polars)
        row_groups = self._row_groups(with_columns)
        if row_groups is not None:
            return _SizedFrames(len(row_groups), map(frame_of, map(_read_row_group, row_groups)))
        batches = iter(self._open(with_columns))
        if _is_in_memory(self.source):
            known = list(batches)
            return _SizedFrames(len(known), map(frame_of, known))
        return map(frame_of, batches)

    def _for_cpu(
        self,
        with_columns: list[str] | None,
        schema: pa.Schema,
        of_polars: pl.Schema,
        predicate: pl.Expr | None,
        n_rows: int | None,
    ) -> Iterator[pl.DataFrame]:
        for batch in self._open(with_columns):
            if n_rows is not None:
                batch, n_rows = batch[:n_rows], max(0, n_rows - len(batch))
            frame = _to_polars(_selected(batch, schema), of_polars)
            yield frame if predicate is None else frame.filter(predicate)
            del batch, frame
            if n_rows == 0:
                return

    def _open(self, columns: list[str] | None) -> DeviceArrayStream:
        """Return a stream of the source. Of files, it reads only the columns."""
        of_files = columns if type_of_source(self.source).options else None
        if self.stream is not None and of_files is None:
            return self.stream
        return to_arrow_device_stream(self.source, columns=of_files, **self.options)

    def _row_groups(self, columns: list[str] | None) -> list[DatasetSource] | None:
        """Return a source for each row group of Parquet files, or None for another source."""
        # The position in an open file is unknown.
        if not type_of_source(self.source).options or is_binary(self.source):
            return None
        options = {name: self.options[name] for name in ("memory_map", "format")}
        opened = open_source(self.source, columns=columns, **options)
        return opened.obj.row_groups()  # type: ignore[no-any-return]


@dataclass
class _SizedFrames(Iterator[Any]):
    """An iterator over frames whose number the GPU engine knows before it reads them."""

    count: int
    frames: Iterator[Any]

    def __len__(self) -> int:
        return self.count

    def __next__(self) -> Any:
        return next(self.frames)


def _is_in_memory(source: Any) -> bool:
    """Return whether the batches of a source exist, so that their number can be known."""
    objects = source if isinstance(source, (list, tuple)) else [source]
    types = [type_of_source(each) for each in objects]
    return all(
        found is OBJECT or (found is STREAM and isinstance(each, Sized))
        for found, each in zip(types, objects, strict=True)
    )


def _read_row_group(row_group: DatasetSource) -> DeviceArray:
    first, *others = to_arrow_device_stream(row_group)
    return to_arrow_device(to_arrow_device_stream([first, *others])) if others else first


def _selected(batch: DeviceArray, schema: pa.Schema) -> DeviceArray:
    """Return the columns of a schema with its types."""
    if batch.column_names != schema.names:
        batch = batch[schema.names]
    return batch.as_requested(schema)


def _frame_of(schema: pa.Schema, of_polars: pl.Schema, batch: DeviceArray) -> Any:
    """Return a batch as a frame for the GPU engine."""
    batch = _selected(batch, schema)
    to_polars = partial(_to_polars, batch, of_polars)
    # The engine reserves memory before it uploads a frame of polars.
    if len(schema) > 0 and has_gpu() and batch.device_type == DeviceType.CPU:
        return to_polars()
    return lazy_frame_class().of(of_polars, partial(_to_libcudf, batch), to_polars)


def _to_polars(batch: DeviceArray, schema: pl.Schema) -> pl.DataFrame:
    return pl.DataFrame(batch.to_host()).cast(schema)


def _to_libcudf(batch: DeviceArray, types: list[Any], stream: Any) -> plc.Table:
    """Import a batch on a stream, as columns of types of cudf-polars."""
    table = from_arrow_device(batch, to="pylibcudf", kind="table", stream=stream)
    columns = [
        _with_type(column, dtype, stream)
        for column, dtype in zip(table.columns(), types, strict=True)
    ]
    return table_of(columns, table.num_rows())


def _with_type(column: plc.Column, dtype: Any, stream: Any) -> plc.Column:
    """Return a column with the libcudf types of a type of cudf-polars at all levels.

    cudf-polars has no seconds. They become milliseconds, as in polars.
    """
    if column.type() != dtype.plc_type:
        return cast(column, dtype.plc_type, stream)
    children = column.children()
    # Those before them have the offsets of lists and strings.
    first = len(children) - len(dtype.children)
    pairs = zip(children[first:], dtype.children, strict=True)
    changed = [_with_type(child, of_child, stream) for child, of_child in pairs]
    return with_children(column, [*children[:first], *changed])
