# SPDX-License-Identifier: Apache-2.0
"""The repr of a device array or stream: one screen of text, or a small table in a notebook.

The arrays are instances of ``DeviceArray``, of which only public attributes are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .metadata import without_extension

if TYPE_CHECKING:
    from .buffers import BufferInfo

LINES = 20
HEADINGS = ("column", "Arrow type", "nulls", "bytes", "buffers")


class ColumnLine(NamedTuple):
    """The line of one column, `depth` levels below the displayed array."""

    depth: int
    name: str
    type: str
    nulls: str
    bytes: str
    buffers: str


def text(array: Any) -> str:
    """Describe a device array in at most one screen of plain text.

    The text is a heading and a line for each column and nested child.
    """
    if array.is_released:
        return "DeviceArray, released"
    lines, notes = visible_lines(array)
    cells = [
        ("  " * line.depth + line.name, line.type, f"{line.nulls} nulls", line.bytes, line.buffers)
        for line in lines
    ]
    body = [f"  {row}" for row in [*aligned(cells), *notes]]
    return "\n".join([f"DeviceArray, {summary(array)}", *body])


def html(array: Any) -> str:
    """Describe a device array as an HTML table; names are escaped."""
    if array.is_released:
        return "<div><b>DeviceArray</b>, released</div>"
    lines, notes = visible_lines(array)
    body = "".join(_html_row(line.depth, line.name, line[2:]) for line in lines)
    foot = "".join(f'<tr><td colspan="{len(HEADINGS)}">{escape(note)}</td></tr>' for note in notes)
    table = _html_table(HEADINGS, body + foot)
    return f"<div><b>DeviceArray</b>, {escape(summary(array))}{table}</div>"


def stream_html(state: str, schema: pa.Schema | pa.Field | None) -> str:
    """Describe a stream of device arrays as an HTML table of its columns; names are escaped.

    Parameters
    ----------
    state : str
        The state of the stream.
    schema : pa.Schema, pa.Field or None
        The schema of its batches; None if it is not known yet.
    """
    title = f"<b>DeviceArrayStream</b>, {escape(state)}"
    if schema is None:
        return f"<div>{title}, its schema is that of the first batch</div>"
    is_table = isinstance(schema, pa.Schema)
    fields = list(schema) if is_table else [schema]
    shown = list(islice(field_rows(fields, 0), LINES))
    rows = "".join(_html_row(*row) for row in shown)
    hidden = len(fields) - sum(depth == 0 for depth, _, _ in shown)
    if hidden:
        rows += f'<tr><td colspan="2">... and {count(hidden, "more column")}</td></tr>'
    what = f"batches of {count(len(fields), 'column')}" if is_table else "batches of a column"
    return f"<div>{title}, {what}{_html_table(HEADINGS[:2], rows)}</div>"


def field_rows(fields: Sequence[pa.Field], depth: int) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the depth, name and type of each field and, one level deeper, of its children."""
    for field in fields:
        yield depth, printable(field.name), [type_name(field.type)]
        storage = without_extension(field.type)
        children = [storage.field(i) for i in range(storage.num_fields)]
        yield from field_rows(children, depth + 1)


def summary(array: Any) -> str:
    """Return one line with the kind, size and device of the array."""
    rows = count(len(array), "row")
    if isinstance(array.schema, pa.Schema):
        shape = f"table of {rows} x {count(len(array.children), 'column')}"
    else:
        shape = f"column of {rows}"
    return f"{shape}, {size(array.nbytes)} on {device(array)}"


def visible_lines(array: Any) -> tuple[list[ColumnLine], list[str]]:
    """Return the lines that fit on a screen, and a note about the omitted lines."""
    if isinstance(array.schema, pa.Schema):
        columns = list(array.children)
        every: Iterator[ColumnLine] = (
            line for column in columns for line in column_lines(column, 0)
        )
    else:
        columns = [array]
        every = column_lines(array, 0)
    lines = list(islice(every, LINES))
    hidden = len(columns) - sum(line.depth == 0 for line in lines)
    if hidden:
        return lines, [f"... and {count(hidden, 'more column')}"]
    return lines, ["..."] if next(every, None) else []


def column_lines(array: Any, depth: int) -> Iterator[ColumnLine]:
    """Describe a column and then, one level deeper, its children."""
    field = array.schema
    nulls = "?" if array.null_count < 0 else f"{array.null_count:,}"
    yield ColumnLine(
        depth, printable(field.name), type_name(field.type), nulls, size(array.nbytes),
        crossing(array.buffers()),
    )  # fmt: skip
    for child in array.children:
        yield from column_lines(child, depth + 1)


def crossing(buffers: Sequence[BufferInfo]) -> str:
    """Return text on whether all buffers are shared with the source."""
    return "zero-copy" if all(buffer.zero_copy for buffer in buffers) else "converted"


def device(array: Any) -> str:
    """Return the name of the device, with its id if it has one."""
    name = str(array.device_type.name)
    return name if array.device_id < 0 else f"{name} {array.device_id}"


def type_name(arrow_type: pa.DataType) -> str:
    """Return the name of a type without the types of its children, which have their own lines."""
    if pa.types.is_dictionary(arrow_type):
        ordered = ", ordered" if arrow_type.ordered else ""
        return f"dictionary<{arrow_type.value_type}, {arrow_type.index_type}{ordered}>"
    if (
        pa.types.is_struct(arrow_type)
        or pa.types.is_list(arrow_type)
        or pa.types.is_large_list(arrow_type)
    ):
        return str(arrow_type).partition("<")[0]
    return str(arrow_type)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table of text, with each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def printable(name: object) -> str:
    """Return a name on one line, with control characters escaped."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(name)
    )


def size(count: int) -> str:
    """Return a number of bytes in a readable unit."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


def count(number: int, noun: str) -> str:
    """Return a number and a noun, plural unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _html_table(headings: Sequence[str], rows: str) -> str:
    head = "".join(f'<th style="text-align:left">{escape(heading)}</th>' for heading in headings)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _html_row(depth: int, name: str, cells: Sequence[str]) -> str:
    indent = f"padding-left:{depth * 1.5 + 0.5:g}em"
    first = f'<td style="text-align:left;{indent}">{escape(name)}</td>'
    return f"<tr>{first}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
