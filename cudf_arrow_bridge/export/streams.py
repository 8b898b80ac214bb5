# SPDX-License-Identifier: Apache-2.0
"""The batches of an exported stream, made of one object after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .._core.export import BatchSource, ExportArguments, export_slices, single_batch
from .._core.schema import Schema
from .._core.stream_export import StreamState
from ..arrow.sources import first_row_of
from .exporter import passes_on
from .inputs import export_input_of

__all__ = ["StreamExporter"]

Exported = TypeVar("Exported")


@dataclass(frozen=True, slots=True)
class StreamExporter:
    """Makes the batches of a stream; see `to_arrow_device_stream`.

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
        if passes_on(obj, self.arguments, self.state.requested_schema) and (
            self.max_rows is None or len(obj) <= self.max_rows
        ):
            obj = self._as_requested(obj.as_requested)
            schema = Schema.copy_of(obj.__arrow_c_schema__())
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
