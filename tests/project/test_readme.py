# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import readme
from cudf_arrow_bridge.__main__ import parser
from cudf_arrow_bridge.cli import exits

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def section(heading):
    found = re.findall(rf"^{heading}\n(.*?)(?=^#|\Z)", README, re.MULTILINE | re.DOTALL)
    assert len(found) == 1, heading
    return found[0]


def blocks(text):
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_quick_start_is_two_commands_and_nothing_else():
    text = section("## Quick start")
    lines = [line for block in blocks(text) for line in block.splitlines() if line.strip()]
    assert len(lines) == 2
    assert lines[0].endswith(" roundtrip examples/data/nyc_flights.parquet")
    assert lines[1] == "bash dev/test.sh"
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert rest.strip() == ""


def test_the_example_without_a_gpu_runs():
    [code] = re.findall(r"<!-- example: no-gpu -->\n```python\n(.*?)^```$", README, re.M | re.S)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "table of 1,614 rows x 17 columns" in done.stdout


def test_the_example_of_streams_runs():
    [code] = re.findall(r"<!-- example: streams -->\n```python\n(.*?)^```$", README, re.M | re.S)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:6] == [
        "1614 flights",
        "1614 rows in 4 batches",
        "500 rows from 0",
        "500 rows from 500",
        "500 rows from 1000",
        "114 rows from 1500",
    ]


@pytest.mark.gpu
def test_the_example_with_a_gpu_runs():
    [code] = blocks(section("### With a GPU"))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_all_examples_are_python():
    for number, code in enumerate(re.findall(r"```python\n(.*?)^```$", README, re.M | re.S)):
        compile(code, f"README example {number}", "exec")


def commands():
    [action] = [a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)]
    return action.choices


@pytest.mark.parametrize("name", commands())
def test_the_documented_flags_are_those_there_are(name):
    usage = re.findall(rf"^- `{name} (.*?)`", section("## The command line"), re.MULTILINE)
    assert len(usage) == 1
    documented = set(re.findall(r"--[\w-]+", usage[0]))
    there = {flag for a in commands()[name]._actions for flag in a.option_strings}
    assert documented == there - {"-h", "--help"}


def test_every_command_is_documented():
    documented = re.findall(r"^- `(\w+) ", section("## The command line"), re.MULTILINE)
    assert documented == list(commands())


def test_the_exit_codes_are_documented():
    text = section("## The command line")
    for code in (exits.OK, exits.FAILED, exits.UNREADABLE, exits.UNSUPPORTED):
        assert re.search(rf"\b{code}: ", text)


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "examples" / "data" / "README.md"):
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
            if not target.startswith("https://"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_table_of_speed_is_what_was_measured():
    """``python -m benchmarks --from benchmarks/results/host.json --markdown`` prints it."""
    results = json.loads((ROOT / "benchmarks/results/host.json").read_text())["results"]
    assert f"\n\n{readme.table(results)}\n\n" in section("## Speed")


def test_the_sentence_on_conversions_is_what_was_measured():
    results = json.loads((ROOT / "benchmarks/results/host.json").read_text())["results"]
    # Beside the better of the others.
    ratios = [
        max(ratio["dropped"] for ratio in entry["ratios"].values())
        for entry in results
        if entry["group"] == "conversion"
    ]
    near = sum(ratio <= 1.1 for ratio in ratios)
    sentence = (
        f"Of {len(ratios)} of them, {near} take 1.1 times what the better of the two takes, or"
        f" less, and the others {max(ratios):.2f} times at most."
    )
    assert sentence in " ".join(section("## Speed").split())
