# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# At the end of the path, so that the installed package is tested.
sys.path.append(str(ROOT))


class Command:
    """`dev/test-gpu.sh` with a folder of results, and a PATH without compute-sanitizer."""

    def __init__(self, results):
        self.results = results

    def __call__(self, *arguments, **environment):
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        env = os.environ | {"PATH": path, "CUDA_HOME": "/nowhere", "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.run(
            ["bash", ROOT / "dev/test-gpu.sh", "--results", self.results, *arguments],
            env=env | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def file(self, part):
        """Return the path of the record of a part."""
        return self.results / "parts" / f"{part}.json"

    def part(self, name):
        return json.loads(self.file(name).read_text())

    def summary(self):
        [path] = self.results.glob("gpu-*.json")
        return path.name, json.loads(path.read_text())


@pytest.fixture
def command(tmp_path):
    return Command(tmp_path / "results")


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """Run all parts with the installed packages; return the command and its output."""
    command = Command(tmp_path_factory.mktemp("gpu") / "results")
    return command, command("--installed")
