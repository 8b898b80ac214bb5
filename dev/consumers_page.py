# SPDX-License-Identifier: Apache-2.0
"""Write docs/consumers.md by testing each library of tests/testing/peers/consumers.py on the host.

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
<!-- Written by dev/consumers_page.py from tests of the libraries: do not edit this page. -->

# Consumers

These Arrow libraries import cuDF data through this package, and most share its memory. Tests in
host memory check every cell of the tables.

- **table**, **column** and **stream** are results of `to_arrow_device` and
  `to_arrow_device_stream`. **frame** and **series** are cuDF objects with `install_protocol()`.
  In these columns, **zero-copy** means that the library shares the memory of the numbers in the
  tested frame. **copies**: the library copies them, as it does for all producers. **-**: the
  library has no function for such objects.
- **and back** is the import of the library's object with `from_arrow_device`. **zero-copy**: the
  import shares the library's memory. **converted**: cuDF has another layout for a column, for
  example for the strings of polars, which are views.

| library | table | column | stream | frame | series | and back |
| --- | --- | --- | --- | --- | --- | --- |
"""

_CALLS = """
## Calls

`x` is the exported object.

| library | a table or a stream | a column |
| --- | --- | --- |
"""

_DEVICE = """
For tables and streams that are not pyarrow objects, `polars.from_arrow(x)` of polars 2 creates a
series of structs. Use `polars.DataFrame(x)` to create a frame.

## Device memory

The libraries above read host memory and get a copy: `__arrow_c_array__`, `__arrow_c_stream__` and
`__array__` copy device memory to the host in each call, a stream [batch](glossary.md#batch) by
batch. This also holds for `frame.arrow_device`, and for frames with `install_protocol()`. Arrays
and streams that were exported with `copy=False` raise an error instead. If several libraries read
the same data, or one reads it several times, as duckdb does for several queries, pass
`array.to_host()`, which copies it once.

`pyarrow.table(x)` reads the copy. `pyarrow.array(x)` and `pyarrow.record_batch(x)` prefer the
device interface, and pyarrow's wheels reject device memory; call `x.to_arrow()` instead.

These libraries read device memory: pylibcudf (`pylibcudf.Table.from_arrow(x)` and
`pylibcudf.Column.from_arrow(x)`), cuDF (`from_arrow_device(x)`) and XGBoost (columns). CuPy,
PyTorch, tvm-ffi, [JAX, cuVS and cuML](how-to/tensors.md) read tensors through
DLPack or the CUDA array interface. [Vortex](how-to/vortex.md) exports device arrays only with its
extension for CUDA, and reads pyarrow tables.
"""


def page() -> str:
    """Return the whole page."""
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
