# SPDX-License-Identifier: Apache-2.0
"""Plots of the results: cost by number of columns and by number of rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bookkeeping import FLOORS
from ..exchanges import OURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The color, marker and line style of each line. The colors are visible on white and on black.
_STYLES = {
    OURS: ("#1d8f47", "o", "-"),
    "pyarrow": ("#dc3b40", "s", "-"),
    "pylibcudf": ("#dc3b40", "s", "-"),
    "nanoarrow": ("#2f7de1", "^", "-"),
    "cuDF": ("#b98400", "D", "-"),
    "control": ("#7d8590", "", ":"),
    "export": ("#1d8f47", "o", "-"),
    "export by schema": ("#8a5fe0", "v", "-"),
    "export floor": ("#1d8f47", "", "--"),
    "import": ("#c8591a", "o", "-"),
    "borrow": ("#b98400", "v", "-"),
    "import floor": ("#c8591a", "", "--"),
}
_PANELS_ACROSS = 2

#: Text and axes of the plots of pages have this color. It is replaced by the color of the theme.
_INK = "#1f2328"
_PAGE_STYLE: Any = {
    "font.size": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "benchmarks",
    **dict.fromkeys(
        ["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"], _INK
    ),
    "grid.color": _INK,
    "legend.frameon": False,
}
_THEMES = """svg {background: #ffffff; color: #1f2328}
@media (prefers-color-scheme: dark) {svg {background: #14181e; color: #e6edf3}}
"""


@dataclass
class _Panel:
    """Lines of points. A point maps a place to the lower quartile, median and upper quartile."""

    title: str
    across: str
    lines: dict[str, dict[int, tuple[float, float, float]]] = field(default_factory=dict)

    def add(self, line: str, place: int, median: float, quartiles: list[float]) -> None:
        lower, upper = quartiles
        self.lines.setdefault(line, {})[place] = (lower, median, upper)


def figure_class() -> type[Figure]:
    """Return matplotlib's Figure.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        message = "a plot needs matplotlib: python dev/install.py benchmarks"
        raise ModuleNotFoundError(message, name=error.name) from error
    return Figure


def figure(result: dict[str, Any]) -> Figure:
    """Plot all series of a result in the format of ``--json``.

    Raises
    ------
    ModuleNotFoundError
        If matplotlib is not installed.
    ValueError
        If the result contains no series.
    """
    panels = [*_case_panels(result["results"]), *_core_panels(result["core"])]
    if not panels:
        raise ValueError("nothing to draw: there is no series among these results")
    across = min(len(panels), _PANELS_ACROSS)
    down = -(-len(panels) // across)
    drawn = figure_class()(figsize=(4.6 * across, 3.6 * down + 0.4), layout="constrained")
    for position, panel in enumerate(panels, start=1):
        _draw(panel, drawn.add_subplot(down, across, position))
    drawn.supylabel("microseconds, one at a time, quartiles shaded", fontsize="medium")
    drawn.suptitle(_title(result), fontsize="medium")
    return drawn


def save(result: dict[str, Any], path: Path) -> None:
    """Plot a result as a file of the format of its suffix, such as ``.svg``."""
    figure(result).savefig(path, dpi=120)


def save_page_plot(
    records: list[dict[str, Any]], titles: dict[str, str], heading: str, path: Path
) -> None:
    """Plot groups of records, one below the other, as an SVG for light and dark pages.

    Parameters
    ----------
    records
        The results of the benchmark.
    titles
        The title of each group.
    heading
        The title of the plot.
    path
        The file to write.
    """
    new_figure = figure_class()
    from matplotlib import rc_context

    panels = {panel.title: panel for panel in _case_panels(records) if panel.across == "columns"}
    text = io.StringIO()
    with rc_context(_PAGE_STYLE):
        drawn = new_figure(figsize=(4.3, 2.6 * len(titles) + 0.3), layout="constrained")
        drawn.suptitle(heading, fontsize="small")
        for position, (group, title) in enumerate(titles.items(), start=1):
            axes = drawn.add_subplot(len(titles), 1, position)
            _draw(panels[group], axes)
            axes.set(title=title, ylabel="µs for a call")
        drawn.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue().replace(_INK, "currentColor").replace("</style>", f"{_THEMES}</style>", 1)
    path.write_text("".join(f"{line.rstrip()}\n" for line in svg.splitlines()))


def _title(result: dict[str, Any]) -> str:
    machine = result["machine"]
    quick = "\nquick mode: these are no real numbers" if result["quick"] else ""
    return (
        f"{OURS} {result['commit'] or ''} on {machine['cpu']}, {machine['cores']} cores,"
        f" {result['date'][:10]}{quick}"
    )


def _case_panels(records: list[dict[str, Any]]) -> Iterator[_Panel]:
    panels: dict[tuple[str, str], _Panel] = {}
    for entry in records:
        for across, place in entry["at"].items():
            panel = panels.setdefault((across, entry["group"]), _Panel(entry["group"], across))
            for name, parts in entry["contestants"].items():
                dropped = parts["dropped"]
                panel.add(name, place, dropped["median_us"], dropped["quartiles_us"])
    yield from (panel for _, panel in sorted(panels.items(), key=lambda item: item[0]))


def _core_panels(records: list[dict[str, Any]]) -> Iterator[_Panel]:
    panel = _Panel("C++ core, with release, and its floors", "columns")
    for entry in records:
        for line, who in ((entry["job"], "ours"), (FLOORS[entry["job"]], "floor")):
            measured = entry[who]
            quartiles = [value / 1e3 for value in measured["quartiles_ns"]]
            panel.add(line, entry["columns"], measured["median_ns"] / 1e3, quartiles)
    if panel.lines:
        yield panel


def _draw(panel: _Panel, axes: Axes) -> None:
    for name, points in panel.lines.items():
        color, marker, style = _STYLES[name]
        places = sorted(points)
        lower, medians, upper = zip(*(points[place] for place in places), strict=True)
        axes.plot(places, medians, style, color=color, marker=marker, markersize=4, label=name)
        axes.fill_between(places, lower, upper, color=color, alpha=0.15, linewidth=0)
    axes.set(title=panel.title, xlabel=panel.across, xscale="log", yscale="log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:,g}")
    # Show at least two decades, so that a flat line looks flat.
    bottom, top = axes.get_ylim()
    if top < 100 * bottom:
        middle = (bottom * top) ** 0.5
        axes.set_ylim(middle / 10, middle * 10)
    axes.grid(alpha=0.2)
    axes.legend(fontsize="small")
