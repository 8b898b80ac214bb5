# SPDX-License-Identifier: Apache-2.0
"""The environment under test: where its packages come from, and what it holds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .host import Host
from .outcome import FAILED, PASSED, UNFINISHED, Outcome
from .run import ROOT, Run, last_lines

__all__ = ["Source", "SourceError", "install", "python", "sanitizer"]

_LIMIT = 1800
#: Without the first nothing is tested; tests and benchmarks of the others are skipped without them.
_NEEDED = ("pytest", "nanoarrow")
_EXTRAS = ("test", "benchmarks", "dask", "ray", "ucx", "gpu")
_Command = list[str | Path]
_BRIDGES = "cudf_arrow_bridge_cu*.whl"

# Prints what is installed, and the CUDA version that the bridge is for.
_ASK = """
import json
from importlib import metadata
found = {}
for one in metadata.distributions():  # of two by one name the first is imported
    found.setdefault(one.metadata["Name"] or "?", one.version)
from cudf_arrow_bridge import _build_info
print(json.dumps({"cuda": int(_build_info.CUDA_MAJOR), "packages": dict(sorted(found.items()))}))
"""


class SourceError(Exception):
    """Nothing can be installed from where it should come from."""


@dataclass(frozen=True)
class Source:
    """Where packages come from.

    Attributes
    ----------
    installed
        The interpreter that runs this has all that is needed.
    wheels
        A folder of wheels, each of which is installed, and nothing else.
    bridge
        A wheel of this package; all else comes from the registry. Without it, it is built here.
    cuda
        The CUDA version to install for; by default the newest that the driver supports.
    folder
        Where packages are installed, unless they are.
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
    """Return the interpreter of the environment, which need not be there yet."""
    return Path(sys.executable) if source.installed else source.folder / "bin/python"


def sanitizer(source: Source) -> str | None:
    """Find compute-sanitizer: on the path, in a CUDA toolkit, in NVIDIA's packages of Python."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    packages = source.folder.glob("lib/python*/site-packages")
    if source.installed:
        packages = (Path(folder) for folder in sys.path if folder)
    # That of CUDA 12's packages lacks a part: it cannot start.
    folders = [toolkit / "bin", *(folder / "nvidia/cu13/bin" for folder in packages)]
    places = [None, *map(str, folders)]
    return next(filter(None, (shutil.which("compute-sanitizer", path=at) for at in places)), None)


def install(run: Run, source: Source, host: Host) -> Outcome:
    """Install what is to be tested, unless it is there, and see that it suits the driver."""
    log = run.file("install.log")
    commands = _commands(source, host)
    # Beside the packages, so that it goes with them.
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
    """What is to be run, each with variables beside the others."""
    if source.installed:
        return []
    pip: _Command = [python(source), "-m", "pip", "install", "--disable-pip-version-check"]
    venv: _Command = [sys.executable, "-m", "venv", "--clear", source.folder]
    if source.wheels is not None:
        found = sorted(source.wheels.glob("*.whl"))
        offline: _Command = ["--no-index", "--find-links", source.wheels, *found, *_NEEDED]
        # The host's own packages serve too: cupy and torch, say, which are large.
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
