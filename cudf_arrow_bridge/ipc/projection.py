# SPDX-License-Identifier: Apache-2.0
"""Selection of columns of a file: messages without the other columns, whose bytes are not read."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .._core.ipc.body import ALIGNMENT
from ..frames.selected_columns import selected_positions
from .metadata import Header, StoredSchema, pairs_of
from .transport.sources import Source


class _Counts(NamedTuple):
    """The numbers of nodes and buffers of a field in a record batch."""

    nodes: int
    buffers: int
    """The number of buffers without the data buffers of views."""
    views: int
    """The number of arrays of views."""
    dictionaries: int


def _counts_of(arrow_type: pa.DataType) -> _Counts:
    if isinstance(arrow_type, pa.BaseExtensionType):
        return _counts_of(arrow_type.storage_type)
    if pa.types.is_dictionary(arrow_type):
        within = _counts_of(arrow_type.value_type).dictionaries
        return _Counts(1, 2, 0, 1 + within)
    # pyarrow also counts a bitmap for types that never have one.
    has_no_bitmap = (
        pa.types.is_null(arrow_type)
        or pa.types.is_run_end_encoded(arrow_type)
        or pa.types.is_union(arrow_type)
    )
    own = _Counts(1, arrow_type.num_buffers - has_no_bitmap, arrow_type.has_variadic_buffers, 0)
    children = (_counts_of(arrow_type.field(i).type) for i in range(arrow_type.num_fields))
    return _Counts(*map(sum, zip(own, *children, strict=True)))


class PartialBody(Source):
    """Ranges, given by begins and ends, of a body at the position of a source."""

    # There is no file of its own. The source checks the process.
    survives_fork = True

    def __init__(self, source: Source, ranges: Sequence[tuple[int, int]]) -> None:
        super().__init__()
        self._source = source
        self._start = source.position
        self._ranges = iter(ranges)
        self._rest = 0
        self._known_size = sum(end - begin for begin, end in ranges)

    def seek(self, position: int) -> None:
        """Raise io.UnsupportedOperation: the ranges are read once, in order."""
        raise io.UnsupportedOperation("a part of a body cannot seek")

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
        self._fields = [_counts_of(each) for each in whole.types]
        counts = [field.dictionaries for field in self._fields]
        ids = _slices(stored.dictionary_ids, counts, self._positions, "dictionary ids")
        schema = pa.schema([whole.field(i) for i in self._positions], whole.metadata)
        self.stored = StoredSchema(schema, tuple(chain(*ids)))

    def select(self, header: Header) -> Header:
        """Return the metadata of a batch of the selected columns in the same body."""
        fields, chosen = self._fields, self._positions
        views = [field.views for field in fields]
        own = _slices(header.variadic_counts, views, range(len(fields)), "variadic buffer counts")
        counts = [field.buffers + sum(found) for field, found in zip(fields, own, strict=True)]
        nodes, buffers = pairs_of(header.nodes), pairs_of(header.buffers)
        node_slices = _slices(nodes, [field.nodes for field in fields], chosen, "nodes")
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
