# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import file_round_trip

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
KEYS = {
    "name", "arrow_type", "cudf_type", "rows", "nulls", "bytes", "device", "support", "result",
    "note",
}  # fmt: skip


def documents(capsys, *arguments):
    code = main(["roundtrip", "--json", *map(str, arguments)])
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    return code, document["files"]


def columns_of(file):
    return {column["name"]: column for column in file["columns"]}


@pytest.fixture
def small():
    return pa.table(
        {
            "number": pa.array([1, None, 3], pa.int32()),
            "text": ["a", "", None],
            "truth": [True, None, False],
            "day": pa.array([0, 1, None], pa.date32()),
            "ratio": [float("nan"), -0.0, None],
        }
    )


@pytest.fixture
def stuff():
    """Return a table of supported columns and of columns whose types cuDF lacks."""
    return pa.table(
        {
            "before": [1, 2],
            "wide": pa.array([Decimal(1), None], pa.decimal256(50, 2)),
            "months": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
            "after": ["x", None],
        }
    )


def write_parquet(table, path):
    pq.write_table(table, path)


def write_file(table, path):
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=2)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=2)


WRITERS = {"parquet": write_parquet, "arrow-file": write_file, "arrow-stream": write_stream}


def test_round_trip_of_the_sample_file_matches(capsys):
    code, [file] = documents(capsys, SAMPLE)
    table = pq.read_table(SAMPLE)
    assert code == 0
    assert (file["format"], file["rows"], file["error"]) == ("parquet", table.num_rows, None)
    assert list(file["seconds"]) == list(file_round_trip.STEPS)
    assert [c["name"] for c in file["columns"]] == table.column_names
    for column, theirs in zip(file["columns"], table.columns, strict=True):
        assert set(column) == KEYS
        assert column["result"] == "match", column
        assert column["arrow_type"] == str(theirs.type)
        assert (column["rows"], column["nulls"]) == (len(theirs), theirs.null_count)


def test_support_distinguishes_zero_copy_from_converted(capsys):
    if cudf_arrow_bridge.has_gpu():
        pytest.skip("addresses in the CPU's memory are compared")
    _, [file] = documents(capsys, SAMPLE)
    support = {column["name"]: column["support"] for column in file["columns"]}
    assert support["cancelled"] == "converted", "booleans are bytes in cuDF"
    assert support["day"] == "converted", "cuDF's frames have no days"
    assert [c["note"] for c in file["columns"] if c["support"] == "zero-copy"] == [""] * 13
    for name in ("flight", "distance", "arr_delay", "scheduled", "tailnum", "precip"):
        assert support[name] == "zero-copy", name


@pytest.mark.parametrize("kind", WRITERS)
def test_format_is_detected_from_the_content(kind, small, tmp_path, capsys):
    path = tmp_path / "no_ending"
    WRITERS[kind](small, path)
    code, [file] = documents(capsys, path)
    assert (code, file["format"], file["rows"]) == (0, kind, 3)
    assert [c["nulls"] for c in file["columns"]] == [c.null_count for c in small.columns]


def test_round_trip_of_a_csv_file_infers_types(tmp_path, capsys):
    path = tmp_path / "t.csv"
    pa.csv.write_csv(pa.table({"a": [1, 2], "b": ["x", "y"]}), path)
    code, [file] = documents(capsys, path)
    assert (code, file["format"]) == (0, "csv")
    assert [c["arrow_type"] for c in file["columns"]] == ["int64", "string"]


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_rows_option_limits_the_number_of_rows(kind, rows, small, tmp_path, capsys):
    path = tmp_path / "t"
    WRITERS[kind](small, path)
    code, [file] = documents(capsys, path, "--rows", rows)
    expected = small.slice(0, rows)
    assert (code, file["rows"]) == (0, expected.num_rows)
    assert [c["nulls"] for c in file["columns"]] == [c.null_count for c in expected.columns]


def test_round_trip_of_a_file_without_rows_matches(small, tmp_path, capsys):
    pq.write_table(small.slice(0, 0), tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, file["rows"], len(file["columns"])) == (0, 0, 5)


@pytest.mark.parametrize(
    "type_",
    [
        pa.dictionary(pa.int8(), pa.float16()),
        pa.map_(pa.string(), pa.run_end_encoded(pa.int16(), pa.int8())),
    ],
)
def test_round_trip_of_a_file_without_batches_matches(type_, tmp_path, capsys):
    with pa.ipc.new_stream(tmp_path / "t", pa.schema([("c", type_)])):
        pass
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, file["rows"]) == (0, 0), file


def test_second_column_of_a_duplicate_name_is_unsupported(tmp_path, capsys):
    table = pa.table([[1, 2], ["x", "y"]], names=["same", "same"])
    write_file(table, tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 3
    assert [c["arrow_type"] for c in file["columns"]] == ["int64", "string"]
    assert [c["result"] for c in file["columns"]] == ["match", "unsupported"]
    assert "one column of each name" in file["columns"][1]["note"]


def test_round_trip_of_the_null_type_matches(tmp_path, capsys):
    pq.write_table(pa.table({"none": pa.nulls(3), "n": [1, 2, 3]}), tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 0, file
    assert columns_of(file)["none"]["nulls"] == 3


def test_round_trip_of_a_dictionary_inside_a_struct_matches(tmp_path, capsys):
    words = pa.array(["x", None, "y", "x"]).dictionary_encode()
    table = pa.table({"s": pa.StructArray.from_arrays([words], ["word"]), "top": words})
    write_stream(table, tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 0, file


def test_unsupported_columns_are_named(stuff, tmp_path, capsys):
    write_file(stuff, tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 3
    results = {name: column["result"] for name, column in columns_of(file).items()}
    assert results == {
        "before": "match", "wide": "unsupported", "months": "unsupported", "after": "match",
    }  # fmt: skip
    assert columns_of(file)["wide"]["note"]

    assert main(["roundtrip", str(tmp_path / "t")]) == 3
    out = capsys.readouterr().out
    assert "unsupported: wide (decimal256(50, 2)): " in out
    assert "2 of 4 columns matched after the round trip." in out


@pytest.mark.parametrize(
    "column",
    [
        pa.StructArray.from_arrays([[1], [2]], ["a", "a"]),
        pa.array([1], pa.timestamp("s", "Mars/Base")),
    ],
    ids=["duplicate_fields", "zone"],
)
def test_columns_that_frames_do_not_support_are_unsupported(column, tmp_path, capsys):
    write_file(pa.table({"bad": column, "good": [1]}), tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 3
    assert [c["result"] for c in file["columns"]] == ["unsupported", "match"]


def test_file_without_supported_columns_exits_with_3(stuff, tmp_path, capsys):
    write_file(stuff.select(["wide", "months"]), tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 3
    assert {column["result"] for column in file["columns"]} == {"unsupported"}


@pytest.fixture
def tampered(monkeypatch):
    """Make the package import a changed copy of each record batch."""
    genuine = cudf_arrow_bridge.from_arrow_device

    def tamper(change):
        def altered(source, *args, **kwargs):
            if isinstance(source, pa.RecordBatch):
                source = change(source)
            return genuine(source, *args, **kwargs)

        monkeypatch.setattr(file_round_trip, "from_arrow_device", altered)

    return tamper


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (pa.array([1, 2, 4], pa.int32()), "row 2: 3 became 4"),
        (pa.array([1, 2, None], pa.int32()), "row 2: 3 became None"),
        (pa.array([1, 2, 3], pa.int64()), "int32 became int64"),
        (pa.array([1, 2, 3], pa.int8()), "int32 became int8"),
    ],
)
def test_mismatch_exits_with_1_and_has_a_note(other, note, tampered, tmp_path, capsys):
    pq.write_table(pa.table({"n": pa.array([1, 2, 3], pa.int32()), "s": ["a"] * 3}), tmp_path / "t")
    tampered(lambda batch: batch.set_column(0, "n", other))
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 1
    columns = columns_of(file)
    assert (columns["n"]["result"], columns["n"]["note"]) == ("mismatch", note)
    assert columns["s"]["result"] == "match"


def test_missing_column_exits_with_1(tampered, tmp_path, capsys):
    pq.write_table(pa.table({"n": [1], "s": ["a"]}), tmp_path / "t")
    tampered(lambda batch: batch.select([0]))
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 1
    assert columns_of(file)["s"]["result"] == "failed"
    assert columns_of(file)["n"]["result"] == "match"


def test_difference_on_the_way_back_exits_with_1(monkeypatch, tmp_path, capsys):
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "t")
    genuine = cudf_arrow_bridge.from_arrow_device

    def altered(source, *args, **kwargs):
        if not isinstance(source, pa.RecordBatch):
            source = pa.record_batch({"n": [1, 3]})
        return genuine(source, *args, **kwargs)

    monkeypatch.setattr(file_round_trip, "from_arrow_device", altered)
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 1
    assert file["columns"][0]["note"] == "on the way back, row 1: 2 became 3"


@pytest.mark.parametrize(
    ("error", "result", "code"),
    [
        (TypeError("no such type"), "failed", 1),
        (RuntimeError("out of order"), "failed", 1),
        (NotImplementedError("not on this machine"), "unsupported", 3),
        (OverflowError("too many rows"), "unsupported", 3),
    ],
)
def test_import_error_sets_the_result_and_the_exit_code(
    error, result, code, tampered, tmp_path, capsys
):
    pq.write_table(pa.table({"good": [1], "bad": ["a"]}), tmp_path / "t")

    def strike(batch):
        if "bad" in batch.schema.names:
            raise error
        return batch

    tampered(strike)
    found, [file] = documents(capsys, tmp_path / "t")
    assert found == code
    assert (
        columns_of(file)["bad"] | {"result": result, "note": str(error)} == columns_of(file)["bad"]
    )
    assert columns_of(file)["good"]["result"] == "match"


def test_columns_that_only_fail_together_exit_with_1(tampered, tmp_path, capsys):
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "t")

    def strike(batch):
        if batch.num_columns > 1:
            raise TypeError("not together")
        return batch

    tampered(strike)
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 1
    for column in file["columns"]:
        assert column["result"] == "failed"
        assert column["note"].endswith("not together")


def test_roundtrip_reads_the_files_after_a_missing_file(tmp_path, capsys):
    code, files = documents(capsys, tmp_path / "missing", SAMPLE)
    assert code == 2
    assert "no such file" in files[0]["error"]
    assert files[1]["error"] is None
    assert files[1]["rows"] == pq.read_metadata(SAMPLE).num_rows


def test_round_trip_includes_the_pandas_index(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": [1.5, 2.5]}, index=pandas.Index(["x", "y"], name="key"))
    frame.to_parquet(tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 0
    assert [c["name"] for c in file["columns"]] == ["v", "key"]


def cli(*arguments, **kwargs):
    return subprocess.run(
        [sys.executable, "-m", "cudf_arrow_bridge", *map(str, arguments)],
        capture_output=True, text=True, check=False, **kwargs,
    )  # fmt: skip


def test_output_to_a_pipe_is_plain_and_complete():
    done = cli("roundtrip", SAMPLE, env=os.environ | {"COLUMNS": "40", "TERM": "xterm-256color"})
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    for field in pq.read_schema(SAMPLE):
        assert field.name in done.stdout
    assert "17 of 17 columns matched after the round trip." in done.stdout
    assert "…" not in done.stdout


def test_closed_pipe_prints_no_traceback():
    command = f"{sys.executable} -m cudf_arrow_bridge roundtrip {SAMPLE} {SAMPLE} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_output_escapes_control_characters_in_names(tmp_path, capsys):
    write_file(pa.table({"[red]x\x1b[2J": [1]}), tmp_path / "t")
    assert main(["roundtrip", str(tmp_path / "t")]) == 0
    out = capsys.readouterr().out
    assert "[red]x\\x1b[2J" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "arguments", [[], ["fly"], ["roundtrip"], ["roundtrip", "x", "--rows", "0"]]
)
def test_wrong_arguments_print_the_usage(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_help_imports_no_large_module():
    code = (
        "import sys, cudf_arrow_bridge; before = set(sys.modules);"
        "from cudf_arrow_bridge.__main__ import parser; parser().format_help();"
        "new = set(sys.modules) - before;"
        "print([m for m in ('cudf', 'pyarrow', 'rich', 'pandas') if m in new])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("rows", ["1", "2", "100"])
def test_round_trip_in_batches_matches_and_keeps_the_support(tmp_path, capsys, small, rows):
    pq.write_table(small, tmp_path / "small.parquet")
    code, [whole] = documents(capsys, tmp_path / "small.parquet")
    assert code == 0
    code, [file] = documents(capsys, "--max-rows", rows, tmp_path / "small.parquet")
    assert code == 0
    assert {c["result"] for c in file["columns"]} == {"match"}
    found, expected = columns_of(file), columns_of(whole)
    assert set(file["seconds"]) == set(whole["seconds"])
    for name in ("number", "text", "ratio"):
        assert found[name]["support"] == expected[name]["support"] == "zero-copy"
    assert found["truth"]["support"] == "converted"


def test_max_rows_option_calls_the_stream_functions(tmp_path, capsys, small, monkeypatch):
    pq.write_table(small, tmp_path / "small.parquet")
    called = []
    for name in ("to_arrow_device_stream", "from_arrow_device_stream"):
        function = getattr(cudf_arrow_bridge, name)

        def noted(*args, function=function, name=name, **options):
            called.append((name, options.get("max_rows")))
            return function(*args, **options)

        monkeypatch.setattr(file_round_trip, name, noted)
    documents(capsys, "--max-rows", "2", tmp_path / "small.parquet")
    assert ("to_arrow_device_stream", 2) in called
    assert ("from_arrow_device_stream", None) in called


def test_round_trip_of_the_sample_file_in_batches_matches(capsys):
    code, [file] = documents(capsys, "--max-rows", "100", SAMPLE)
    assert code == 0
    assert {c["result"] for c in file["columns"]} == {"match"}


def test_unsupported_columns_are_named_in_batches(tmp_path, capsys, stuff):
    with (
        pa.OSFile(str(tmp_path / "stuff.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, stuff.schema) as writer,
    ):
        writer.write_table(stuff)
    code, [file] = documents(capsys, "--max-rows", "1", tmp_path / "stuff.arrow")
    assert code == 3
    assert {n: c["result"] for n, c in columns_of(file).items()} == {
        "before": "match",
        "wide": "unsupported",
        "months": "unsupported",
        "after": "match",
    }
