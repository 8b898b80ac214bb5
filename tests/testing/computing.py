# SPDX-License-Identifier: Apache-2.0
"""Computations of libcudf on columns, and the same by pyarrow, which does not use libcudf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pylibcudf as plc

from testing import samples
from testing.peers.arrays import nodes

SLICES = [(0, samples.MANY), (1, 64), (8, 40), (9, 65), (33, 31), (130, 7), (20, 0)]

LISTS = [pa.list_(pa.int32()), pa.list_(pa.string()), pa.list_(pa.list_(pa.string()))]
STRINGS = [pa.string(), pa.large_string()]
STRUCTS = samples.NESTED[2:]
KEYS = [pa.int16(), pa.bool_(), pa.string(), pa.timestamp("us")]
ANY = [*KEYS, *LISTS, *STRUCTS, pa.decimal64(18, 0)]


@dataclass(frozen=True)
class Computation:
    """A computation on a column.

    Attributes
    ----------
    name
        The computation's name in the names of tests.
    types
        The types of columns that the computation takes.
    libcudf
        Computes a column from a column, on a GPU.
    expected
        Computes the rows of the result from a pyarrow array.
    """

    name: str
    types: list[pa.DataType]
    libcudf: Callable[[plc.Column], plc.Column]
    expected: Callable[[pa.Array], list[Any]]


def beginning_at(offset, size):
    """Return an edit of `Producer` that sets offset and length and makes null counts unknown."""

    def edit(_, struct):
        root = struct.array
        root.offset, root.length, root.null_count = offset, size, -1
        for child in nodes(root)[1:]:
            child.null_count = -1 if child.n_buffers else child.null_count

    return edit


def indices(size):
    """Return rows to gather: in reverse order, some twice, some not at all."""
    return [i for at, i in enumerate(reversed(range(size))) for _ in range(at % 3)]


def gather(column):
    rows = plc.Column.from_arrow(pa.array(indices(column.size()), pa.int32()))
    policy = plc.copying.OutOfBoundsPolicy.DONT_CHECK
    return plc.copying.gather(plc.Table([column]), rows, policy).columns()[0]


def twice(column):
    return plc.concatenate.concatenate([column, column])


def filtered(column):
    keep = pa.array([i % 3 != 1 for i in range(column.size())], pa.bool_())
    mask = plc.Column.from_arrow(keep)
    return plc.stream_compaction.apply_boolean_mask(plc.Table([column]), mask).columns()[0]


def explode(column):
    return plc.lists.explode_outer(plc.Table([column]), 0).columns()[0]


def exploded(array):
    """Return every element, and one null for each list that is null or empty."""
    rows = array.to_pylist()
    return [item for row in rows for item in (row or [None])]


def cases_of(computation, array):
    """Return arrays to compute on, each with the offset and the size of a slice.

    libcudf's explode_outer writes out of bounds for null and empty lists of columns with an offset,
    whatever made the column (docs/invariants.md). Its slices with an offset have only lists with
    elements.
    """
    if computation.name != "explode":
        return [(array, offset, size) for offset, size in SLICES]
    rows = [i for i, row in enumerate(array.to_pylist()) if row]
    whole = [(array, 0, len(array))]
    if not rows:
        return whole
    full = array.take(pa.array([rows[i % len(rows)] for i in range(len(array))], pa.int32()))
    return [*whole, *((full, offset, size) for offset, size in SLICES)]


def ordered(column):
    table = plc.Table([column])
    order, nulls = [plc.types.Order.ASCENDING], [plc.types.NullOrder.AFTER]
    return plc.sorting.sort(table, order, nulls).columns()[0]


def counts(column):
    """Return how often each value occurs, in the order of the values, without nulls."""
    keys = plc.Table([column])
    request = plc.groupby.GroupByRequest(column, [plc.aggregation.count()])
    found, (counted,) = plc.groupby.GroupBy(keys).aggregate([request])
    order, nulls = [plc.types.Order.ASCENDING], [plc.types.NullOrder.AFTER]
    return plc.sorting.sort_by_key(counted, found, order, nulls).columns()[0]


def counted(array):
    table = pa.table({"key": array.drop_null()}).group_by("key").aggregate([("key", "count")])
    return table.sort_by("key").column("key_count").to_pylist()


COMPUTATIONS = [
    Computation(
        "gather", ANY, gather, lambda a: a.take(pa.array(indices(len(a)), pa.int32())).to_pylist()
    ),
    Computation("concatenate", ANY, twice, lambda a: a.to_pylist() * 2),
    Computation(
        "filter", ANY, filtered, lambda a: [x for i, x in enumerate(a.to_pylist()) if i % 3 != 1]
    ),
    Computation("explode", LISTS, explode, exploded),
    Computation(
        "count elements",
        LISTS,
        plc.lists.count_elements,
        lambda a: pc.list_value_length(a).to_pylist(),
    ),
    Computation(
        "reverse lists",
        LISTS,
        plc.lists.reverse,
        lambda a: [row and row[::-1] for row in a.to_pylist()],
    ),
    Computation("sort", KEYS, ordered, lambda a: a.take(pc.sort_indices(a)).to_pylist()),
    Computation("count by value", KEYS, counts, counted),
    Computation(
        "upper", STRINGS, plc.strings.case.to_upper, lambda a: pc.utf8_upper(a).to_pylist()
    ),
    Computation(
        "count characters",
        STRINGS,
        plc.strings.attributes.count_characters,
        lambda a: pc.utf8_length(a).to_pylist(),
    ),
]

#: Names, computations and types: every computation with every type that it takes.
CASES = [
    (f"{computation.name} {type_}", computation, type_)
    for computation in COMPUTATIONS
    for type_ in computation.types
]
