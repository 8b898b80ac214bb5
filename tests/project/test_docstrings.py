# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of the public API run, and print the documented output."""

import doctest
import inspect
from pathlib import Path

import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.report import Report

ROOT = Path(__file__).parents[2]
PUBLIC = {name: getattr(cab, name) for name in cab.__all__ if callable(getattr(cab, name))}
PUBLIC["Report"] = Report
FUNCTIONS = [name for name, obj in PUBLIC.items() if inspect.isfunction(obj)]


def examples_of(name):
    found = doctest.DocTestFinder(exclude_empty=True).find(
        PUBLIC[name], name, globs={"cab": cab}, module=False
    )
    return [test for test in found if test.examples]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "has_gpu"])
def test_each_public_function_has_an_example(name):
    assert examples_of(name), name
    assert "\nExamples\n--------\n" in inspect.getdoc(PUBLIC[name])


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring_examples_print_the_documented_output(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in examples_of(name):
        out = []
        runner.run(test, out=out.append)
        assert not runner.failures, "".join(out)
