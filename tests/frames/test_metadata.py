# SPDX-License-Identifier: Apache-2.0
"""The metadata of peers, and our metadata after a peer has changed the fields it describes."""

import base64
import json
from pathlib import Path

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.metadata import BRIDGE_KEY, PANDAS_KEY
from cudf_arrow_bridge.frames import layout
from cudf_arrow_bridge.frames.frame_to_columns import frame_to_columns
from testing.host import schema_of, to_plc
from testing.host_frames import (
    column,
    content,
    frame,
    frame_of_columns,
    index,
    numbers,
    round_trip,
    series,
    series_of_column,
)

DEFAULT = pd.StringDtype(na_value=np.nan)
STRINGS = pa.array(["p", None, "r"])


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
    found = round_trip(source(), peer=renamed("2.5", "new"))
    assert found.columns.tolist() == [1, "new", ("t", 0)]
    assert [str(d) for d in found.dtypes] == ["int64", "int64", "object"]
    assert found.index.name == 7


def test_dropped_and_reordered_columns_keep_labels_and_dtypes():
    export_input = frame_to_columns(source())
    schema = schema_of(export_input)
    picked = [3, 2, 0]
    fields = [schema.field(i) for i in picked]
    found = frame_of_columns(
        [export_input.columns[i] for i in picked], pa.schema(fields, metadata=schema.metadata), 3
    )
    pd.testing.assert_index_equal(
        found.columns, pd.Index([("t", 0), 1], dtype=object, name="names", tupleize_cols=False)
    )
    assert found.index.name == 7
    assert [str(d) for d in found.dtypes] == ["object", "int64"]
    assert content(found) == [["p", None, "r"], [0, 1, 2], ["p", None, "r"]]


def test_dropped_index_is_replaced_by_a_rangeindex():
    export_input = frame_to_columns(source())
    schema = schema_of(export_input)
    found = frame_of_columns(export_input.columns[:3], schema.remove(3), 3)
    assert isinstance(found.index, cudf.RangeIndex)
    assert len(found.columns) == 3


def test_column_of_a_changed_type_gets_the_dtype_of_that_type():
    export_input = frame_to_columns(source())
    schema = schema_of(export_input)
    schema = schema.set(1, pa.field("2.5", pa.float64())).set(2, pa.field("('t', '0')", pa.int8()))
    columns = list(export_input.columns)
    columns[1:3] = to_plc(pa.array([1.5, None, 2.5])), to_plc(pa.array([1, None, 3], pa.int8()))
    found = frame_of_columns(columns, schema, 3)
    assert [str(d) for d in found.dtypes] == ["int64", "float64", "int8"]
    assert found.columns.tolist() == [1, 2.5, ("t", 0)]


def test_range_of_another_length_is_replaced_by_a_default_range():
    for obj in (
        frame({"a": numbers()}, index=cudf.RangeIndex(2, 8, 2)),
        series(numbers(), "a", cudf.RangeIndex(2, 8, 2)),
    ):
        export_input = frame_to_columns(obj)
        shorter = [to_plc(pa.array([1, 2]))]
        if export_input.kind == "table":
            found = frame_of_columns(shorter, schema_of(export_input), 2)
        else:
            found = series_of_column(shorter[0], schema_of(export_input).field(0))
        assert (found.index.start, found.index.stop, found.index.step) == (0, 2, 1)


def damage(value):
    return lambda schema: schema.with_metadata({**schema.metadata, BRIDGE_KEY: value})


@pytest.mark.parametrize(
    "value", [b"", b"{", b"[]", b"\xff", b'{"version": 2}', b'{"version": 1, "fields": 3}']
)
def test_import_uses_the_pandas_key_if_bridge_metadata_is_damaged(value):
    found = round_trip(source(), peer=damage(value))
    assert found.columns.tolist() == ["1", "2.5", "('t', '0')"]
    assert found.index.name == "7"
    assert content(found) == content(source())


LEVELS = {"levels": [[{"name": None, "dtype": "int64"}, [0, 1, 2]]] * 2}
CODES = [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize(
    ("labels", "entries"),
    [
        ({"levels": [[LEVELS, CODES]] * 2}, CODES),
        ({"name": None, "dtype": "S1"}, ["a", "b", "c"]),
        ({"name": None, "dtype": {"categories": [LEVELS, CODES], "ordered": False}}, [0, 1, 2]),
    ],
    ids=["nested levels", "bytes", "categories with levels"],
)
def test_import_ignores_labels_that_pandas_does_not_support(labels, entries):
    def change(schema):
        form = json.loads(schema.metadata[BRIDGE_KEY])
        return damage(json.dumps({**form, "labels": labels, "entries": entries}))(schema)

    found = round_trip(source(), peer=change)
    assert found.columns.tolist() == ["1", "2.5", "('t', '0')"]
    assert content(found) == content(source())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda part: (
        st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3)
    ),
    max_leaves=5,
)


@given(st.data())
def test_import_succeeds_with_arbitrary_metadata(data):
    """Replace one entry of one of the keys by any JSON value."""
    export_input = frame_to_columns(source())
    schema = schema_of(export_input)
    key = data.draw(st.sampled_from([BRIDGE_KEY, PANDAS_KEY]))
    form = json.loads(schema.metadata[key])
    form[data.draw(st.sampled_from(sorted(form)))] = data.draw(JSON)
    metadata = {key: json.dumps(form).encode()}
    found = frame_of_columns(
        export_input.columns, schema.with_metadata(metadata), 3, export_input.schema_spec.labels
    )
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
def test_import_ignores_a_dtype_hint_that_does_not_match_the_type(name, form):
    array, expected = DEFAULTS[name]
    hint = arrow(array.type) if form == "itself" else form
    ours = {"version": 1, "kind": "series", "fields": ["x"], "entries": [5], "hints": [hint]}
    ours |= {"labels": {"name": None, "dtype": "object"}, "index": None}
    field = pa.field("x", array.type, metadata={BRIDGE_KEY: json.dumps(ours).encode()})
    found = series_of_column(to_plc(array), field)
    assert found.name == 5
    if not (form == "itself" and isinstance(found.dtype, pd.ArrowDtype)):
        assert str(found.dtype).split("(")[0].lower().removesuffix("dtype") == expected
    assert len(content(found)[0]) == len(array)


@pytest.mark.parametrize(
    "span",
    [[0, 3], ["0", 3, 1], [0, 3, 0], [0, 2**70, 1], [-(2**63), 2**63, 1], None, [0, 3, True]],
)
def test_import_ignores_an_invalid_range(span):
    export_input = frame_to_columns(frame({7: numbers()}))
    schema = schema_of(export_input)
    ours = json.loads(schema.metadata[BRIDGE_KEY]) | {"index": {"names": [None], "range": span}}
    theirs = json.loads(schema.metadata[PANDAS_KEY])
    keys = ("start", "stop", "step")
    theirs["index_columns"] = [dict(zip(keys, span or (), strict=False)) | {"kind": "range"}]
    metadata = {BRIDGE_KEY: json.dumps(ours), PANDAS_KEY: json.dumps(theirs)}
    found = frame_of_columns(export_input.columns, schema.with_metadata(metadata), 3)
    assert (found.index.start, found.index.stop, found.index.step) == (0, 3, 1)


def test_import_ignores_metadata_that_is_nested_too_deeply():
    deep = b"[" * 100_000 + b"]" * 100_000
    for key in (BRIDGE_KEY, PANDAS_KEY):
        found = round_trip(source(), peer=lambda schema, key=key: schema.with_metadata({key: deep}))
        assert found.columns.tolist() == ["1", "2.5", "('t', '0')", "7"]


def test_import_ignores_metadata_whose_decoding_exceeds_the_recursion_limit(monkeypatch):
    """From Python 3.12 on, JSON can be nested more deeply than Python's recursion limit."""

    def give_up(*_):
        raise RecursionError

    monkeypatch.setattr(layout, "decode_index", give_up)
    assert round_trip(source()).columns.tolist() == ["1", "2.5", "('t', '0')"]
    monkeypatch.setattr(layout, "decode_label", give_up)
    assert round_trip(series(numbers(), 5)).name == "5"


def test_import_restores_the_index_from_the_metadata_of_cudf():
    """cuDF names the index level "index" and writes no other name."""
    entry = {"pandas_type": "int64", "numpy_type": "int64", "metadata": None}
    metadata = {
        "index_columns": ["index"],
        "columns": [{"name": name, "field_name": name} | entry for name in ("a", "index")],
    }
    schema = pa.schema(
        [("a", pa.int64()), ("index", pa.int64())], {PANDAS_KEY: json.dumps(metadata)}
    )
    export_input = frame_to_columns(frame({"a": numbers(), "b": numbers(start=5)}))
    found = frame_of_columns(export_input.columns, schema, 3)
    assert found.columns.tolist() == ["a"]
    assert content(found.index) == [[5, 6, 7]]


def test_field_names_replace_labels_that_are_equal():
    export_input = frame_to_columns(frame({"a": numbers(), "b": numbers()}))
    schema = schema_of(export_input)
    ours = json.loads(schema.metadata[BRIDGE_KEY]) | {"entries": ["a", "a"]}
    schema = schema.with_metadata({BRIDGE_KEY: json.dumps(ours)})
    assert frame_of_columns(export_input.columns, schema, 3).columns.tolist() == ["a", "b"]


def test_import_rejects_two_fields_with_the_name_of_the_index():
    """The metadata is ambiguous, so neither field gets the dtype or becomes the index."""
    export_input = frame_to_columns(
        frame({"a": numbers()}, index=index(column(STRINGS, DEFAULT), "i"))
    )
    fields = [pa.field("i", pa.string()), pa.field("i", pa.string())]
    schema = pa.schema(fields, metadata=schema_of(export_input).metadata)
    with pytest.raises(TypeError, match=r"\['i'\]"):
        frame_of_columns([export_input.columns[1]] * 2, schema, 3)


USER_METADATA = {"source": "sensor 7", "żółw": "🐢", "empty": ""}


def test_schema_metadata_becomes_the_attrs_of_the_frame():
    metadata = {**USER_METADATA, b"bytes": b"\xff", b"\xff": b"bytes"}
    batch = pa.record_batch({"a": [1, 2]}).replace_schema_metadata(metadata)
    for _ in range(2):  # the second time with a cached schema
        frame = cab.from_arrow_device(batch)
        assert frame.attrs == USER_METADATA
        found = cab.to_arrow_device(frame).schema.metadata
        assert {key: found[key.encode()].decode() for key in USER_METADATA} == USER_METADATA
        round_trip = cab.from_arrow_device(cab.to_arrow_device(frame))
        assert round_trip.attrs == USER_METADATA
        assert round_trip.to_pandas().attrs == USER_METADATA


def test_export_writes_the_attrs_of_each_frame():
    table = pa.table({"a": [1, 2]})
    frames = [cab.from_arrow_device(table) for _ in range(4)]
    for one, attrs in zip(frames, [{}, {"k": "1"}, {"k": "2"}, {"k": 1, 2: "x"}], strict=True):
        one.attrs = attrs
    for _ in range(2):
        found = [cab.to_arrow_device(one).schema.metadata.get(b"k") for one in frames]
        assert found == [None, b"1", b"2", None]


@pytest.mark.parametrize("index", [None, pd.Index([4, 5], name="i"), pd.RangeIndex(2, 6, 2)])
def test_exports_of_equal_cudf_and_pandas_frames_have_one_schema(index):
    source = pd.DataFrame({"a": [1, 2], "b": [1.5, 2]}, index=index)
    expected = cab.to_arrow_device(source).schema
    found = cab.to_arrow_device(cab.from_arrow_device(source)).schema
    assert found.metadata[PANDAS_KEY] == expected.metadata[PANDAS_KEY]
    assert found.equals(expected, check_metadata=True)
    for entry in json.loads(found.metadata[PANDAS_KEY])["columns"]:
        assert next(iter(entry)) == "name"


def test_a_series_with_its_index_keeps_its_attrs():
    series = cab.from_arrow_device(pa.table({"a": [1, 2]}))["a"]
    series.attrs = {"k": 1}
    round_trip = cab.from_arrow_device(cab.to_arrow_device(series, preserve_index=True))
    assert isinstance(round_trip, cudf.Series)
    assert round_trip.attrs == {"k": 1}


def test_attrs_do_not_replace_the_pandas_metadata():
    frame = cab.from_arrow_device(pa.table({"a": [1, 2]}))
    frame.attrs = {"pandas": "no", "cudf_arrow_bridge": "no"}
    round_trip = cab.from_arrow_device(cab.to_arrow_device(frame))
    assert round_trip.attrs == frame.attrs
    assert pa.record_batch(cab.to_arrow_device(frame)).to_pandas().equals(frame.to_pandas())


def test_import_converts_each_level_of_labels_on_its_own():
    labels = [pd.CategoricalIndex(["x", "y"]), pd.date_range("2020", periods=2, tz="Europe/Rome")]
    labels = pd.MultiIndex.from_arrays([*labels, [1, 2]], names=["c", "when", None])
    own = pd.DataFrame([[1, 2.5]], ["p"], labels)
    found = cab.from_arrow_device(pa.Table.from_pandas(own)).to_pandas()
    expected = labels.set_levels(["x", "y"], level=0)
    pd.testing.assert_frame_equal(found, own.set_axis(expected, axis=1))


OLD_FILES = sorted((Path(pa.__file__).parent / "tests" / "data" / "parquet").glob("v0.7.1*"))


@pytest.mark.parametrize("path", OLD_FILES, ids=lambda path: path.name)
def test_import_reads_metadata_without_field_names(path):
    """pandas before 0.23 wrote no `field_name`."""
    table = pq.read_table(path)
    found = cab.from_arrow_device(table)
    expected = table.to_pandas()
    assert list(found.index.names) == list(expected.index.names)
    assert found.columns.tolist() == expected.columns.tolist()
    pd.testing.assert_frame_equal(
        found.to_pandas(), expected, check_index_type=False, check_dtype=False
    )


@pytest.mark.parametrize("labels", [["x"], ["1"]], ids=str)
def test_import_finds_levels_of_the_index_with_the_name_of_another_field(labels):
    """pyarrow writes both of the names 1 and "1" as the field name "1"."""
    rows = pd.MultiIndex.from_arrays([["p", "q"], [5, 6]], names=["1", "1"])
    own = pd.DataFrame([[7], [8]], rows, labels)
    fields = [labels[0], "1", "1"]
    entries = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": kind}
        for name, kind in zip(fields, ["int64", "object", "int64"], strict=True)
    ]
    document = {"index_columns": ["1", "1"], "column_indexes": [], "columns": entries}
    columns = [pa.array([7, 8]), pa.array(["p", "q"]), pa.array([5, 6])]
    batch = pa.record_batch(columns, fields)
    batch = batch.replace_schema_metadata({"pandas": json.dumps(document)})
    pd.testing.assert_frame_equal(cab.from_arrow_device(batch).to_pandas(), own)


@pytest.mark.parametrize("unit", ["ms", "ns"])
@pytest.mark.parametrize("stored", [None, "UTC", "+02:00"])
def test_import_takes_the_time_zone_of_the_pandas_metadata(stored, unit):
    """fastparquet writes the time zone only there."""
    stamps = pd.date_range("2020-03-28", periods=3, tz="Europe/Rome", unit=unit)
    own = pd.DataFrame({"t": stamps}, stamps.rename("i"))
    table = pa.Table.from_pandas(own)
    other = table.cast(pa.schema([(name, pa.timestamp(unit, stored)) for name in ("t", "i")]))
    frame = cab.from_arrow_device(other.replace_schema_metadata(table.schema.metadata))
    array = cab.to_arrow_device(frame)
    for found in (frame, array, cab.from_arrow_device(array)):
        pd.testing.assert_frame_equal(found.to_pandas(), own, check_freq=False)
    assert {field.type for field in array.schema} == {pa.timestamp(unit, "Europe/Rome")}


@pytest.mark.parametrize("zone", ["Nowhere/Town", 7, None, {}], ids=str)
def test_import_ignores_an_unknown_time_zone_of_the_pandas_metadata(zone):
    entry = {"name": "t", "pandas_type": "datetimetz", "numpy_type": "datetime64[ns]"}
    document = {"index_columns": [], "columns": [{**entry, "metadata": {"timezone": zone}}]}
    batch = pa.record_batch({"t": pa.array([1, 2], pa.timestamp("us", "UTC"))})
    found = cab.from_arrow_device(batch.replace_schema_metadata({"pandas": json.dumps(document)}))
    assert str(found["t"].dtype) == "datetime64[us, UTC]"
