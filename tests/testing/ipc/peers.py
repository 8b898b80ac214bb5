# SPDX-License-Identifier: Apache-2.0
"""Streams and files read by other libraries, and arrays of the bridge as pyarrow batches."""

from __future__ import annotations

import io

import nanoarrow as na
import polars as pl
import pyarrow as pa
from nanoarrow.ipc import InputStream

from testing.ipc.samples import written
from testing.peers.arrays import DeviceOnly


def read_pyarrow(data):
    """Return the schema and the batches that pyarrow reads, validated."""
    if is_file(data):
        file = pa.ipc.open_file(pa.py_buffer(data))
        return file.schema, checked(file.get_batch(i) for i in range(file.num_record_batches))
    reader = pa.ipc.open_stream(pa.py_buffer(data))
    return reader.schema, checked(reader)


def read_polars(data):
    return (pl.read_ipc if is_file(data) else pl.read_ipc_stream)(io.BytesIO(data))


def read_nanoarrow(data):
    """Return a pyarrow table of the data that nanoarrow reads."""
    with InputStream.from_readable(io.BytesIO(data)) as stream:
        return pa.table(na.ArrayStream(stream))


def is_file(data):
    return data[:6] == b"ARROW1"


def read_bridge(arrays):
    """Return the schema and the batches of a stream of the bridge, through the device protocol."""
    return arrays.schema, checked(pa.record_batch(DeviceOnly(array)) for array in arrays)


def checked(batches):
    found = []
    for batch in batches:
        batch.validate(full=True)
        found.append(batch)
    return found


def assert_same_batches(found, expected):
    """Check that two pairs of a schema and batches have equal types, metadata and values."""
    schema, batches = found
    wanted, others = expected
    assert schema.equals(wanted, check_metadata=True), (schema, wanted)
    assert [len(batch) for batch in batches] == [len(batch) for batch in others]
    for batch, other in zip(batches, others, strict=True):
        assert batch.schema.equals(wanted, check_metadata=True), (batch.schema, wanted)
        assert batch.equals(other), (batch, other)


def has_type(schema, condition):
    """Return whether a type at any depth of a schema meets a condition."""

    def visit(type_):
        if isinstance(type_, pa.BaseExtensionType):
            return visit(type_.storage_type)
        if pa.types.is_dictionary(type_):
            return condition(type_) or visit(type_.value_type)
        inner = [type_.field(i).type for i in range(type_.num_fields)]
        return condition(type_) or any(map(visit, inner))

    return any(visit(field.type) for field in schema)


def polars_reads(schema):
    """Return whether polars supports a schema's types, parameters, names and metadata."""
    metadata = [part.metadata or {} for part in (schema, *schema)]
    is_text = not any(value == b"\x00\xff" for part in metadata for value in part.values())
    if len(set(schema.names)) < len(schema) or not is_text:
        return False
    kinds = (pa.types.is_list_view, pa.types.is_large_list_view, pa.types.is_run_end_encoded)
    sized = (pa.binary(0), pa.list_(pa.int8(), 0))
    other = (*sized, pa.timestamp("ns", "+05:30"), pa.decimal128(38, -3))
    return not any(
        has_type(schema, kind) for kind in (*kinds, lambda type_: type_ in other, _is_odd)
    )


def _is_odd(type_):
    """Return whether polars fails on a type: structs of 32-bit or 64-bit decimals."""
    small = (pa.types.is_decimal32, pa.types.is_decimal64)
    inner = pa.schema([(str(i), type_.field(i).type) for i in range(type_.num_fields)])
    return pa.types.is_struct(type_) and any(has_type(inner, kind) for kind in small)


def nanoarrow_reads(schema):
    """Return whether nanoarrow supports all types of a schema."""
    names = ("list_view", "large_list_view", "run_end_encoded", "dictionary")
    kinds = [getattr(pa.types, f"is_{name}") for name in names]
    other = (pa.string_view(), pa.binary_view(), pa.binary(0))
    return not any(has_type(schema, kind) for kind in (*kinds, lambda type_: type_ in other))


def assert_peers_read(found, schema, batches):
    """Check that polars and nanoarrow read the same data as from pyarrow's stream or file."""
    # Polars rejects lists without rows that pyarrow writes.
    original = written(schema, [batch for batch in batches if len(batch)])
    if polars_reads(schema) and len(schema):
        assert read_polars(found).equals(read_polars(original))
    if nanoarrow_reads(schema) and not is_file(found):
        assert read_nanoarrow(found).equals(read_nanoarrow(original), check_metadata=True)
