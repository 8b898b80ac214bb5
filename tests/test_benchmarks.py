import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cudf_arrow_bridge import has_gpu

ROOT = Path(__file__).parent.parent
GROUPS = (
    {"gpu export", "gpu import"}
    if has_gpu()
    else {"export", "import", "frame export", "frame import", "stream export", "stream import"}
)


def quick(*args):
    """Run the quick mode, and return what it prints."""
    command = [sys.executable, "-m", "benchmarks", "--quick", *args]
    # The benchmarks are not installed: they are found where they are started.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmarks") / "result.json"
    printed = quick("--json", str(path))
    return json.loads(path.read_text()), printed


def test_quick_mode_prints_every_case(result):
    data, printed = result
    groups = {entry["group"] for entry in data["results"]}
    assert groups == GROUPS
    assert all(group in printed for group in groups)


def test_it_says_what_was_left_out(result):
    data, printed = result
    lines = [line for line in printed.splitlines() if line.startswith("Left out: ")]
    assert any(("host memory" if has_gpu() else "for want of a GPU") in line for line in lines)
    if has_gpu():
        assert data["sliced_strings"]["cudf_arrow_bridge"] == data["sliced_strings"]["expected"]


def test_json_says_what_made_it(result):
    data, _ = result
    assert data["quick"] is True
    assert {"date", "commit", "machine", "versions"} <= data.keys()
    assert "pyarrow" in data["versions"]


def test_each_case_compares_two_contestants(result):
    data, _ = result
    for entry in data["results"]:
        assert len(entry["contestants"]) == 2
        for parts in entry["contestants"].values():
            for spread in parts.values():
                lower, upper = spread["quartiles_us"]
                assert 0 < lower <= spread["median_us"] <= upper
        (ratio,) = entry["ratios"].values()
        assert ratio["call"] > 0


def test_only_chooses_cases():
    only = "gpu export: 1 x" if has_gpu() else "frame export: 1 x"
    printed = quick("--only", only)
    assert only.partition(":")[0] in printed
    assert "import" not in printed
