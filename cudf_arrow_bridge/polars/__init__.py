# SPDX-License-Identifier: Apache-2.0
"""Queries of polars whose data stays on the GPU, with the GPU engine of cudf-polars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pylibcudf as plc
from polars.io.plugins import register_io_source

from .._core.import_.columns import table_of
from ..arrow.device_array import DeviceArray
from ..arrow.metadata import storage_type_of
from ..cuda.residency import compute_location
from ..export.cudf_polars_private import evaluate, lazy_frame_class
from ..export.stream_sources import has_files
from ..frames.convert import cast, with_children
from ..from_arrow import from_arrow_device
from ..to_arrow import to_arrow_device, to_arrow_device_stream

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from ..arrow.device_array_stream import DeviceArrayStream

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
        The keywords of `cudf_arrow_bridge.to_arrow_device`.

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
    cudf-polars supports fewer types than libcudf. So dictionaries become their values, and decimals
    have 128 bits. Columns of other unsupported types, such as binary and times, make the GPU engine
    fall back to the CPU, as does a limit of rows directly after the scan. A streaming engine with
    several ranks reads the source on rank 0.

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
        raise TypeError(f"source: expected tables, got columns of type {schema.type}")
    schema = pa.schema([_supported(field) for field in schema])
    reopen = partial(to_arrow_device_stream, source, **options) if has_files(source) else None
    read = _Source(stream, schema, pl.Schema(schema), reopen)
    return register_io_source(read, schema=read.of_polars)


def _supported(field: pa.Field) -> pa.Field:
    """Return a field with the Arrow type of a column that cudf-polars supports, if there is one."""
    return field.with_type(_supported_type(field.type)).remove_metadata()


def _supported_type(given: pa.DataType) -> pa.DataType:
    given = storage_type_of(given)
    if pa.types.is_dictionary(given):
        return _supported_type(given.value_type)
    if pa.types.is_decimal32(given) or pa.types.is_decimal64(given):
        return pa.decimal128(given.precision, given.scale)
    if pa.types.is_struct(given):
        return pa.struct([_supported(field) for field in given])
    if pa.types.is_fixed_size_list(given):
        return pa.list_(_supported(given.value_field), given.list_size)
    if pa.types.is_list(given):
        return pa.list_(_supported(given.value_field))
    if pa.types.is_large_list(given):
        return pa.large_list(_supported(given.value_field))
    return given


@dataclass(frozen=True)
class _Source:
    """The function that polars calls for the batches of a scan, with `schema`."""

    stream: DeviceArrayStream
    schema: pa.Schema
    of_polars: pl.Schema
    #: Opens files again, to read only some columns. None for other sources.
    reopen: partial[DeviceArrayStream] | None

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        schema, of_polars, stream = self.schema, self.of_polars, self.stream
        if with_columns is not None:
            schema = pa.schema([schema.field(name) for name in with_columns])
            of_polars = pl.Schema({name: of_polars[name] for name in with_columns})
            if self.reopen is not None:
                stream = self.reopen(columns=with_columns)
        for batch in stream:
            if n_rows is not None:
                batch, n_rows = batch[:n_rows], max(0, n_rows - len(batch))
            if with_columns is not None:
                batch = batch[with_columns]
            batch = batch.as_requested(schema)
            to_polars = partial(_to_polars, batch, of_polars, predicate)
            # The GPU engine imports cudf-polars before it reads a source, and filters itself.
            if predicate is None and n_rows is None and "cudf_polars.containers" in sys.modules:
                make_table = partial(_to_libcudf, batch)
                yield lazy_frame_class().of(of_polars, make_table, to_polars)
            else:
                yield to_polars()
            del batch, to_polars
            if n_rows == 0:
                return


def _to_polars(batch: DeviceArray, schema: pl.Schema, predicate: pl.Expr | None) -> pl.DataFrame:
    frame = pl.DataFrame(batch.to_host()).cast(schema)
    return frame if predicate is None else frame.filter(predicate)


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
        return cast(column, dtype.plc_type, compute_location(column, stream=stream))
    children = column.children()
    if dtype.id() == plc.TypeId.LIST:
        (offsets, values), (of_values,) = children, dtype.children
        return with_children(column, [offsets, _with_type(values, of_values, stream)])
    if dtype.id() == plc.TypeId.STRUCT:
        pairs = zip(children, dtype.children, strict=True)
        return with_children(column, [_with_type(*pair, stream) for pair in pairs])
    return column
