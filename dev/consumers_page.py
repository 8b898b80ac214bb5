# SPDX-License-Identifier: Apache-2.0
"""Write docs/consumers.md by trying every library of tests/testing/peers/consumers.py on the host.

`RAPIDS_NO_INITIALIZE=1 python dev/consumers_page.py`
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from testing.peers.consumers import CONSUMERS, KINDS, Consumer, hand_over, take_back  # noqa: E402

PAGE = ROOT / "docs" / "consumers.md"

_HEAD = """\
<!-- Written by dev/consumers_page.py from what the libraries do. Run that. -->

# Who takes what

Each cell was tried in the CPU's memory, with the libraries that the extras `consumers` and `test`
install.

- **zero-copy**: the library sees the frame's own memory. **copies**: it takes the data, and makes a
  copy of its own, as it does of any other library's. **-**: it has no function for this.
- **table**, **column** and **stream** are what `to_arrow_device` and `to_arrow_device_stream` give.
  **frame** and **series** are cuDF's own objects, under `install_protocol()`.
- **and back** is what `from_arrow_device` makes of what the library has then. **zero-copy**: it is
  the library's memory. **converted**: some column is laid out differently in cuDF, such as strings
  of polars, which are views.

| library | table | column | stream | frame | series | and back |
| --- | --- | --- | --- | --- | --- | --- |
"""

_CALLS = """
## By which call

`x` is what is handed over.

| library | a table or a stream | a column |
| --- | --- | --- |
"""

_DEVICE = """
`polars.from_arrow(x)` makes a series of structs of any object that is not pyarrow's, also of a
table or a stream: `polars.DataFrame(x)` makes a frame.

## In the GPU's memory

The libraries above read the CPU's memory only. `array.to_host()` brings the data there;
`array.to_arrow()` and `array.to_pandas()` do so by themselves, and so does the stream of a frame
under `install_protocol()`. pylibcudf takes tables and columns where they are, by
`pylibcudf.Table.from_arrow` and `pylibcudf.Column.from_arrow`; XGBoost takes columns, CuPy and
PyTorch tensors by DLPack. **This has not been run on a GPU yet.**
"""


def page() -> str:
    """Return the page."""
    return "".join([_HEAD, *map(_row, CONSUMERS), _CALLS, *_calls(), _DEVICE])


def _row(consumer: Consumer) -> str:
    words = [hand_over(consumer, kind).word for kind in KINDS]
    return f"| {' | '.join([consumer.name, *words, take_back(consumer, KINDS[0]).word])} |\n"


def _calls() -> Iterator[str]:
    for consumer in CONSUMERS:
        calls = [consumer.calls.get(kind) for kind in ("table", "column")]
        cells = [consumer.name, *(f"`{call}`" if call else "-" for call in calls)]
        yield f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
