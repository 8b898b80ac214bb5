# SPDX-License-Identifier: Apache-2.0
"""The page about types shows the type table, and the README links to the page."""

from __future__ import annotations

import runpy
from pathlib import Path

from cudf_arrow_bridge._core.schema import type_rows

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "dev" / "types_page.py"))


def test_page_is_generated_from_the_type_table():
    assert SCRIPT["PAGE"].read_text() == SCRIPT["page"](), "run: python dev/types_page.py"


def test_page_shows_every_row_of_the_type_table():
    lines = SCRIPT["page"]().splitlines()
    for row in type_rows():
        assert any(f"| {row['arrow']} |" in line and row["note"] in line for line in lines), row


def test_readme_links_to_the_page():
    assert "(docs/types.md)" in (ROOT / "README.md").read_text()
