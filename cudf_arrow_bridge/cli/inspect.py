# SPDX-License-Identifier: Apache-2.0
"""``inspect``: the types of a file's columns and their support."""

from __future__ import annotations

from cudf_arrow_bridge.arrow.text import count
from cudf_arrow_bridge.arrow.types import support_of
from cudf_arrow_bridge.cli import exits, report
from cudf_arrow_bridge.cli.readers import ReadError, open_file, readable

HEADINGS = ("Column", *report.TYPES, "Support", "Note")


def run(file: str, *, as_json: bool = False) -> int:
    """Show the schema of a file and the support for its types; return the exit code.

    It is 0 also if columns are not supported.
    """
    try:
        source = open_file(file)
        schema, rows, codecs = source.summary()
        with readable(source.path):  # Names may be invalid.
            cells = [(field.name, str(field.type), *support_of(field.type)) for field in schema]
    except ReadError as error:
        report.print_error(str(error))
        return exits.UNREADABLE
    if as_json:
        keys = ("name", "arrow_type", "cudf_type", "support", "note")
        columns = [dict(zip(keys, row, strict=True)) for row in cells]
        report.print_json(
            {"file": file, "format": source.format, "rows": rows,
             "codecs": codecs, "columns": columns}
        )  # fmt: skip
        return exits.OK
    size = "rows not known before reading" if rows is None else count(rows, "row")
    title = f"{file} ({', '.join((source.format, size, *(codecs or ())))})"
    report.print_table(report.console(), title, HEADINGS, cells)
    return exits.OK
