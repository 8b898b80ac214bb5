# SPDX-License-Identifier: Apache-2.0
"""Write docs/types.md from the type table: `python dev/types_page.py`."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

from cudf_arrow_bridge.__main__ import SUPPORT
from cudf_arrow_bridge._core.schema import type_rows
from cudf_arrow_bridge.arrow.types import frame_support

PAGE = Path(__file__).parent.parent / "docs" / "types.md"

_HEAD = """\
<!-- Written by dev/types_page.py from csrc/src/base/type_table.cpp: do not edit this page. -->

# Types

This page lists for each Arrow type the libcudf and cuDF types of an imported column, whether the
import shares its buffers, and the Arrow type of its export. The columns of the tables:

- **libcudf** is the type of an imported `pylibcudf.Column`. **cuDF frame** is the dtype of a
  frame's column, with a note if frames need a conversion.
- **import**: with **zero-copy**, the column shares the producer's buffers. With **converted**, the
  buffers that the note names are created: for host memory by the CPU, for device memory by
  libcudf's algorithms. All other buffers are shared. With **TypeError**, the import raises an error
  with the path of the column.
- `cudf-arrow-bridge inspect` and `roundtrip` summarize this for the columns of a frame:
SUPPORT
- **reads** is the data that an import of device memory reads back to the host, for which the host
  synchronizes. "-" means that the import only enqueues work. Imports of host memory do not
  synchronize, except uploads to a GPU that do not fit into 64 MiB of pinned memory.
- **exported as** is the Arrow type of an export of the column, as a frame's column and as a
  `pylibcudf.Column`, as long as it uses the same memory. With `requested_schema` a consumer can
  request any of these types for a column of the same libcudf type, and in host memory also views.
  Lists of a fixed size share their elements if every list, including null lists, has its own
  elements. libcudf's null lists have no elements, so such lists are gathered.

Rules for all types:

- **Validity bitmaps** are shared, with these exceptions: the first row is not at the start of a
  byte, the first row of a nested column is not at the start of a word, or the allocation ends
  within the 64 bytes that libcudf copies at once. In these cases only the bitmap is copied.
- **Offsets** of strings and lists are shared, unless they start with row 0 of the array and the
  first offset is not 0. libcudf requires 0 there, so the offsets are computed again.
- **Buffers** that are not aligned for their type are copied.
- **Sizes**: an array may have any 64-bit offset. A column, and the elements of a list column, have
  fewer than 2,147,483,647 rows. For more rows, an OverflowError names another way to import them.

An import reads all values that it needs from device memory at once: **one synchronization, whatever
the number of columns**. With it, the import also counts nulls if the producer has not counted them.
With `sanitize=True` it also searches for null strings and lists that are not empty, and for valid
fields of null structs. The import synchronizes again only

- for slices of lists, and lists that do not refer to all of their elements, if the elements have
  nulls or are lists: once for each level of lists, for all columns together;
- if `sanitize=True` has to rewrite lists or strings: several times for each such column;
- for each column of views, list views or run ends, and for dictionaries with null or dictionary
  values: to check the contents, and to read the sizes of the results;
- for each categorical column of a frame with at least two categories: to search for values that
  repeat;
- for validity bitmaps of more than 2,147,483,647 rows in total, once for each such number of rows;
- with `copy=True`, to read the sizes of strings and views; with `validate="full"`, to copy to the
  host.

**Dictionaries** are shared for all types of indices and values, with these exceptions. Null values
are removed, and the rows that refer to them become null; this creates the indices and copies the
values. The values of a dictionary of dictionaries are decoded. In frames, values that repeat
become one category, and an export has each value once. Indices are converted if a frame needs
another width; an index of a valid row that is out of range is an error. cuDF has no categories of
decimals, lists and structs, except intervals, and no categories in lists and structs: frames have
decoded values instead, and exports of nested values have no dictionary.

**Contents** of buffers are checked where this package reads data at a position that they contain.
A null row may have any contents. `validate="full"` checks all of them, on the host: device memory
is copied. Without it:

| contents | host memory | device memory |
| --- | --- | --- |
| offsets of strings, lists and binary | first and last; the others are trusted | the same |
| string and binary views | each row | each row, on the host: 16 bytes a row are copied |
| list views | each row | each row |
| run ends | each row has a run | the last run end |
| indices of dictionaries with null or dictionary values | each row | each row |
| indices of other dictionaries | shared and not read | the same |
| null counts, also 0 for a validity bitmap with zeros | trusted, except -1 | the same |
| UTF-8, prefixes of views | trusted | the same |

The errors for device memory are those for host memory and name the first wrong row; that for run
ends names the last run end. Other wrong run ends give wrong values, but nothing is read out of
bounds. cuDF and libcudf do not check offsets and indices, so a wrong one that is trusted or shared
can end the process or its CUDA context later. If a dictionary in device memory has indices out of
bounds, an export of its values has undefined values in these rows.

**Null columns** are strings in frames, and are exported as null as long as all rows are null. In
host memory they take no memory. In a stream of several objects, null columns of later objects have
the type of the first object.

**Nested fields** keep their names, nullability, metadata and extension types, and the order of maps
and dictionaries, with these exceptions. Run-end encoded fields have the type of their values.
Nested dictionaries of frames are encoded again if their indices have 32 bits or more, in another
order, and otherwise have the type of their values. The entries of maps are named `entries`. pyarrow
names the keys and values of maps `key` and `value` when it imports an array
([apache/arrow#44715](https://github.com/apache/arrow/issues/44715)); the exported schema has their
own names, except in the storage of an extension type that pyarrow knows.

**Extension types** are imported as their storage type, except bool8, which becomes bool. The field
keeps their name and metadata. The text metadata of a schema becomes the `attrs` of a frame and is
exported again. Time zones with a fixed offset, such as `+05:30`, become UTC in frames; the export
has the fixed offset again.

**pandas metadata** gives frames nullable dtypes: `Int64` and so on, `boolean`, `string`, and
`ArrowDtype` if cuDF supports it for the type. The storage of `string` is the default of pandas,
because the metadata does not contain it. The frequency of a `DatetimeIndex` is not kept, because it
would be wrong after rows are removed.

"""

_INDENTS = {"initial_indent": "  ", "subsequent_indent": "  "}
_IMPORTS = "## Imported types\n\n"
_HEADINGS = ("Arrow", "format", "libcudf", "cuDF frame", "import", "reads", "exported as", "note")
_REFUSED = "\n## Unsupported types\n\n"
_EXPORTS = "\n## Types that are exported as another type\n\n"


def page() -> str:
    """Return the whole page."""
    table = type_rows()
    arriving = [row for row in table if row["on_import"] != "unsupported"]
    leaving = [row for row in table if row["on_export"] != "unsupported"]
    refused = [row for row in table if row not in arriving and row not in leaving]
    only_out = [row for row in leaving if row not in arriving]
    return "".join(
        [
            _HEAD.replace("SUPPORT", fill(SUPPORT, 100, **_INDENTS)),
            _IMPORTS,
            _table(_HEADINGS, [_arrival(row, leaving) for row in arriving]),
            _EXPORTS,
            _table(
                ("libcudf", "exported as", "export", "note"),
                [(r["type_id"].name, r["arrow"], r["on_export"], r["note"]) for r in only_out],
            ),
            _REFUSED,
            _table(
                ("Arrow", "format", "error", "note"),
                [(r["arrow"], _code(r["format"]), "TypeError", r["note"]) for r in refused],
            ),
        ]
    )


def _arrival(row: dict[str, Any], leaving: list[dict[str, Any]]) -> tuple[str, ...]:
    type_id = row["type_id"]
    if row["arrow"] == "run_end_encoded":
        libcudf, frame, out = "of its values", "of its values", "its values"
    else:
        libcudf = type_id.name
        support = frame_support(type_id.name)
        frame = support.cudf_type + (f" ({support.note})" if support.note else "")
        same = [r for r in leaving if r["type_id"] == type_id]
        out = row["arrow"] if row in same else same[0]["arrow"]
        if row["format"].startswith("v"):
            # Views are exported only on request. Columns imported from views have the plain type.
            out = same[0]["arrow"]
    return (
        row["arrow"],
        _code(row["format"]),
        libcudf,
        frame,
        row["on_import"],
        row["waits_for"] or "-",
        out,
        row["note"],
    )


def _code(text: str) -> str:
    return f"`{text}`" if text else "that of its indices"


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page())
