# SPDX-License-Identifier: Apache-2.0
"""What peers send: other types, other metadata, and ours after they changed what it describes."""

import base64
import json

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from host import addresses, schema_of, to_plc
from host_frames import (
    again,
    column,
    content,
    dtypes,
    frame,
    index,
    numbers,
    series,
    shape_of_dtype,
)
from hypothesis import given
from hypothesis import strategies as st

from cudf_arrow_bridge import layout
from cudf_arrow_bridge.frames import assemble_frame, assemble_series, disassemble
from cudf_arrow_bridge.metadata import BRIDGE_KEY, PANDAS_KEY

DEFAULT = pd.StringDtype(na_value=np.nan)
STRINGS = pa.array(["p", None, "r"])


def imported(array, field=None):
    """Import an array as a series, and its values with it."""
    found = assemble_series(to_plc(array), field or pa.field("x", array.type))
    return found, content(found)[0]


SLICES = [(0, 70), (1, 60), (31, 70), (33, 33), (64, 70)]
MANY = [None if i % 5 == 0 else i - 30 for i in range(70)]


@pytest.mark.parametrize(("begin", "end"), SLICES)
def test_days_become_seconds(begin, end):
    days = pa.array(MANY, pa.date32()).slice(begin, end - begin)
    found, values = imported(days)
    assert found.dtype == np.dtype("datetime64[s]")
    assert values == days.cast(pa.timestamp("s")).to_pylist()


def test_extreme_days_do_not_overflow():
    days = pa.array([2**31 - 1, -(2**31)], pa.int32()).view(pa.date32())
    found = assemble_series(to_plc(days), pa.field("d", days.type))
    buffer = found._column.data
    seconds = np.frombuffer(pa.foreign_buffer(buffer.ptr, 16, buffer), "int64")
    assert seconds.tolist() == [(2**31 - 1) * 86400, -(2**31) * 86400]


@pytest.mark.parametrize(("begin", "end"), SLICES)
@pytest.mark.parametrize(
    "width",
    [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint64()],
    ids=str,
)
@pytest.mark.parametrize("size", [3, 255, 256, 70_000])
def test_codes_get_the_width_that_cudf_wants(width, size, begin, end):
    most = 2 ** (8 * width.bit_width // 8 - 1)
    # Under the nulls lies what no category has.
    codes = pa.array([i % min(size, most) for i in range(70)], width)
    valid = pa.array([i % 5 != 0 for i in range(70)])
    junk = np.where(np.arange(70) % 5 == 0, most - 1, codes.to_numpy()).astype(str(width))
    masked = pa.Array.from_buffers(width, 70, [valid.buffers()[1], pa.py_buffer(junk)])
    source = pa.DictionaryArray.from_arrays(masked, pa.array(range(size)), safe=False)
    part = source.slice(begin, end - begin)
    found, values = imported(part)
    assert found.dtype.categories.dtype == np.dtype("int64")
    assert values == part.to_pylist()
    bits = 8 if size < 256 else 16 if size < 65_536 else 32
    assert found._column.plc_column.type().id().name == f"UINT{bits}"
    if bits == width.bit_width:
        assert addresses(found._column.plc_column)[0] == junk.ctypes.data


@pytest.mark.parametrize("ordered", [True, False])
def test_the_order_of_a_dictionary_is_kept(ordered):
    source = pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["b", "a"], ordered=ordered)
    assert imported(source)[0].dtype.ordered is ordered


@pytest.mark.parametrize(("begin", "end"), [(0, 6), (1, 5), (2, 2)])
@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", None, "zz"]),
        pa.array(["x", None, "zz"], pa.large_string()),
        pa.array([1, None, 3], pa.int16()),
        pa.array([True, None, False]),
        pa.array([1, None, 3], pa.timestamp("us")),
        pa.array([1, None, 3], pa.date32()),
        pa.array([1, None, 3], pa.decimal128(5, 0)),
    ],
    ids=lambda values: str(values.type),
)
def test_a_dictionary_with_a_null_among_its_values_is_no_category(values, begin, end):
    codes = pa.array([0, None, 1, 2, 0, 2], pa.int8())
    source = pa.DictionaryArray.from_arrays(codes, values).slice(begin, end - begin)
    found, got = imported(source)
    assert not isinstance(found.dtype, cudf.CategoricalDtype)
    expected = source.cast(values.type)
    if pa.types.is_date(values.type):
        expected = expected.cast(pa.timestamp("s"))
    assert got == expected.to_pylist()


def test_nor_is_a_dictionary_inside_a_list_or_struct():
    words = pa.array(["x", None, "y", "x"]).dictionary_encode()
    lists = pa.ListArray.from_arrays([0, 1, 1, 4], words)
    found, values = imported(lists)
    assert shape_of_dtype(found.dtype) == ("list", shape_of_dtype(DEFAULT))
    assert values == [["x"], [], [None, "y", "x"]]
    structs = pa.StructArray.from_arrays([words], ["w"]).slice(1, 2)
    found, values = imported(structs)
    assert shape_of_dtype(found.dtype) == ("struct", [("w", shape_of_dtype(DEFAULT))])
    assert values == [{"w": None}, {"w": "y"}]


def test_an_empty_dictionary_of_strings_without_any_memory():
    none = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([""])[:0])
    found, values = imported(none)
    assert values == [None, None]
    assert len(found.dtype.categories) == 0
    _, values = imported(pa.ListArray.from_arrays([0, 2], none))
    assert values == [[None, None]]


@pytest.mark.parametrize("size", [0, 1, 64, 513])
def test_null_arrays(size):
    found, values = imported(pa.nulls(size))
    assert shape_of_dtype(found.dtype) == shape_of_dtype(DEFAULT)
    assert values == [None] * size
    assert found._column.null_count == size
    lists = pa.ListArray.from_arrays([0, size], pa.nulls(size))
    found, values = imported(lists)
    assert shape_of_dtype(found.dtype) == ("list", shape_of_dtype(np.dtype(object)))
    assert values == [[None] * size]


def test_types_that_libcudf_stores_as_others():
    """The field says map, time or binary; the column is what the core made of it."""
    entries = pa.StructArray.from_arrays([pa.array(["k"]), pa.array([1])], ["key", "value"])
    maps = pa.ListArray.from_arrays([0, 1], entries)
    found = assemble_series(to_plc(maps), pa.field("m", pa.map_("string", "int64")))
    assert content(found) == [[[{"key": "k", "value": 1}]]]
    times = pa.array([5, None], pa.duration("us"))
    found = assemble_series(to_plc(times), pa.field("t", pa.time64("us")))
    assert found.dtype == np.dtype("timedelta64[us]")
    raw = pa.array([[1, 2]], pa.list_(pa.uint8()))
    for binary in (pa.binary(), pa.large_binary(), pa.binary(2)):
        found = assemble_series(to_plc(raw), pa.field("b", binary))
        assert shape_of_dtype(found.dtype) == ("list", (np.dtypes.UInt8DType, "uint8"))
    pair = pa.array([[1, 2]])
    for lists in (pa.large_list(pa.int64()), pa.list_(pa.int64(), 2), pa.list_view(pa.int64())):
        found = assemble_series(to_plc(pair), pa.field("l", lists))
        assert content(found) == [[[1, 2]]]
    runs = pa.run_end_encoded(pa.int32(), pa.string())
    assert content(assemble_series(to_plc(STRINGS), pa.field("r", runs))) == [["p", None, "r"]]
    uuid = pa.uuid()
    raw = pa.array([[1] * 16], pa.list_(pa.uint8()))
    assert content(assemble_series(to_plc(raw), pa.field("u", uuid))) == [[[1] * 16]]


class Celsius(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.float64(), "test.celsius")

    def __arrow_ext_serialize__(self):
        return b"since 1742"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


EXTENSIONS = {
    "known to nobody": (
        pa.array([1, 2]),
        pa.field("x", pa.int64(), metadata={"ARROW:extension:name": "n", "own": "o"}),
        {b"ARROW:extension:name": b"n", b"ARROW:extension:metadata": b"", b"own": b"o"},
    ),
    "of Python": (
        pa.array([1.5, None]),
        pa.field("x", Celsius()),
        {b"ARROW:extension:name": b"test.celsius", b"ARROW:extension:metadata": b"since 1742"},
    ),
    "of C++": (
        pa.array(["{}"]),
        pa.field("x", pa.json_()),
        {b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b""},
    ),
    "stored otherwise": (pa.array([[1] * 16], pa.list_(pa.uint8())), pa.field("x", pa.uuid()), {}),
    "a date": (
        pa.array([1], pa.date32()),
        pa.field("x", pa.date32(), metadata={"ARROW:extension:name": "n", "own": "o"}),
        {b"own": b"o"},
    ),
    "nested": (
        pa.array([[1]]),
        pa.field("x", pa.list_(pa.int64()), metadata={"ARROW:extension:name": "n"}),
        {b"ARROW:extension:name": b"n", b"ARROW:extension:metadata": b""},
    ),
}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_an_extension_type_leaves_as_it_came(name):
    array, field, expected = EXTENSIONS[name]
    parts = disassemble(assemble_series(to_plc(array), field))
    assert dict(parts.fields[0].metadata) == expected
    whole = assemble_frame([to_plc(array)], pa.schema([field]), len(array))
    assert dict(disassemble(whole).fields[0].metadata) == expected
    assert dict(disassemble(whole["x"]).fields[0].metadata) == expected


def test_an_interval_whose_extension_nobody_read():
    edges = pa.array([{"left": 1, "right": 2}])
    metadata = {
        "ARROW:extension:name": "pandas.interval",
        "ARROW:extension:metadata": '{"subtype": "int64", "closed": "both"}',
    }
    found, _ = imported(edges, pa.field("i", edges.type, metadata=metadata))
    assert shape_of_dtype(found.dtype)[:2] == ("interval", "both")
    for damaged in ("{", '{"closed": "ajar"}', "[]"):
        metadata["ARROW:extension:metadata"] = damaged
        found, _ = imported(edges, pa.field("i", edges.type, metadata=metadata))
        assert isinstance(found.dtype, cudf.StructDtype)


@pytest.mark.parametrize(
    ("array", "path"),
    [
        (
            pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["price", "price"]),
            r"^orders: found a struct with two fields named 'price', expected",
        ),
        (
            pa.ListArray.from_arrays(
                [0, 1],
                pa.StructArray.from_arrays(
                    [pa.DictionaryArray.from_arrays(pa.array([0]), pa.array([[1]]))], ["price"]
                ),
            ),
            r"^orders\[\]\.price: found a dictionary of list<.*>, expected",
        ),
        (
            pa.StructArray.from_arrays([pa.array([1], pa.timestamp("s", "+07:30"))], ["when"]),
            r"^orders\.when: found timestamp\[s, tz=\+07:30\], a time zone .*, expected",
        ),
    ],
)
def test_what_no_cudf_frame_can_hold_is_named(array, path):
    with pytest.raises(TypeError, match=path + ".*pylibcudf"):
        imported(array, pa.field("orders", array.type))


def renamed(old, new):
    def peer(schema):
        position = schema.get_field_index(old)
        return schema.set(position, schema.field(position).with_name(new))

    return peer


def source():
    return frame(
        [
            numbers(),
            column(pa.array([1, 2, None]), pd.Int64Dtype()),
            column(STRINGS, np.dtype(object)),
        ],
        pd.Index([1, 2.5, ("t", 0)], dtype=object, name="names"),
        index(column(STRINGS, DEFAULT), 7),
    )


def test_a_renamed_column_loses_only_its_own_label_and_dtype():
    found = again(source(), peer=renamed("2.5", "new"))
    assert found.columns.tolist() == [1, "new", ("t", 0)]
    assert [str(d) for d in found.dtypes] == ["int64", "int64", "object"]
    assert found.index.name == 7


def test_dropped_and_reordered_columns():
    parts = disassemble(source())
    schema = schema_of(parts)
    picked = [3, 2, 0]
    fields = [schema.field(i) for i in picked]
    found = assemble_frame(
        [parts.columns[i] for i in picked], pa.schema(fields, metadata=schema.metadata), 3
    )
    pd.testing.assert_index_equal(
        found.columns, pd.Index([("t", 0), 1], dtype=object, name="names", tupleize_cols=False)
    )
    assert found.index.name == 7
    assert [str(d) for d in found.dtypes] == ["object", "int64"]
    assert content(found) == [["p", None, "r"], [0, 1, 2], ["p", None, "r"]]


def test_a_dropped_index():
    parts = disassemble(source())
    schema = schema_of(parts)
    found = assemble_frame(parts.columns[:3], schema.remove(3), 3)
    assert isinstance(found.index, cudf.RangeIndex)
    assert len(found.columns) == 3


def test_a_retyped_column_gets_the_dtype_of_its_type():
    parts = disassemble(source())
    schema = schema_of(parts)
    schema = schema.set(1, pa.field("2.5", pa.float64())).set(2, pa.field("('t', '0')", pa.int8()))
    parts.columns[1] = to_plc(pa.array([1.5, None, 2.5]))
    parts.columns[2] = to_plc(pa.array([1, None, 3], pa.int8()))
    found = assemble_frame(parts.columns, schema, 3)
    assert [str(d) for d in found.dtypes] == ["int64", "float64", "int8"]
    assert found.columns.tolist() == [1, 2.5, ("t", 0)]


def test_filtered_rows_and_the_range_they_had():
    for obj in (
        frame({"a": numbers()}, index=cudf.RangeIndex(2, 8, 2)),
        series(numbers(), "a", cudf.RangeIndex(2, 8, 2)),
    ):
        parts = disassemble(obj)
        shorter = [to_plc(pa.array([1, 2]))]
        if parts.kind == "table":
            found = assemble_frame(shorter, schema_of(parts), 2)
        else:
            found = assemble_series(shorter[0], schema_of(parts).field(0))
        assert (found.index.start, found.index.stop, found.index.step) == (0, 2, 1)


def test_a_renamed_series():
    field = pa.field("new", pa.int64(), metadata=schema_of(disassemble(series(numbers(), 5)))
                     .field(0).metadata)  # fmt: skip
    assert assemble_series(to_plc(pa.array([1])), field).name == "new"


def damage(value):
    return lambda schema: schema.with_metadata({**schema.metadata, BRIDGE_KEY: value})


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"[]", b"\xff", b'{"version": 2}', b'{"version": 1, "fields": 3}'],
)
def test_damaged_metadata_leaves_the_pandas_key(value):
    found = again(source(), peer=damage(value))
    assert found.columns.tolist() == ["1", "2.5", "('t', '0')"]
    assert found.index.name == "7"
    assert content(found) == content(source())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
def test_no_metadata_can_keep_the_data_from_arriving(data):
    """One entry of either key replaced by anything."""
    parts = disassemble(source())
    schema = schema_of(parts)
    key = data.draw(st.sampled_from([BRIDGE_KEY, PANDAS_KEY]))
    form = json.loads(schema.metadata[key])
    form[data.draw(st.sampled_from(sorted(form)))] = data.draw(JSON)
    metadata = {key: json.dumps(form).encode()}
    found = assemble_frame(parts.columns, schema.with_metadata(metadata), 3, parts.labels)
    if isinstance(found, cudf.DataFrame):
        assert len(found.columns) + (not isinstance(found.index, cudf.RangeIndex)) == 4
    assert len(found) == 3


def arrow(arrow_type):
    schema = pa.schema([pa.field("", arrow_type)])
    return {"arrow": base64.b64encode(schema.serialize().to_pybytes()).decode()}


ODD = [
    7,
    "Int64",
    "object",
    "nonsense",
    [],
    {},
    {"string": ["nowhere", "NA"]},
    {"string": 3},
    {"arrow": "!"},
    {"arrow": 3},
    {"category": None},
    {"list": "Int64"},
    {"struct": [None]},
    {"struct": None},
    {"interval": None, "closed": "left"},
    {"interval": None, "closed": 3},
]
DEFAULTS = {
    "date": (pa.array([1, None], pa.date32()), "datetime64[s]"),
    "float": (pa.array([1.5, None]), "float64"),
    "edges": (pa.array([{"left": "a", "right": "b"}]), "struct"),
    "list": (pa.array([["a"]]), "list"),
    "category": (pa.array(["a"]).dictionary_encode(), "category"),
}


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("form", [*ODD, "itself"], ids=str)
def test_a_hint_that_does_not_fit_is_not_followed(name, form):
    array, expected = DEFAULTS[name]
    hint = arrow(array.type) if form == "itself" else form
    ours = {"version": 1, "kind": "series", "field": "x", "label": 5, "hint": hint, "index": None}
    field = pa.field("x", array.type, metadata={BRIDGE_KEY: json.dumps(ours).encode()})
    found = assemble_series(to_plc(array), field)
    assert found.name == 5
    if not (form == "itself" and isinstance(found.dtype, pd.ArrowDtype)):
        assert str(found.dtype).split("(")[0].lower().removesuffix("dtype") == expected
    assert len(content(found)[0]) == len(array)


@pytest.mark.parametrize(
    "span",
    [[0, 3], ["0", 3, 1], [0, 3, 0], [0, 2**70, 1], [-(2**63), 2**63, 1], None, [0, 3, True]],
)
def test_a_range_that_is_none(span):
    parts = disassemble(frame({7: numbers()}))
    schema = schema_of(parts)
    ours = json.loads(schema.metadata[BRIDGE_KEY]) | {"index": {"names": [None], "range": span}}
    theirs = json.loads(schema.metadata[PANDAS_KEY])
    keys = ("start", "stop", "step")
    theirs["index_columns"] = [dict(zip(keys, span or (), strict=False)) | {"kind": "range"}]
    metadata = {BRIDGE_KEY: json.dumps(ours), PANDAS_KEY: json.dumps(theirs)}
    found = assemble_frame(parts.columns, schema.with_metadata(metadata), 3)
    assert (found.index.start, found.index.stop, found.index.step) == (0, 3, 1)


def test_metadata_of_bottomless_depth():
    deep = b"[" * 100_000 + b"]" * 100_000
    for key in (BRIDGE_KEY, PANDAS_KEY):
        found = again(source(), peer=lambda schema, key=key: schema.with_metadata({key: deep}))
        assert found.columns.tolist() == ["1", "2.5", "('t', '0')", "7"]


def test_metadata_too_deep_to_decode(monkeypatch):
    """From Python 3.12 on, JSON reads deeper than Python itself recurses."""

    def give_up(*_):
        raise RecursionError

    monkeypatch.setattr(layout, "decode_index", give_up)
    assert again(source()).columns.tolist() == ["1", "2.5", "('t', '0')"]
    monkeypatch.setattr(layout, "decode_label", give_up)
    assert again(series(numbers(), 5)).name == "5"


def test_pyarrows_own_pandas_tables():
    own = pd.DataFrame(
        {"a": [1, 2, 3], "s": ["p", "q", "r"]},
        index=pd.MultiIndex.from_tuples([(1, "x"), (2, "y"), (3, "z")], names=["n", None]),
    )
    table = pa.Table.from_pandas(own)
    columns = [to_plc(chunked.combine_chunks()) for chunked in table.columns]
    found = assemble_frame(columns, table.schema, 3)
    pd.testing.assert_index_equal(found.columns, own.columns)
    assert list(found.index.names) == ["n", None]
    assert content(found.index) == [[1, 2, 3], ["x", "y", "z"]]
    assert dtypes(found) == dtypes(frame({"a": numbers(), "s": column(STRINGS, DEFAULT)}))


def test_what_cudf_itself_writes():
    """An index level named "index" and no other name, by cuDF's habit."""
    metadata = {
        "index_columns": ["index"],
        "column_indexes": [
            {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object",
             "metadata": {"encoding": "UTF-8"}}
        ],
        "columns": [
            {"name": n, "field_name": n, "pandas_type": "int64", "numpy_type": "int64",
             "metadata": None}
            for n in ("a", "index")
        ],
    }  # fmt: skip
    schema = pa.schema(
        [("a", pa.int64()), ("index", pa.int64())], {PANDAS_KEY: json.dumps(metadata)}
    )
    parts = disassemble(frame({"a": numbers(), "b": numbers(start=5)}))
    found = assemble_frame(parts.columns, schema, 3)
    assert found.columns.tolist() == ["a"]
    assert content(found.index) == [[5, 6, 7]]


def test_labels_that_turned_out_equal_give_way_to_the_names():
    parts = disassemble(frame({"a": numbers(), "b": numbers()}))
    schema = schema_of(parts)
    ours = json.loads(schema.metadata[BRIDGE_KEY]) | {"entries": ["a", "a"]}
    schema = schema.with_metadata({BRIDGE_KEY: json.dumps(ours)})
    assert assemble_frame(parts.columns, schema, 3).columns.tolist() == ["a", "b"]


def test_a_name_that_became_two_says_nothing_of_either():
    """Which of the two the metadata meant, nobody knows: neither gets the dtype or the index."""
    parts = disassemble(frame({"a": numbers()}, index=index(column(STRINGS, DEFAULT), "i")))
    fields = [pa.field("i", pa.string()), pa.field("i", pa.string())]
    schema = pa.schema(fields, metadata=schema_of(parts).metadata)
    with pytest.raises(TypeError, match=r"\['i'\]"):
        assemble_frame([parts.columns[1]] * 2, schema, 3)
