# SPDX-License-Identifier: Apache-2.0
"""Columns of pickled arrays, read in the way of libcudf's algorithms."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import reading
from testing.exchange.pickles import PICKLE_OPTIONS, adopted, pickle_round_trip
from testing.host import to_plc
from testing.ipc import samples

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: Types for which `reading.read` returns rows with values of the type.
TYPES = [
    *(pa.int8(), pa.int64(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.list_(pa.int32()), pa.list_(pa.string())),
    pa.struct([("n", pa.int64()), ("s", pa.string())]),
]


@pytest.mark.parametrize("way", PICKLE_OPTIONS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_columns_of_pickled_arrays_have_the_same_rows(type_, way):
    """Pickling cuts slices to their rows, so that the unpickled columns start and end elsewhere."""
    whole = samples.batch_of(type_)
    batches = [whole, *(whole.slice(begin) for begin in (1, 8, 13)), *samples.batches_of(type_)]
    for batch in batches:
        (array,) = adopted(batch.schema, [batch])
        for name in ("some", "list", "struct"):
            column = cab.from_arrow_device(pickle_round_trip(array[name], way), to="pylibcudf")
            assert reading.read(column, batch[name].type) == batch[name].to_pylist()


def test_slice_of_an_unpickled_column_is_pickled_again():
    """The slice has an offset into the memory of all rows that were unpickled."""
    rows = pa.array([[f"{i}", None] * (i % 3) if i % 5 else None for i in range(60)])
    column = cab.from_arrow_device(
        pickle_round_trip(cab.to_arrow_device(to_plc(rows))), to="pylibcudf"
    )
    again = cab.to_arrow_device(reading.cut(column, 7, 41))
    found = cab.from_arrow_device(pickle_round_trip(again), to="pylibcudf")
    assert reading.read(found, rows.type) == rows[7:41].to_pylist()
