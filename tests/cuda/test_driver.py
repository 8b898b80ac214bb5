# SPDX-License-Identifier: Apache-2.0
"""Test with the CUDA runtime and a stub driver which results mean that there is no GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cudf_arrow_bridge as cab

SCRIPT = """
import pyarrow as pa
import cudf_arrow_bridge as cab

for call in (cab.has_gpu, lambda: len(cab.from_arrow_device(pa.array([1, 2])))):
    try:
        print(call())
    except RuntimeError as error:
        print("error:", error)
"""


def answers(stub_driver, version, result, **environment):
    """Return the output lines of `has_gpu` and of an import with this driver."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    inherited["LD_LIBRARY_PATH"] = f"{stub_driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    stub = {"STUB_VERSION": str(version), "STUB_RESULT": str(result)}
    package = str(Path(cab.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {package!r})\n{SCRIPT}"],
        env=inherited | {"CUDA_VISIBLE_DEVICES": ""} | stub | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_driver_without_a_device_means_no_gpu(stub_driver):
    assert answers(stub_driver, 13_000, 100) == ["False", "2"]
    assert answers(stub_driver, 13_000, 100, CUDA_VISIBLE_DEVICES="-1") == ["False", "2"]


@pytest.mark.parametrize(
    ("version", "result", "environment", "words"),
    [
        (11_040, 3, {}, ["the CUDA driver is too old: it supports CUDA 11.4"]),
        (13_000, 34, {}, ["cudaErrorStubLibrary"]),
        (13_000, 999, {}, ["cudaErrorUnknown"]),
        (
            *(13_000, 100, {"CUDA_VISIBLE_DEVICES": "7"}),
            ["cudaErrorNoDevice", "CUDA_VISIBLE_DEVICES=7"],
        ),
        (
            *(13_000, 100, {"CUDF_ARROW_BRIDGE_REQUIRE_GPU": "1"}),
            ["CUDF_ARROW_BRIDGE_REQUIRE_GPU=1 asks for a GPU, but no CUDA device"],
        ),
    ],
)
def test_driver_failure_and_required_or_missing_device_raise(
    stub_driver, version, result, environment, words
):
    first, second = answers(stub_driver, version, result, **environment)
    assert first.startswith("error: ")
    assert all(word in first for word in words)
    assert second == first
