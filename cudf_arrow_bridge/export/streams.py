# SPDX-License-Identifier: Apache-2.0
"""The batches of an exported stream, made from one object at a time, in each iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .._core.export.array_exporter import (
    BatchSource,
    ExportArguments,
    export_slices,
    schema_of_input,
    single_batch,
)
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.device_array import DeviceArray
from ..arrow.errors import single_use_reason
from ..arrow.schemas import copied, with_types_for_nulls
from ..arrow.sources import SourceArray
from .inputs import can_reuse_export, export_input_of, kind_and_schema
from .sources.registry import Source

Exported = TypeVar("Exported")


class ObjectStreamSource:
    """Opens iterations over the batches of one source; see `ReplayableSource`.

    Each begins at the start. A one-shot source is dropped when an iteration reads it, which then
    owns it. `requested_schema` is the schema of the exported batches, also for a stream without
    batches, or None.
    """

    def __init__(
        self,
        source: Source,
        arguments: ExportArguments,
        max_rows: int | None,
        preserve_index: bool | None,
        requested_schema: Schema | None,
    ) -> None:
        #: None after the stream was released, or an iteration has claimed the source.
        self._source: Source | None = source
        self._arguments = arguments
        self._max_rows = max_rows
        self._preserve_index = preserve_index
        self._requested_schema = requested_schema
        # The iteration of a one-shot source, and the name of the source's type. The dictionary has
        # a single key, so that `setdefault` is atomic and only one thread can claim the source.
        self._claimed: dict[None, tuple[StreamState, str]] = {}

    @property
    def single_use_reason(self) -> str:
        """The reason why no further iteration can be opened, or an empty string."""
        if not self._claimed:
            return ""
        ((_, name),) = self._claimed.values()
        return single_use_reason(name)

    def open(self) -> ExportedStream:
        """Open an iteration; see `ReplayableSource`."""
        # Before the checks, because other threads can claim or release it.
        source = self._source
        if why := self.single_use_reason:
            raise ValueError(why)
        if source is None:
            raise ValueError("the stream is released")
        state = StreamState()
        exporter = StreamExporter(self._arguments, state, self._max_rows, self._preserve_index)
        objects = source.objects(self._arguments.stream, partial(self._claim, state))
        return ExportedStream(exporter.batch_sources(objects), state, self._requested_schema)

    def _claim(self, by: StreamState, obj: Any) -> None:
        first, _ = self._claimed.setdefault(None, (by, type(obj).__name__))
        if first is not by:
            raise ValueError(self.single_use_reason)
        self._source = None

    def known_schema(self) -> Schema | None:
        """Return the schema if it is known without a batch; see `ReplayableSource`."""
        if self._requested_schema is not None:
            # Only the first batch shows how far the export can follow it.
            return None
        first = None if self._source is None else self._source.obj
        if isinstance(first, (list, tuple)) and first:
            first = first[0]
        described = kind_and_schema(first, self._preserve_index)
        return None if described is None else described[1]

    def release(self) -> None:
        """Drop the reference to the source; see `ReplayableSource`."""
        self._source = None


@dataclass(frozen=True, slots=True)
class StreamExporter:
    """Makes the batches of an iteration; see `to_arrow_device_stream`.

    `state` has the requested schema, and properties of the current batch for the consumer. Without
    `max_rows`, each object is one batch.
    """

    arguments: ExportArguments
    state: StreamState
    max_rows: int | None
    preserve_index: bool | None

    def batch_sources(self, objects: Iterator[Any]) -> Iterator[BatchSource]:
        """Yield the batches of each object; objects are requested lazily."""
        for obj in objects:
            source, labels = self._batches_of(obj)
            if not self.state.started:
                self.state.labels, self.state.started = labels, True
            # A suspended generator must not extend the lifetime of data that its consumer released.
            del obj
            yield source

    def _batches_of(self, obj: Any) -> tuple[BatchSource, tuple[Any, ...]]:
        self.state.first_row = (obj.first_row or 0) if isinstance(obj, SourceArray) else 0
        # With max_rows, large arrays are imported, which can convert them. Import the others too.
        if self.max_rows is None and can_reuse_export(
            obj, self.arguments, self.state.requested_schema
        ):
            obj = self._as_requested(obj.as_requested, copied(obj._arrow_schema))
            obj = obj._with_own_schema()
            self.state.stream = obj._array.stream
            return single_batch(copied(obj._arrow_schema), obj._array), obj._labels
        if isinstance(obj, DeviceArray):
            obj = obj._with_own_schema()
        self.state.stream = self.arguments.stream
        export_input = export_input_of(obj, self.preserve_index, self.arguments)
        max_rows = max(min(self.max_rows or export_input.num_rows, export_input.num_rows), 1)
        make_slices = partial(export_slices, export_input, max_rows, self.arguments)
        own = schema_of_input(export_input)
        return self._as_requested(make_slices, own), export_input.schema_spec.labels

    def _as_requested(self, export: Callable[[object | None], Exported], own: Schema) -> Exported:
        """Export with the schema of the consumer, or the given schema if the first batch fails.

        If none is requested, types with Arrow's null type in `own`, the schema of the object, are
        those of the first batch.
        """
        requested = self.state.requested_schema
        if requested is None:
            first = self.state.first_schema = self.state.first_schema or own
            types = with_types_for_nulls(own, first)
            return export(None if types is None else types.__arrow_c_schema__())
        try:
            return export(requested.__arrow_c_schema__())
        except ValueError as error:
            if self.state.started or requested is self.state.given_schema:
                raise
            self.state.schema_error = error
            self.state.requested_schema = self.state.given_schema
            return self._as_requested(export, own)
