# SPDX-License-Identifier: Apache-2.0
"""Columns whose destruction a test can observe."""

from __future__ import annotations

import threading
import weakref

import pyarrow as pa
import pylibcudf as plc

from testing.host import to_plc

STRUCT = pa.array([{"a": i, "b": None if i % 3 else str(i)} for i in range(100)])


class Source(plc.Column):
    """A column that supports weak references."""


def source(array):
    plain = to_plc(array)
    return Source(
        plain.type(),
        *(plain.size(), plain.data(), plain.null_mask(), plain.null_count(), plain.offset()),
        plain.children(),
    )


def watched(array):
    """Return a column and a weak reference to it."""
    column = source(array)
    return column, weakref.ref(column)


def source_of(array, gone):
    """Return a column that appends the thread of its destruction to `gone`."""
    column = source(array)
    weakref.finalize(column, lambda: gone.append(threading.get_ident()))
    return column
