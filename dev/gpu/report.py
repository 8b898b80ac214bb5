# SPDX-License-Identifier: Apache-2.0
"""All results as one JSON file, one JUnit report and one Markdown table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ElementTree, SubElement

from .run import write_json
from .suite import over

_COLUMNS = ("row", "what", "right", "here", "pylibcudf")
_CONTROL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_JUNIT = {"failed": "failure", "error": "error", "crashed": "error", "skipped": "skipped"}


def write(results: Path) -> Path:
    """Write the combined results of all parts and return the path of the JSON file."""
    parts = {path.stem: json.loads(path.read_text()) for path in _of(results, "*.json")}
    host = parts["host"]["details"]
    rows = comparison(over(results / "parts/rows.jsonl").values())
    summary = {
        "commit": host["commit"],
        "host": host,
        "packages": parts.get("install", {}).get("details", {}).get("packages", {}),
        "parts": {
            name: {key: part[key] for key in ("status", "reason", "seconds", "date")}
            | {key: value for key, value in part["details"].items() if key in ("counts", "errors")}
            for name, part in sorted(parts.items(), key=lambda item: item[1]["date"])
        },
        "pylibcudf": rows,
        "speed": {
            name: part["details"]["measured"]
            for name, part in parts.items()
            if "measured" in part["details"]
        },
    }
    device = host["devices"][0]["name"] if host["devices"] else "none"
    name = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    for older in results.glob("gpu-*.json"):
        older.unlink()
    path = results / f"gpu-{name}.json"
    write_json(path, summary)
    junit(results).write(results / "junit.xml", encoding="utf-8", xml_declaration=True)
    (results / "pylibcudf.md").write_text(_markdown(rows))
    return path


def _of(results: Path, pattern: str) -> list[Path]:
    return sorted((results / "parts").glob(pattern))


def comparison(records: Iterable[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the result of pylibcudf's interop and of ours for each case of `tests/gpu/peers`."""
    found = []
    for record in records:
        said = record.get("properties", {})
        here = {"passed": "right"}.get(record["outcome"], record["outcome"])
        row = {name: said.get(name, "") for name in _COLUMNS if name != "here"}
        found.append(row | {"here": here, "test": record["over"]})
    return sorted(found, key=lambda row: [row["test"]])


def _markdown(rows: list[dict[str, str]]) -> str:
    lines = [f"| {' | '.join(_COLUMNS)} |", f"|{' --- |' * len(_COLUMNS)}"]
    for row in rows:
        cells = (row[name].replace("|", "\\|").replace("\n", " ") for name in _COLUMNS)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def junit(results: Path) -> ElementTree[Element]:
    """Return all tests of all parts in the format of pytest's ``--junitxml``."""
    suites = Element("testsuites")
    for path in _of(results, "*.jsonl"):
        records = over(path).values()
        kinds = Counter(_IN_JUNIT.get(record["outcome"]) for record in records)
        counts = {
            "failures": kinds["failure"],
            "errors": kinds["error"],
            "skipped": kinds["skipped"],
        }
        counts["tests"] = len(records)
        told = {name: str(count) for name, count in counts.items()}
        suite = SubElement(suites, "testsuite", {"name": path.stem, **told})
        suite.extend(_case(record) for record in records)
    return ElementTree(suites)


def _case(record: dict[str, Any]) -> Element:
    file, _, test = record["over"].partition("::")
    case = Element(
        "testcase", classname=file, name=_text(test or file), time=str(record["seconds"])
    )
    if record.get("properties"):
        properties = SubElement(case, "properties")
        for name, value in record["properties"].items():
            SubElement(properties, "property", name=name, value=_text(value))
    kind = _IN_JUNIT.get(record["outcome"])
    if kind is not None:
        message = _text(record["message"])
        last = (message.strip().splitlines() or [""])[-1]
        SubElement(case, kind, message=last).text = message
    return case


def _text(value: str) -> str:
    """Replace characters that XML does not allow."""
    return _CONTROL.sub("?", value)
