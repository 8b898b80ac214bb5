# SPDX-License-Identifier: Apache-2.0
"""Columns that a test can see going away."""

from __future__ import annotations

import threading
import weakref

import pyarrow as pa
import pylibcudf as plc

from testing.host import to_plc

STRUCT = pa.array([{"a": i, "b": None if i % 3 else str(i)} for i in range(100)])


class Source(plc.Column):
    """A column that weak references can see."""


def source(array):
    plain = to_plc(array)
    return Source(
        plain.type(),
        *(plain.size(), plain.data(), plain.null_mask(), plain.null_count(), plain.offset()),
        plain.children(),
    )


def watched(array):
    """A column and a weak reference to it."""
    column = source(array)
    return column, weakref.ref(column)


def source_of(array, gone):
    """A column that notes down the thread on which it goes."""
    column = source(array)
    weakref.finalize(column, lambda: gone.append(threading.get_ident()))
    return column
