# SPDX-License-Identifier: Apache-2.0
"""Selection of columns of a file: messages without the other columns, whose bytes are not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np
import pyarrow as pa

from .._core.ipc.body import ALIGNMENT
from ..arrow.schemas import empty
from ..frames.selected_columns import selected_positions
from .metadata import (
    Header,
    StoredSchema,
    pairs_of,
    read_header,
    read_schema,
    schema_message,
)
from .transport.sources import Source


class PartialBody(Source):
    """Ranges, given by begins and ends, of a body at the position of a source."""

    # The source checks the process.
    survives_fork = True

    def __init__(self, source: Source, ranges: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self._source = source
        self._start = source.position
        self._ranges = iter(ranges)
        self._rest = 0
        self._known_size = sum(end - begin for begin, end in ranges)

    def _read(self, view: memoryview) -> int:
        while self._rest == 0:
            begin, end = next(self._ranges)
            self._source.seek(self._start + begin)
            self._rest = end - begin
        count = min(self._rest, len(view))
        with view[:count] as piece:
            self._source.read_into(piece)
        self._rest -= count
        return count


class Projection:
    """A selection of columns of the record batches of one schema.

    `stored` is the schema of the selected columns. `columns` is the argument ``columns=`` of the
    caller; the index of frames is kept.
    """

    def __init__(self, stored: StoredSchema, columns: Any) -> None:
        whole = stored.schema
        self._positions = selected_positions(columns, whole)
        of_types = {each: pa.schema([("", each)]) for each in whole.types}
        headers = {
            each: read_header(pa.ipc.read_message(empty(schema).serialize()).metadata)
            for each, schema in of_types.items()
        }
        stored_of = {each: read_schema(schema_message(found)) for each, found in of_types.items()}
        #: pyarrow's metadata of a batch without rows, for each field of the whole schema.
        self._fields = [headers[each] for each in whole.types]
        counts = [len(stored_of[each].dictionary_ids) for each in whole.types]
        ids = _slices(stored.dictionary_ids, counts, self._positions, "dictionary ids")
        schema = pa.schema([whole.field(i) for i in self._positions], whole.metadata)
        self.stored = StoredSchema(schema, tuple(chain(*ids)))

    def select(self, header: Header) -> Header:
        """Return the metadata of a batch of the selected columns in the same body."""
        fields, chosen = self._fields, self._positions
        views = [len(field.variadic_counts) for field in fields]
        own = _slices(header.variadic_counts, views, range(len(fields)), "variadic buffer counts")
        # The arrays of views in batches without rows have no data buffers.
        counts = [
            len(pairs_of(field.buffers)) + sum(found)
            for field, found in zip(fields, own, strict=True)
        ]
        nodes, buffers = pairs_of(header.nodes), pairs_of(header.buffers)
        node_counts = [len(pairs_of(field.nodes)) for field in fields]
        node_slices = _slices(nodes, node_counts, chosen, "nodes")
        buffer_slices = _slices(buffers, counts, chosen, "buffers")
        return header._replace(
            nodes=np.concatenate([nodes[:0], *node_slices]).tobytes(),
            buffers=np.concatenate([buffers[:0], *buffer_slices]).tobytes(),
            variadic_counts=tuple(count for i in chosen for count in own[i]),
        )


def pack(header: Header) -> tuple[Header, list[tuple[int, int]]]:
    """Return the metadata of a batch in a body of only its buffers.

    Also return the begins and ends of the ranges of the whole body in the new one.
    """
    size = header.body_length
    pairs = pairs_of(header.buffers)
    offsets, sizes = pairs.T
    if not ((offsets >= 0) & (sizes >= 0) & (offsets <= size - sizes)).all():
        raise ValueError("a buffer is not within the body")
    # Cut at multiples of the alignment, so that each buffer keeps it.
    ends = offsets + sizes
    starts = offsets // ALIGNMENT * ALIGNMENT
    stops = np.minimum(ends + -ends % ALIGNMENT, size)
    ranges: list[tuple[int, int]] = []
    moved = pairs.copy()
    length = 0
    for i in np.argsort(starts, kind="stable").tolist():
        start, stop = int(starts[i]), int(stops[i])
        if ranges and start <= ranges[-1][1]:
            start, last = ranges.pop()
            length -= last - start
            stop = max(stop, last)
        ranges.append((start, stop))
        moved[i, 0] += length - start
        length += stop - start
    return header._replace(buffers=moved.tobytes(), body_length=length), ranges


def _slices(numbers: Any, counts: Sequence[int], positions: Iterable[int], what: str) -> list[Any]:
    """Return the slices of the fields at positions, given the count of each field of the schema."""
    ends = list(accumulate(counts, initial=0))
    if len(numbers) != ends[-1]:
        raise ValueError(f"expected {ends[-1]} {what} by the schema, got {len(numbers)}")
    return [numbers[ends[i] : ends[i + 1]] for i in positions]
