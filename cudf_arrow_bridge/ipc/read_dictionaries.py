# SPDX-License-Identifier: Apache-2.0
"""The dictionaries that a stream has told so far, with deltas and replacements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.ipc.body_decoder import BatchParts, BodyDecoder
from ..arrow.device_array import DeviceArray
from ..cuda.streams import Stream
from ..to_arrow import to_arrow_device, to_arrow_device_stream

if TYPE_CHECKING:
    from .._core.exported_array import ExportedArray

__all__ = ["ReadDictionaries"]


class ReadDictionaries:
    """Gives the values of all dictionaries of a schema, as batches refer to them.

    Parameters
    ----------
    decoder
        Makes the values.
    ids
        The id of each dictionary, depth first.
    checks
        What is checked; see `BodyDecoder.batch`.
    stream
        The CUDA stream after whose work the buffers are there.
    """

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
        #: What was told of each id: what came first, and what is to be appended.
        self._parts: dict[int, list[BatchParts]] = {}
        #: Of each index, the values of so many parts; none where other dictionaries are within.
        self._joined: dict[int, tuple[int, ExportedArray]] = {}
        #: All values, until something is told.
        self._values: list[ExportedArray | None] | None = None

    def tell(self, dictionary_id: int, parts: BatchParts, is_delta: bool) -> None:
        """Take a dictionary, in place of the one before or appended to it.

        Raises
        ------
        ValueError
            For an id that no field has.
        """
        if dictionary_id not in self._indices:
            known = ", ".join(map(str, self._ids)) or "none"
            raise ValueError(f"a dictionary of id {dictionary_id} found, {known} expected")
        if is_delta and dictionary_id in self._parts:
            self._parts[dictionary_id].append(parts)
        else:
            self._parts[dictionary_id] = [parts]
            for index in self._indices[dictionary_id]:
                self._joined.pop(index, None)
        self._values = None

    def values(self) -> list[ExportedArray | None]:
        """Return the values of each dictionary; None for one of which nothing was told."""
        if self._values is None:
            values: list[ExportedArray | None] = [None] * len(self._ids)
            # Those within the values of others have greater indices.
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
        # To be joined, values are read, which must not lead elsewhere.
        checks = self._checks if len(parts) == 1 else "full"
        if checks != self._checks and count == 1:
            count, joined = 0, None
        is_leaf = self._decoder.end_of_dictionary(index) == index + 1
        # Only those within its own values are read; of a leaf, the decoder needs no list to walk.
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
