# SPDX-License-Identifier: Apache-2.0
"""Columns made of arrays that were sent, read as libcudf's algorithms walk them."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import reading
from testing.exchange.pickles import WAYS, adopted, sent
from testing.host import to_plc
from testing.ipc import samples

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

#: Whose rows libcudf's reading gives in values of the type.
TYPES = [
    *(pa.int8(), pa.int64(), pa.float64(), pa.bool_()),
    *(pa.string(), pa.list_(pa.int32()), pa.list_(pa.string())),
    pa.struct([("n", pa.int64()), ("s", pa.string())]),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_rows_of_columns(type_, way):
    """What arrives begins and ends elsewhere than what was sent: slices are cut to their rows."""
    whole = samples.batch_of(type_)
    batches = [whole, *(whole.slice(begin) for begin in (1, 8, 13)), *samples.batches_of(type_)]
    for batch in batches:
        (array,) = adopted(batch.schema, [batch])
        for name in ("some", "list", "struct"):
            column = cab.from_arrow_device(sent(array[name], way), to="pylibcudf")
            assert reading.read(column, batch[name].type) == batch[name].to_pylist()


def test_slices_that_are_imported_again():
    """The rows before a slice, which it views with an offset, are those that were sent."""
    rows = pa.array([[f"{i}", None] * (i % 3) if i % 5 else None for i in range(60)])
    column = cab.from_arrow_device(sent(cab.to_arrow_device(to_plc(rows))), to="pylibcudf")
    again = cab.to_arrow_device(reading.cut(column, 7, 41))
    found = cab.from_arrow_device(sent(again), to="pylibcudf")
    assert reading.read(found, rows.type) == rows[7:41].to_pylist()
