# SPDX-License-Identifier: Apache-2.0
"""The written dictionaries of a stream, and those that a batch has to write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from .._core.ipc.body import IpcBody, describe_body
from .._core.ipc.body_decoder import BodyDecoder
from ..arrow.device_array import DeviceArray
from ..cuda.streams import Stream
from ..to_arrow import to_arrow_device
from .metadata.schema_messages import StoredSchema

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray


@dataclass
class _Written:
    """A written dictionary; it keeps its memory alive, so that its addresses are not reused."""

    values: ExportedArray
    body: IpcBody
    on_host: pa.Array | None = None


class WrittenDictionaries:
    """Finds the dictionaries of batches that are not written yet; see `MessageEncoder`."""

    def __init__(
        self, stored: StoredSchema, stream: Stream, may_read: Callable[[int], bool], is_file: bool
    ) -> None:
        self._stored = stored
        self._stream = stream
        self._may_read = may_read
        self._is_file = is_file
        self._written: dict[int, _Written] = {}

    def new_in(self, body: IpcBody) -> list[tuple[IpcBody, int, bool]]:
        """Return the values, the id, and whether they are a delta, in the order to write them."""
        if not self._stored.dictionary_ids:
            return []
        found: list[tuple[IpcBody, int, bool]] = []
        self._visit(body, iter(range(len(self._stored.dictionary_ids))), found)
        return found

    def _visit(
        self, body: IpcBody, indices: Iterator[int], found: list[tuple[IpcBody, int, bool]]
    ) -> bool:
        """Add the new dictionaries of a body; return whether there are any."""
        before = len(found)
        for values in body.dictionaries():
            index = next(indices)
            described = describe_body(values, False, self._stream)
            # Dictionaries within the values come first. Dictionaries that refer to new ones are
            # written again.
            is_changed = self._visit(described, indices, found)
            news = self._news(index, values, described, is_changed)
            if news is not None:
                new, is_delta = news
                found.append((new, self._stored.dictionary_ids[index], is_delta))
        return len(found) > before

    def _news(
        self, index: int, values: ExportedArray, body: IpcBody, is_changed: bool
    ) -> tuple[IpcBody, bool] | None:
        """Return the values to write, and whether they are a delta; None if there are none."""
        known = self._written.get(index)
        new = _Written(values, body)
        if known is None:
            self._written[index] = new
            return body, False
        if not is_changed:
            if known.body.is_over_memory_of(body):
                return None
            if self._is_file or self._may_read(values.device_type):
                if self._on_host(index, new).equals(self._on_host(index, known)):
                    return None
                if (delta := self._delta(index, known, new)) is not None:
                    self._written[index] = new
                    return delta, True
        if self._is_file:
            raise ValueError(
                f"dictionary {index} of the schema: expected the values of the batches "
                "before, with more at the end, got other values: a file cannot replace "
                "dictionaries, write_stream can"
            )
        self._written[index] = new
        return body, False

    def _delta(self, index: int, known: _Written, new: _Written) -> IpcBody | None:
        """Return the appended values; None if the dictionaries differ in another way."""
        before, after = self._on_host(index, known), self._on_host(index, new)
        if not len(before) < len(after) or not after.slice(0, len(before)).equals(before):
            return None
        appended = to_arrow_device(after.slice(len(before)), stream=self._stream)
        return describe_body(appended._array, False, self._stream)

    def _on_host(self, index: int, written: _Written) -> pa.Array:
        if written.on_host is None:
            values = written.values.to_host(self._stream)
            written.on_host = pa.array(
                DeviceArray(values, self._decoder.dictionary_schema(index), "column")
            )
        return written.on_host

    @cached_property
    def _decoder(self) -> BodyDecoder:
        return BodyDecoder(self._stored.schema.__arrow_c_schema__())
