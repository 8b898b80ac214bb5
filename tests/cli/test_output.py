# SPDX-License-Identifier: Apache-2.0
"""Output that cannot be written, to pipes and terminals of any width, and in any encoding."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import exits, report, roundtrip

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
PYTHON = (sys.executable, "-m", "cudf_arrow_bridge")


@pytest.mark.parametrize(
    ("command", "redirection", "reason"),
    [
        (["inspect", SAMPLE], ">/dev/full", "No space left on device"),
        (["--version"], ">/dev/full", "No space left on device"),
        (["--version"], ">&-", "it is closed"),
    ],
    ids=["table", "version", "closed"],
)
def test_output_that_cannot_be_written_is_an_error_of_one_line(command, redirection, reason):
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh"]
    done = subprocess.run([*shell, *PYTHON, *command], capture_output=True)
    assert done.stderr.decode() == f"cudf-arrow-bridge: cannot write to stdout: {reason}\n"
    assert done.returncode == exits.UNWRITABLE


def test_output_is_complete_if_errors_cannot_be_written(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)  # as in a process whose stderr is closed
    assert main(["roundtrip", "--json", "missing"]) == exits.UNREADABLE
    assert "no such file" in json.loads(capsys.readouterr().out)["files"][0]["error"]


def test_output_escapes_letters_that_the_encoding_lacks(tmp_path, monkeypatch, capsys):
    path = tmp_path / "表.parquet"
    pq.write_table(pa.table({"列é": [1, 2]}), path)
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1"))
    assert main(["inspect", str(path)]) == 0
    assert capsys.readouterr().err == ""
    for text in ("表.parquet", "列é", "int64"):
        assert text.encode("latin-1", "backslashreplace") in written.getvalue()


@pytest.mark.parametrize("command", [["inspect", SAMPLE], ["--version"]])
def test_closed_pipe_prints_nothing_and_has_the_exit_code_of_sigpipe(command):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer) as pipe:
        done = subprocess.run([*PYTHON, *command], stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.fixture
def on_terminal(monkeypatch):
    """Return a function that returns the lines that a command prints on a terminal of a width."""

    def run_on_terminal(width, *arguments):
        out = io.StringIO()
        console = Console(file=out, width=width, height=50, force_terminal=True)
        monkeypatch.setattr(report, "console", lambda: console)
        assert main([*map(str, arguments)]) == 0
        return re.sub(r"\x1b\[[\d;]*m", "", out.getvalue()).splitlines()

    return run_on_terminal


@pytest.mark.parametrize("width", [80, 120])
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
        assert all(f"{table.num_rows:,}" in row for row in rows)
        assert all(row[-2] in ("zero-copy", "converted") for row in rows)
        shown = " ".join(lines)
        assert all(heading in shown for heading in roundtrip.HEADINGS) == (width >= 120)


@pytest.mark.parametrize("width", [20, 80, 90])
def test_names_numbers_and_words_are_whole_if_they_do_not_fit(width):
    out = io.StringIO()
    words = ["1,234,567,890"] * 2 + ["1,234.5 GiB", "CUDA:0", "unsupported", "mismatch"]
    rows = [[name, "t" * 30, "c" * 30, *words] for name in ("sixteen_letters_", "表" * 8)]
    console = Console(file=out, width=width)
    report.print_table(console, "", roundtrip.HEADINGS, rows, truncate_types=True)
    lines = out.getvalue().splitlines()
    for name, *_ in rows:
        (line,) = (line for line in lines if line.startswith(f" {name} "))
        assert line.endswith("  ".join(["ttttt…", "ccccc…", *words]) + " ")


def test_long_names_notes_and_paths_are_wrapped_on_a_terminal(tmp_path, on_terminal):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"name" * 20: [True], "b": [1]}), path)
    lines = on_terminal(80, "roundtrip", path)
    assert max(map(len, lines)) <= 80
    names = "".join(line.split(" ")[1] for line in lines if line.startswith(" "))
    assert "name" * 20 in names
    assert f"{path} (parquet)" in "".join(lines)[:500].replace(".parquet(", ".parquet (")


def test_durations_have_readable_units():
    found = [roundtrip.duration(seconds) for seconds in (2.5, 0.0123, 4.2e-6)]
    assert found == ["2.50 s", "12.3 ms", "4 µs"]


@pytest.mark.parametrize("form", ["parquet", "arrows", "csv"])
@pytest.mark.parametrize("options", [[], ["--rows", "1"]], ids=["all", "rows"])
def test_files_whose_names_are_not_utf8_are_read(form, options, tmp_path, capsys):
    name = os.fsencode(tmp_path) + b"/\xff\xe9." + form.encode()
    write = {"parquet": pq.write_table, "arrows": cab.ipc.write_stream, "csv": pa.csv.write_csv}
    with open(name, "wb") as file:
        write[form](pa.table({"a": [1, 2]}), file)
    for command in (["inspect", "--json"], ["roundtrip", *options]):
        assert main([*command, os.fsdecode(name)]) == 0
        assert rf"\udcff\udce9.{form}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["fly"], ["roundtrip", "x", "--rows", "0"]])
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
