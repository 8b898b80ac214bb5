# SPDX-License-Identifier: Apache-2.0
"""What a stream can be exported from: single objects, files, partitions, streams, iterables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any

import pylibcudf as plc

from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.schemas import empty
from ..arrow.source_streams import SourceStream, has_stream_protocol, open_stream
from ..arrow.sources import has_array_protocol
from ..cuda.ordering import ordered
from ..cuda.residency import has_gpu
from ..cuda.streams import CUDF_HANDLE, cudf_handle_of_all_threads
from .inputs import is_cudf

if TYPE_CHECKING:
    from .._core.protocols import Stream

__all__ = ["Take", "exportable_objects"]

#: Called with each object that can be consumed once; raises if another pass has it.
Take = Callable[[Any], None]


def exportable_objects(source: Any, stream: Stream, take: Take) -> Iterator[Any]:
    """Iterate over the objects of a source that can be exported, each made when it is asked for.

    Parameters
    ----------
    source
        What `to_arrow_device_stream` takes.
    stream
        The stream of the export. It waits for row groups and partitions that are made here.
    take
        Called before an iterator, or a stream that may be one-shot, is read.

    Raises
    ------
    TypeError
        If the source cannot be exported.
    """
    if isinstance(source, (str, os.PathLike)):
        return _row_groups(os.fspath(source), stream)
    if isinstance(source, (plc.Table, plc.Column)) or is_cudf(source) or has_array_protocol(source):
        return iter((source,))
    if has_stream_protocol(source):
        # A stream that was read need not say so: pyarrow's readers just give no more batches. What
        # knows its length, has the rows. Our own streams say why they end.
        if not isinstance(source, (Sized, DeviceArrayStream)):
            take(source)
        return _source_arrays(open_stream(source))
    for name in ("to_delayed", "partitions"):
        if hasattr(source, name):
            return _partitions(source, name, stream, take)
    if isinstance(source, Iterable):
        if isinstance(source, Iterator):
            take(source)
        return _objects_of_each(source, stream, take)
    raise TypeError(
        f"an object of type {type(source).__name__} found, cuDF data, a path, an Arrow stream or an"
        " iterable of these expected"
    )


def _objects_of_each(source: Iterable[Any], stream: Stream, take: Take) -> Iterator[Any]:
    for obj in source:
        yield from exportable_objects(obj, stream, take)
        del obj


def _partitions(source: Any, name: str, stream: Stream, take: Take) -> Iterator[Any]:
    """Compute the partitions of a collection like dask-cudf's, one by one."""
    partitions = getattr(source, name)
    for partition in partitions() if callable(partitions) else partitions:
        computed = partition.compute() if hasattr(partition, "compute") else partition
        del partition
        # Several threads may have computed it, each on its own per-thread default stream.
        with ordered(stream, cudf_handle_of_all_threads()):
            yield from exportable_objects(computed, stream, take)
        del computed


def _source_arrays(stream: SourceStream) -> Iterator[Any]:
    return _or_empty(stream.source_arrays(), stream.schema)


def _or_empty(arrays: Iterator[Any], schema: Any) -> Iterator[Any]:
    """Give the arrays, or an empty one of the schema if there are none."""
    is_empty = True
    for array in arrays:
        is_empty = False
        yield array
        del array
    if is_empty:
        yield empty(schema)


def _row_groups(path: str, stream: Stream) -> Iterator[Any]:
    return _row_groups_on_gpu(path, stream) if has_gpu() else _row_groups_on_host(path)


def _row_groups_on_gpu(path: str, stream: Stream) -> Iterator[Any]:
    import cudf
    import pyarrow.parquet as pq

    num_groups = pq.read_metadata(path).num_row_groups
    # A file may have no row group at all, and is read whole then.
    parts = [{"row_groups": [[group]]} for group in range(num_groups)] or [{}]
    for part in parts:
        frame = cudf.read_parquet(path, **part)
        with ordered(stream, CUDF_HANDLE):
            yield frame
        del frame


def _row_groups_on_host(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield from _or_empty(
            (
                batch
                for group in range(file.num_row_groups)
                for batch in file.read_row_group(group).to_batches()
            ),
            file.schema_arrow,
        )
