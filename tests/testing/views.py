# SPDX-License-Identifier: Apache-2.0
"""Rows in Arrow's view and run-end encoded layouts."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from testing import samples

#: The ways to place the elements of list views.
PLACES = ("in order", "shuffled", "overlapping", "with gaps")
RUN_ENDS = (pa.int16(), pa.int32(), pa.int64())


def mask_of(array):
    """Return the validity bitmap of an array, from bit 0 on, or None without nulls."""
    return samples.pack(np.asarray(array.is_null()))


def string_view(array):
    """Return strings or binary values as views."""
    wanted = pa.binary_view() if pa.types.is_binary(array.type) else pa.string_view()
    # Not a cast: before version 25, pyarrow cannot export the short views that it makes.
    return pa.array(array.to_pylist(), wanted)


def list_view(array, place="shuffled", large=False, elements=lambda values: values):
    """Return a list array as list views. Null rows get the end of the elements as their offset.

    Parameters
    ----------
    elements
        Converts the elements to another layout.
    """
    size = len(array)
    values, offsets = array.values, np.asarray(array.offsets)
    begins, sizes = offsets[:-1].astype("int64"), np.diff(offsets).astype("int64")
    if place == "shuffled":
        order = np.random.default_rng(size).permutation(size)
        taken = [np.arange(begins[i], begins[i] + sizes[i]) for i in order]
        values = values.take(pa.array(np.concatenate([[], *taken]).astype("int64")))
        ends = np.cumsum(sizes[order])
        begins = np.empty(size, "int64")
        begins[order] = ends - sizes[order]
    elif place == "overlapping":
        # Equal rows refer to the same elements.
        first: dict[str, int] = {}
        begins = begins[[first.setdefault(repr(row), i) for i, row in enumerate(array.to_pylist())]]
    elif place == "with gaps":
        gap = [0] if len(values) else []
        taken = [[*gap, *range(begins[i], begins[i] + sizes[i])] for i in range(size)]
        values = values.take(pa.array([i for row in taken for i in row], pa.int64()))
        begins = np.cumsum(sizes + len(gap)) - sizes
    nulls = np.asarray(array.is_null())
    width, make = ("int64", pa.large_list_view) if large else ("int32", pa.list_view)
    # Arrow requires that lists of null rows also lie within the elements.
    begins = np.where(nulls, len(values), begins)
    buffers = [pa.py_buffer(np.where(nulls, 0, b).astype(width)) for b in (begins, sizes)]
    child = elements(values)
    field = array.type.value_field.with_type(child.type)
    return pa.Array.from_buffers(make(field), size, [mask_of(array), *buffers], children=[child])


def run_ended(array, ends=pa.int32(), values=lambda values: values):  # noqa: B008 -- immutable
    """Return rows, each repeated one to three times, run-end encoded, and the expected array."""
    lengths, left = [], len(array)
    while left:
        lengths.append(min(left, 1 + len(lengths) % 3))
        left -= lengths[-1]
    first = np.cumsum([0, *lengths])[:-1]
    kept = array.take(pa.array(first, pa.int64()))
    expected = array.take(pa.array(np.repeat(first, lengths), pa.int64()))
    ends = pa.array(np.cumsum(lengths), ends)
    return pa.RunEndEncodedArray.from_arrays(ends, values(kept)), expected
