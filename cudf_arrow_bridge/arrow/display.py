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
from .text import count, shortened, size

LINES = 20
HEADINGS = ("column", "Arrow type", "nulls", "bytes", "buffers")
#: The colors of shared and copied bytes. Their contrast to light and dark pages is at least 3:1.
COLORS = {"shared": "#0f8b8d", "copied": "#cf5c36"}


class Line(NamedTuple):
    """The cells of a column or field, `depth` levels below the displayed object.

    In HTML, a bar of its shared and copied bytes precedes the last cell, except if both are None.
    """

    depth: int
    cells: Sequence[str]
    shared: int | None = None
    copied: int | None = None


def text(array: Any) -> str:
    """Describe a device array in at most one screen of plain text.

    The text is a heading and a line for each column and nested child.
    """
    if array.is_released:
        return "DeviceArray, released"
    lines, notes = lines_of_array(array)
    rows = [
        ("  " * depth + name, arrow_type, f"{nulls} nulls", *more)
        for depth, (name, arrow_type, nulls, *more), *_ in lines
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
    yield Line(depth, (field.name, type_name(field.type)))
    storage = without_extension(field.type)
    for i in range(storage.num_fields):
        yield from lines_of_field(storage.field(i), depth + 1)


def lines_of_column(array: Any, depth: int) -> Iterator[Line]:
    """Describe a column and then, one level deeper, its children."""
    field = array.schema
    nulls = "?" if array.null_count < 0 else f"{array.null_count:,}"
    buffers = array.buffers()
    shared = sum(buffer.size for buffer in buffers if buffer.zero_copy)
    copied = sum(buffer.size for buffer in buffers if not buffer.zero_copy)
    cells = (field.name, type_name(field.type), nulls, size(shared + copied))
    is_shared = all(buffer.zero_copy for buffer in buffers)
    yield Line(depth, (*cells, "zero-copy" if is_shared else "converted"), shared, copied)
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
    """Return the lines of a table of shortened text, each column as wide as its longest cell."""
    rows = [list(map(shortened, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def html_table(headings: Sequence[str], lines: Iterable[Line], notes: Iterable[str] = ()) -> str:
    """Return an HTML table of lines, with indented first cells, and of notes below them.

    All cells are shortened and escaped.
    """
    left = "text-align:left"
    heads = [f'<th style="{left}">{escape(heading)}</th>' for heading in headings]
    rows = []
    for depth, cells, shared, copied in lines:
        row = [f"<td>{escape(shortened(cell))}</td>" for cell in cells]
        row[0] = row[0].replace("td", f'td style="{left};padding-left:{depth * 1.5 + 0.5:g}em"', 1)
        if shared is not None and copied is not None:
            row.insert(-1, f"<td>{bar(shared, copied)}</td>")
        rows.append("".join(row))
    if rows and rows[0].count("<td") > len(heads):
        legend = " ".join(
            f'<span style="color:{color}" aria-hidden="true">&#9632;</span>&nbsp;{name}'
            for name, color in COLORS.items()
        )
        heads.insert(-1, f'<th style="{left}">{legend}</th>')
    rows += [f'<td colspan="{len(heads)}">{escape(note)}</td>' for note in notes]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody></table>"


def bar(shared: int, copied: int) -> str:
    """Return an HTML bar whose two parts have the proportions of the shared and copied bytes."""
    label = f"{size(shared)} shared, {size(copied)} copied"
    style = "display:flex;min-width:7em;height:0.75em;border-radius:0.2em;overflow:hidden"
    parts = "".join(
        f'<span style="flex:{amount};min-width:3px;background:{color}"></span>'
        for amount, color in zip((shared, copied), COLORS.values(), strict=True)
        if amount
    )
    return f'<div role="img" aria-label="{label}" title="{label}" style="{style}">{parts}</div>'
