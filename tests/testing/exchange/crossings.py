# SPDX-License-Identifier: Apache-2.0
"""Device arrays of every supported type, for tests that send them between processes."""

from __future__ import annotations

import pyarrow as pa

import cudf_arrow_bridge as cab
from testing.ipc import samples

#: Functions that return batches, by the name of a type or of an unusual schema.
BATCHES = {
    **{str(type_): lambda type_=type_: samples.batches_of(type_) for type_ in samples.TYPES},
    **{name: lambda name=name: samples.UNUSUAL[name][1] for name in samples.UNUSUAL},
}


def arrays_of(name):
    """Yield arrays read from a stream of the batches, then exports of batches and of columns."""
    batches = BATCHES[name]()
    stream = samples.written(batches[0].schema, batches) if batches else b""
    yield from cab.ipc.open_stream(stream) if batches else ()
    for batch in batches:
        # Exports of slices keep their offsets, unlike the stream that pyarrow writes.
        array = cab.to_arrow_device(batch)
        yield array
        yield from array.children


def contents(array):
    """Return the rows and the schema of a batch or a column, read by pyarrow."""
    if isinstance(array.schema, pa.Schema):
        return pa.record_batch(array)
    return pa.table(pa.record_batch([pa.array(array)], schema=pa.schema([array.schema])))
