# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()

#: The prose that is read in three minutes, without examples, tables and the picture.
MAX_WORDS = 700


def test_quick_start_is_two_commands_and_nothing_else():
    [text] = re.findall(r"^## Quick start\n(.*?)(?=^#|\Z)", README, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in commands for line in block.splitlines() if line.strip()]
    assert len(lines) == 2
    assert lines[0].endswith(" roundtrip examples/data/nyc_flights.parquet")
    assert lines[1] == "bash dev/test.sh"
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert rest.strip() == ""


def test_prose_of_the_readme_stays_short():
    other = re.compile(r"^```.*?^```$|^\|[^\n]*$|<!--.*?-->", re.MULTILINE | re.DOTALL)
    prose = other.sub("", README)
    assert len(prose.split()) <= MAX_WORDS
