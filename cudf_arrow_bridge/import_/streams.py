# SPDX-License-Identifier: Apache-2.0
"""Streams of arrays: imported as one object, or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core.capsules import length_of
from ..arrow.incoming_stream import IncomingStream
from ..arrow.options import Kind
from .concatenate import MAX_ROWS, concatenate
from .importer import Importer

__all__ = ["import_batches", "import_whole"]

Imported = Any


def import_batches(source: IncomingStream, kind: Kind, importer: Importer) -> Iterator[Imported]:
    """Import each array of a stream when it is asked for; see `from_arrow_device_stream`."""
    try:
        bring = importer.bringer(source.schema, kind)
        assemble = importer.assembler(source.schema, kind, source.labels)
        first_row = 0
        for array in source.arrays:
            columns, num_rows = bring(array)
            del array
            yield assemble(columns, num_rows, first_row)
            del columns
            first_row += num_rows
    finally:
        source.release()


def import_whole(source: IncomingStream, wanted: Kind | None, importer: Importer) -> Imported:
    """Import all arrays of a stream as one object; see `from_arrow_device_stream`."""
    kind = source.kind(wanted)
    arrays: list[object] = []
    num_rows = 0
    try:
        for array in source.arrays:
            num_rows += length_of(array)
            if num_rows > MAX_ROWS:
                raise OverflowError(
                    f"a stream of more than {MAX_ROWS:,} rows found, no more than a cuDF column "
                    "holds expected: import it as several frames with concat=False"
                )
            arrays.append(array)
    finally:
        source.release()
    assemble = importer.assembler(source.schema, kind, source.labels)
    return assemble(*concatenate(arrays, source.schema, kind, importer), None)
