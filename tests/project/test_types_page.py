# SPDX-License-Identifier: Apache-2.0
"""The page about types says what the type table says, and the README leads there."""

from __future__ import annotations

import runpy
from pathlib import Path

from cudf_arrow_bridge._core import types as _types

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "dev" / "types_page.py"))


def test_the_page_is_the_tables():
    assert SCRIPT["PAGE"].read_text() == SCRIPT["page"](), "run: python dev/types_page.py"


def test_every_row_is_on_the_page():
    lines = SCRIPT["page"]().splitlines()
    for row in _types.rows():
        assert any(f"| {row['arrow']} |" in line and row["note"] in line for line in lines), row


def test_the_readme_links_to_it():
    assert "(docs/types.md)" in (ROOT / "README.md").read_text()
