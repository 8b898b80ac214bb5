# SPDX-License-Identifier: Apache-2.0
"""`roundtrip`: formats, results and exit codes."""

import json
from decimal import Decimal
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import file_round_trip

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
SMALL = pa.table(
    {
        "number": pa.array([1, None, 3], pa.int32()),
        "text": ["a", "", None],
        "truth": [True, None, False],
        "day": pa.array([0, 1, None], pa.date32()),
        "ratio": [float("nan"), -0.0, None],
    }
)
PARTLY_SUPPORTED = pa.table(
    {
        "before": [1, 2],
        "wide": pa.array([Decimal(1), None], pa.decimal256(50, 2)),
        "months": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
        "after": ["x", None],
    }
)


def documents(capsys, *arguments):
    code = main(["roundtrip", "--json", *map(str, arguments)])
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == code
    return code, document["files"]


def columns_of(file):
    return {column["name"]: column for column in file["columns"]}


def results_of(file):
    return [column["result"] for column in file["columns"]]


def write_parquet(table, path):
    pq.write_table(table, path)


def write_file(table, path):
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=2)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as sink:
        sink.write_table(table, max_chunksize=2)


WRITERS = {"parquet": write_parquet, "arrow-file": write_file, "arrow-stream": write_stream}
kinds = pytest.mark.parametrize("kind", WRITERS)


@pytest.mark.parametrize("options", [[], ["--max-rows", 100]], ids=["whole", "in batches"])
def test_round_trip_of_the_sample_file_matches(options, capsys):
    code, [file] = documents(capsys, SAMPLE, *options)
    table = pq.read_table(SAMPLE)
    assert code == 0
    assert (file["format"], file["rows"], file["error"]) == ("parquet", table.num_rows, None)
    assert list(file["seconds"]) == ["read", "frame", "export", "consume", "back", "compare"]
    assert [c["name"] for c in file["columns"]] == table.column_names
    for column, theirs in zip(file["columns"], table.columns, strict=True):
        assert column["result"] == "match", column
        assert column["arrow_type"] == str(theirs.type)
        assert (column["rows"], column["nulls"]) == (len(theirs), theirs.null_count)


@kinds
@pytest.mark.parametrize("rows", [None, 1, 2])
def test_format_is_detected_and_rows_limits_the_number_of_rows(kind, rows, tmp_path, capsys):
    path = tmp_path / "no_ending"
    WRITERS[kind](SMALL, path)
    code, [file] = documents(capsys, path, *(["--rows", rows] if rows else []))
    expected = SMALL.slice(0, rows)
    assert (code, file["format"], file["rows"]) == (0, kind, expected.num_rows)
    assert [c["nulls"] for c in file["columns"]] == [c.null_count for c in expected.columns]


@pytest.mark.parametrize("options", [[], ["--rows", 1]])
def test_types_of_a_csv_file_are_inferred(options, tmp_path, capsys):
    path = tmp_path / "t.csv"
    pa.csv.write_csv(pa.table({"a": [1, 2], "b": ["x", "y"]}), path)
    code, [file] = documents(capsys, path, *options)
    assert (code, file["format"], file["rows"]) == (0, "csv", 1 if options else 2)
    assert [c["arrow_type"] for c in file["columns"]] == ["int64", "string"]


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


def test_round_trip_includes_the_pandas_index(tmp_path, capsys):
    frame = SMALL.select(["ratio", "text"]).to_pandas().set_index("text")
    frame.to_parquet(tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 0
    assert [c["name"] for c in file["columns"]] == ["ratio", "text"]


@pytest.mark.parametrize("options", [[], ["--max-rows", 1]], ids=["whole", "in batches"])
def test_unsupported_columns_are_named(options, tmp_path, capsys):
    write_file(PARTLY_SUPPORTED, tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t", *options)
    assert code == 3
    assert results_of(file) == ["match", "unsupported", "unsupported", "match"]
    assert columns_of(file)["wide"]["note"]
    assert main(["roundtrip", str(tmp_path / "t")]) == 3
    out = capsys.readouterr().out
    assert "unsupported: wide (decimal256(50, 2)): " in out
    assert "2 of 4 columns matched after the round trip." in out


UNSUPPORTED = {
    "name of another column": (["bad", "bad"], [pa.array([1]), pa.array(["x"])]),
    "fields of one name": (["good", "bad"], [[1], pa.array([{}], pa.struct([("a", "i1")] * 2))]),
    "time zone": (["good", "bad"], [[1], pa.array([1], pa.timestamp("s", "Mars/Base"))]),
}


@pytest.mark.parametrize(("names", "columns"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_columns_that_frames_do_not_support_are_unsupported(names, columns, tmp_path, capsys):
    write_file(pa.table(columns, names=names), tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, results_of(file)) == (3, ["match", "unsupported"])


def test_file_without_supported_columns_exits_with_3(tmp_path, capsys):
    write_file(PARTLY_SUPPORTED.select(["wide", "months"]), tmp_path / "t")
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, results_of(file)) == (3, ["unsupported"] * 2)


@pytest.fixture
def tampered(monkeypatch):
    """Make the package import a changed copy of each record batch, or of each export."""
    genuine = cab.from_arrow_device

    def tamper(change, of=pa.RecordBatch):
        def altered(source, *args, **kwargs):
            return genuine(change(source) if isinstance(source, of) else source, *args, **kwargs)

        monkeypatch.setattr(file_round_trip, "from_arrow_device", altered)

    return tamper


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (pa.array([1, 2, None], pa.int32()), "row 2: 3 became None"),
        (pa.array([1, 2, 3], pa.int64()), "int32 became int64"),
    ],
)
def test_mismatch_exits_with_1_and_has_a_note(other, note, tampered, tmp_path, capsys):
    pq.write_table(pa.table({"n": pa.array([1, 2, 3], pa.int32()), "s": ["a"] * 3}), tmp_path / "t")
    tampered(lambda batch: batch.set_column(0, "n", other))
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, results_of(file)) == (1, ["mismatch", "match"])
    assert columns_of(file)["n"]["note"] == note


def test_missing_column_exits_with_1(tampered, tmp_path, capsys):
    pq.write_table(pa.table({"n": [1], "s": ["a"]}), tmp_path / "t")
    tampered(lambda batch: batch.select([0]))
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, results_of(file)) == (1, ["match", "failed"])


def test_difference_on_the_way_back_exits_with_1(tampered, tmp_path, capsys):
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "t")
    tampered(lambda array: pa.record_batch({"n": [1, 3]}), of=cab.DeviceArray)
    code, [file] = documents(capsys, tmp_path / "t")
    assert code == 1
    assert file["columns"][0]["note"] == "on the way back, row 1: 2 became 3"


@pytest.mark.parametrize(
    ("error", "result", "code"),
    [
        (TypeError("no such type"), "failed", 1),
        (NotImplementedError("not on this machine"), "unsupported", 3),
    ],
)
def test_import_error_sets_the_result_and_the_exit_code(
    error, result, code, tampered, tmp_path, capsys
):
    pq.write_table(pa.table({"good": [1], "bad": ["a"]}), tmp_path / "t")

    def fail(batch):
        if "bad" in batch.schema.names:
            raise error
        return batch

    tampered(fail)
    found, [file] = documents(capsys, tmp_path / "t")
    assert (found, results_of(file)) == (code, ["match", result])
    assert columns_of(file)["bad"]["note"] == str(error)


def test_columns_that_only_fail_together_exit_with_1(tampered, tmp_path, capsys):
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "t")

    def fail(batch):
        if batch.num_columns > 1:
            raise TypeError("not together")
        return batch

    tampered(fail)
    code, [file] = documents(capsys, tmp_path / "t")
    assert (code, results_of(file)) == (1, ["failed"] * 2)
    assert columns_of(file)["b"]["note"].endswith("not together")


def test_files_after_a_missing_file_are_read(tmp_path, capsys):
    code, files = documents(capsys, tmp_path / "missing", SAMPLE)
    assert code == 2
    assert "no such file" in files[0]["error"]
    assert (files[1]["error"], files[1]["rows"]) == (None, pq.read_metadata(SAMPLE).num_rows)


def test_max_rows_option_calls_the_stream_functions(tmp_path, capsys, monkeypatch):
    pq.write_table(SMALL, tmp_path / "t")
    called = []
    for name in ("to_arrow_device_stream", "from_arrow_device_stream"):
        function = getattr(cab, name)

        def noted(*args, function=function, name=name, **options):
            called.append((name, options.get("max_rows")))
            return function(*args, **options)

        monkeypatch.setattr(file_round_trip, name, noted)
    documents(capsys, "--max-rows", "2", tmp_path / "t")
    assert ("to_arrow_device_stream", 2) in called
    assert ("from_arrow_device_stream", None) in called


@pytest.fixture
def unusable(tmp_path):
    """Return names of files that cannot be read, with a part of the reason for each."""
    (tmp_path / "empty").touch()
    (tmp_path / "text.txt").write_text("hello, world")
    (tmp_path / "cut.parquet").write_bytes(SAMPLE.read_bytes()[:2000])
    (tmp_path / "cut.arrow").write_bytes(b"ARROW1\0\0 and no more")
    (tmp_path / "cut.arrows").write_bytes(b"\xff\xff\xff\xff\x10\0\0\0")
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "decimals.csv").write_text("a;b\n1,5;2,5\n")
    (tmp_path / "folder").mkdir()
    # Columns of nulls have a length but no data.
    batch = pa.record_batch([pa.nulls(2**30)], names=["n"])
    with pa.ipc.new_stream(tmp_path / "long", batch.schema) as sink:
        sink.write_batch(batch)
        sink.write_batch(batch)
    pq.write_table(pa.table({}), tmp_path / "none")
    names = {
        "missing": "no such file",
        "empty": "the file is empty",
        "text.txt": "neither Parquet",
        "cut.parquet": "cannot be read",
        "cut.arrow": "cannot be read",
        "cut.arrows": "cannot be read",
        "ragged.csv": "cannot be read",
        "decimals.csv": "expected columns delimited by commas, got ';'",
        "folder": "is a directory",
        "long": "more than the 2,147,483,646 that a cuDF column holds",
        "none": "no columns",
    }
    paths = {str(tmp_path / name): reason for name, reason in names.items()}
    return paths | {"memory://missing.csv": "no such file", "nothing://a": "cannot be read"}


@pytest.mark.parametrize("command", ["roundtrip", "inspect"])
def test_unusable_files_exit_with_2_and_a_reason(command, unusable, capsys):
    for path, reason in unusable.items():
        if command == "inspect" and path.endswith(("ragged.csv", "long", "none")):
            continue
        assert main([command, path]) == 2, path
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert f"{path}: " in err
        assert reason in err


@pytest.mark.parametrize("kind", ["arrow-file", "arrow-stream"])
def test_offsets_outside_of_the_data_exit_with_2(kind, tmp_path, capsys):
    path = tmp_path / "t"
    WRITERS[kind](pa.table({"s": ["a", "b" * 20]}), path)
    offsets = b"".join(offset.to_bytes(4, "little") for offset in (0, 1, 21))
    data = path.read_bytes()
    assert data.count(offsets) == 1
    path.write_bytes(data.replace(offsets, offsets[:-4] + b"\0\0\0\x7f"))
    assert main(["roundtrip", str(path)]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.csv"])
def test_files_at_urls_are_read(capsys, name):
    write = {"t.parquet": pq.write_table, "t.arrow": cab.ipc.write_file}
    with fsspec.open(f"memory://files/{name}", "wb") as file:
        write.get(name, pa.csv.write_csv)(pa.table({"a": [1, 2], "b": ["x", None]}), file)
    for command in (["roundtrip"], ["roundtrip", "--rows", "1"], ["inspect"]):
        assert main([*command, "--json", f"memory://files/{name}"]) == 0
        assert f'"file": "memory://files/{name}"' in capsys.readouterr().out
