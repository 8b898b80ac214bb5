# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc

import pytest

from testing.device import outcome, synchronize
from testing.peers import arrays, dlpack

#: Producers that pylibcudf never released: C code may still have pointers to their callbacks.
NEVER_RELEASED = []


@pytest.fixture
def beside(record_property):
    """Check our result, and record pylibcudf's result.

    The recorded properties are `row`, `what`, `right` and `pylibcudf`. The last one is the result
    as text, the error, or the reason why pylibcudf is not called.
    """

    def ask(row, what, right, ours, theirs):
        record_property("row", row)
        record_property("what", what)
        record_property("right", repr(right))
        found = ours()
        record_property("pylibcudf", theirs if isinstance(theirs, str) else asked(theirs))
        assert found == right

    return ask


def asked(theirs):
    kinds = (arrays.Producer, dlpack.Producer)
    before = [set(kind.alive) for kind in kinds]
    text = outcome(theirs)
    synchronize()
    gc.collect()
    for kind, known in zip(kinds, before, strict=True):
        NEVER_RELEASED.extend(kind.alive - known)
        kind.alive &= known
    return text
