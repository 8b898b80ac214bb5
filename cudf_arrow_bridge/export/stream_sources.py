# SPDX-License-Identifier: Apache-2.0
"""Sources of exported streams: single objects, files, partitions, streams and iterables."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.source_streams import has_stream_protocol, open_stream
from ..arrow.sources import is_array
from ..cuda.ordering import ordered
from ..cuda.streams import cudf_handle_of_all_threads
from ..frames.proxies import is_pandas, is_proxy
from .cudf_polars_private import is_container, is_result, take_partitions
from .sources.dask_futures import gather_results
from .sources.dask_partitions import compute_partitions
from .sources.datasets import DatasetSource, is_dataset
from .sources.files import dataset_of_bytes, open_files
from .sources.ray_datasets import fetch_objects

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from .._core.protocols import Stream

#: Called with each one-shot source before it is read; raises if another pass has claimed it.
ClaimSource = Callable[[Any], None]


def open_source(
    source: Any,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    memory_map: bool = False,
    format: ds.FileFormat | None = None,
) -> Any:
    """Open the files of a source that names files; return other sources unchanged.

    The arguments and errors are those of `to_arrow_device_stream`. The result is a source for
    `exportable_objects`. It can be read several times unless `source` is an iterator.
    """
    if is_dataset(source) and format is None and not memory_map:
        return DatasetSource(source, columns, filter)
    if names_files(source):
        paths = [source] if isinstance(source, (str, os.PathLike)) else source
        return open_files(paths, memory_map, format, columns, filter)
    if is_binary(source):
        return DatasetSource(dataset_of_bytes(source, format), columns, filter)
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
                f"{name}: expected a path or a pyarrow.dataset.Dataset as the source, got "
                f"an object of type {type(source).__name__}: select from the object first"
            )
    return source


def names_files(source: Any) -> bool:
    """Return whether a source is a path, a URL, a glob, or a list of paths."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(item, os.PathLike) for item in source)
    return isinstance(source, (str, os.PathLike))


def has_files(source: Any) -> bool:
    """Return whether `open_source` opens a source: paths, a dataset, or the bytes of a file."""
    return is_dataset(source) or names_files(source) or is_binary(source)


def is_binary(source: Any) -> bool:
    """Return whether a source is the bytes of a file, or an open file."""
    if isinstance(source, (io.IOBase, pa.NativeFile)):
        return True
    if is_array(source):
        return False
    try:
        with memoryview(source) as view:
            return view.itemsize == 1
    except TypeError:
        return False


def is_lazy(source: Any) -> bool:
    """Return whether a source is a pyarrow scanner or a polars lazy frame."""
    ds, pl = sys.modules.get("pyarrow.dataset"), sys.modules.get("polars")
    return (ds is not None and isinstance(source, ds.Scanner)) or (
        pl is not None and isinstance(source, pl.LazyFrame)
    )


def exportable_objects(source: Any, stream: Stream, claim: ClaimSource) -> Iterator[Any]:
    """Iterate over the objects of a source, each of which can be exported and is made on request.

    Parameters
    ----------
    source
        The result of `open_source`. Each call starts from the beginning, except for iterators.
    stream
        The CUDA stream of the export. It waits for row groups and partitions that are made here.
    claim
        Called before an iterator, or a stream that may be one-shot, is read.
    """
    if isinstance(source, DatasetSource):
        return source.objects(stream)
    if is_proxy(source) or is_array(source) or is_pandas(source):
        return iter((source,))
    if has_stream_protocol(source):
        # A consumed stream may not raise: pyarrow's readers return no more batches. Objects with a
        # length store their rows and can be read again. Our own streams raise if they are consumed.
        if not isinstance(source, (Sized, DeviceArrayStream)):
            claim(source)
        return open_stream(source).source_arrays()
    if is_lazy(source):
        read = source.to_reader if hasattr(source, "to_reader") else source.collect
        return open_stream(read()).source_arrays()
    if is_container(source):
        return iter((source,))
    if is_result(source):
        claim(source)
        return take_partitions(source)
    for compute in (compute_partitions, gather_results, fetch_objects, _compute_one_by_one):
        if (computed := compute(source)) is not None:
            return _objects_of_computed(computed, stream, claim)
    if isinstance(source, Iterable):
        if isinstance(source, Iterator):
            claim(source)
        return _objects_of_each(source, stream, claim)
    raise TypeError(
        "expected cuDF data, a path, a dataset, an Arrow stream or an iterable of these, "
        f"got an object of type {type(source).__name__}"
    )


def _refuse_text(item: Any) -> None:
    if isinstance(item, str):
        raise TypeError(
            "expected pathlib.Path objects, a glob or a pyarrow.dataset.Dataset, got the "
            f"string {item!r} in a list: a string is a path only by itself"
        )


def _objects_of_each(source: Iterable[Any], stream: Stream, claim: ClaimSource) -> Iterator[Any]:
    for obj in source:
        yield from _objects_of(obj, stream, claim)
        del obj


def _objects_of_computed(
    partitions: Iterator[Any], stream: Stream, claim: ClaimSource
) -> Iterator[Any]:
    for computed in partitions:
        # Several threads may have computed it, each on its per-thread default stream.
        with ordered(stream, cudf_handle_of_all_threads()):
            yield from _objects_of(computed, stream, claim)
        del computed


def _objects_of(obj: Any, stream: Stream, claim: ClaimSource) -> Iterator[Any]:
    """Iterate over the objects of an item of a source, which can be a source itself."""
    _refuse_text(obj)
    return exportable_objects(open_source(obj), stream, claim)


def _compute_one_by_one(source: Any) -> Iterator[Any] | None:
    """Compute the partitions of a collection of another library than Dask."""
    for name in ("to_delayed", "partitions"):
        if hasattr(source, name):
            partitions = getattr(source, name)
            return map(_computed, partitions() if callable(partitions) else partitions)
    return None


def _computed(partition: Any) -> Any:
    return partition.compute() if hasattr(partition, "compute") else partition
