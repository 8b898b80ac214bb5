import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmarks") / "result.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()), done.stdout


def test_quick_mode_prints_every_case(result):
    data, printed = result
    groups = {entry["group"] for entry in data["results"]}
    assert groups == {"export", "import", "frame export", "frame import"}
    assert all(group in printed for group in groups)


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
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "frame export: 1 x"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "frame export" in done.stdout
    assert "import" not in done.stdout
