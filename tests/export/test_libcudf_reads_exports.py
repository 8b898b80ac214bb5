# SPDX-License-Identifier: Apache-2.0
"""libcudf's own import, ported to the host, reads the same rows of every slice as pyarrow."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples
from testing.peers.arrays import column_from, struct_of
from testing.peers.arrays import read as read_by_pyarrow
from testing.peers.libcudf_import import column_of
from testing.peers.streams import StreamOnly
from testing.reading import read

ROWS = 600
#: First rows of slices: at and next to the boundaries of bytes, words and blocks of a mask.
FIRST = (0, 1, 7, 8, 31, 32, 33, 64, 65, 511, 512, 513, 544)


def read_by_libcudf(exported):
    _, capsule = exported.__arrow_c_device_array__()
    type_ = exported.schema.type
    return read(column_of(struct_of(capsule).array, type_), type_)


def slices(type_, nesting, nulls):
    array = samples.nest(type_, nesting, ROWS, nulls)
    whole = column_from(array)
    for first in FIRST:
        for size in (0, 1, 40, ROWS - first):
            expected = array.slice(first, size)

            def nulls_in(begin, length, a=array):
                return a.slice(begin, length).null_count

            yield expected, samples.cut_column(whole, [(first, size)], nulls_in)


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_libcudf_reads_slices_of_every_type(type_, nesting, nulls):
    for expected, column in slices(type_, nesting, nulls):
        exported = cab.to_arrow_device(column)
        found = read_by_libcudf(exported)
        assert found == read_by_pyarrow(exported).to_pylist()
        assert found == expected.to_pylist()


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("nesting", samples.NESTINGS)
def test_libcudf_reads_copies_of_slices(nesting, nulls):
    for expected, column in slices(pa.string(), nesting, nulls):
        exported = cab.to_arrow_device(column, copy=True)
        assert read_by_libcudf(exported) == expected.to_pylist()


@pytest.mark.exhaustive
@pytest.mark.parametrize("max_rows", [1, 8, 100, 599])
@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize(("type_", "nesting"), samples.NESTED_TYPES)
def test_libcudf_reads_batches_of_every_type(type_, nesting, nulls, max_rows):
    array = samples.nest(type_, nesting, ROWS, nulls)
    stream = cab.to_arrow_device_stream(column_from(array), max_rows=max_rows)
    batches = list(stream)
    assert [row for batch in batches for row in read_by_libcudf(batch)] == array.to_pylist()
    assert pa.chunked_array(StreamOnly(stream)).to_pylist() == array.to_pylist()


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
        stream = cab.to_arrow_device_stream(column_from(array), max_rows=max_rows)
        assert [len(batch) for batch in stream] == expected
        offsets = [batch._array.offset for batch in stream]
        if max_rows >= 512:
            assert not any(offsets)
