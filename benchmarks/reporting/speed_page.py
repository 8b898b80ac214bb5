# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/speed.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import peers
from ..exchanges import OURS
from . import report

_PEERS = (peers.PYARROW, peers.NANOARROW, peers.PYLIBCUDF, peers.CUDF, peers.CONTROL)

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
    "gpu export": "export, {}",
    "gpu import": "import, {}",
    "gpu round trip": "round trip, {}",
    "gpu frame export": "export of a cuDF frame, {}",
    "gpu frame import": "import to a cuDF frame, {}",
    "gpu frame upload": "upload to a cuDF frame, {}",
}


def table(records: list[dict[str, Any]]) -> str:
    """Format the records of int64 columns, on the host or on a GPU, as Markdown."""
    records = [record for record in records if record["group"] in _LABELS]
    others = [peer for peer in _PEERS if any(peer in record["ratios"] for record in records)]
    head = [
        "| int64 columns | µs, ours |" + "".join(f" / {peer} |" for peer in others),
        "| --- | --: |" + " --: |" * len(others),
    ]
    return "\n".join([*head, *_rows(records, others)])


def _rows(records: list[dict[str, Any]], others: list[str]) -> Iterator[str]:
    for group, label in _LABELS.items():
        for entry in (one for one in records if one["group"] == group):
            if "{}" not in label:
                yield _row(label, entry, others)
            elif (count := entry["at"].get("columns")) is not None:
                name = label.format(f"{count:,} column{'s' * (count > 1)}")
                yield _row(name, entry, others)


def _row(label: str, entry: dict[str, Any], others: list[str]) -> str:
    ours = entry["contestants"][OURS]["dropped"]["median_us"]
    ratios = (report.ratio(entry["ratios"].get(peer)) for peer in others)
    return f"| {label} | {report.short(ours, 1)} | {' | '.join(ratios)} |"
