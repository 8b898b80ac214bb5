# SPDX-License-Identifier: Apache-2.0
"""Labels of columns and rows: exact with our metadata, correct with the metadata of pandas."""

import json

import cudf
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.metadata import BRIDGE_KEY, PANDAS_KEY
from cudf_arrow_bridge.frames.frame_to_columns import frame_to_columns
from testing.host import schema_of, table_of
from testing.host_frames import (
    assert_same_object,
    column,
    content,
    frame,
    frame_of_columns,
    index,
    multi,
    numbers,
    round_trip,
    series,
)
from testing.labels import INDEXES, LABELS, are_same_labels

STRINGS = column(pa.array(["p", "q", "r"]), pd.StringDtype(na_value=np.nan))
STAMPS = column(pa.array([1, 2, 3], pa.timestamp("ns")), np.dtype("datetime64[ns]"))


def labelled(labels):
    return frame([numbers(start=10 * i) for i in range(len(labels))], labels)


@pytest.mark.parametrize("labels", INDEXES.values(), ids=INDEXES)
def test_round_trip_keeps_column_labels_and_the_index(labels):
    for rows in (None, index(STRINGS, "rows")):
        source = frame([numbers() for _ in labels], labels, rows)
        assert_same_object(round_trip(source), source)


@given(st.lists(LABELS, max_size=5))
def test_round_trip_keeps_arbitrary_column_labels(labels):
    assume(len(dict.fromkeys(labels)) == len(labels))
    plain = np.empty(len(labels), object)
    for position, label in enumerate(labels):
        plain[position] = label
    source = labelled(pd.Index(plain, dtype=object, tupleize_cols=False))
    try:
        source.columns  # noqa: B018
    except ValueError:
        reject()  # cuDF lets pandas split nested tuples into levels
    found = round_trip(source, objects=False)
    assert all(are_same_labels(*pair) for pair in zip(found.columns, source.columns, strict=True))
    assert found.columns.dtype == source.columns.dtype
    assert content(found) == content(source)


def test_label_without_a_json_form_is_kept_only_within_the_process():
    label = frozenset("a")
    source = labelled(pd.Index([label, "b"], dtype=object))
    assert round_trip(source).columns[0] is label
    assert round_trip(source, objects=False).columns[0] == str(label)


def test_labels_of_an_import_are_not_those_of_another_object_with_the_same_schema():
    label = frozenset({1})
    own = cab.to_arrow_device(labelled(pd.Index([label], dtype=object)))
    foreign = pa.record_batch(own)
    for _ in range(2):
        assert cab.from_arrow_device(own).columns[0] is label
        assert cab.from_arrow_device(foreign).columns[0] == str(label)
        assert cab.from_arrow_device(cab.to_arrow_device(own)).columns[0] is label
        assert cab.from_arrow_device(cab.to_arrow_device(foreign)).columns[0] == str(label)


def test_labels_that_differ_only_in_type_have_equal_field_names():
    source = labelled(pd.Index([1, "1", None, "None"], dtype=object))
    assert schema_of(frame_to_columns(source)).names == ["1", "1", "None", "None"]
    assert_same_object(round_trip(source), source)


#: Labels that pandas reads from its own metadata. pyarrow writes a name that is a tuple as text.
FAITHFUL = {
    name: INDEXES[name]
    for name in (
        *("range", "range step", "uint8", "times", "zoned", "durations", "bools", "floats"),
        *("multi", "multi unused"),
    )
} | {"name": INDEXES["tuple name"].rename("n")}


@pytest.mark.parametrize("labels", FAITHFUL.values(), ids=FAITHFUL)
def test_pandas_reads_the_exported_labels(labels):
    found = table_of(frame_to_columns(labelled(labels))).to_pandas()
    pd.testing.assert_index_equal(found.columns, labels, exact="equiv", check_names=True)
    assert found.iloc[0].tolist() == [10 * i for i in range(len(labels))]


#: Labels that pyarrow keeps, but with another dtype.
CONVERTED = ["nothing", "no strings", "string", "python strings", "object strings", "multi empty"]


@pytest.mark.parametrize("name", INDEXES)
def test_pandas_reads_exported_labels_as_well_as_those_of_pyarrow(name):
    """The export keeps at least what pyarrow keeps of the same labels."""
    labels = INDEXES[name]
    found = table_of(frame_to_columns(labelled(labels))).to_pandas().columns
    assert len(found) == len(labels)
    if name in CONVERTED:
        own = pd.DataFrame(np.zeros((3, len(labels)), "int64"), columns=labels)
        pd.testing.assert_index_equal(found, pa.Table.from_pandas(own).to_pandas().columns)


def test_labels_with_more_entries_than_levels_remain_texts(monkeypatch):
    """A label of a million entries must not become a million levels."""
    source = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    document = json.loads(pa.Schema.from_pandas(source).metadata[PANDAS_KEY])
    texts = ["('a', 1)", "('b', 2, 3)"]
    for entry, text in zip(document["columns"], texts, strict=False):
        entry["name"] = entry["field_name"] = text
    schema = pa.schema(
        [pa.field(text, pa.int64()) for text in texts], {PANDAS_KEY: json.dumps(document)}
    )
    made = []
    monkeypatch.setattr(pd.MultiIndex, "from_tuples", lambda tuples, names: made.append(tuples))
    found = cab.from_arrow_device(schema.empty_table())
    assert list(found.columns) == texts
    assert made == []


def rows():
    return {
        "default": None,
        "range": cudf.RangeIndex(2, 8, 2, name=("r", 1)),
        "named": index(STRINGS, "rows"),
        "nameless": index(numbers()),
        "name of a column": index(STAMPS, "a"),
        "name of bytes": index(STAMPS, b"\xff"),
        "multi": multi([numbers(), STRINGS], ["u", None]),
        "multi twins": multi([numbers(), STRINGS], ["u", "u"]),
        "multi nameless": multi([STAMPS, STRINGS, numbers()], [None, None, None]),
    }


@pytest.mark.parametrize("name", rows())
def test_round_trip_keeps_the_index(name):
    source = frame({"a": numbers(), 7: STRINGS}, index=rows()[name])
    assert_same_object(round_trip(source), source)
    assert_same_object(round_trip(source, objects=False), source)


@pytest.mark.parametrize("name", rows())
def test_pandas_reads_the_exported_index(name):
    source = frame({"a": numbers(), "b": STRINGS}, index=rows()[name])
    found = table_of(frame_to_columns(source)).to_pandas()
    assert found.columns.tolist() == ["a", "b"]
    names = [n.decode("utf-8", "backslashreplace") if isinstance(n, bytes) else n
             for n in source.index.names]  # fmt: skip
    names = ["('r', '1')" if name == ("r", 1) else name for name in names]
    assert list(found.index.names) == names
    if isinstance(source.index, cudf.RangeIndex):
        expected = source.index
        assert isinstance(found.index, pd.RangeIndex)
        assert list(found.index) == list(range(expected.start, expected.stop, expected.step))
    else:
        levels = [found.index.get_level_values(i) for i in range(found.index.nlevels)]
        assert [list(level) for level in levels] == content(source.index)


@pytest.mark.parametrize("name", ["default", "range", "named", "multi"])
@pytest.mark.parametrize("preserve", [True, False])
def test_preserve_index_decides_whether_the_index_is_exported(name, preserve):
    source = frame({"a": numbers()}, index=rows()[name])
    export_input = frame_to_columns(source, preserve)
    found = round_trip(source, preserve)
    if not preserve:
        assert schema_of(export_input).names == ["a"]
        assert_same_object(found, frame({"a": numbers()}))
        return
    assert len(export_input.columns) == 1 + source.index.nlevels
    assert list(found.index.names) == list(source.index.names)
    if isinstance(source.index, cudf.RangeIndex):
        span = range(source.index.start, source.index.stop, source.index.step)
        assert content(found.index) == [list(span)]
    else:
        assert content(found.index) == content(source.index)


@pytest.mark.parametrize("count", [0, 3])
def test_round_trip_keeps_the_rows_of_a_frame_without_columns(count):
    source = frame([], pd.Index([], dtype="str", name="n"), cudf.RangeIndex(5, 5 + count))
    export_input = frame_to_columns(source)
    assert (export_input.num_rows, export_input.columns) == (count, ())
    assert_same_object(round_trip(source), source)
    only_index = frame([], pd.RangeIndex(0), index(STRINGS, "i"))
    assert_same_object(round_trip(only_index), only_index)


def test_import_without_metadata_uses_field_names_and_a_rangeindex():
    source = frame({"a": numbers(), "b": STRINGS}, index=index(STAMPS, "i"))
    found = round_trip(source, peer=lambda schema: schema.remove_metadata())
    assert found.columns.tolist() == ["a", "b", "i"]
    assert isinstance(found.index, cudf.RangeIndex)
    pd.testing.assert_index_equal(
        found.columns, pa.table({"a": [], "b": [], "i": []}).to_pandas().columns
    )


def test_round_trip_keeps_attrs_that_json_can_store():
    source = frame({"a": numbers()})
    source.attrs = {"unit": "m", "deep": [1, {"x": None}]}
    assert round_trip(source).attrs == source.attrs
    assert table_of(frame_to_columns(source)).to_pandas().attrs == source.attrs
    source.attrs = {"f": len}
    assert round_trip(source).attrs == {}


SERIES_NAMES = [None, "x", "", 1, 1.5, float("nan"), True, ("a", 1), b"\xff", pd.Timestamp("2020")]


@pytest.mark.parametrize("name", SERIES_NAMES, ids=repr)
def test_round_trip_keeps_the_name_and_the_index_of_a_series(name):
    for rows in (None, index(STRINGS, name)):
        source = series(numbers(), name, rows)
        assert_same_object(round_trip(source, rows is not None), source)


def test_round_trip_keeps_the_rangeindex_of_a_series():
    source = series(numbers(), "x", cudf.RangeIndex(2, 8, 2, name="r"))
    assert_same_object(round_trip(source), source)
    assert_same_object(round_trip(source, False), series(numbers(), "x"))


def test_export_of_a_plain_series_writes_no_metadata():
    (field,) = frame_to_columns(series(numbers(), "x")).schema_spec.fields
    assert (field.name, dict(field.metadata)) == ("x", {})
    (field,) = frame_to_columns(series(numbers())).schema_spec.fields
    assert (field.name, dict(field.metadata)) == ("", {})


def test_series_with_an_index_is_exported_without_it_or_as_a_table():
    source = series(numbers(), "x", index(STRINGS, "i"))
    assert frame_to_columns(source).kind == "column"
    assert_same_object(round_trip(source), series(numbers(), "x"))
    export_input = frame_to_columns(source, True)
    assert export_input.kind == "table"
    found = table_of(export_input).to_pandas()
    assert found["x"].to_dict() == {"p": 0, "q": 1, "r": 2}


@pytest.mark.parametrize("name", [None, "i", 3], ids=repr)
def test_exported_index_is_imported_as_a_series(name):
    source = index(STRINGS, name)
    assert_same_object(round_trip(source), series(STRINGS, name))
    assert_same_object(round_trip(cudf.RangeIndex(4, 10, 2, name=name)), series(
        column(pa.array([4, 6, 8]), np.dtype("int64")), name
    ))  # fmt: skip


def test_exported_pandas_metadata_equals_that_of_pyarrow():
    own = pd.DataFrame(
        {"a": [0, 1, 2], "t": pd.to_datetime([1, 2, 3]), "c": pd.Categorical(["x", "y", "x"])},
        index=pd.Index(["p", "q", "r"], name="i"),
    )
    own["s"] = ["p", "q", "r"]
    # By default, pyarrow converts pandas' strings to large_string.
    schema = pa.Schema.from_pandas(own)
    for name in ("s", "i"):
        schema = schema.set(schema.get_field_index(name), pa.field(name, pa.string()))
    expected = pa.Table.from_pandas(own, schema=schema).schema.pandas_metadata
    category = cudf.CategoricalDtype(
        column(pa.array(["x", "y"]), pd.StringDtype(na_value=np.nan)), False
    )
    source = frame(
        {
            "a": numbers(),
            "t": STAMPS,
            "c": column(pa.array([0, 1, 0], pa.uint8()), category),
            "s": STRINGS,
        },
        index=index(STRINGS, "i"),
    )
    found = json.loads(frame_to_columns(source).schema_spec.metadata[PANDAS_KEY])
    del expected["creator"], found["creator"]
    assert found == expected


def test_export_writes_both_metadata_keys_as_ascii_json():
    metadata = frame_to_columns(
        labelled(pd.Index(["a", "\ud800", "b\0"], dtype=object))
    ).schema_spec.metadata
    assert set(metadata) == {PANDAS_KEY, BRIDGE_KEY}
    for value in metadata.values():
        assert json.loads(value.decode("ascii"))


def test_import_rejects_two_columns_with_one_name():
    export_input = frame_to_columns(frame({"a": numbers(), "b": numbers()}))
    schema = pa.schema([("a", pa.int64()), ("a", pa.int64())])
    with pytest.raises(TypeError, match=r"\['a'\].*pylibcudf"):
        frame_of_columns(export_input.columns, schema, 3)


def test_frame_to_columns_rejects_an_object_that_is_not_of_cudf():
    with pytest.raises(TypeError, match=r"DataFrame.*list"):
        frame_to_columns([1])


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ([None, 0], [1, 0]),
        ([None, "0"], [1, "0"]),
        ([1, None], [1, 2]),
        (["a", None], ["a", 1]),
        (["a", "a"], [0, 1]),
        ([None, None], [0, 1]),
        ([None, None, None, 1], [0, 2, 3, 1]),
    ],
)
def test_number_of_an_unnamed_level_differs_from_names_of_other_levels(names, labels):
    starts = range(0, 4 * len(names), 4)
    made = multi([numbers(start=start) for start in starts], names)
    found = cab.from_arrow_device(cab.to_arrow_device(made))
    assert found.columns.tolist() == labels
    assert content(found) == [[start, start + 1, start + 2] for start in starts]
    rows = frame({"x": numbers()}, index=made)
    found = cab.from_arrow_device(cab.to_arrow_device(rows))
    assert list(found.index.names) == names
    assert content(found.index) == content(made)
