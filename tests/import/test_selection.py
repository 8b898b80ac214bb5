# SPDX-License-Identifier: Apache-2.0
"""``columns=``: some columns of a table, in the order given, and the index of frames."""

from __future__ import annotations

import decimal
import gc
import re

import pandas as pd
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.broken import child
from testing.host_frames import assert_same_object, frame, multi, numbers
from testing.peers.arrays import DeviceOnly, HostOnly, Producer
from testing.peers.streams import DeviceStreamOnly, StreamOnly, StreamProducer

BATCH = pa.record_batch(
    {
        "n": [1, None, 3, 4],
        "text": ["a", None, "ccc", ""],
        "list": [[1], None, [], [2, 3]],
        "unknown": pa.array([decimal.Decimal(1)] * 4, pa.decimal256(50)),
        "flag": [True, None, False, True],
    }
)
KNOWN = ["n", "text", "list", "flag"]
SELECTIONS = [["n"], ["flag", "n"], ["list", "text", "n"], KNOWN, []]


def lists_of(obj):
    """Export a frame or a table; return the values that pyarrow reads, by column."""
    return pa.table(cab.to_arrow_device(obj)).to_pydict()


@pytest.mark.parametrize("wrap", [DeviceOnly, HostOnly, lambda batch: batch])
@pytest.mark.parametrize("columns", SELECTIONS, ids=str)
def test_columns_are_imported_in_the_given_order(wrap, columns):
    found = cab.from_arrow_device(wrap(BATCH), columns=columns)
    assert list(found.columns) == columns
    assert len(found) == BATCH.num_rows
    assert lists_of(found) == BATCH.select(columns).to_pydict()
    table = cab.from_arrow_device(wrap(BATCH), columns=columns, to="pylibcudf")
    assert (table.num_columns(), table.num_rows()) == (len(columns), BATCH.num_rows)
    assert list(lists_of(table).values()) == list(BATCH.select(columns).to_pydict().values())


def test_columns_accepts_any_iterable_of_strings():
    names = ["text", "n"]
    for columns in (tuple(names), iter(names), pd.Index(names), dict.fromkeys(names)):
        assert list(cab.from_arrow_device(BATCH, columns=columns).columns) == ["text", "n"]


def test_selected_columns_are_not_copied():
    table = cab.from_arrow_device(BATCH, columns=["list", "n"], to="pylibcudf")
    lists, number = table.columns()
    assert number.data().ptr == BATCH["n"].buffers()[1].address
    assert lists.children()[1].data().ptr == BATCH["list"].buffers()[3].address


@pytest.mark.parametrize("columns", [[], ["flag"]], ids=str)
def test_array_is_released_at_once_if_no_column_shares_its_memory(columns):
    """Bools without nulls are converted, and share no memory."""
    producer = Producer(pa.record_batch({"n": [1, 2], "flag": [True, False]}))
    found = cab.from_arrow_device(producer, columns=columns)
    gc.collect()
    assert producer.releases == 1
    assert len(found) == 2


NAMES = re.escape(str(BATCH.schema.names))
WRONG = {
    "unknown": (["n", "z"], KeyError, rf"columns: .* the names \['z'\]; the names are {NAMES}"),
    "twice": (["n", "n"], ValueError, r"these names are repeated: \['n'\]"),
    "a string": ("n", TypeError, "columns: expected a list of column names, got 'n'"),
    "a number": ([0], TypeError, rf"columns: expected names of Arrow fields in {NAMES}, got 0$"),
    "no names": (7, TypeError, "columns: expected a list of column names, got 7"),
    "unsupported": (
        ["unknown"],
        TypeError,
        "column 'unknown': the Arrow type .*256.* is not supported",
    ),
}


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
@pytest.mark.parametrize(("columns", "error", "message"), WRONG.values(), ids=WRONG)
def test_invalid_columns_raise_an_error_and_release_the_source(columns, error, message, to):
    producer = Producer(BATCH)
    with pytest.raises(error, match=message):
        cab.from_arrow_device(producer, columns=columns, to=to)
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)
    source = StreamProducer(BATCH.schema, [BATCH, BATCH])
    with pytest.raises(error, match=message):
        cab.from_arrow_device_stream(source, columns=columns, to=to)
    gc.collect()
    assert source.releases == 1


def test_columns_rejects_a_name_that_several_fields_have():
    twice = pa.RecordBatch.from_arrays([pa.array([i]) for i in range(3)], ["a", "b", "a"])
    with pytest.raises(ValueError, match=r"several fields have the same name: \['a'\]"):
        cab.from_arrow_device(twice, columns=["b", "a"])
    assert lists_of(cab.from_arrow_device(twice, columns=["b"])) == {"b": [1]}


def test_columns_requires_a_table():
    structs = BATCH.to_struct_array()
    nulls = pa.StructArray.from_arrays([pa.array([1, 2])], ["n"], mask=pa.array([True, False]))
    no_fields = "columns: the data is a column that has no fields"
    needs_table = 'columns: the data is a column: kind="table" imports it as a table'
    for obj, kind, message in (
        *((pa.array([1, 2]), kind, no_fields) for kind in (None, "column", "table")),
        (BATCH, "column", needs_table),
        (structs, None, needs_table),
        (nulls, "table", r"'\(top level\)': a table cannot have null rows, and this one has 1"),
    ):
        with pytest.raises(ValueError, match=message):
            cab.from_arrow_device(obj, columns=["n"], kind=kind)
    found = cab.from_arrow_device(structs, columns=["flag", "n"], kind="table")
    assert lists_of(found) == BATCH.select(["flag", "n"]).to_pydict()


def test_selection_rejects_structs_that_contradict_their_schema():
    def break_one(schema, array):
        child(array.array, 1).length = -1

    producer = Producer(BATCH, break_one)
    with pytest.raises(ValueError, match=r"column 'text': .*-1"):
        cab.from_arrow_device(producer, columns=["text"])
    gc.collect()
    assert producer.releases == 1
    # Columns that are not selected are not validated.
    producer = Producer(BATCH, break_one)
    assert lists_of(cab.from_arrow_device(producer, columns=["n"])) == {"n": [1, None, 3, 4]}


STREAMS = {
    "table": lambda: pa.Table.from_batches([BATCH, BATCH.slice(1)]),
    "host stream": lambda: StreamOnly(pa.Table.from_batches([BATCH, BATCH.slice(1)])),
    "iterable": lambda: iter([BATCH, BATCH.slice(1)]),
    "device stream": lambda: DeviceStreamOnly(
        cab.to_arrow_device_stream(
            pa.Table.from_batches([BATCH, BATCH.slice(1)]).drop_columns("unknown")
        )
    ),
}


@pytest.mark.parametrize("source", STREAMS)
@pytest.mark.parametrize("columns", SELECTIONS, ids=str)
def test_columns_of_a_stream_are_imported_in_the_given_order(source, columns):
    expected = pa.Table.from_batches([BATCH, BATCH.slice(1)]).select(columns)
    found = cab.from_arrow_device_stream(STREAMS[source](), columns=columns)
    assert (list(found.columns), len(found)) == (columns, 7)
    assert lists_of(found) == expected.to_pydict()
    parts = list(cab.from_arrow_device_stream(STREAMS[source](), columns=columns, concat=False))
    assert [lists_of(part) for part in parts] == [
        batch.select(columns).to_pydict() for batch in (BATCH, BATCH.slice(1))
    ]
    if source != "iterable":
        assert_same_object(cab.from_arrow_device(STREAMS[source](), columns=columns), found)


def test_selection_of_a_stream_reads_batches_lazily_and_releases_on_close():
    source = StreamProducer(BATCH.schema, [BATCH, BATCH, BATCH])
    parts = cab.from_arrow_device_stream(source, columns=["n"], concat=False)
    assert lists_of(next(parts)) == {"n": [1, None, 3, 4]}
    assert (source.pulls, source.releases) == (1, 0)
    parts.close()
    assert source.releases == 1


def test_columns_of_a_stream_without_batches_give_an_empty_frame():
    found = cab.from_arrow_device(pa.Table.from_batches([], BATCH.schema), columns=["flag"])
    assert (list(found.columns), len(found)) == (["flag"], 0)


NUMBERED = pd.DataFrame(
    {"a": [1, 2, 3], "b": ["x", "y", "z"], "c": [1.5, 2.5, 3.5]}, pd.Index([10, 20, 30], name="id")
)


def test_index_level_named_in_columns_stays_the_index():
    found = cab.from_arrow_device(NUMBERED, columns=["id", "b"])
    assert (list(found.columns), found.index.name) == (["b"], "id")


def test_columns_of_a_pylibcudf_table_do_not_include_the_index():
    assert cab.from_arrow_device(NUMBERED, columns=["c"], to="pylibcudf").num_columns() == 1
    table = cab.from_arrow_device(NUMBERED, columns=["id", "c"], to="pylibcudf")
    assert table.columns()[0].data().ptr != 0
    assert list(lists_of(table).values()) == [[10, 20, 30], [1.5, 2.5, 3.5]]


PAIRS = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
FRAMES = {
    "range": (
        lambda: frame([numbers(), numbers(3, 5), numbers(3, 7)], pd.RangeIndex(3)),
        ["2", "0"],
        [2, 0],
    ),
    "levels": (
        lambda: frame({"a": numbers(), "b": numbers()}, index=multi([numbers()] * 2, ["x", None])),
        ["b", "a"],
        ["b", "a"],
    ),
    "pairs": (lambda: frame([numbers(), numbers(3, 5)], PAIRS), ["('a', '2')"], [("a", 2)]),
}


@pytest.mark.parametrize("kept", FRAMES)
def test_columns_keep_the_labels_and_the_index_of_an_exported_frame(kept):
    make, columns, labels = FRAMES[kept]
    made = make()
    exported = cab.to_arrow_device(made)
    found = cab.from_arrow_device(exported, columns=columns)
    assert list(found.columns) == labels
    assert_same_object(found, made[labels])
    (part,) = cab.from_arrow_device_stream(
        cab.to_arrow_device_stream(made), columns=columns, concat=False
    )
    assert_same_object(part, made[labels])


def test_columns_keep_labels_without_a_json_form():
    one, other = object(), object()
    made = frame([numbers(), numbers(3, 5)], pd.Index([one, other]))
    exported = cab.to_arrow_device(made)
    name = exported.schema.names[1]
    stream = cab.to_arrow_device_stream(made, max_rows=2)
    for source in (exported, stream):
        (found,) = cab.from_arrow_device(source, columns=[name]).columns
        assert found is other


def test_selections_of_one_schema_are_independent():
    for columns in (["n"], ["flag"], ["n", "flag"], ["flag", "n"], ["n"]) * 2:
        assert list(cab.from_arrow_device(BATCH, columns=columns).columns) == columns
    rest = BATCH.select(KNOWN)
    assert list(cab.from_arrow_device(rest).columns) == KNOWN
    assert list(cab.from_arrow_device(rest, columns=["n"]).columns) == ["n"]
    assert list(cab.from_arrow_device(rest).columns) == KNOWN
