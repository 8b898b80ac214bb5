# SPDX-License-Identifier: Apache-2.0
"""Write the tables of docs/types.md from the type table: `python dev/types_page.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cudf_arrow_bridge._core.schema import type_rows
from cudf_arrow_bridge.arrow.types import frame_support

PAGE = Path(__file__).parent.parent / "docs" / "types.md"

_IMPORTS = ("Arrow", "pylibcudf", "cuDF frame", "note")


def page() -> str:
    """Return the page with the present tables."""
    table = type_rows()
    arriving = [row for row in table if row["on_import"] != "unsupported"]
    leaving = [row for row in table if row["on_export"] != "unsupported"]
    refused = [row for row in table if row not in arriving and row not in leaving]
    only_out = [row for row in leaving if row not in arriving]
    tables = {
        "Imported types": _table(_IMPORTS, [_arrival(row, leaving) for row in arriving]),
        "Types that are exported as another type": _table(
            ("libcudf", "exported as", "export", "note"),
            [(r["type_id"].name, r["arrow"], r["on_export"], r["note"]) for r in only_out],
        ),
        "Unsupported types": _table(
            ("Arrow", "format", "note"),
            [(r["arrow"], f"`{r['format']}`", r["note"]) for r in refused],
        ),
    }
    text = PAGE.read_text()
    for heading, lines in tables.items():
        begin = text.index("\n| ", text.index(f"\n## {heading}\n")) + 1
        text = text[:begin] + lines + text[text.index("\n\n", begin) :]
    return text


def _arrival(row: dict[str, Any], leaving: list[dict[str, Any]]) -> tuple[str, ...]:
    name, on_import, notes = row["type_id"].name, row["on_import"], [row["note"]]
    if row["arrow"] == "run_end_encoded":
        exported, types = "its values", [_type("type of its values", on_import)] * 2
    else:
        frame = frame_support(name, on_import, row["note"])
        types = [_type(name, on_import), _type(frame.cudf_type, frame.support)]
        notes.append(frame.note)
        same = [r["arrow"] for r in leaving if r["type_id"] == row["type_id"]]
        # Views are exported only on request. Columns imported from views have the plain type.
        is_kept = row["arrow"] in same and not row["format"].startswith("v")
        exported = "" if is_kept else same[0]
    notes.append(exported and f"exported as {exported}")
    notes.append(row["waits_for"] and f"reads the {row['waits_for'].removeprefix('the ')}")
    return row["arrow"], *types, "; ".join(dict.fromkeys(filter(None, notes)))


def _type(name: str, support: str) -> str:
    return name if support == "zero-copy" else f"{name}, {support}"


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page())
