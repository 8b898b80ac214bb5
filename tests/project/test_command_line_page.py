# SPDX-License-Identifier: Apache-2.0
"""docs/command-line.md names the existing commands, flags and exit codes."""

import argparse
import re
from pathlib import Path

import pytest

from cudf_arrow_bridge.__main__ import parser
from cudf_arrow_bridge.cli import exits

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


def commands():
    [action] = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return action.choices


@pytest.mark.parametrize("name", commands())
def test_page_documents_exactly_the_flags_of_the_command(name):
    usage = re.findall(rf"^`{name} (.*?)`", PAGE, re.MULTILINE)
    assert len(usage) == 1
    documented = set(re.findall(r"--[\w-]+", usage[0]))
    there = {flag for a in commands()[name]._actions for flag in a.option_strings}
    assert documented == there - {"-h", "--help"}


def test_every_command_is_documented():
    assert re.findall(r"^`(\w+) ", PAGE, re.MULTILINE) == list(commands())


@pytest.mark.parametrize(
    "code", [exits.OK, exits.FAILED, exits.UNREADABLE, exits.UNSUPPORTED, exits.UNWRITABLE]
)
def test_the_exit_codes_are_documented(code):
    assert re.search(rf"^\| {code} \|", PAGE, re.MULTILINE)
