# SPDX-License-Identifier: Apache-2.0
"""The dictionaries that were read of a stream, with deltas and replacements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.ipc.body_decoder import BatchParts, BodyDecoder
from ..arrow.device_array import DeviceArray
from ..cuda.streams import Stream
from ..to_arrow import to_arrow_device, to_arrow_device_stream

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray


class ReadDictionaries:
    """The values of all dictionaries of a schema, whose ids are listed depth first."""

    def __init__(
        self, decoder: BodyDecoder, ids: tuple[int, ...], checks: str, stream: Stream
    ) -> None:
        self._decoder = decoder
        self._ids = ids
        self._indices: dict[int, list[int]] = {}
        for index, dictionary_id in enumerate(ids):
            self._indices.setdefault(dictionary_id, []).append(index)
        self._checks = checks
        self._stream = stream
        #: The parts of each id: the first message, and the deltas to append.
        self._parts: dict[int, list[BatchParts]] = {}
        #: The cached values of each index with their number of parts; None if they contain other
        #: dictionaries.
        self._joined: dict[int, tuple[int, ExportedArray]] = {}
        #: All values, until the next dictionary message.
        self._values: list[ExportedArray | None] | None = None

    def add(self, dictionary_id: int, parts: BatchParts, is_delta: bool) -> None:
        """Add a dictionary message, which replaces the previous one or is appended to it."""
        if dictionary_id not in self._indices:
            known = ", ".join(map(str, self._ids)) or "none"
            raise ValueError(f"expected a dictionary with id {known}, got id {dictionary_id}")
        if is_delta and dictionary_id in self._parts:
            self._parts[dictionary_id].append(parts)
        else:
            self._parts[dictionary_id] = [parts]
            for index in self._indices[dictionary_id]:
                self._joined.pop(index, None)
        self._values = None

    def values(self) -> list[ExportedArray | None]:
        """Return the values of each dictionary; None for a dictionary without a message."""
        if self._values is None:
            values: list[ExportedArray | None] = [None] * len(self._ids)
            # Dictionaries within the values of others have greater indices.
            for index in reversed(range(len(self._ids))):
                parts = self._parts.get(self._ids[index])
                if parts is not None:
                    values[index] = self._join(index, parts, values)
            self._values = values
        return self._values

    def _join(
        self, index: int, parts: list[BatchParts], values: list[ExportedArray | None]
    ) -> ExportedArray:
        count, joined = self._joined.get(index, (0, None))
        # Values are read when they are concatenated, so they must be valid.
        checks = self._checks if len(parts) == 1 else "full"
        if checks != self._checks and count == 1:
            count, joined = 0, None
        is_leaf = self._decoder.end_of_dictionary(index) == index + 1
        # Only dictionaries within its values are used; a dictionary without others needs no list.
        within = [] if is_leaf else values
        arrays = [] if joined is None else [joined]
        arrays += [
            self._decoder.dictionary(index, part, within, checks, self._stream)
            for part in parts[count:]
        ]
        result = arrays[0] if len(arrays) == 1 else self._concatenate(index, arrays)
        if is_leaf:
            self._joined[index] = (len(parts), result)
        return result

    def _concatenate(self, index: int, arrays: list[ExportedArray]) -> ExportedArray:
        schema = self._decoder.dictionary_schema(index)
        columns = [DeviceArray(array, schema, "column") for array in arrays]
        joined = to_arrow_device(
            to_arrow_device_stream(columns, stream=self._stream), stream=self._stream
        )
        return joined._array
