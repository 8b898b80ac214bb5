# SPDX-License-Identifier: Apache-2.0
"""The batches of an exported stream, of one object after the other, in any number of passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .._core.export import BatchSource, ExportArguments, export_slices, single_batch
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..arrow.refusals import why_once
from ..arrow.sources import first_row_of
from .exporter import passes_on
from .inputs import describe, export_input_of
from .stream_sources import exportable_objects

__all__ = ["StreamExporter", "StreamPasses"]

Exported = TypeVar("Exported")


class StreamPasses:
    """Opens passes over the batches of one source, each from the start; see `Passes`.

    Parameters
    ----------
    source
        What `to_arrow_device_stream` takes. Dropped once it is known to be read only once: the pass
        that reads it keeps it.
    arguments
        The stream, and what the arrays may look like.
    max_rows, preserve_index
        See `StreamExporter`.
    requested_schema
        The schema that batches are exported with, and that of a stream without any, or None.
    """

    def __init__(
        self,
        source: Any,
        arguments: ExportArguments,
        max_rows: int | None,
        preserve_index: bool | None,
        requested_schema: Schema | None,
    ) -> None:
        self._source = source
        self._arguments = arguments
        self._max_rows = max_rows
        self._preserve_index = preserve_index
        self._requested_schema = requested_schema
        # Which pass reads what can be read once. With a single key: setting it is one step, of
        # which several threads can do only one.
        self._taken: dict[None, tuple[StreamState, str]] = {}

    @property
    def why_once(self) -> str:
        """Why no further pass can be opened; empty while one can."""
        if not self._taken:
            return ""
        ((_, name),) = self._taken.values()
        return why_once(name)

    def open(self) -> ExportedStream:
        """Open a pass; see `Passes`."""
        if why := self.why_once:
            raise ValueError(why)
        state = StreamState()
        exporter = StreamExporter(self._arguments, state, self._max_rows, self._preserve_index)
        objects = exportable_objects(
            self._source, self._arguments.stream, partial(self._take, state)
        )
        return ExportedStream(exporter.batch_sources(objects), state, self._requested_schema)

    def _take(self, by: StreamState, obj: Any) -> None:
        first, _ = self._taken.setdefault(None, (by, type(obj).__name__))
        if first is not by:
            raise ValueError(self.why_once)
        self._source = None

    def known_schema(self) -> Schema | None:
        """Return the schema of the batches if it takes none of them to know it; see `Passes`."""
        if self._requested_schema is not None:
            # The first batch tells how far it can be met.
            return None
        first = self._source
        if isinstance(first, (list, tuple)) and first:
            first = first[0]
        described = describe(first, self._preserve_index)
        return None if described is None else described[1]

    def release(self) -> None:
        """Let go of the source; see `Passes`."""
        self._source = None


@dataclass(frozen=True, slots=True)
class StreamExporter:
    """Makes the batches of a pass; see `to_arrow_device_stream`.

    Attributes
    ----------
    arguments
        The stream, and what the arrays may look like.
    state
        What the consumer asks for, and what it is told beside the batches.
    max_rows
        The maximum number of rows of a batch; None: each object is one batch.
    preserve_index
        Whether the index of a frame or series becomes columns.
    """

    arguments: ExportArguments
    state: StreamState
    max_rows: int | None
    preserve_index: bool | None

    def batch_sources(self, objects: Iterator[Any]) -> Iterator[BatchSource]:
        """Give the batches of each object, which is pulled when they are asked for."""
        for obj in objects:
            source, labels = self._batches_of(obj)
            if not self.state.started:
                self.state.labels, self.state.started = labels, True
            # A suspended generator must not keep data alive that its consumer has released.
            del obj
            yield source

    def _batches_of(self, obj: Any) -> tuple[BatchSource, tuple[Any, ...]]:
        self.state.first_row = first_row_of(obj)
        # With max_rows, the import may convert arrays that are split: the others are imported, too.
        if self.max_rows is None and passes_on(obj, self.arguments, self.state.requested_schema):
            obj = self._as_requested(obj.as_requested)
            schema = obj._arrow_schema
            if not isinstance(schema, Schema):
                schema = Schema.copy_of(schema.__arrow_c_schema__())
            self.state.stream = obj._array.stream
            return single_batch(schema, obj._array), obj._labels
        self.state.stream = self.arguments.stream
        export_input = export_input_of(obj, self.preserve_index, self.arguments)
        max_rows = max(min(self.max_rows or export_input.num_rows, export_input.num_rows), 1)
        make_slices = partial(export_slices, export_input, max_rows, self.arguments)
        return self._as_requested(make_slices), export_input.schema_spec.labels

    def _as_requested(self, export: Callable[[object | None], Exported]) -> Exported:
        """Export with the consumer's schema, or, if the first batch cannot have it, the given."""
        requested = self.state.requested_schema
        if requested is None:
            return export(None)
        try:
            return export(requested.__arrow_c_schema__())
        except ValueError as error:
            if self.state.started or requested is self.state.given_schema:
                raise
            self.state.refusal, self.state.requested_schema = error, self.state.given_schema
            return self._as_requested(export)
