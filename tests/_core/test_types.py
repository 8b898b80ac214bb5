# SPDX-License-Identifier: Apache-2.0
"""Compare the type table with every type of pyarrow and libcudf."""

from __future__ import annotations

import nanoarrow.device
import pyarrow as pa
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._core.import_.columns import main_span, types_of
from cudf_arrow_bridge._core.schema import import_row, type_rows
from testing import samples
from testing.peers.arrays import (
    DeviceOnly,
    column_from,
    name_of,
    read,
    refused,
    struct_of,
)

#: The rows of the type table that pyarrow has a type for; nanoarrow has the other types.
ARROW = {
    **{
        str(type_): type_
        for type_ in samples.PRIMITIVE
        if not (pa.types.is_decimal(type_) or pa.types.is_date(type_))
    },
    "date32": pa.date32(),
    "decimal32": pa.decimal32(9, 2),
    "decimal64": pa.decimal64(9, 2),
    "decimal128": pa.decimal128(9, 2),
    "decimal256": pa.decimal256(40, 2),
    "bool8": pa.bool8(),
    "null": pa.null(),
    "list": pa.list_(pa.int8()),
    "struct": pa.struct([("0", pa.int8())]),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "halffloat": pa.float16(),
    "date64": pa.date64(),
    "time32[s]": pa.time32("s"),
    "time32[ms]": pa.time32("ms"),
    "time64[us]": pa.time64("us"),
    "time64[ns]": pa.time64("ns"),
    "month_day_nano_interval": pa.month_day_nano_interval(),
    "binary": pa.binary(),
    "large_binary": pa.large_binary(),
    "binary_view": pa.binary_view(),
    "string_view": pa.string_view(),
    "fixed_size_binary": pa.binary(3),
    "large_list": pa.large_list(pa.int8()),
    "list_view": pa.list_view(pa.int8()),
    "large_list_view": pa.large_list_view(pa.int8()),
    "fixed_size_list": pa.list_(pa.int8(), 2),
    "map": pa.map_(pa.string(), pa.int8()),
    "sparse_union": pa.sparse_union([pa.field("a", pa.int8())]),
    "dense_union": pa.dense_union([pa.field("a", pa.int8())]),
    "run_end_encoded": pa.run_end_encoded(pa.int32(), pa.int8()),
}
NOT_IN_PYARROW = ("month_interval", "day_time_interval")
(DAYS,) = (row for row in type_rows() if row["type_id"] == plc.TypeId.DURATION_DAYS)
ROWS = {row["arrow"]: row for row in type_rows() if row != DAYS}
UNSUPPORTED = [name for name in ARROW if ROWS.get(name, {}).get("on_import") == "unsupported"]


def empty(type_):
    if pa.types.is_union(type_):
        make = pa.UnionArray.from_sparse if type_.mode == "sparse" else pa.UnionArray.from_dense
        ids = pa.array([], pa.int8())
        more = [] if type_.mode == "sparse" else [pa.array([], pa.int32())]
        return make(ids, *more, [pa.array([], pa.int8())], ["a"])
    if pa.types.is_dictionary(type_):
        return samples.values(type_, 0, "none")
    return pa.array([], type_)


def capsule_of(type_):
    return pa.field("", type_).__arrow_c_schema__()


def test_type_table_has_every_arrow_type():
    assert set(ROWS) == {*ARROW, *NOT_IN_PYARROW}
    assert len(type_rows()) == len(ROWS) + 1
    assert (DAYS["arrow"], DAYS["on_import"]) == ("duration[s]", "unsupported")


@pytest.mark.parametrize("name", ARROW)
def test_formats_of_the_type_table_match_pyarrow(name):
    capsule = capsule_of(ARROW[name])
    assert name_of(capsule) == b"arrow_schema"
    row = import_row(capsule)
    assert row["arrow"] == name
    if name == "dictionary":
        return
    found = struct_of(capsule).format.decode()
    wanted = row["format"]
    assert found.startswith(wanted) if wanted.endswith(":") else found == wanted


@pytest.mark.parametrize("name", ARROW)
def test_import_of_each_type_follows_the_type_table(name):
    row, array = ROWS[name], empty(ARROW[name])
    if row["on_import"] == "unsupported":
        message = refused(TypeError, DeviceOnly(array))
        assert name in message
        return
    column = column_from(array)
    # The column of a run-end encoded array has the type of the values.
    expected = plc.TypeId.INT8 if name == "run_end_encoded" else row["type_id"]
    assert column.type().id() == expected
    assert len(read(cab.to_arrow_device(column))) == 0


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_error_for_an_unsupported_type_names_the_path_and_the_type(name):
    """The error names the type, for which libcudf has no column, and the path of the field."""
    prices = pa.struct([pa.field("id", pa.int32()), pa.field("price", ARROW[name])])
    children = [pa.array([], pa.int32()), empty(ARROW[name])]
    items = pa.Array.from_buffers(
        pa.list_(prices),
        0,
        [None, pa.py_buffer(bytes(4))],
        children=[pa.StructArray.from_arrays(children, fields=list(prices))],
    )
    orders = pa.StructArray.from_arrays([items], ["items"])
    batch = pa.record_batch([pa.array([], pa.int8()), orders], ["a", "orders"])
    message = refused(TypeError, DeviceOnly(batch), kind=None)
    assert "'orders.items[].price'" in message
    assert name in message


@pytest.mark.parametrize("make", [nanoarrow.interval_months, nanoarrow.interval_day_time])
def test_intervals_that_pyarrow_lacks_are_rejected(make):
    array = nanoarrow.device.c_device_array(nanoarrow.c_array([], make()))
    assert "interval" in refused(TypeError, DeviceOnly(array))


@pytest.mark.parametrize(
    "type_id", [t for t in plc.TypeId if t.name != "NUM_TYPE_IDS"], ids=lambda t: t.name
)
def test_every_libcudf_type_is_exported_or_rejected(type_id):
    rows = [row for row in type_rows() if row["type_id"] == type_id]
    rows = [row for row in rows if row["on_export"] != "unsupported"]
    children = {
        plc.TypeId.LIST: lambda: [no_rows(plc.TypeId.INT32), no_rows(plc.TypeId.INT8)],
        plc.TypeId.STRUCT: lambda: [no_rows(plc.TypeId.INT8)],
        plc.TypeId.DICTIONARY32: lambda: [no_rows(plc.TypeId.INT8), no_rows(plc.TypeId.STRING)],
    }.get(type_id, list)()
    column = no_rows(type_id, children)
    if not rows:
        with pytest.raises(TypeError, match=str(int(type_id))):
            cab.to_arrow_device(column)
        return
    array = read(cab.to_arrow_device(column))
    found = import_row(capsule_of(array.type))
    assert found["arrow"] in [row["arrow"] for row in rows]


def no_rows(type_id, children=()):
    return plc.Column(plc.DataType(type_id), 0, None, None, 0, 0, list(children))


def test_type_keys_differ_for_columns_of_different_types():
    decimals = [pa.decimal128(20, scale) for scale in (0, 2, 64, -1)]
    types = [*samples.TYPES, *decimals, pa.list_(pa.int8()), pa.struct([("a", pa.int8())] * 2)]
    columns = [column_from(pa.nulls(1, type_)) for type_ in types]
    shapes = [repr(shape_of(column)) for column in columns]
    keys = [types_of([column]) for column in columns]
    pairs = [types_of([one, other]) for one in columns for other in columns]
    assert len(set(keys)) == len(set(shapes))
    # No key is a prefix of another key, so two different lists of columns have different keys.
    assert len(set(pairs)) == len(set(shapes)) ** 2
    assert not any(
        other.startswith(one) for one in set(keys) for other in set(keys) if one != other
    )


def test_main_span_of_none_raises_an_error():
    with pytest.raises(AttributeError, match="NoneType"):
        main_span(None)


def shape_of(column):
    dtype = column.type()
    return dtype.id(), dtype.scale(), [shape_of(child) for child in column.children()]
