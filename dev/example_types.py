# SPDX-License-Identifier: Apache-2.0
"""Check the types of examples in README.md and docs/how-to, and of results, by mypy and pyright."""

import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The rules of pyright, not the stricter rules of basedpyright, which bundles pyright and Node.js.
CONFIG = '[tool.basedpyright]\ntypeCheckingMode = "standard"\nreportMissingImports = false\n'


#: The types of results of `from_arrow_device`. cuDF and pandas have no types for mypy, which then
#: checks only pylibcudf's; pyright reads their sources.
RESULTS = """
from typing import Any, assert_type

import cudf
import pandas as pd
import pylibcudf as plc

import cudf_arrow_bridge as cab


def check(obj: Any) -> None:
    assert_type(cab.from_arrow_device(obj, kind="table", copy=False), cudf.DataFrame)
    assert_type(cab.from_arrow_device(obj, to="cudf", kind="column"), cudf.Series)
    assert_type(cab.from_arrow_device(obj, to="cudf.pandas", kind="table"), pd.DataFrame)
    assert_type(cab.from_arrow_device(obj, to="cudf.pandas", kind="column"), pd.Series)
    assert_type(cab.from_arrow_device(obj, to="pylibcudf", kind="table"), plc.Table)
    assert_type(cab.from_arrow_device(obj, to="pylibcudf", kind="column"), plc.Column)
    assert_type(cab.from_arrow_device(obj, to="pylibcudf", validate="full"), Any)
"""


def main() -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    pages = runpy.run_path(str(ROOT / "tests" / "project" / "test_pages.py"))
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "pyproject.toml").write_text(CONFIG)
        for example in pages["examples"]():
            if example.page.name == "README.md" or example.page.parent.name == "how-to":
                module = f"example_{example.page.stem}_{example.name}".replace("-", "_")
                (Path(name) / f"{module}.py").write_text(example.code)
        (Path(name) / "results.py").write_text(RESULTS)
        files = sorted(Path(name).glob("*.py"))
        commands = [
            [
                "mypy",
                "--strict",
                "--ignore-missing-imports",
                "--allow-untyped-defs",
                "--allow-untyped-calls",
                "--allow-subclassing-any",
                *files,
            ],
            ["basedpyright", "--project", name, "--pythonpath", sys.executable, *files],
        ]
        return max(
            subprocess.run(command, cwd=name, check=False).returncode for command in commands
        )


if __name__ == "__main__":
    sys.exit(main())
