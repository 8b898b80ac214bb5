# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md quotes the messages that the package raises."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge import _load

PAGE = (Path(__file__).parents[2] / "docs/troubleshooting.md").read_text()
ERRORS = PAGE.partition("## Errors\n")[2].partition("\n## ")[0]


def import_table(data, **options):
    return cab.from_arrow_device(pa.table(data), **options)


def import_descending_offsets():
    offsets = pa.py_buffer(np.array([0, 5, 3], np.int32))
    strings = pa.Array.from_buffers(pa.utf8(), 2, [None, offsets, pa.py_buffer(b"abcde")])
    return import_table({"s": strings}, validate="full")


def consume_generator_twice():
    stream = cab.to_arrow_device_stream(batch for batch in [import_table({"x": [1]})])
    pa.table(stream)
    pa.table(stream)


def export_released_array():
    array = cab.to_arrow_device(import_table({"x": [1]}))
    array.release()
    array.to_arrow()


def import_column_with_nulls_to_numpy():
    np.from_dlpack(cab.to_arrow_device(import_table({"x": [1, None]}))["x"])


CAUSES = [
    lambda: import_table({"d": pa.array([1], pa.decimal256(50, 2))}),
    lambda: cab.from_arrow_device(pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"])),
    lambda: import_table({"b": [True]}, copy=False),
    consume_generator_twice,
    export_released_array,
    import_column_with_nulls_to_numpy,
    lambda: import_table({"x": [1]}, columns=["y"]),
    import_descending_offsets,
    lambda: _load.check_release("26.10.02", "26.08.00"),
    lambda: import_table({"x": [1]})["x"].sum(),
]


@pytest.mark.skipif(cab.has_gpu(), reason="computes on frames in host memory")
@pytest.mark.parametrize(
    ("message", "cause"),
    list(zip(re.findall("^### (.*)$", ERRORS, re.MULTILINE), CAUSES, strict=True)),
)
def test_page_quotes_the_message(message, cause):
    with pytest.raises(Exception, match=re.escape(message)):
        cause()
