# SPDX-License-Identifier: Apache-2.0
"""Host-resident pylibcudf columns over pyarrow's memory, and pyarrow arrays over these columns.

Neither conversion uses the code under test. Both rely only on the layouts of Arrow and libcudf.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc


class Memory:
    """A pyarrow buffer as a span."""

    def __init__(self, buffer):
        self.buffer = buffer
        self.ptr = buffer.address
        self.size = buffer.size

    @property
    def __cuda_array_interface__(self):
        return {
            "data": (self.ptr, False),
            "shape": (self.size,),
            "strides": None,
            "typestr": "|u1",
            "version": 3,
        }


def span(buffer):
    return None if buffer is None else Memory(buffer)


#: The data of nested columns in results of libcudf, which has no address.
NO_DATA = Memory(pa.foreign_buffer(0, 0))


def padded(buffer):
    """Pad a mask to a multiple of 64 bytes, as libcudf expects."""
    if buffer is None:
        return None
    size = -(-buffer.size // 64) * 64
    return pa.py_buffer(buffer.to_pybytes().ljust(size, b"\0"))


T = plc.TypeId
PLAIN = {
    pa.int8(): T.INT8, pa.int16(): T.INT16, pa.int32(): T.INT32, pa.int64(): T.INT64,
    pa.uint8(): T.UINT8, pa.uint16(): T.UINT16, pa.uint32(): T.UINT32, pa.uint64(): T.UINT64,
    pa.float32(): T.FLOAT32, pa.float64(): T.FLOAT64, pa.date32(): T.TIMESTAMP_DAYS,
}  # fmt: skip
UNITS = {"s": "SECONDS", "ms": "MILLISECONDS", "us": "MICROSECONDS", "ns": "NANOSECONDS"}


def type_id(t):
    if t in PLAIN:
        return PLAIN[t]
    if pa.types.is_timestamp(t):
        return T[f"TIMESTAMP_{UNITS[t.unit]}"]
    if pa.types.is_duration(t):
        return T[f"DURATION_{UNITS[t.unit]}"]
    if pa.types.is_decimal(t):
        return {4: T.DECIMAL32, 8: T.DECIMAL64, 16: T.DECIMAL128}[t.byte_width]
    return {
        pa.types.is_boolean: T.BOOL8, pa.types.is_string: T.STRING, pa.types.is_list: T.LIST,
        pa.types.is_struct: T.STRUCT, pa.types.is_dictionary: T.DICTIONARY32,
        pa.types.is_null: T.EMPTY, pa.types.is_large_string: T.STRING,
    }[next(f for f in (
        pa.types.is_boolean, pa.types.is_string, pa.types.is_list, pa.types.is_struct,
        pa.types.is_dictionary, pa.types.is_null, pa.types.is_large_string,
    ) if f(t))]  # fmt: skip


def ints(buffer, kind, count):
    return plc.Column(plc.DataType(kind), count, span(buffer), None, 0, 0, [])


def to_plc(array):
    """Return a pyarrow array as a host-resident column with the array's own offset."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    t, size, offset = array.type, len(array), array.offset
    kind = type_id(t)
    dtype = plc.DataType(kind, -t.scale) if pa.types.is_decimal(t) else plc.DataType(kind)
    if kind == T.EMPTY:
        return plc.Column(dtype, size, None, None, size, 0, [])
    buffers = array.buffers()
    mask = span(padded(buffers[0])) if array.null_count else None
    data, children = NO_DATA, []
    if kind == T.BOOL8:
        bits = np.frombuffer(buffers[1], "uint8") if buffers[1].size else np.empty(0, "uint8")
        data = Memory(pa.py_buffer(np.unpackbits(bits, bitorder="little")))
    elif kind == T.STRING:
        wide = T.INT64 if pa.types.is_large_string(t) else T.INT32
        data, children = span(buffers[2]), [ints(buffers[1], wide, offset + size + 1)]
    elif kind == T.LIST:
        children = [ints(buffers[1], T.INT32, offset + size + 1), to_plc(array.values)]
    elif kind == T.STRUCT:
        children = [unslice(to_plc(array.field(i)), offset) for i in range(t.num_fields)]
    elif kind == T.DICTIONARY32:
        children = [ints(buffers[1], PLAIN[t.index_type], offset + size), to_plc(array.dictionary)]
    else:
        data = span(buffers[1])
    return plc.Column(dtype, size, data, mask, array.null_count, offset, children)


def unslice(child, offset):
    """Undo the parent's offset, which pyarrow applies to a struct's fields and libcudf does not."""
    begin, end = child.offset() - offset, child.offset() + child.size()
    null_count = child.size() + offset if child.type().id() == T.EMPTY else 0
    if child.null_mask() is not None:
        mask = np.frombuffer(foreign(child.null_mask()), "uint8")
        null_count = int((np.unpackbits(mask, bitorder="little")[begin:end] == 0).sum())
    return plc.Column(
        child.type(),
        child.size() + offset,
        child.data(),
        child.null_mask(),
        null_count,
        begin,
        child.children(),
    )


def foreign(owner):
    return None if owner is None else pa.foreign_buffer(owner.ptr, owner.size, owner)


def to_arrow(column, t):
    """Return a host-resident column as a pyarrow array of a type with the same layout."""
    size, offset = column.size(), column.offset()
    mask = foreign(column.null_mask()) if column.null_count() else None
    if pa.types.is_null(t):
        return pa.nulls(size)
    if pa.types.is_boolean(t):
        bytes_ = foreign(column.data()) or pa.py_buffer(b"")
        values = np.frombuffer(bytes_, "bool")[offset : offset + size]
        valid = np.unpackbits(np.frombuffer(mask, "uint8"), bitorder="little") if mask else None
        missing = None if valid is None else valid[offset : offset + size] == 0
        return pa.array(values, pa.bool_(), mask=missing)
    children = column.children()
    if pa.types.is_struct(t):
        made = [to_arrow(c, f.type) for c, f in zip(children, t, strict=True)]
        return pa.Array.from_buffers(t, size, [mask], offset=offset, children=made)
    if pa.types.is_list(t):
        made = to_arrow(children[1], t.value_type)
        buffers = [mask, foreign(children[0].data())]
        return pa.Array.from_buffers(t, size, buffers, offset=offset, children=[made])
    if pa.types.is_dictionary(t):
        index_type = {v: k for k, v in PLAIN.items()}[children[0].type().id()]
        codes = pa.Array.from_buffers(
            index_type, size, [mask, foreign(children[0].data())], offset=offset
        )
        values = to_arrow(children[1], t.value_type)
        return pa.DictionaryArray.from_arrays(codes, values, ordered=t.ordered)
    if column.type().id() == T.STRING:
        offsets = foreign(children[0].data()) if children else pa.py_buffer(bytes(8))
        data = foreign(column.data()) or pa.py_buffer(b"")
        return pa.Array.from_buffers(t, size, [mask, offsets, data], offset=offset)
    data = foreign(column.data()) or pa.py_buffer(b"")
    return pa.Array.from_buffers(t, size, [mask, data], offset=offset)


NAMES = {v: k for k, v in PLAIN.items()} | {T.BOOL8: pa.bool_(), T.EMPTY: pa.null()}
ARROW_UNITS = {v: k for k, v in UNITS.items()}


def type_of(column, meta):
    """Return the Arrow type of a column and its metadata, as the C++ core exports it."""
    kind = column.type().id()
    if kind in NAMES:
        return NAMES[kind]
    name, _, unit = kind.name.partition("_")
    if name == "TIMESTAMP":
        return pa.timestamp(ARROW_UNITS[unit], meta.timezone or None)
    if name == "DURATION":
        return pa.duration(ARROW_UNITS[unit])
    if name.startswith("DECIMAL"):
        make, most = {
            "32": (pa.decimal32, 9), "64": (pa.decimal64, 18), "128": (pa.decimal128, 38)
        }[name[7:]]  # fmt: skip
        return make(meta.precision or most, -column.type().scale())
    children = column.children()
    if kind == T.STRING:
        wide = children and children[0].type().id() == T.INT64
        return pa.large_string() if wide else pa.string()
    if kind == T.LIST:
        return pa.list_(field_of(children[1], meta.children[0]))
    if kind == T.STRUCT:
        return pa.struct([field_of(c, m) for c, m in zip(children, meta.children, strict=True)])
    assert kind == T.DICTIONARY32
    return pa.dictionary(
        NAMES[children[0].type().id()], type_of(children[1], meta.children[0]), meta.ordered
    )


def field_of(column, meta):
    return pa.field(meta.name, type_of(column, meta), meta.nullable, dict(meta.metadata) or None)


def schema_of(export_input):
    """Return the schema of an export, with the extension types that pyarrow imports from it."""
    fields = [
        field_of(c, m)
        for c, m in zip(export_input.columns, export_input.schema_spec.fields, strict=True)
    ]
    schema = pa.schema(fields, metadata=export_input.schema_spec.metadata or None)
    return pa.ipc.read_schema(schema.serialize())


def arrays_of(export_input):
    schema = schema_of(export_input)
    made = []
    for column, field in zip(export_input.columns, schema, strict=True):
        storage = field.type
        if isinstance(storage, pa.ExtensionType):
            array = to_arrow(column, storage.storage_type)
            made.append(pa.ExtensionArray.from_storage(storage, array))
        else:
            made.append(to_arrow(column, storage))
        made[-1].validate(full=True)
    return made


def table_of(export_input):
    """Return an export as a pyarrow table that shares its memory."""
    assert export_input.kind == "table"
    schema = schema_of(export_input)
    if not export_input.columns:
        return pa.table({}).replace_schema_metadata(schema.metadata)
    return pa.Table.from_arrays(arrays_of(export_input), schema=schema)


def addresses(column):
    """Return every buffer address of a column, depth first."""
    found = [s.ptr if s is not None else 0 for s in (column.data(), column.null_mask())]
    for child in column.children():
        found += addresses(child)
    return found


def spans(column):
    # A column without memory may have an empty span.
    found = [s for s in (column.data(), column.null_mask()) if s is not None and s.size]
    for child in column.children():
        found += spans(child)
    return found


def refuse(*_, **__):
    raise AssertionError("a protocol of pylibcudf or cuDF was used")


class TableWithoutProtocols(plc.Table):
    """A table whose own protocols cannot be used."""

    __arrow_c_device_array__ = __arrow_c_array__ = __arrow_c_schema__ = refuse


def table_without_protocols(arrays):
    """Return a host-resident table of pyarrow arrays whose own protocols cannot be used."""
    return TableWithoutProtocols([to_plc(array) for array in arrays])
