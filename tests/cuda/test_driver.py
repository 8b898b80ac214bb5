# SPDX-License-Identifier: Apache-2.0
"""Test with the CUDA runtime and a stub driver which results mean that there is no GPU."""

from __future__ import annotations

import os

import pytest

from testing.ends import ends_of

#: Imports the modules that the package imports when they are used, without a use of CUDA.
PREPARE = """
import os
import pandas, pyarrow as pa, pylibcudf
import cudf_arrow_bridge as cab
_ = cab.from_arrow_device
"""
#: Prints the results of `has_gpu` and of an import.
CALLS = """
def size_of_import():
    return cab.from_arrow_device(pa.array([1, 2]), to="pylibcudf").size()

for call in (cab.has_gpu, size_of_import):
    try:
        print(call())
    except RuntimeError as error:
        print("error:", error)
"""


def driver(version, result, **variables):
    """Return an environment in which the stub driver has a version and a result."""
    return {"STUB_VERSION": version, "STUB_RESULT": result} | variables


WITHOUT_GPU = [driver("13000", "100"), driver("13000", "100", CUDA_VISIBLE_DEVICES="-1")]
#: Environments, and words of the error.
FAILURES = [
    (driver("11040", "3"), ["the CUDA driver is too old: it supports CUDA 11.4"]),
    (driver("13000", "34"), ["cudaErrorStubLibrary"]),
    (driver("13000", "999"), ["cudaErrorUnknown"]),
    (
        driver("13000", "100", CUDA_VISIBLE_DEVICES="7"),
        ["cudaErrorNoDevice", "CUDA_VISIBLE_DEVICES=7"],
    ),
    (
        driver("13000", "100", CUDF_ARROW_BRIDGE_REQUIRE_GPU="1"),
        ["CUDF_ARROW_BRIDGE_REQUIRE_GPU=1 asks for a GPU, but no CUDA device"],
    ),
]


@pytest.fixture(scope="module")
def lines(stub_driver):
    """Return a function that returns the lines that `CALLS` prints in an environment."""
    environments = [*WITHOUT_GPU, *(environment for environment, _ in FAILURES)]
    ends = ends_of(
        PREPARE,
        {str(each): f"os.environ.update({each!r})\n{CALLS}" for each in environments},
        LD_LIBRARY_PATH=f"{stub_driver}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        CUDA_VISIBLE_DEVICES="",
    )

    def lines_in(environment):
        status, output = ends[str(environment)]
        assert status == 0, output
        return output.splitlines()

    return lines_in


@pytest.mark.parametrize("environment", WITHOUT_GPU, ids=str)
def test_driver_without_a_device_means_no_gpu(lines, environment):
    assert lines(environment) == ["False", "2"]


@pytest.mark.parametrize(("environment", "words"), FAILURES)
def test_driver_failure_and_required_or_missing_device_raise(lines, environment, words):
    first, second = lines(environment)
    assert first.startswith("error: ")
    assert all(word in first for word in words)
    assert second == first
