# SPDX-License-Identifier: Apache-2.0
"""Output that cannot be written, to terminals of any width, and in any encoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cudf_arrow_bridge.cli import exits

SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
COMMANDS = {
    "inspect": ["inspect", SAMPLE],
    "inspect_json": ["inspect", "--json", SAMPLE],
    "roundtrip": ["roundtrip", SAMPLE],
    "doctor": ["doctor"],
    "help": ["--help"],
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


@pytest.mark.parametrize("encoding", ["ascii", "ascii:strict", "latin-1", "utf-8"])
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
