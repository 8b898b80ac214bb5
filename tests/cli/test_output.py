# SPDX-License-Identifier: Apache-2.0
"""Output that cannot be written, to terminals of any width, and in any encoding."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import exits, report, roundtrip

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
COMMANDS = {
    "inspect": ["inspect", SAMPLE],
    "json": ["inspect", "--json", SAMPLE],
    "doctor": ["doctor"],
    "version": ["--version"],
}
PYTHON = (sys.executable, "-m", "cudf_arrow_bridge")


def run(*arguments, shell='exec "$@"', **environment):
    """Run the command line from a shell that redirects its output."""
    return subprocess.run(
        ["sh", "-c", shell, "sh", *PYTHON, *arguments],
        env=os.environ | environment, capture_output=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("redirection", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "it is closed")],
    ids=["full", "closed"],
)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_output_that_cannot_be_written_is_an_error_of_one_line(command, redirection, reason):
    done = run(*command, shell=f'exec "$@" {redirection}')
    assert done.stderr.decode() == f"cudf-arrow-bridge: cannot write to stdout: {reason}\n"
    assert done.returncode == exits.UNWRITABLE


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"], ids=["full", "closed"])
def test_output_is_complete_if_errors_cannot_be_written(redirection):
    done = run("roundtrip", "--json", "missing", shell=f'exec "$@" {redirection}')
    assert done.returncode == exits.UNREADABLE
    assert "no such file" in json.loads(done.stdout)["files"][0]["error"]


@pytest.fixture
def foreign(tmp_path):
    """Return a file whose name and column are not in latin-1."""
    path = tmp_path / "表.parquet"
    pq.write_table(pa.table({"列é": [1, 2]}), path)
    return path


@pytest.mark.parametrize("encoding", ["ascii:strict", "latin-1"])
@pytest.mark.parametrize("command", ["inspect", "roundtrip"])
def test_output_escapes_letters_that_the_encoding_lacks(command, encoding, foreign):
    done = run(command, foreign, PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    name = encoding.partition(":")[0]
    for text in ("表.parquet", "列é", "int64"):
        assert text.encode(name, "backslashreplace") in done.stdout


def test_output_in_the_c_locale_is_ascii(foreign):
    done = run("inspect", foreign, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "列é".encode("ascii", "backslashreplace") in done.stdout


@pytest.fixture
def on_terminal(monkeypatch):
    """Return a function that returns the lines that a command prints on a terminal of a width."""

    def run_on_terminal(width, *arguments):
        out = io.StringIO()
        # rich shows no progress on a dumb terminal.
        console = Console(
            file=out, width=width, height=50, force_terminal=True, _environ={"TERM": "dumb"}
        )
        monkeypatch.setattr(report, "console", lambda: console)
        assert main([*map(str, arguments)]) == 0
        return re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()

    return run_on_terminal


@pytest.mark.parametrize("width", [24, 40, 60, 80, 120])
@pytest.mark.parametrize("command", ["inspect", "roundtrip"])
def test_tables_on_terminals_have_whole_names_and_numbers(command, width, on_terminal):
    lines = on_terminal(width, command, SAMPLE)
    assert max(map(len, lines)) <= width
    table = pq.read_table(SAMPLE)
    for name in table.column_names:
        assert any(line.split(" ")[1:2] == [name] for line in lines), name
    if command == "roundtrip":
        rows = [line.split() for line in lines if re.search(" match *$", line)]
        assert len(rows) == table.num_columns
        assert all(f"{table.num_rows:,}" in row for row in rows) == (width >= 40)
        assert all(row[-2] in ("zero-copy", "converted") for row in rows) == (width >= 40)


def test_wide_terminal_shows_all_columns(on_terminal):
    shown = " ".join(on_terminal(120, "roundtrip", SAMPLE))
    for heading in roundtrip.HEADINGS:
        assert heading in shown


def test_long_names_notes_and_paths_are_wrapped_on_a_narrow_terminal(tmp_path, on_terminal):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"name" * 20: [True], "b": [1]}), path)
    lines = on_terminal(40, "roundtrip", path)
    assert max(map(len, lines)) <= 40
    names = "".join(line.split(" ")[1] for line in lines if line.startswith(" "))
    assert "name" * 20 in names
    assert f"{path} (parquet)" in "".join(lines)[:500].replace(".parquet(", ".parquet (")


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "csv"])
@pytest.mark.parametrize("options", [[], ["--rows", "1"], ["--json"]], ids=" ".join)
def test_files_whose_names_are_not_utf8_are_read(form, options, tmp_path, capsys):
    name = os.fsencode(tmp_path) + b"/\xff\xe9." + form.encode()
    table = pa.table({"a": [1, 2]})
    with open(name, "wb") as file:
        if form == "parquet":
            pq.write_table(table, file)
        elif form == "csv":
            pa.csv.write_csv(table, file)
        else:
            new = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
            with new(file, table.schema) as writer:
                writer.write_table(table)
    for command in (["inspect", "--json"], ["roundtrip", *options]):
        assert main([*command, os.fsdecode(name)]) == 0
        assert rf"\udcff\udce9.{form}" in capsys.readouterr().out
