# SPDX-License-Identifier: Apache-2.0
"""Write the tables of docs/how-to/pandas.md by exchanging the frames of its tests.

`RAPIDS_NO_INITIALIZE=1 python dev/pandas_page.py`
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from testing.exchange.pandas_frames import ALL_WAYS, KINDS, outcome  # noqa: E402

PAGE = ROOT / "docs" / "how-to" / "pandas.md"

#: Exchanges with equal results are one column of the tables.
_COLUMNS = {
    "frame": ["frame", "array", "stream", "IPC", "pickle", "Parquet"],
    **{way: [way] for way in ("`to_pandas()`", "pyarrow", "pandas 2")},
}


def page() -> str:
    """Return the page with the present tables."""
    assert [way for ways in _COLUMNS.values() for way in ways] == list(ALL_WAYS)
    text = PAGE.read_text()
    for role in ("columns", "index"):
        before, after = text.split(f"<!-- {role} -->\n")
        _, end, after = after.partition("\n<!-- end -->")
        text = f"{before}<!-- {role} -->\n{_table(role)}{end}{after}"
    return text


def _table(role: str) -> str:
    rows = [[kind, *(_cell(ways, kind, role) for ways in _COLUMNS.values())] for kind in KINDS]
    kept = [row[0] for row in rows if set(row[1:]) == {"kept"}]
    lines = [["kind", *_COLUMNS], ["---"] * len(rows[0]), *(r for r in rows if r[0] not in kept)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"Kept in all cases: {', '.join(kept)}.\n\n{table}"


def _cell(ways: list[str], kind: str, role: str) -> str:
    return " or ".join(dict.fromkeys(outcome(way, kind, role) for way in ways))


if __name__ == "__main__":
    PAGE.write_text(page())
