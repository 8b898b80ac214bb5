# SPDX-License-Identifier: Apache-2.0
"""The workflows match the scripts, the README and the package. Linters cannot check this."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from cudf_arrow_bridge import _build_info

ROOT = Path(__file__).parents[2]
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text())
    for path in (ROOT / ".github" / "workflows").glob("*.yml")
}
CIBUILDWHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def steps(workflow: str) -> list[dict[str, object]]:
    jobs = WORKFLOWS[workflow]["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


def calls_of_scripts() -> list[tuple[str, str]]:
    """Return each script that is called, with its arguments."""
    texts = [str(step.get("run")) for name in WORKFLOWS for step in steps(name)]
    texts.append(CIBUILDWHEEL["repair-wheel-command"].replace("{project}/", ""))
    return [call for text in texts for call in re.findall(r"\bbash (\S+)(.*)", text)]


def artifacts(action: str) -> set[str]:
    uses = [step for name in WORKFLOWS for step in steps(name) if "uses" in step]
    return {step["with"]["name"] for step in uses if f"/{action}-artifact@" in step["uses"]}


def test_ci_runs_the_two_commands_of_the_readme():
    job = WORKFLOWS["ci"]["jobs"]["readme"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    quick_start = "\n".join(["## Quick start", "", "```", *commands, "```"])
    assert quick_start in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(("script", "arguments"), calls_of_scripts())
def test_called_scripts_define_the_options_in_the_call(script, arguments):
    source = (ROOT / script).read_text()
    for module in re.findall(r"python3 -m (\S+)", source):
        source += "".join(
            path.read_text() for path in ROOT.glob(f"{module.replace('.', '/')}/*.py")
        )
    for option in re.findall(r"--[\w-]+", arguments):
        assert re.search(rf"{option}\b", source)


def test_each_cuda_version_has_a_wheel_that_is_tested_on_a_gpu():
    [table] = re.findall(r"^CRT = ({.*})", (ROOT / "setup.py").read_text(), re.MULTILINE)
    accepted = list(ast.literal_eval(table))
    assert WORKFLOWS["wheels"]["jobs"]["wheel"]["strategy"]["matrix"]["cuda"] == accepted
    on_gpus = WORKFLOWS["gpu"]["jobs"]["gpu"]["strategy"]["matrix"]["cuda"]
    [default] = re.findall(r"'(.*)'", on_gpus)
    assert json.loads(default) == accepted
    assert artifacts("download") == {"wheel-cu${{ matrix.cuda }}"} <= artifacts("upload")


def required_by_the_build(**variables: str) -> str:
    code = """
import scikit_build_core.setuptools.build_meta as backend
print(backend.get_requires_for_build_wheel())
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.stdout


def test_build_is_for_the_release_of_the_installed_libcudf():
    major, minor = Version(_build_info.LIBCUDF_VERSION).release[:2]
    assert f"libcudf-cu12=={major}.{minor}.*'" in required_by_the_build(CUDF_ARROW_BRIDGE_RAPIDS="")


@pytest.mark.parametrize("release", ["26.8", "26.08", "26.10"])
def test_build_is_for_the_release_that_the_environment_names(release):
    pinned = f"pylibcudf-cu12=={release.replace('.0', '.')}.*'"
    assert pinned in required_by_the_build(CUDF_ARROW_BRIDGE_RAPIDS=release)


def test_build_for_an_unsupported_release_lists_the_supported_ones():
    error = required_by_the_build(CUDF_ARROW_BRIDGE_RAPIDS="26.04")
    assert "libcudf: expected a release in ['26.10', '26.8'], got 26.4" in error


def test_oldest_python_of_ci_is_that_of_the_package_and_the_wheels():
    python = WORKFLOWS["ci"]["jobs"]["readme"]["strategy"]["matrix"]["python"]
    oldest = min(map(Version, python))
    assert SpecifierSet(SETUP["options"]["python_requires"]) == SpecifierSet(f">={oldest}")
    tag = f"cp{oldest.major}{oldest.minor}"
    assert SETUP["bdist_wheel"]["py_limited_api"] == tag
    assert CIBUILDWHEEL["build"].startswith(f"{tag}-")


def test_self_hosted_runners_run_no_pull_requests():
    own = [name for name in WORKFLOWS if "self-hosted" in json.dumps(WORKFLOWS[name]["jobs"])]
    assert own == ["gpu"]
    assert set(WORKFLOWS["gpu"][True]) == {"push", "schedule", "workflow_dispatch"}  # "on": true


def test_each_job_has_a_timeout_of_at_most_150_minutes():
    for name, workflow in WORKFLOWS.items():
        for job, content in workflow["jobs"].items():
            assert "uses" in content or content["timeout-minutes"] <= 150, (name, job)
