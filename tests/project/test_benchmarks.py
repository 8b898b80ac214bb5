# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run at their smallest size, and write results."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cudf_arrow_bridge import has_gpu

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(has_gpu(), reason="dev/gpu runs the benchmarks of a GPU"),
]
ROOT = Path(__file__).parents[2]


def run(*arguments):
    # The benchmarks are imported from the working directory. pytest-benchmark measures nothing in a
    # worker of pytest-xdist.
    hidden = ("PYTHONSAFEPATH", "PYTEST_XDIST_WORKER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("module", "option"),
    [
        ("async_streams", "--quick"),
        ("gpu.bandwidth", "--quick"),
        ("ipc", "--quick"),
        ("processes", "--quick"),
        ("queries", "--quick"),
        ("wide_tables", "--quick"),
        ("workloads.taxi", "--rows=1000"),
    ],
)
def test_benchmark_writes_results(module, option, tmp_path):
    path = tmp_path / "results.json"
    run("-m", f"benchmarks.{module}", option, "--json", path)
    assert json.loads(path.read_text())


def test_exports_and_imports_are_compared_with_the_peers_of_the_recorded_results(tmp_path):
    path, plot = tmp_path / "results.json", tmp_path / "plot.png"
    run("-m", "benchmarks", "--quick", "--json", path)
    recorded = json.loads((ROOT / "benchmarks/results/host.json").read_text())
    measured = json.loads(path.read_text())
    assert measured.keys() == recorded.keys()
    for part in ("core", "python"):
        assert [e["job"] for e in measured[part]] == [e["job"] for e in recorded[part]]
    cases, published = (
        {(e["group"], e["case"]): set(e["contestants"]) for e in data["results"]}
        for data in (measured, recorded)
    )
    assert cases == published
    run("-m", "benchmarks", "--from", path, "--plot", plot)
    assert plot.stat().st_size > 20_000


def test_the_same_cases_run_under_pytest_benchmark():
    # With -P, Python imports the installed package, not the sources here.
    options = ("--benchmark-max-time=0.01", "--benchmark-min-rounds=1")
    assert " passed" in run("-P", "-m", "pytest", "benchmarks", "-k", "trip", *options)
