# SPDX-License-Identifier: Apache-2.0
"""Combine the results of dev/test-gpu.sh in one JSON file and one Markdown table.

    python3 dev/gpu/report.py FOLDER

FOLDER is the folder of results.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

COLUMNS = ("row", "what", "right", "here", "pylibcudf")


def counts(path: Path) -> dict[str, int]:
    """Return the numbers of tests in a report of pytest, if there is one."""
    if not path.exists():
        return {}
    (suite,) = ElementTree.parse(path).getroot()
    return {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}


def comparison(path: Path) -> list[dict[str, str]]:
    """Return pylibcudf's result and ours for each case of `test_pylibcudf_interop.py`."""
    found = []
    for case in ElementTree.parse(path).getroot().iter("testcase") if path.exists() else ():
        row = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
        bad = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found.append({"test": case.attrib["name"], "here": (bad or ["right"])[0]} | row)
    return found


def markdown(rows: list[dict[str, str]]) -> str:
    lines = [f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    for row in rows:
        cells = (row.get(name, "").replace("|", "\\|").replace("\n", " ") for name in COLUMNS)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    summary: dict[str, Any] = json.loads((folder / "host.json").read_text())
    summary["parts"] = {
        path.stem: {"status": path.read_text().strip(), **counts(path.with_suffix(".xml"))}
        for path in sorted(folder.glob("*.status"))
    }
    summary["pylibcudf"] = comparison(folder / "rows.xml")
    measured = sorted(folder.glob("speed*.json"))
    summary["speed"] = {path.stem: json.loads(path.read_text()) for path in measured}
    device = summary["devices"][0]["name"] if summary["devices"] else "none"
    path = folder / f"gpu-{re.sub(r'[^a-z0-9]+', '-', device.lower())}.json"
    path.write_text(json.dumps(summary, indent=2) + "\n")
    (folder / "pylibcudf.md").write_text(markdown(summary["pylibcudf"]))
    print("all results:", path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
