# SPDX-License-Identifier: Apache-2.0
import os
from pathlib import Path

import pyarrow as pa
import pytest

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
