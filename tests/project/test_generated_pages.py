# SPDX-License-Identifier: Apache-2.0
"""The pages show the type table, the recorded results of benchmarks, and the command line."""

import argparse
import json
import re
import runpy
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

import cudf_arrow_bridge as cab
from benchmarks.reporting import cuda_calls, speed_page
from cudf_arrow_bridge.__main__ import parser
from cudf_arrow_bridge.cli import exits

ROOT = Path(__file__).parents[2]


def recorded(name):
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())


def results_on_a_gpu():
    return recorded("gpu-nvidia-h200")["speed"]["speed"]["results"]


def rows_of_readme():
    for call, columns in (("export", 100), ("import", 100), ("import", 1)):
        [entry] = (
            entry
            for entry in results_on_a_gpu()
            if (entry["group"], entry["case"]) == (f"gpu {call}", f"{columns} x int64")
        )
        microseconds = entry["contestants"]["cudf_arrow_bridge"]["dropped"]["median_us"]
        name = f"{call} of {columns} column{'s' if columns > 1 else ''}"
        yield f"| {name} | {microseconds:.1f} | {entry['ratios']['pylibcudf']['dropped']:.2f} |"


@pytest.mark.parametrize(
    ("page", "table"),
    [
        ("README.md", lambda: "\n".join(rows_of_readme())),
        ("docs/speed.md", lambda: cuda_calls.table(recorded("cuda-calls"))),
        ("docs/speed.md", lambda: speed_page.table(recorded("host")["results"])),
        ("docs/speed.md", lambda: speed_page.table(results_on_a_gpu())),
    ],
)
def test_page_shows_the_recorded_results(page, table):
    assert f"\n{table()}\n" in (ROOT / page).read_text()


@pytest.mark.parametrize("place", ["gpu", "host"])
def test_plots_of_the_speed_page_are_of_the_recorded_results(place):
    heading, results = {"gpu": speed_page.on_a_gpu, "host": speed_page.on_the_host}[place]()
    for kind in ("tables", "frames"):
        plot = (ROOT / f"benchmarks/results/{place}-{kind}.svg").read_text()
        assert f">{heading}<" in plot, "run: python -m benchmarks.reporting.speed_page"
    page = " ".join((ROOT / "docs/speed.md").read_text().split())
    assert f"measured on {results['date'][:10]} with commit {results['commit']}" in page


def test_types_page_is_generated_from_the_type_table():
    script = runpy.run_path(str(ROOT / "dev/types_page.py"))
    assert script["PAGE"].read_text() == script["page"](), "run: python dev/types_page.py"


@pytest.mark.skipif(cab.has_gpu(), reason="the pictures show an array in host memory")
def test_pictures_of_the_tutorial_show_what_a_notebook_shows():
    pictures = runpy.run_path(str(ROOT / "dev/tutorial_pictures.py"))["pictures"]()
    assert {path: path.read_text() for path in pictures} == pictures, (
        "run: python dev/tutorial_pictures.py"
    )


def test_command_line_page_lists_commands_flags_and_exit_codes():
    page = (ROOT / "docs/command-line.md").read_text()
    [action] = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    documented = {
        name: set(re.findall(r"--[\w-]+", usage))
        for name, usage in re.findall(r"^`(\w+) (.*?)`", page, re.MULTILINE)
    }
    assert documented == {
        name: {flag for a in command._actions for flag in a.option_strings} - {"-h", "--help"}
        for name, command in action.choices.items()
    }
    codes = [exits.OK, exits.FAILED, exits.UNREADABLE, exits.UNSUPPORTED, exits.UNWRITABLE]
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == [str(code) for code in sorted(codes)]
