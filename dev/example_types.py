# SPDX-License-Identifier: Apache-2.0
"""Check the types of the examples in README.md and docs/how-to with mypy and pyright."""

import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The rules of pyright, not the stricter rules of basedpyright, which bundles pyright and Node.js.
CONFIG = '[tool.basedpyright]\ntypeCheckingMode = "standard"\nreportMissingImports = false\n'


def main() -> int:
    sys.path.insert(0, str(ROOT / "tests"))
    pages = runpy.run_path(str(ROOT / "tests" / "project" / "test_pages.py"))
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "pyproject.toml").write_text(CONFIG)
        for example in pages["examples"]():
            if example.page.name == "README.md" or example.page.parent.name == "how-to":
                module = f"example_{example.page.stem}_{example.name}".replace("-", "_")
                (Path(name) / f"{module}.py").write_text(example.code)
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
