# SPDX-License-Identifier: Apache-2.0
"""pyarrow, and libcudf's own import ported to the host, read the same rows of exported slices."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.peers.arrays import assert_same, column_from, struct_of
from testing.peers.arrays import read as read_by_pyarrow
from testing.peers.libcudf_import import column_of
from testing.reading import read

ROWS = 600
#: First rows of slices: at and next to the boundaries of bytes, words and blocks of a mask.
FIRST = (0, 1, 7, 8, 31, 32, 33, 64, 65, 511, 512, 513, 544)
SLICES = [(0, ROWS), (33, ROWS - 33), (0, 0), (33, 0), *product(FIRST, (1, 40))]


def read_by_libcudf(exported):
    _, capsule = exported.__arrow_c_device_array__()
    type_ = exported.schema.type
    return read(column_of(struct_of(capsule).array, type_), type_)


@samples.each_case_with_nulls(samples.NESTED_TYPES)
def test_exports_of_slices_of_every_type_have_the_rows_of_the_slice(type_, nesting, nulls):
    """Masks, offsets and children match the slice; libcudf 26.10 exports those of the column."""
    for rows, slices in ((ROWS, SLICES), (1, [(0, 1)]), (0, [(0, 0)])):
        array = samples.nest(type_, nesting, rows, nulls)
        for first, size in slices:
            exported = cab.to_arrow_device(samples.column_of(array, [(first, size)]))
            expected = array.slice(first, size)
            assert_same(read_by_pyarrow(exported), expected)
            assert read_by_libcudf(exported) == expected.to_pylist()


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("nesting", samples.NESTINGS)
def test_copies_of_slices_have_the_rows_of_the_slice(nesting, nulls):
    array = samples.nest(pa.string(), nesting, ROWS, nulls)
    for first, size in SLICES:
        exported = cab.to_arrow_device(samples.column_of(array, [(first, size)]), copy=True)
        assert read_by_libcudf(exported) == array.slice(first, size).to_pylist()


def test_max_rows_is_rounded_down_to_words_or_blocks_of_the_mask():
    array = pa.array([None if i % 7 == 0 else i for i in range(1_614)])
    for max_rows, expected in (
        (63, [63] * 25 + [39]),
        (100, [64] * 25 + [14]),
        (600, [512] * 3 + [78]),
        (1_613, [1_536, 78]),
        (1_614, [1_614]),
        (5_000, [1_614]),
    ):
        batches = list(cab.to_arrow_device_stream(column_from(array), max_rows=max_rows))
        assert [len(batch) for batch in batches] == expected
        assert [row for batch in batches for row in read_by_libcudf(batch)] == array.to_pylist()
        if max_rows >= 512:
            assert not any(batch._array.offset for batch in batches)
