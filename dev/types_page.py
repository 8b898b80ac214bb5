# SPDX-License-Identifier: Apache-2.0
"""Write docs/types.md from the type table: `python dev/types_page.py`."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

from cudf_arrow_bridge.arrow.types import MEANING, frame_crossing, rows

PAGE = Path(__file__).parent.parent / "docs" / "types.md"

_HEAD = """\
<!-- Written by dev/types_page.py from csrc/src/base/type_table.cpp. Change that. -->

# What becomes of each Arrow type

- **libcudf** is the type of an imported `pylibcudf.Column`; **cuDF frame** is the dtype of a
  frame's column, where that takes another conversion it says so.
- **zero-copy**: the column's buffers are the producer's own memory. **converted**: the buffers that
  the note names are made anew, by the CPU for host memory and by libcudf's algorithms for device
  memory; whatever it doesn't name is shared. **TypeError**: refused, with the path of the column.
- `cudf-arrow-bridge inspect` and `roundtrip` speak of frames and sum this up in one word:
MEANING
- **waits for** is what an import of device memory has to read on the host before it can go on; "-"
  means that it only enqueues. Imports of host memory wait for nothing, uploads to a GPU included
  (but for those that find no room in 64 MiB of pinned memory).
- **leaves as** is what a column that came in like this goes out as again, the frame's column and
  the `pylibcudf.Column` alike, as long as it is the same memory. A consumer can ask for each of
  these types of a column that holds the same libcudf type, with `requested_schema`; for views in
  host memory. Lists of a fixed size share their elements if each list has its own, null lists too;
  libcudf's null lists are empty, and the elements are gathered then.

Beyond the types: a mask of nulls is shared, unless its first row stands inside a byte, or in a
nested column inside a word, or its allocation ends within the 64 bytes in which libcudf copies
masks; then it alone is copied, one bit for each row. Offsets of strings and lists are shared,
unless they begin with row 0 of the array and the first one is not 0: libcudf takes it that it is,
so they are counted anew. Buffers that are not aligned for their type are copied. Rows may stand at
any 64-bit offset; a column itself holds fewer than 2,147,483,647 rows, and so do the elements of a
list column: more raise OverflowError, which names the way out.

What an import waits for is read from device memory all at once: **one wait, whatever the number of
columns**. Nulls that the producer has not counted are counted in it, and so are null strings and
lists that are not empty and fields that are not null though their struct is, which
`sanitize=False` says there are none of. There are more waits only

- for slices of lists, or lists that don't refer to all of their child, if there are nulls or lists
  among the elements: one for each level of lists, again for all columns together;
- where `sanitize=True` finds lists or strings to rewrite: a few for each column it finds them in;
- for views, list views, run ends, and dictionaries that hold nulls or dictionaries, on their own;
- for masks of more than 2,147,483,647 rows in all, one for each so many;
- with `copy=True`, for how many bytes strings and views take; with `validate="full"`, for a copy to
  the host.

Dictionaries are shared with any type of index and of values, but: null values are taken out, and
the rows that refer to them become null (indices made, values copied); a dictionary of dictionaries
has its values looked up. Where a frame stores indices in fewer or more bits, each that is not null
has to be that of a value, else the import is an error. cuDF has no categories of decimals: frames
have the decimals themselves. Dictionaries of lists, and of structs inside other columns, are
decoded for frames on a GPU, and are a TypeError in host memory.

Extension types are their storage; their name and metadata stay with the field. The metadata of a
schema that is text is in a frame's `attrs`, which leave as metadata again. Time zones of a fixed
offset, such as `+05:30`, are UTC in frames: the instants are the same, and the offset leaves again
with the column.

Frames that pandas' metadata describes have its nullable dtypes: `Int64` and the like, `boolean`,
`string`, and `ArrowDtype` where cuDF has it for the type. The storage of `string` is pandas'
default, which is not written down. The frequency of a `DatetimeIndex` is not kept: rows that
somebody drops on the way would belie it.

"""

_INDENTS = {"initial_indent": "  ", "subsequent_indent": "  "}
_IMPORTS = "## Types that arrive\n\n"
_HEADINGS = ("Arrow", "format", "libcudf", "cuDF frame", "import", "waits for", "leaves as", "note")
_REFUSED = "\n## Types that are refused\n\n"
_EXPORTS = "\n## Types that leave as another one\n\n"


def page() -> str:
    """The whole page."""
    table = rows()
    arriving = [row for row in table if row["on_import"] != "unsupported"]
    leaving = [row for row in table if row["on_export"] != "unsupported"]
    refused = [row for row in table if row not in arriving and row not in leaving]
    only_out = [row for row in leaving if row not in arriving]
    return "".join(
        [
            _HEAD.replace("MEANING", fill(MEANING, 100, **_INDENTS)),
            _IMPORTS,
            _table(_HEADINGS, [_arrival(row, leaving) for row in arriving]),
            _EXPORTS,
            _table(
                ("libcudf", "leaves as", "how", "note"),
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
        crossing = frame_crossing(type_id.name)
        frame = crossing.cudf_type + (f" ({crossing.note})" if crossing.note else "")
        same = [r for r in leaving if r["type_id"] == type_id]
        out = row["arrow"] if row in same else same[0]["arrow"]
        if row["format"].startswith("v"):
            # Views leave only where they are requested; what was imported from views leaves plain.
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
