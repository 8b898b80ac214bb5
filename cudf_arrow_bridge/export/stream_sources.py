# SPDX-License-Identifier: Apache-2.0
"""What a stream can be exported from: single objects, files, partitions, streams, iterables."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pylibcudf as plc

from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.source_streams import SourceStream, has_stream_protocol, open_stream
from ..arrow.sources import has_array_protocol
from ..cuda.ordering import ordered
from ..cuda.streams import cudf_handle_of_all_threads
from ..frames.proxies import is_pandas, is_proxy
from .inputs import is_cudf
from .sources.dask_futures import futures_of, gather_results
from .sources.dask_partitions import compute_partitions, partitions_of
from .sources.datasets import DatasetSource, Query, dataset_of_bytes, is_dataset, or_empty
from .sources.files import FilesSource, open_files
from .sources.paths import find_files
from .sources.ray_datasets import fetch_objects

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from .._core.protocols import Stream

__all__ = ["Take", "exportable_objects", "has_files", "is_lazy", "open_source"]

#: Called with each object that can be consumed once; raises if another pass has it.
Take = Callable[[Any], None]


def open_source(
    source: Any,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    format: ds.FileFormat | None = None,
) -> Any:
    """Open the files of a source that names some; return any other source as it is.

    Parameters
    ----------
    source, columns, filter, memory_map, format
        What `to_arrow_device_stream` takes.

    Returns
    -------
    Any
        A source for `exportable_objects`, which can be asked for its objects several times unless
        `source` is an iterator.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TypeError, ValueError
        If strings stand for files where they may not, or what is wanted is not there.
    """
    query = Query(columns, filter)
    if is_dataset(source) and format is None and not memory_map:
        return DatasetSource(source, query)
    if names_files(source):
        paths = [source] if isinstance(source, (str, os.PathLike)) else source
        return open_files(find_files(paths, memory_map, format), query)
    if is_binary(source):
        return DatasetSource(dataset_of_bytes(source, format), query)
    if isinstance(source, (list, tuple)):
        for item in source:
            _refuse_text(item)
    given = {
        "columns": columns,
        "filter": filter,
        "memory_map": memory_map or None,
        "format": format,
    }
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name}= with an object of type {type(source).__name__} found, only with paths or"
                " a pyarrow.dataset.Dataset expected: select from the object before"
            )
    return source


def names_files(source: Any) -> bool:
    """Say whether a source is a path, a URL, a glob, or a list of paths."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(item, os.PathLike) for item in source)
    return isinstance(source, (str, os.PathLike))


def has_files(source: Any) -> bool:
    """Say whether `open_source` reads a source: paths, a dataset, or the bytes of a file."""
    return is_dataset(source) or names_files(source) or is_binary(source)


def is_binary(source: Any) -> bool:
    """Say whether a source is the bytes of a file, or an open file."""
    if isinstance(source, (bytes, bytearray, memoryview, pa.Buffer, pa.NativeFile)):
        return True
    return isinstance(source, io.IOBase)


def is_lazy(source: Any) -> bool:
    """Say whether a source is a scanner of pyarrow or a lazy frame of polars."""
    ds, pl = sys.modules.get("pyarrow.dataset"), sys.modules.get("polars")
    return (ds is not None and isinstance(source, ds.Scanner)) or (
        pl is not None and isinstance(source, pl.LazyFrame)
    )


def exportable_objects(source: Any, stream: Stream, take: Take) -> Iterator[Any]:
    """Iterate over the objects of a source that can be exported, each made when it is asked for.

    Parameters
    ----------
    source
        What `open_source` returns. Each call begins anew, except with iterators.
    stream
        The CUDA stream of the export. It waits for row groups and partitions that are made here.
    take
        Called before an iterator, or a stream that may be one-shot, is read.

    Raises
    ------
    TypeError
        If the source cannot be exported.
    """
    if isinstance(source, (DatasetSource, FilesSource)):
        return source.objects(stream)
    if isinstance(source, (plc.Table, plc.Column)) or is_cudf(source) or is_proxy(source):
        return iter((source,))
    if has_array_protocol(source) or is_pandas(source):
        return iter((source,))
    if has_stream_protocol(source):
        # A stream that was read need not say so: pyarrow's readers just give no more batches. What
        # knows its length, has the rows. Our own streams say why they end.
        if not isinstance(source, (Sized, DeviceArrayStream)):
            take(source)
        return _source_arrays(open_stream(source))
    if is_lazy(source):
        read = source.to_reader if hasattr(source, "to_reader") else source.collect
        return _source_arrays(open_stream(read()))
    if (partitions := partitions_of(source)) is not None:
        return _objects_of_computed(compute_partitions(partitions), stream, take)
    if (futures := futures_of(source)) is not None:
        return _objects_of_computed(gather_results(futures), stream, take)
    if (fetched := fetch_objects(source)) is not None:
        return _objects_of_computed(fetched, stream, take)
    for name in ("to_delayed", "partitions"):
        if hasattr(source, name):
            computed = _computed_one_by_one(getattr(source, name))
            return _objects_of_computed(computed, stream, take)
    if isinstance(source, Iterable):
        if isinstance(source, Iterator):
            take(source)
        return _objects_of_each(source, stream, take)
    raise TypeError(
        f"an object of type {type(source).__name__} found, cuDF data, a path, a dataset, an Arrow"
        " stream or an iterable of these expected"
    )


def _refuse_text(item: Any) -> None:
    if isinstance(item, str):
        raise TypeError(
            f"the string {item!r} within a source found, pathlib.Path objects, a glob or a"
            " pyarrow.dataset.Dataset expected: only a string by itself is read as a path"
        )


def _objects_of_each(source: Iterable[Any], stream: Stream, take: Take) -> Iterator[Any]:
    for obj in source:
        yield from _objects_of(obj, stream, take)
        del obj


def _objects_of_computed(partitions: Iterator[Any], stream: Stream, take: Take) -> Iterator[Any]:
    for computed in partitions:
        # Several threads may have computed it, each on its own per-thread default stream.
        with ordered(stream, cudf_handle_of_all_threads()):
            yield from _objects_of(computed, stream, take)
        del computed


def _objects_of(obj: Any, stream: Stream, take: Take) -> Iterator[Any]:
    """Iterate over what an object that a source gave stands for itself."""
    _refuse_text(obj)
    return exportable_objects(open_source(obj), stream, take)


def _computed_one_by_one(partitions: Any) -> Iterator[Any]:
    """Compute the partitions of a collection that is not Dask's."""
    for partition in partitions() if callable(partitions) else partitions:
        yield partition.compute() if hasattr(partition, "compute") else partition
        del partition


def _source_arrays(stream: SourceStream) -> Iterator[Any]:
    return or_empty(stream.source_arrays(), stream.schema)
