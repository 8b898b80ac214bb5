# SPDX-License-Identifier: Apache-2.0
"""The table of sources: how a source is recognized and opened, and whether it can be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from ...arrow.device_array_stream import DeviceArrayStream
from ...arrow.foreign_streams import has_stream_protocol, open_stream
from ...arrow.sources import SourceArray, is_array, is_instance
from ...cuda.ordering import order
from ...cuda.streams import cudf_handle_of_all_threads
from ...frames.proxies import is_pandas, unwrapped
from ..cudf_polars_private import is_container, is_result, take_partitions
from .dask_futures import gather_results, is_future
from .dask_partitions import compute_partitions, is_collection
from .datasets import DatasetSource
from .files import is_binary, names_files, open_bytes, open_files
from .ray_datasets import blocks_of, fetch_references

if TYPE_CHECKING:
    from ..._core.protocols import Stream

#: Called with each one-shot source before it is read; raises if another iteration has claimed it.
ClaimSource = Callable[[Any], object]


class SourceType(NamedTuple):
    """A row of the table of sources; see `SOURCES`."""

    #: Returns whether an object is a source of this type. It imports no library.
    matches: Callable[[Any], bool]
    #: Returns the objects of a source from its start, each made on request; for files a
    #: `DatasetSource`.
    open: Callable[..., Any]
    #: Returns whether a source can be read only once.
    is_one_shot: Callable[[Any], bool] = lambda source: False
    #: Whether the objects are computed in tasks, ahead of their use. A list of sources is then one
    #: source, and `open` always gets a list.
    is_computed: bool = False
    #: The arguments of `to_arrow_device_stream` that select data of files, which `open` takes.
    options: Sequence[str] = ()


def _of(module: str, *classes: str) -> Callable[[Any], bool]:
    return lambda source: is_instance(source, module, *classes)


def _is_object(source: Any) -> bool:
    # A proxy of cudf.pandas converts itself to pandas when it is asked for an attribute.
    return unwrapped(source) is not source or is_array(source) or is_pandas(source)


def _is_one_shot_stream(source: Any) -> bool:
    # A consumed stream may not raise: pyarrow's readers return no more batches. Objects with a
    # length store their rows and can be read again. Our own streams raise if they are consumed.
    return not isinstance(source, (Sized, DeviceArrayStream))


def _arrays_of_stream(source: Any) -> Iterator[SourceArray]:
    return open_stream(source).source_arrays()


def _refuse(source: Any) -> NoReturn:
    raise TypeError(
        "expected cuDF data, a path, a dataset, an Arrow stream or an iterable of these, "
        f"got an object of type {type(source).__name__}"
    )


OBJECT = SourceType(_is_object, lambda source: (source,))
STREAM = SourceType(has_stream_protocol, _arrays_of_stream, _is_one_shot_stream)
ITERABLE = SourceType(
    lambda source: isinstance(source, Iterable) and not isinstance(source, dict),
    iter,
    lambda source: isinstance(source, Iterator),
)
#: The type of objects that are no source.
UNKNOWN = SourceType(lambda source: False, _refuse)

_OPTIONS = ("columns", "filter", "memory_map", "format")

#: All types of sources. The type of a source is the first one that matches it.
SOURCES = (
    OBJECT,
    STREAM,
    SourceType(_of("pyarrow.dataset", "Dataset"), DatasetSource, options=_OPTIONS[:2]),
    SourceType(names_files, open_files, options=_OPTIONS),
    SourceType(is_binary, open_bytes, options=_OPTIONS),
    SourceType(_of("pyarrow.dataset", "Scanner"), lambda scan: _arrays_of_stream(scan.to_reader())),
    SourceType(_of("polars", "LazyFrame"), lambda query: _arrays_of_stream(query.collect())),
    SourceType(is_container, lambda source: (source,)),
    SourceType(is_result, take_partitions, lambda source: True),
    SourceType(is_collection, compute_partitions, is_computed=True),
    SourceType(is_future, gather_results, is_computed=True),
    SourceType(_of("ray", "ObjectRef"), fetch_references, is_computed=True),
    SourceType(_of("ray.data", "DataIterator", "Dataset"), blocks_of, is_computed=True),
    ITERABLE,
)


def type_of_source(source: Any) -> SourceType:
    """Return the type of a source; `UNKNOWN` if an object is none."""
    is_list = isinstance(source, (list, tuple))
    for found in SOURCES:
        if is_list and found.is_computed:
            if source and all(map(found.matches, source)):
                return found
        elif found.matches(source):
            return found
    return UNKNOWN


class Source(NamedTuple):
    """A source whose files are opened, of a type of `SOURCES`."""

    #: The source as it was given, or a `DatasetSource` of files.
    obj: Any
    type: SourceType

    def objects(self, stream: Stream, claim: ClaimSource = lambda source: None) -> Iterator[Any]:
        """Iterate over the objects, each of which can be exported and is made on request.

        Parameters
        ----------
        stream
            The CUDA stream of the export. It waits for row groups and partitions that are made
            here.
        claim
            Called before an iterator, or a stream that may be one-shot, is read. Other sources are
            read from the beginning by each call.
        """
        source, found = self
        if isinstance(source, DatasetSource):
            return source.objects(stream)
        if found.is_one_shot(source):
            claim(source)
        if found is ITERABLE:
            return chain.from_iterable(
                map(partial(_objects_of, stream=stream, claim=claim), source)
            )
        if found.is_computed:
            sources = source if isinstance(source, (list, tuple)) else [source]
            return _objects_of_computed(found.open(sources), stream, claim)
        return iter(found.open(source))


def open_source(source: Any, **options: Any) -> Source:
    """Return a source after opening its files.

    The options are arguments of `to_arrow_device_stream`, which documents them and the errors.
    """
    if isinstance(source, (list, tuple)):
        for item in source:
            _refuse_text(item)
    found = type_of_source(source)
    for name, value in options.items():
        if name not in found.options and value is not None and value is not False:
            raise ValueError(
                f"{name}: expected a path or a pyarrow.dataset.Dataset as the source, got "
                f"an object of type {type(source).__name__}: select from the object first"
            )
    if found.options:
        source = found.open(source, **{name: options.get(name) for name in found.options})
    return Source(source, found)


def _objects_of(obj: Any, stream: Stream, claim: ClaimSource) -> Iterator[Any]:
    """Iterate over the objects of an object of a source, which can be a source itself."""
    _refuse_text(obj)
    return open_source(obj).objects(stream, claim)


def _objects_of_computed(
    computed: Iterable[Any], stream: Stream, claim: ClaimSource
) -> Iterator[Any]:
    # Several threads may have computed the objects, each on its per-thread default stream.
    made_on = cudf_handle_of_all_threads()
    for obj in computed:
        order(stream.handle, made_on)
        try:
            yield from _objects_of(obj, stream, claim)
        finally:
            # The data is freed there after its use.
            order(made_on, stream.handle)
        del obj


def _refuse_text(item: Any) -> None:
    if isinstance(item, str):
        raise TypeError(
            f"the list contains the string {item!r}: a string is a path only by itself; use "
            "pathlib.Path objects, a glob or a pyarrow.dataset.Dataset"
        )
