# SPDX-License-Identifier: Apache-2.0
"""Write docs/pandas-labels.md by exchanging frames of tests/testing/exchange/pandas_frames.py.

`RAPIDS_NO_INITIALIZE=1 python dev/pandas_page.py`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from testing.exchange.pandas_frames import ALL_WAYS, KINDS, outcome  # noqa: E402

PAGE = ROOT / "docs" / "pandas-labels.md"

_HEAD = """\
<!-- Written by dev/pandas_page.py, which exchanges frames: do not edit this page. -->

# Labels and indexes of pandas

This page shows what becomes of the labels and the row index of a pandas frame, for each kind of
them. Tests in host memory check every cell.

- **frame** is `from_arrow_device` of the pandas frame, with pandas 3, and **array** is an export of
  this cuDF frame and its import. For **stream**, **IPC**, **pickle** and **Parquet** the export
  goes through a stream of batches, an Arrow IPC stream, a pickle or a Parquet file before the
  import. **`to_pandas()`** is `to_pandas()` of the export, without an import.
- **pyarrow** is the import of `pa.Table.from_pandas(frame)`, which has only the metadata of pandas.
  **pandas 2** is the same with the dtypes and the metadata of pandas 2: strings are objects, and
  times have nanoseconds. cuDF 26.10 requires pandas 3, so pandas 2 itself is not tested.
- **kept**: type, values, dtypes and names are equal. Otherwise the cell shows the dtype of the
  result, or the dtype of each level, and the names if they differ; or the error.
- The frequency of a `DatetimeIndex` and of a `TimedeltaIndex` is not kept. pyarrow does not keep
  all frames in Parquet files: categories of numbers become numbers, several columns of one name
  cannot be read, and a frame without columns has no rows.

"""

_SECTIONS = {
    "columns": "## Labels of columns\n\nIn all cases the row index is kept.\n\n",
    "index": """
## Row index

cuDF has no index of bytes and decimals, and no dates, times of day and periods. pyarrow has no type
for mixed objects and tuples, and writes one of two levels whose names are equal as strings twice.
A level of integers with a missing entry becomes a level of floats, as in `get_level_values`.

""",
}


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(line for role in _SECTIONS for line in _section(role))


def _section(role: str) -> Iterator[str]:
    yield _SECTIONS[role]
    yield f"| kind | {' | '.join(ALL_WAYS)} |\n|{' --- |' * (len(ALL_WAYS) + 1)}\n"
    for kind in KINDS:
        yield f"| {' | '.join([kind, *(outcome(way, kind, role) for way in ALL_WAYS)])} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
