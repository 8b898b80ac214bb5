# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"


def unusable(folder):
    (folder / "empty").touch()
    (folder / "text.txt").write_text("hello, world")
    (folder / "cut.parquet").write_bytes(SAMPLE.read_bytes()[:2000])
    (folder / "cut.arrow").write_bytes(b"ARROW1\0\0 and no more")
    (folder / "cut.arrows").write_bytes(b"\xff\xff\xff\xff\x10\0\0\0")
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "old.feather").write_bytes(b"FEA1 and so on")
    (folder / "folder").mkdir()
    return {
        "missing": "no such file",
        "empty": "the file is empty",
        "text.txt": "neither Parquet",
        "cut.parquet": "cannot be read",
        "cut.arrow": "cannot be read",
        "cut.arrows": "cannot be read",
        "ragged.csv": "cannot be read",
        "old.feather": "Feather version 1",
        "folder": "is a directory",
    }


@pytest.mark.parametrize("command", ["roundtrip", "inspect"])
def test_unusable_files_exit_with_2_and_a_reason(command, tmp_path, capsys):
    for name, reason in unusable(tmp_path).items():
        if command == "inspect" and name == "ragged.csv":
            continue
        assert main([command, str(tmp_path / name)]) == 2, name
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert f"{name}: " in err
        assert reason in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_file_without_read_permission_exits_with_2(tmp_path, capsys):
    path = tmp_path / "t.parquet"
    path.write_bytes(SAMPLE.read_bytes())
    path.chmod(0)
    assert main(["roundtrip", str(path)]) == 2
    assert "Permission denied" in capsys.readouterr().err


def test_file_with_more_rows_than_a_column_holds_exits_with_2(tmp_path, capsys):
    # Columns of nulls have a length but no data.
    batch = pa.record_batch([pa.nulls(2**30)], names=["n"])
    with pa.ipc.new_stream(tmp_path / "t", batch.schema) as sink:
        sink.write_batch(batch)
        sink.write_batch(batch)
    assert main(["roundtrip", str(tmp_path / "t")]) == 2
    assert "more than the 2,147,483,646 that a cuDF column holds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.parquet", pq.write_table),
        ("t.arrow", lambda table, file: cab.ipc.write_file(table, file)),
        ("t.arrows", lambda table, file: cab.ipc.write_stream(table, file)),
        ("t.csv", pa.csv.write_csv),
    ],
)
def test_files_at_urls_are_read(capsys, name, write):
    url = f"memory://files/{name}"
    with fsspec.open(url, "wb") as file:
        write(pa.table({"a": [1, 2], "b": ["x", None]}), file)
    for command in (["roundtrip"], ["roundtrip", "--rows", "1"], ["inspect"]):
        assert main([*command, "--json", url]) == 0
        assert f'"file": "{url}"' in capsys.readouterr().out
    assert main(["roundtrip", "memory://files/missing.parquet"]) == 2
    assert "memory://files/missing.parquet: no such file\n" in capsys.readouterr().err


def test_url_of_an_unknown_kind_exits_with_2(capsys):
    assert main(["inspect", "nothing://file.parquet"]) == 2
    error = capsys.readouterr().err
    assert "nothing://file.parquet: cannot be read" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("command", ["roundtrip", "inspect"])
def test_csv_file_with_decimal_commas_exits_with_2_and_names_the_delimiter(
    command, tmp_path, capsys
):
    (tmp_path / "t.csv").write_text("a;b\n1,5;2,5\n")
    assert main([command, str(tmp_path / "t.csv")]) == 2
    assert "expected columns delimited by commas, got ';'" in capsys.readouterr().err
