# SPDX-License-Identifier: Apache-2.0
"""``roundtrip``: import files to cuDF, export them, and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple
from typing import Any

from rich.console import Console

from cudf_arrow_bridge.arrow.text import count, size
from cudf_arrow_bridge.cli import exits, report
from cudf_arrow_bridge.cli.file_round_trip import Column, FileResult, round_trip
from cudf_arrow_bridge.cli.readers import ReadError, open_file

#: The headings of the first properties of `Column`.
HEADINGS = ("Column", *report.TYPES, "Rows", "Nulls", "Bytes", "Device", "Support", "Result")


def run(
    files: Sequence[str],
    *,
    rows: int | None = None,
    max_rows: int | None = None,
    as_json: bool = False,
) -> int:
    """Import, export and compare each file, report the results, and return the exit code."""
    try:
        # Import cuDF before the steps that are timed, because it takes a second.
        import cudf  # noqa: F401

        from cudf_arrow_bridge.cuda.residency import has_gpu

        has_gpu()
    except Exception as error:
        report.print_error(f"cuDF or CUDA does not work here: {report.one_line(error)}")
        return exits.FAILED
    codes: list[int] = []
    documents: list[dict[str, Any]] = []
    out = report.console()
    for name in files:
        try:
            result = round_trip(open_file(name), rows, max_rows)
        except ReadError as error:
            report.print_error(str(error))
            codes.append(exits.UNREADABLE)
            documents.append({"file": name, "error": str(error)})
            continue
        codes.append(code_of(result.columns))
        documents.append(asdict(result) | {"error": None})
        if not as_json:
            print_result(out, result)
    code = min(filter(None, codes), default=exits.OK)
    if as_json:
        report.print_json({"exit_code": code, "files": documents})
    return code


def code_of(columns: Sequence[Column]) -> int:
    """Convert the results of a file's columns to an exit code."""
    results = {column.result for column in columns}
    if results & {"mismatch", "failed"}:
        return exits.FAILED
    return exits.UNSUPPORTED if "unsupported" in results else exits.OK


def print_result(out: Console, result: FileResult) -> None:
    """Print the result of one file."""
    rows = [[*map(cell, HEADINGS, astuple(column))] for column in result.columns]
    title = f"{result.file} ({result.format})"
    report.print_table(out, title, HEADINGS, rows, truncate_types=out.is_terminal)
    lines = [f"Note: {note}" for note in result.notes]
    for column in result.columns:
        outcome = column.support if column.result == "match" else column.result
        if column.note:
            lines.append(f"{outcome}: {column.name} ({column.arrow_type}): {column.note}")
    times = ", ".join(f"{name} {duration(taken)}" for name, taken in result.seconds.items())
    lines.append(f"Time: {times}.")
    if result.consumer:
        lines.append(f"Consumer: {result.consumer}.")
    matched = sum(column.result == "match" for column in result.columns)
    columns = count(len(result.columns), "column")
    lines.append(f"{matched} of {columns} matched after the round trip.")
    for line in lines:
        report.print_line(out, line)


def duration(seconds: float) -> str:
    """Return a duration in a readable unit."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"


def cell(heading: str, value: Any) -> str:
    """Return a property of a column as text."""
    if isinstance(value, int):
        return size(value) if heading == "Bytes" else f"{value:,}"
    return "-" if value is None else value
