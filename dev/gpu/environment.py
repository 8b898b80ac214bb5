# SPDX-License-Identifier: Apache-2.0
"""The environment under test: the source of its packages, and the installed versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from .host import Host
from .outcome import FAILED, PASSED, UNFINISHED, Outcome
from .run import ROOT, Run, last_lines

_LIMIT = 1800
_GIB_FROM_REGISTRY = 12
#: The first package is required. Tests and benchmarks that use the others are skipped without them.
_NEEDED = ("pytest", "nanoarrow")
_EXTRAS = ("test", "benchmarks", "dask", "polars", "ray", "ucx", "gpu")
_Command = list[str | Path]
_BRIDGES = "cudf_arrow_bridge_cu*.whl"

# Prints the installed packages and the CUDA version of the bridge.
_ASK = """
import json
from importlib import metadata
found = {}
for one in metadata.distributions():  # of two by one name the first is imported
    found.setdefault(one.metadata["Name"] or "?", one.version)
from cudf_arrow_bridge._load import build_info
print(json.dumps({"cuda": int(build_info.CUDA_MAJOR), "packages": dict(sorted(found.items()))}))
"""


class SourceError(Exception):
    """The source has no package to install."""


@dataclass(frozen=True)
class Source:
    """The source of the packages.

    Attributes
    ----------
    installed
        Whether to use the packages of the interpreter that runs this.
    wheels
        A folder of wheels. All of them are installed, and no other packages.
    bridge
        A wheel of this package; others are installed from the registry. None: build the package.
    cuda
        The CUDA version to install for. None: the newest that the driver supports.
    folder
        The folder of the environment, unless `installed`.
    """

    installed: bool = False
    wheels: Path | None = None
    bridge: Path | None = None
    cuda: int | None = None
    folder: Path = ROOT / "build/gpu-env"

    def __post_init__(self) -> None:
        if self.wheels is not None:
            count = len(list(self.wheels.glob(_BRIDGES)))
            if count != 1:
                raise SourceError(f"{self.wheels}: {count} of {_BRIDGES} found, one expected")
        if self.bridge is not None and not self.bridge.is_file():
            raise SourceError(f"{self.bridge}: no such file")


def python(source: Source) -> Path:
    """Return the path of the interpreter of the environment, which may not exist yet."""
    return Path(sys.executable) if source.installed else source.folder / "bin/python"


def sanitizer(source: Source) -> str | None:
    """Find compute-sanitizer on the PATH, in a CUDA toolkit or in NVIDIA's Python packages."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    packages = source.folder.glob("lib/python*/site-packages")
    if source.installed:
        packages = (Path(folder) for folder in sys.path if folder)
    # The package for CUDA 12 is incomplete, so its compute-sanitizer cannot start.
    folders = [toolkit / "bin", *(folder / "nvidia/cu13/bin" for folder in packages)]
    places = [None, *map(str, folders)]
    return next(filter(None, (shutil.which("compute-sanitizer", path=at) for at in places)), None)


def gib_to_install(source: Source) -> int:
    """Return how many GiB of disk the packages that are not yet installed need."""
    if source.installed:
        return 0
    if source.wheels is None:
        return _GIB_FROM_REGISTRY
    wheels = (ZipFile(wheel) for wheel in source.wheels.glob("*.whl"))
    return sum(member.file_size for wheel in wheels for member in wheel.infolist()) >> 30


def install(run: Run, source: Source, host: Host) -> Outcome:
    """Install the packages unless they are installed, and check that the driver supports them."""
    log = run.file("install.log")
    commands = _commands(source, host)
    # Stored in the environment, so that it is deleted with the packages.
    stamp = source.folder / "installed"
    wanted = f"{host.commit} {[list(map(str, command)) for command, _ in commands]}"
    if not source.installed and stamp.exists() and stamp.read_text() == wanted:
        commands = []
    for command, variables in commands:
        code = run.execute(command, log, _LIMIT, **variables)
        if code is None and run.seconds_left() <= 0:
            return Outcome(UNFINISHED, "time was up; what was downloaded is kept by pip")
        if code != 0:
            return Outcome(FAILED, f"{' '.join(map(str, command[:5]))}...: exit code {code}")
    if commands:
        stamp.write_text(wanted)
    found = _ask(run, log)
    if found is None:
        return Outcome(FAILED, (last_lines(log, 1) or ["cudf_arrow_bridge is not installed"])[0])
    if host.cuda is not None and host.cuda[0] < found["cuda"]:
        supports = ".".join(map(str, host.cuda))
        return Outcome(FAILED, f"packages for CUDA {found['cuda']}, a driver for CUDA {supports}")
    found["sanitizer"] = sanitizer(source)
    return Outcome(PASSED, f"for CUDA {found['cuda']}, in {run.python}", found)


def _commands(source: Source, host: Host) -> list[tuple[_Command, dict[str, str]]]:
    """Return the commands to run, each with additional environment variables."""
    if source.installed:
        return []
    pip: _Command = [python(source), "-m", "pip", "install", "--disable-pip-version-check"]
    venv: _Command = [sys.executable, "-m", "venv", "--clear", source.folder]
    if source.wheels is not None:
        found = sorted(source.wheels.glob("*.whl"))
        offline: _Command = ["--no-index", "--find-links", source.wheels, *found, *_NEEDED]
        # Also use the packages of the host, such as cupy and torch, which are large.
        return [([*venv, "--system-site-packages"], {}), ([*pip, *offline], {})]
    newest = 13 if host.cuda is not None and host.cuda[0] >= 13 else 12
    if source.bridge is not None:
        wanted = f"{source.bridge}[{','.join(_EXTRAS)}]"
        return [(venv, {}), ([*pip, wanted], {})]
    script: _Command = [python(source), ROOT / "dev/install.py", *_EXTRAS]
    return [(venv, {}), (script, {"CUDF_ARROW_BRIDGE_CUDA": str(source.cuda or newest)})]


def _ask(run: Run, log: Path) -> dict[str, Any] | None:
    command: _Command = [run.python, "-P", "-c", _ASK]
    done = subprocess.run(
        command, cwd=ROOT, env=run.environment(), capture_output=True, text=True, check=False
    )
    with log.open("a") as output:
        output.write(done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else None
