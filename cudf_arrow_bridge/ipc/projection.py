# SPDX-License-Identifier: Apache-2.0
"""Selection of columns of a file: messages without the other columns, whose bytes are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .._core.ipc.body import ALIGNMENT
from .._core.ipc.metadata import Header, read_header
from ..frames.selected_columns import selected_positions
from .metadata import StoredSchema, batch_message
from .transport.sources import Source

#: Two numbers for each row: offset and size of buffers, or length and null count of nodes.
Pairs = np.ndarray[Any, np.dtype[np.int64]]


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

    # The source checks the process.
    survives_fork = True

    def __init__(self, source: Source, ranges: Sequence[tuple[int, int]]) -> None:
        super().__init__(lambda: None)
        self._source = source
        self._start = source.position
        self._ranges = iter(ranges)
        self._rest = 0
        self._size = sum(end - begin for begin, end in ranges)

    @property
    def size(self) -> int:
        """The total size of the ranges in bytes."""
        return self._size

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

    def _seek(self, position: int) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Projection:
    """A selection of columns of the record batches of one schema."""

    stored: StoredSchema
    """The schema of the selected columns."""
    positions: list[int]
    fields: list[_Counts]
    """The numbers of nodes and buffers of each field of the whole schema."""

    @classmethod
    def of(cls, stored: StoredSchema, columns: Any) -> Projection:
        """Create a projection from the argument ``columns=``; the index of frames is kept."""
        whole = stored.schema
        positions = selected_positions(columns, whole)
        fields = [_counts_of(field.type) for field in whole]
        ends = list(accumulate((field.dictionaries for field in fields), initial=0))
        ids = [id_ for i in positions for id_ in stored.dictionary_ids[ends[i] : ends[i + 1]]]
        schema = pa.schema([whole.field(i) for i in positions], whole.metadata)
        return cls(StoredSchema(schema, tuple(ids)), positions, fields)

    def reduce(self, header: Header) -> Header:
        """Return the metadata of a batch of the selected columns in the same body."""
        return self._reduced(header, self._buffers(header), header.body_length)

    def pack(self, header: Header) -> tuple[Header, list[tuple[int, int]]]:
        """Return the metadata of a batch of the selected columns in a body of only their buffers.

        Also return the begins and ends of the ranges of the whole body in the new one.
        """
        pairs = self._buffers(header)
        size = header.body_length
        offsets, sizes = pairs.T
        if not ((offsets >= 0) & (sizes >= 0) & (offsets <= size - sizes)).all():
            raise ValueError("expected buffers within the body, got buffers outside of it")
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
        return self._reduced(header, moved, length), ranges

    def _buffers(self, header: Header) -> Pairs:
        """Return the offset and size of each buffer of the selected columns."""
        counts = self._variadic_counts(header)
        buffers = [field.buffers + sum(own) for field, own in zip(self.fields, counts, strict=True)]
        return self._pairs(header, header.buffers, header.num_buffers, buffers, "buffers")

    def _variadic_counts(self, header: Header) -> list[tuple[int, ...]]:
        """Return the numbers of data buffers of views for each field of the whole schema."""
        ends = list(accumulate((field.views for field in self.fields), initial=0))
        found = header.variadic_counts
        if len(found) != ends[-1]:
            raise ValueError(f"expected {ends[-1]} variadic buffer counts, got {len(found)}")
        return [found[begin:end] for begin, end in pairwise(ends)]

    def _pairs(
        self, header: Header, first: int, count: int, counts: Sequence[int], what: str
    ) -> Pairs:
        """Return the pairs of numbers in the metadata that belong to the selected columns."""
        ends = list(accumulate(counts, initial=0))
        if count != ends[-1]:
            raise ValueError(f"expected {ends[-1]} {what} by the schema, got {count}")
        pairs = np.frombuffer(header.metadata, "<i8", 2 * count, first).reshape(-1, 2)
        chosen = [pairs[ends[i] : ends[i + 1]] for i in self.positions]
        return np.concatenate([pairs[:0], *chosen])

    def _reduced(self, header: Header, buffers: Pairs, body_length: int) -> Header:
        counts = [field.nodes for field in self.fields]
        nodes = self._pairs(header, header.nodes, header.num_nodes, counts, "nodes")
        of_fields = self._variadic_counts(header)
        variadic = [count for i in self.positions for count in of_fields[i]]
        return read_header(
            batch_message(
                header.length,
                nodes.tobytes(),
                buffers.tobytes(),
                np.array(variadic, "<i8").tobytes(),
                body_length,
                header.codec,
            )
        )
