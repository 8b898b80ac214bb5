# SPDX-License-Identifier: Apache-2.0
"""The repr of a device array or stream: one screen of text, or a small table in a notebook.

The arrays are instances of ``DeviceArray``, of which only public attributes are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import chain, islice
from typing import Any, NamedTuple

import pyarrow as pa

from .metadata import without_extension

LINES = 20
HEADINGS = ("column", "Arrow type", "nulls", "bytes", "buffers")


class Line(NamedTuple):
    """The cells of a column or field, `depth` levels below the displayed object."""

    depth: int
    cells: Sequence[str]


def text(array: Any) -> str:
    """Describe a device array in at most one screen of plain text.

    The text is a heading and a line for each column and nested child.
    """
    if array.is_released:
        return "DeviceArray, released"
    lines, notes = lines_of_array(array)
    rows = [
        ("  " * depth + name, arrow_type, f"{nulls} nulls", *more)
        for depth, (name, arrow_type, nulls, *more) in lines
    ]
    body = [f"  {row}" for row in [*aligned(rows), *notes]]
    return "\n".join([f"DeviceArray, {summary(array)}", *body])


def html(array: Any) -> str:
    """Describe a device array as an HTML table; names are escaped."""
    if array.is_released:
        return "<div><b>DeviceArray</b>, released</div>"
    table = html_table(HEADINGS, *lines_of_array(array))
    return f"<div><b>DeviceArray</b>, {escape(summary(array))}{table}</div>"


def stream_html(state: str, schema: pa.Schema | pa.Field | None) -> str:
    """Describe a stream of device arrays as an HTML table of its columns; names are escaped.

    The schema is that of its batches; None if it is not known yet.
    """
    title = f"<b>DeviceArrayStream</b>, {escape(state)}"
    if schema is None:
        return f"<div>{title}, its schema is that of the first batch</div>"
    is_table = isinstance(schema, pa.Schema)
    fields = list(schema) if is_table else [schema]
    what = f"batches of {count(len(fields), 'column')}" if is_table else "batches of a column"
    table = html_table(HEADINGS[:2], *first_lines(fields, lines_of_field))
    return f"<div>{title}, {what}{table}</div>"


def lines_of_array(array: Any) -> tuple[list[Line], list[str]]:
    """Return the lines of an array that fit on a screen, and a note about the omitted lines."""
    columns = list(array.children) if isinstance(array.schema, pa.Schema) else [array]
    return first_lines(columns, lines_of_column)


def first_lines(
    columns: Sequence[Any], lines_of: Callable[[Any, int], Iterator[Line]]
) -> tuple[list[Line], list[str]]:
    """Return the lines of columns that fit on a screen, and a note about the omitted lines."""
    every = chain.from_iterable(lines_of(column, 0) for column in columns)
    lines = list(islice(every, LINES))
    hidden = len(columns) - sum(line.depth == 0 for line in lines)
    if hidden:
        return lines, [f"... and {count(hidden, 'more column')}"]
    return lines, ["..."] if next(every, None) else []


def lines_of_field(field: pa.Field, depth: int) -> Iterator[Line]:
    """Describe a field and then, one level deeper, its children."""
    yield Line(depth, (printable(field.name), type_name(field.type)))
    storage = without_extension(field.type)
    for i in range(storage.num_fields):
        yield from lines_of_field(storage.field(i), depth + 1)


def lines_of_column(array: Any, depth: int) -> Iterator[Line]:
    """Describe a column and then, one level deeper, its children."""
    field = array.schema
    nulls = "?" if array.null_count < 0 else f"{array.null_count:,}"
    is_shared = all(buffer.zero_copy for buffer in array.buffers())
    cells = (printable(field.name), type_name(field.type), nulls, size(array.nbytes))
    yield Line(depth, (*cells, "zero-copy" if is_shared else "converted"))
    for child in array.children:
        yield from lines_of_column(child, depth + 1)


def summary(array: Any) -> str:
    """Return one line with the kind, size and device of the array."""
    rows = count(len(array), "row")
    if isinstance(array.schema, pa.Schema):
        shape = f"table of {rows} x {count(len(array.children), 'column')}"
    else:
        shape = f"column of {rows}"
    return f"{shape}, {size(array.nbytes)} on {device(array)}"


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


def html_table(headings: Sequence[str], lines: Iterable[Line], notes: Iterable[str] = ()) -> str:
    """Return an HTML table of lines, with indented first cells, and of notes below them."""
    left = "text-align:left"
    head = "".join(f'<th style="{left}">{escape(heading)}</th>' for heading in headings)
    rows = []
    for depth, (name, *cells) in lines:
        indent = f"padding-left:{depth * 1.5 + 0.5:g}em"
        first = f'<td style="{left};{indent}">{escape(name)}</td>'
        rows.append(first + "".join(f"<td>{escape(cell)}</td>" for cell in cells))
    rows += [f'<td colspan="{len(headings)}">{escape(note)}</td>' for note in notes]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
