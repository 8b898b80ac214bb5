# SPDX-License-Identifier: Apache-2.0
"""The table of docs/speed.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import peers
from ..exchanges import OURS
from . import report

_PEERS = (peers.PYARROW, peers.NANOARROW, peers.CUDF)

#: The name of each group on the page. Groups with `{}` have a row per number of columns.
_LABELS = {
    "export": "export, {}",
    "import": "import, {}",
    "round trip": "round trip, {}",
    "column export": "export of a column by itself",
    "column import": "import of a column by itself",
    "frame export": "export of a cuDF frame, {}",
    "frame import": "import to a cuDF frame, {}",
    "stream export": "stream out, a batch of 10 columns",
    "stream import": "stream in, a batch of 10 columns",
    "stream to frames": "stream into cuDF frames, a batch of 10 columns",
}


def table(records: list[dict[str, Any]]) -> str:
    """Format the records of int64 columns as Markdown."""
    head = [
        "| int64 columns | µs, ours |" + "".join(f" / {peer} |" for peer in _PEERS),
        "| --- | --: |" + " --: |" * len(_PEERS),
    ]
    return "\n".join([*head, *_rows(records)])


def _rows(records: list[dict[str, Any]]) -> Iterator[str]:
    for group, label in _LABELS.items():
        for entry in (one for one in records if one["group"] == group):
            if "{}" not in label:
                yield _row(label, entry)
            elif (count := entry["at"].get("columns")) is not None:
                yield _row(label.format(f"{count:,} column{'s' * (count > 1)}"), entry)


def _row(label: str, entry: dict[str, Any]) -> str:
    ours = entry["contestants"][OURS]["dropped"]["median_us"]
    ratios = (report.ratio(entry["ratios"].get(peer)) for peer in _PEERS)
    return f"| {label} | {report.short(ours, 1)} | {' | '.join(ratios)} |"
