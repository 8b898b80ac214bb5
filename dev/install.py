# SPDX-License-Identifier: Apache-2.0
"""Build the package and install it in the environment of the interpreter that runs this script.

    .venv/bin/python dev/install.py [extra or dependency group ...]

This is like `pip install ".[extra,...]" --group GROUP`, but without build isolation, which would
unpack gigabytes of wheels twice. It installs the build requirements in the same environment first.
uv installs the requirements in a quarter of pip's time. It does not read pip's configuration: to
install from a mirror, set UV_DEFAULT_INDEX.
"""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], check=True, cwd=ROOT)


def install(*arguments: str) -> None:
    run("uv", "pip", "install", "--python", sys.executable, "--system-certs", "-q", *arguments)


def install_requirements(names: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    build_system = project["build-system"]
    install(*build_system["requires"])
    backend = import_module(build_system["build-backend"])
    install(*backend.get_requires_for_build_wheel())
    # uv stores the metadata of the package, which depends on environment variables.
    again = [f"--refresh-package=cudf-arrow-bridge-cu{cuda}" for cuda in (12, 13)]
    groups = project["dependency-groups"]
    options = [f"--{'group' if name in groups else 'extra'}={name}" for name in names]
    install("--no-build-isolation", *again, "-r", "setup.py", *options)


if __name__ == "__main__":
    names = sys.argv[1:]  # setup.py changes sys.argv
    print("Installing CUDA's headers, RAPIDS' libraries and other requirements", flush=True)
    run("pip", "install", "--disable-pip-version-check", "-q", "uv>=0.9")
    install_requirements(names)
    print("Building and installing the package", flush=True)
    run("pip", "install", "-q", "--no-build-isolation", "--no-deps", ".")
