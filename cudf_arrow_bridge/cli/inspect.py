# SPDX-License-Identifier: Apache-2.0
"""``inspect``: how a file's columns would cross."""

from __future__ import annotations

from cudf_arrow_bridge.arrow.display import count, printable
from cudf_arrow_bridge.cli import exits, report
from cudf_arrow_bridge.cli.bridge import BridgeError, load
from cudf_arrow_bridge.cli.readers import ReadError, open_file
from cudf_arrow_bridge.cli.report import Heading

HEADINGS = (
    Heading("Column"),
    Heading("Arrow type"),
    Heading("cuDF type"),
    Heading("Crossing", "word"),
    Heading("Note"),
)


def run(file: str, *, as_json: bool = False) -> int:
    """Show a file's schema and what the type table says of it.

    Parameters
    ----------
    file : str
        Its path.
    as_json : bool, optional
        Print JSON instead of a table.

    Returns
    -------
    int
        The exit code: 0 also if there are columns that cannot cross.
    """
    try:
        load(frames=False)
        source = open_file(file)
        summary = source.summary()
    except BridgeError as error:
        report.complain(str(error))
        return exits.FAILED
    except ReadError as error:
        report.complain(str(error))
        return exits.UNREADABLE
    from cudf_arrow_bridge.arrow.types import describe

    crossings = [(field, describe(field.type)) for field in summary.schema]
    if as_json:
        columns = [
            {"name": printable(field.name), "arrow_type": str(field.type),
             "cudf_type": crossing.cudf_type, "crossing": crossing.support, "note": crossing.note}
            for field, crossing in crossings
        ]  # fmt: skip
        report.show_json(
            {"file": file, "format": source.format, "rows": summary.rows,
             "codecs": summary.codecs, "columns": columns}
        )  # fmt: skip
        return exits.OK
    rows = summary.rows
    size = "rows not known before reading" if rows is None else count(rows, "row")
    title = f"{printable(file)} ({', '.join((source.format, size, *(summary.codecs or ())))})"
    cells = [
        (
            printable(field.name),
            str(field.type),
            crossing.cudf_type,
            crossing.support,
            crossing.note,
        )
        for field, crossing in crossings
    ]
    report.console().print(report.table(title, HEADINGS, cells))
    return exits.OK
