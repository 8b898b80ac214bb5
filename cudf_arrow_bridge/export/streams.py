# SPDX-License-Identifier: Apache-2.0
"""Objects that are made one after the other, as the batches of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from .._core.export import BatchSource, single_batch, slice_parts
from .._core.schema import Schema
from .._core.stream_export import StreamNotes
from ..arrow.device_array import DeviceArray
from ..arrow.options import ExportOptions
from .parts import parts_of

__all__ = ["batch_sources"]

Made = TypeVar("Made")


def batch_sources(
    objects: Iterator[Any],
    max_rows: int | None,
    preserve_index: bool | None,
    how: ExportOptions,
    notes: StreamNotes,
) -> Iterator[BatchSource]:
    """Give the batches of each object, which is asked for when they are.

    Parameters
    ----------
    objects
        What `pieces` gives.
    max_rows, preserve_index
        As in `to_arrow_device_stream`.
    how
        How to export them.
    notes
        Of the stream: what its consumer asks for, and where its labels go.
    """
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
