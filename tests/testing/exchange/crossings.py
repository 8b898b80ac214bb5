# SPDX-License-Identifier: Apache-2.0
"""Device arrays of every supported type, for tests that send them between processes."""

from __future__ import annotations

import os

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


def arrays_by_name(names):
    """Return lists of arrays by the names of `BATCHES`."""
    return {name: list(arrays_of(name)) for name in names}


def differences(received, senders_process):
    """Return which arrays differ from the originals, and the number of arrays."""
    assert os.getpid() != senders_process
    wrong, count = [], 0
    for name, arrays in received.items():
        for array, original in zip(arrays, arrays_of(name), strict=True):
            found = contents(array)
            found.validate(full=True)
            if not found.equals(contents(original), check_metadata=True):
                wrong.append(f"{name}: {original.schema}")
            count += 1
    return wrong, count
