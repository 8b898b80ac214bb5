# SPDX-License-Identifier: Apache-2.0
"""Write the pictures of docs/tutorial.md: `python dev/tutorial_pictures.py`.

They are the HTML that a notebook shows. GitHub removes the styles of HTML, but not those of SVG.
"""

from __future__ import annotations

from pathlib import Path

import cudf_arrow_bridge as cab

ROOT = Path(__file__).parent.parent

_PICTURE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}">
<title>{title}</title>
<style>
svg {{ color: #1f2328; font: 14px sans-serif }}
.page {{ fill: #fff }}
table {{ border-spacing: 0 2px; white-space: nowrap }}
td, th {{ padding: 2px 8px }}
@media (prefers-color-scheme: dark) {{ svg {{ color: #e6edf3 }} .page {{ fill: #0d1117 }} }}
</style>
<rect class="page" width="{w}" height="{h}" rx="6"/>
<foreignObject x="12" y="12" width="{inner_w}" height="{inner_h}">
<div xmlns="http://www.w3.org/1999/xhtml">{html}</div>
</foreignObject>
</svg>
"""


def pictures() -> dict[Path, str]:
    """Return the text of each picture by its path."""
    frame = cab.from_arrow_device(ROOT / "examples" / "data" / "nyc_flights.parquet")
    array = cab.to_arrow_device(frame[["carrier", "distance", "cancelled"]])
    folder = ROOT / "docs" / "_static"
    return {
        folder / "tutorial-array.svg": _picture("The columns of the array", array, 656, 106),
        folder / "tutorial-diagram.svg": _picture(
            "The buffers of the array", array.report().diagram(), 720, 192
        ),
    }


def _picture(title: str, shown: object, width: int, height: int) -> str:
    html = shown._repr_html_().replace("&nbsp;", "&#160;")  # XML has no name for it
    sizes = {"w": width + 24, "h": height + 24, "inner_w": width, "inner_h": height}
    return _PICTURE.format(title=title, html=html, **sizes)


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text)
