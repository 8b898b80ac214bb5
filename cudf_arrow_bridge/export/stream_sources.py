# SPDX-License-Identifier: Apache-2.0
"""What a stream can be made of: objects that each hold one or more batches, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pylibcudf as plc

from ..arrow.incoming_stream import IncomingStream, open_stream, speaks_stream
from ..arrow.schemas import empty
from ..arrow.sources import speaks_array
from ..cuda.ordering import ordered
from ..cuda.residency import has_gpu
from ..cuda.streams import CUDF_HANDLE, Stream, cudf_handle_of_all_threads
from .parts import is_cudf

__all__ = ["pieces"]


def pieces(source: Any, stream: Stream) -> Iterator[Any]:
    """Return what a source holds as objects that can be exported, made when they are asked for.

    Parameters
    ----------
    source
        As in `to_arrow_device_stream`.
    stream
        What is exported on: put behind what is made here, row groups of files and partitions.

    Raises
    ------
    TypeError
        If it is none of what that takes.
    """
    if isinstance(source, (str, os.PathLike)):
        return _row_groups(os.fspath(source), stream)
    if isinstance(source, (plc.Table, plc.Column)) or is_cudf(source) or speaks_array(source):
        return iter((source,))
    if speaks_stream(source):
        return _arrays(open_stream(source))
    for name in ("to_delayed", "partitions"):
        if hasattr(source, name):
            return _partitions(source, name, stream)
    if isinstance(source, Iterable):
        return _each(source, stream)
    raise TypeError(
        f"an object of type {type(source).__name__} found, cuDF data, a path, an Arrow stream or an"
        " iterable of these expected"
    )


def _each(source: Iterable[Any], stream: Stream) -> Iterator[Any]:
    for obj in source:
        yield from pieces(obj, stream)
        del obj


def _partitions(source: Any, name: str, stream: Stream) -> Iterator[Any]:
    """Compute the partitions of a collection like dask-cudf's, one by one."""
    found = getattr(source, name)
    for partition in found() if callable(found) else found:
        computed = partition.compute() if hasattr(partition, "compute") else partition
        del partition
        # Any threads may have computed it, each on a default stream of its own.
        with ordered(stream, cudf_handle_of_all_threads()):
            yield from pieces(computed, stream)
        del computed


def _arrays(stream: IncomingStream) -> Iterator[Any]:
    any_batch = False
    for source in stream.sources():
        any_batch = True
        yield source
        del source
    if not any_batch:
        yield empty(stream.schema)


def _row_groups(path: str, stream: Stream) -> Iterator[Any]:
    return _row_groups_on_gpu(path, stream) if has_gpu() else _row_groups_on_host(path)


def _row_groups_on_gpu(path: str, stream: Stream) -> Iterator[Any]:
    import cudf
    import pyarrow.parquet as pq

    for group in range(pq.read_metadata(path).num_row_groups):
        made = cudf.read_parquet(path, row_groups=[[group]])
        with ordered(stream, CUDF_HANDLE):
            yield made
        del made


def _row_groups_on_host(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group).to_batches()
        if file.num_row_groups == 0:
            yield empty(file.schema_arrow)
