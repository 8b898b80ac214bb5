# SPDX-License-Identifier: Apache-2.0
"""Device arrays of every type that crosses, for what carries them between processes."""

from __future__ import annotations

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing.ipc import samples

#: Batches by the name of what is in them.
BATCHES = {
    **{str(type_): lambda type_=type_: samples.batches_of(type_) for type_ in samples.TYPES},
    **{name: lambda name=name: samples.UNUSUAL[name][1] for name in samples.UNUSUAL},
}


def arrays_of(name):
    """Arrays of the batches as they are, then of what cuDF makes of them, and of single columns."""
    batches = BATCHES[name]()
    stream = samples.written(batches[0].schema, batches) if batches else b""
    yield from cab.ipc.open_stream(stream) if batches else ()
    for batch in batches:
        # Slices keep their offsets, unlike those that pyarrow writes.
        array = cab.to_arrow_device(batch)
        yield array
        yield from array.children


def contents(array):
    """What pyarrow reads of an array, a batch or a column, with its schema."""
    if isinstance(array.schema, pa.Schema):
        return pa.record_batch(array)
    return pa.table(pa.record_batch([pa.array(array)], schema=pa.schema([array.schema])))
