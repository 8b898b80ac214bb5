# SPDX-License-Identifier: Apache-2.0
"""Write the host, its devices, the packages and the commit to a JSON file.

    python3 dev/gpu/record.py FILE

If the file has other values, the results beside it are not comparable, and the script fails.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from cudf_arrow_bridge import has_gpu


def devices() -> list[dict[str, Any]]:
    if not has_gpu():
        return []
    from cupy.cuda import runtime

    found = []
    for number in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(number)
        found.append(
            {
                "name": properties["name"].decode(),
                "memory_mib": properties["totalGlobalMem"] >> 20,
                "compute_capability": f"{properties['major']}.{properties['minor']}",
            }
        )
    return found


def first(pattern: str, path: str) -> str | None:
    """Return the first match of a pattern in a file, if there is such a file."""
    file = Path(path)
    found = re.search(pattern, file.read_text(), re.MULTILINE) if file.exists() else None
    return found[1] if found else None


def commit() -> str:
    """Return the commit of the clone, or the variable COMMIT if there is no repository."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or os.environ.get("COMMIT", "unknown")


def packages() -> dict[str, str]:
    found: dict[str, str] = {}
    for one in metadata.distributions():  # of two with one name, the first is imported
        found.setdefault(one.name or "?", one.version)
    return dict(sorted(found.items()))


def host() -> dict[str, Any]:
    return {
        "commit": commit(),
        "devices": devices(),
        "machine": {
            "system": platform.platform(),
            "cpu": first(r"^model name\s*: (.*)$", "/proc/cpuinfo"),
            "cores": os.cpu_count(),
            "memory": first(r"^MemTotal:\s*(.*)$", "/proc/meminfo"),
            "driver": first(r"^(.*)$", "/proc/driver/nvidia/version"),
            "python": platform.python_version(),
        },
        "packages": packages(),
    }


def main(path: Path) -> None:
    found = host()
    if path.exists() and json.loads(path.read_text()) != found:
        sys.exit(f"{path.parent} has results of another commit, device or set of packages")
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
