# SPDX-License-Identifier: Apache-2.0
"""Random nested batches whose columns are slices, and tables of slices of libcudf's columns."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
from hypothesis import strategies as st

from testing import foreign
from testing.peers.arrays import DeviceOnly, column_from
from testing.samples import cut_column
from testing.strategies import arrays, signed


@st.composite
def batches(draw):
    """Draw a batch of columns of the same length, all slices."""
    columns = draw(st.lists(arrays(signed), min_size=1, max_size=4))
    size = min(map(len, columns))
    return pa.record_batch([c[:size] for c in columns], [f"c{i}" for i in range(len(columns))])


def sliced_table(batch, steps):
    """Return a table of pylibcudf whose columns have an offset into the memory of all rows."""

    def sliced(array):
        def nulls_in(start, size):
            return foreign.expected_import(array.slice(start, size)).null_count

        return cut_column(column_from(DeviceOnly(array)), steps, nulls_in)

    return plc.Table([sliced(column) for column in batch.columns])
