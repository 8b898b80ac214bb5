# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the public API run, and print the documented output."""

import doctest
import inspect
from pathlib import Path

import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.report import Report

PUBLIC = {name: getattr(cab, name) for name in cab.__all__ if callable(getattr(cab, name))}


@pytest.mark.parametrize(("name", "item"), [*PUBLIC.items(), ("Report", Report)])
def test_docstring_examples_print_the_documented_output(name, item, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = finder.find(item, name, globs={"cab": cab}, module=False)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    out = []
    for test in tests:
        runner.run(test, out=out.append)
    assert not runner.failures, "".join(out)
    has_example = any(test.examples for test in tests)
    assert has_example or not inspect.isfunction(item) or name == "has_gpu"
