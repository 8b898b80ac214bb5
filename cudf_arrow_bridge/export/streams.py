# SPDX-License-Identifier: Apache-2.0
"""`to_arrow_device_stream`: whatever holds batches of cuDF data, as a `DeviceArrayStream`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, TypeVar

from .._core.export import BatchSource, single_batch, slice_parts
from .._core.schema import Schema
from .._core.stream_export import ExportedStream, StreamNotes
from ..arrow.device_array import DeviceArray, as_capsule
from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.streams import resolve_stream
from ..to_arrow import ExportOptions, parts_of
from .batches import pieces

__all__ = ["to_arrow_device_stream"]

Made = TypeVar("Made")


def to_arrow_device_stream(
    source: Any,
    *,
    max_rows: int | None = None,
    schema: Any = None,
    stream: Any = None,
    preserve_index: bool | None = None,
    compact: bool = False,
    device_type: Literal["cuda"] | None = None,
) -> DeviceArrayStream:
    """Export cuDF data as a stream of batches through Arrow's C device stream interface.

    Batches are made when the consumer asks for them, one at a time, and each has an event of its
    own. Frames are split without copying.

    Parameters
    ----------
    source
        What `to_arrow_device` takes; a list, generator or other iterable of such objects; a
        collection of dask-cudf, whose partitions are computed one by one; the path of a Parquet
        file, which is read row group by row group; or anything with ``__arrow_c_device_stream__``
        or ``__arrow_c_stream__``, such as a pyarrow table.
    max_rows : int, optional
        The most rows of a batch. None: each object is one batch.
    schema : optional
        The Arrow schema that all batches must have, needed where there may be none. None: that of
        the first batch.
    stream : optional
        The stream that the data is made on, as in `to_arrow_device`. What is computed or read here
        is made on cuDF's default stream, which this one is put behind.
    preserve_index, compact, device_type : optional
        As in `to_arrow_device`, for each object.

    Returns
    -------
    DeviceArrayStream
        To be consumed once.

    Raises
    ------
    TypeError
        If `source` is none of these.
    ValueError
        If `max_rows` is not positive.

    Notes
    -----
    What goes wrong later reaches the consumer as an error of the stream: an exception of the
    source, or a batch whose types, names or kind of memory are not those of the batches before.
    """
    if device_type not in (None, "cuda"):
        raise ValueError(f"device_type={device_type!r} found, 'cuda' or None expected")
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows={max_rows} found, at least 1 expected")
    how = ExportOptions(resolve_stream(stream), compact, device_type == "cuda")
    expected = None if schema is None else Schema.copy_of(as_capsule(schema))
    notes = StreamNotes()
    sources = _sources(pieces(source, how.stream), max_rows, preserve_index, how, notes)
    return DeviceArrayStream(ExportedStream(sources, notes, expected))


def _sources(
    objects: Iterator[Any],
    max_rows: int | None,
    preserve_index: bool | None,
    how: ExportOptions,
    notes: StreamNotes,
) -> Iterator[BatchSource]:
    for obj in objects:
        source, labels = _source(obj, max_rows, preserve_index, how, notes)
        if not notes.started:
            notes.labels, notes.started = labels, True
        # A generator's frame would hold on to what the consumer may have let go.
        del obj
        yield source


def _source(
    obj: Any,
    max_rows: int | None,
    preserve_index: bool | None,
    how: ExportOptions,
    notes: StreamNotes,
) -> tuple[BatchSource, tuple[Any, ...]]:
    if isinstance(obj, DeviceArray) and (max_rows is None or len(obj) <= max_rows):
        obj = _as_requested(obj.as_requested, notes)
        schema = Schema.copy_of(obj.__arrow_c_schema__())
        notes.stream = obj._array.stream
        return single_batch(schema, obj._array), obj._labels
    notes.stream = how.stream
    parts = parts_of(obj, preserve_index, how.stream)
    size = max_rows or max(parts.num_rows, 1)
    source = _as_requested(partial(slice_parts, parts, size, how), notes)
    return source, parts.description.labels


def _as_requested(make: Callable[[object | None], Made], notes: StreamNotes) -> Made:
    """Make batches the way that the consumer asks for; the first say whether there is one."""
    if notes.requested is None:
        return make(None)
    try:
        return make(notes.requested.__arrow_c_schema__())
    except ValueError as error:
        if notes.started:
            raise
        notes.refusal, notes.requested = error, None
        return make(None)
