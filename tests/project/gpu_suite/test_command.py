# SPDX-License-Identifier: Apache-2.0
"""`bash dev/test-gpu.sh` without a GPU: each part starts, and its reason to skip is recorded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest

import cudf_arrow_bridge as bridge
from dev.gpu.parts import PARTS

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(bridge.has_gpu(), reason="about machines without a GPU"),
]
ROOT = Path(__file__).parents[3]
SANITIZERS = {"memcheck", "initcheck", "racecheck"}
NO_GPU = "no CUDA driver or no CUDA device"


def test_each_part_starts_and_is_skipped_with_a_reason(whole):
    command, said = whole
    assert said.returncode == 0, said.stdout + said.stderr
    started = re.findall(r"^=== ([\w-]+): .*\n    (\w+) in \d+ s\. (.+)$", said.stdout, re.M)
    assert [name for name, *_ in started] == ["host", "install", *(one.name for one in PARTS)]
    for name, status, reason in started:
        recorded = command.part(name)
        assert (recorded["status"], recorded["reason"]) == (status, reason)
        assert status == ("passed" if name == "install" else "skipped"), name
        if name in SANITIZERS:
            assert "compute-sanitizer is missing" in reason
        elif name != "install":
            assert "GPU" in reason or "CUDA" in reason


def test_every_gpu_test_belongs_to_one_part(whole):
    command, _ = whole
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "gpu"]
    collect += ["tests/gpu", "tests/project/test_pages.py"]
    listed = subprocess.run(collect, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wanted = sorted(line for line in listed.splitlines() if "::" in line)
    suites = ElementTree.parse(command.results / "junit.xml").getroot()
    cases = list(suites.iter("testcase"))
    assert sorted(f"{case.get('classname')}::{case.get('name')}" for case in cases) == wanted
    assert all(NO_GPU in case.find("skipped").get("message") for case in cases)
    counts = [command.part(suite.get("name"))["details"]["counts"] for suite in suites]
    assert sum(count["skipped"] for count in counts) == len(wanted)


def test_summary_contains_commit_parts_packages_and_machine(whole):
    command, _ = whole
    name, found = command.summary()
    assert name == "gpu-none.json"
    git = ["git", "rev-parse", "--short=12", "HEAD"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    if commit.returncode == 0:
        assert found["commit"].startswith(commit.stdout.strip())
    assert found["parts"].keys() == {"host", "install", *(one.name for one in PARTS)}
    assert found["packages"]["pytest"] == metadata.version("pytest")
    assert found["packages"]["pyarrow"] == metadata.version("pyarrow")
    assert found["host"]["machine"]["cores"] == os.cpu_count()
    assert found["pylibcudf"]
    assert found["speed"] == {}  # results that were measured without a GPU are not kept


def test_second_call_skips_recorded_parts_unless_they_are_requested_again(whole):
    command, _ = whole
    path = command.file("smoke")
    kept = path.read_text()
    path.write_text(json.dumps(json.loads(kept) | {"status": "passed", "reason": "as it was"}))
    again = command("--installed", "smoke")
    assert "=== smoke: passed before: as it was" in again.stdout
    assert again.returncode == 0

    forgotten = command("--installed", "--again", "smoke")
    assert "=== smoke: passed before" not in forgotten.stdout
    assert command.part("smoke")["status"] == "skipped"
    assert command.part("memcheck")["status"] == "skipped"  # the other record is unchanged


def test_recorded_failure_of_a_part_fails_a_second_call(whole):
    command, _ = whole
    path = command.file("racecheck")
    kept = path.read_text()
    path.write_text(json.dumps(json.loads(kept) | {"status": "failed"}))
    assert command("--installed", "racecheck").returncode == 1
    path.write_text(kept)


def test_call_rejects_recorded_results_of_another_commit(whole):
    command, _ = whole
    path = command.file("host")
    kept = path.read_text()
    host = json.loads(kept)
    host["details"]["commit"] = "another"
    path.write_text(json.dumps(host))
    refused = command("--installed", "smoke")
    assert refused.returncode == 1
    assert "the commit on record is not that of now" in refused.stderr
    path.write_text(kept)


def test_part_does_not_start_without_enough_time(command):
    ended = command("--installed", "--minutes", "1", "speed")
    assert ended.returncode == 3
    assert "=== speed: no time is left for it" in ended.stdout
    assert not command.file("speed").exists()


def test_call_fails_if_a_required_gpu_is_missing(command):
    refused = command("--installed", CUDF_ARROW_BRIDGE_REQUIRE_GPU="1")
    assert refused.returncode == 1
    assert command.part("host")["status"] == "failed"
    assert not command.file("smoke").exists()


def test_path_of_the_results_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = os.path.relpath(ROOT / "dev/test-gpu.sh")
    call = ["bash", script, "--installed", "--results", "here", "memcheck"]
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}
    subprocess.run(call, env=env, capture_output=True, check=True)
    assert (tmp_path / "here/gpu-none.json").exists()


def test_sanitizer_is_found_in_a_cuda_toolkit(command, tmp_path):
    program = tmp_path / "toolkit/bin/compute-sanitizer"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    command("--installed", "memcheck", CUDA_HOME=str(tmp_path / "toolkit"))
    assert command.part("install")["details"]["sanitizer"] == str(program)
    assert command.part("memcheck")["reason"].startswith("no GPU")
