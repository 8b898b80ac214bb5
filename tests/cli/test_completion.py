# SPDX-License-Identifier: Apache-2.0
"""The shell completion that shtab generates from the argument parser."""

import subprocess

import pytest
import shtab

from cudf_arrow_bridge.__main__ import COMPLETE_FILES, parser

#: Completes the last argument, as bash does after the Tab key, and prints a suggestion per line.
COMPLETE_LAST = """
eval "$1"; shift
COMP_WORDS=(cudf-arrow-bridge "$@")
COMP_CWORD=$#
read -ra options <<< "$(complete -p cudf-arrow-bridge)"
"${options[-2]}" cudf-arrow-bridge "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_files_are_completed_as_shtab_does(shell):
    assert COMPLETE_FILES[shell] == shtab.FILE[shell]
    assert COMPLETE_FILES[shell] in shtab.complete(parser(), shell=shell)


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        ([""], {"roundtrip", "inspect", "doctor"}),
        (["in"], {"inspect"}),
        (["roundtrip", "--"], {"--help", "--rows", "--max-rows", "--json"}),
        (["roundtrip", "fl"], {"flights.arrow", "flights.parquet"}),
        (["roundtrip", "flights.arrow", "o"], {"other"}),
        (["inspect", "flights.p"], {"flights.parquet"}),
    ],
)
def test_bash_suggests_commands_options_and_files(words, suggested, tmp_path):
    for name in ("flights.arrow", "flights.parquet", "other"):
        (tmp_path / name).touch()
    script = shtab.complete(parser(), shell="bash")
    command = ["bash", "-c", COMPLETE_LAST, "bash", script, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == suggested, done.stderr
