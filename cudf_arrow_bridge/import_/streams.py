# SPDX-License-Identifier: Apache-2.0
"""Streams of arrays: imported as one object, or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._core.capsules import length_of
from ..arrow.options import Kind
from ..arrow.source_streams import SourceStream
from .concatenate import MAX_ROWS, concatenate
from .importer import Importer

__all__ = ["import_batches", "import_concatenated"]


def import_batches(stream: SourceStream, kind: Kind, importer: Importer) -> Iterator[Any]:
    """Import each array of a stream when it is asked for; see `from_arrow_device_stream`."""
    try:
        parsed = stream.importer
        assemble = importer.assembler(parsed, kind, stream.labels)
        first_row = 0
        for capsule in stream.arrays:
            columns, num_rows = importer.import_array(parsed, capsule, kind)
            # A suspended generator must not keep memory alive that the caller has dropped.
            del capsule
            yield assemble(columns, num_rows, first_row)
            del columns
            first_row += num_rows
    finally:
        stream.release()


def import_concatenated(stream: SourceStream, requested: Kind | None, importer: Importer) -> Any:
    """Import all arrays of a stream as one object; see `from_arrow_device_stream`."""
    kind = stream.kind(requested)
    capsules: list[object] = []
    num_rows = 0
    try:
        for capsule in stream.arrays:
            if capsules and importer.copy is False:
                raise ValueError(
                    "a stream of several batches found, one expected with copy=False, as "
                    "concatenating copies: import it with concat=False"
                )
            num_rows += length_of(capsule)
            if num_rows > MAX_ROWS:
                raise OverflowError(
                    f"a stream of more than {MAX_ROWS:,} rows found, no more than a cuDF column "
                    "holds expected: import it as several frames with concat=False"
                )
            capsules.append(capsule)
    finally:
        stream.release()
    parsed = stream.importer
    assemble = importer.assembler(parsed, kind, stream.labels)
    return assemble(*concatenate(capsules, parsed, kind, importer), None)
