# SPDX-License-Identifier: Apache-2.0
"""How others do the same in host memory: what ours stands beside."""

from __future__ import annotations

from typing import Any

import nanoarrow.device
import pyarrow as pa

from .measure import Contestant
from .ways import Handed

__all__ = ["NANOARROW", "PYARROW", "exports", "imports", "round_trips"]

PYARROW = "pyarrow"
NANOARROW = "nanoarrow"


def exports(batch: pa.RecordBatch) -> tuple[Contestant, ...]:
    """Of a batch that each holds as what it computes on, made before."""
    held = nanoarrow.device.c_device_array(Handed(batch))
    return (
        Contestant(PYARROW, batch.__arrow_c_device_array__),
        Contestant(NANOARROW, held.__arrow_c_device_array__),
    )


def imports(batch: pa.RecordBatch) -> tuple[Contestant, ...]:
    """Of a batch that each takes as what it computes on."""

    def hand() -> Handed:
        return Handed(batch)

    return Contestant(PYARROW, pa.record_batch, hand), Contestant(NANOARROW, _viewed, hand)


def round_trips(batch: pa.RecordBatch) -> tuple[Contestant, ...]:
    held = nanoarrow.device.c_device_array(Handed(batch))
    return (
        Contestant(PYARROW, lambda: pa.record_batch(Handed(batch))),
        Contestant(NANOARROW, lambda: _viewed(Handed(held))),
    )


def _viewed(array: Any) -> Any:
    # A CDeviceArray only keeps two pointers, whatever they point to: the same for 1 column and for
    # 1000. Its view is what reads schema and array, checks one by the other, and knows each
    # column's type and buffers. It makes no object per column; ours and pyarrow's imports do.
    return nanoarrow.device.c_device_array(array).view()
