# SPDX-License-Identifier: Apache-2.0
"""Encoding of arrays to messages. Bodies are only read if they are compressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from .._core.export.exported_array import ExportedArray
from .._core.ipc.body import IpcBody, describe_body
from .._core.protocols import Codec, Kind
from .._core.schema import Schema, marks_table
from ..arrow.device_array import DeviceArray
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.schemas import as_field, as_schema
from ..cuda.residency import DeviceType
from ..cuda.streams import Stream, resolve_stream
from ..export.inputs import kind_and_schema
from ..to_arrow import to_arrow_device_stream
from .compression import compress
from .decoder import CPU, parts_of
from .equality import same_values
from .metadata import batch_message, read_schema, schema_message


class EncodedBatch(NamedTuple):
    """A record batch or dictionary as a message."""

    body: IpcBody
    dictionary: tuple[int, bool] | None = None
    """The id, and whether it is a delta; None for a record batch."""

    def metadata(self, codec: Codec | None = None) -> bytes:
        """Return the flatbuffer, for buffers that are compressed with a codec."""
        return batch_message(self.body.numbers(), codec, self.dictionary)


@dataclass
class _Written:
    """A written dictionary; it keeps its memory alive, so that its addresses are not reused."""

    values: ExportedArray
    places: tuple[list[int], list[tuple[int, int]]]
    on_host: pa.Array | None = None


class MessageEncoder:
    """Encodes arrays of one schema, an object with ``__arrow_c_schema__``.

    A column becomes a batch of one column. Without a kind, the schema marks columns and tables.
    Dictionaries in CPU memory, and all dictionaries of a file, are compared with those before.
    Others are sent again unless they share memory. The file format cannot replace a dictionary.
    With `is_downloaded`, only `download_to` may read bodies in device memory.
    """

    def __init__(
        self,
        schema: Any,
        kind: Kind | None,
        stream: Stream,
        is_file: bool = False,
        is_downloaded: bool = False,
    ) -> None:
        self.stream = stream
        self.schema_metadata, self._is_table = _metadata_of(schema, kind)
        self._stored = read_schema(self.schema_metadata)
        self._describe = partial(describe_body, stream=stream, is_downloaded=is_downloaded)
        self._is_file = is_file
        self._written: dict[int, _Written] = {}

    def messages(
        self, arrays: Iterable[DeviceArray], codec: Codec | None = None
    ) -> Iterator[EncodedBatch]:
        """Yield the messages of arrays, with bodies that are compressed with a codec."""
        for array in arrays:
            # Compression reads each body on the host, without keeping device memory alive.
            data = array._array if codec is None else array._array.to_host(self.stream)
            del array
            for batch in self.encode(data):
                yield batch if codec is None else batch._replace(body=compress(batch.body, codec))
            # Do not keep the batch alive while the next one is made.
            del data, batch

    def encode(self, array: ExportedArray) -> list[EncodedBatch]:
        """Return the messages of a batch, after the dictionaries that it needs."""
        found: list[EncodedBatch] = []
        body = self._describe(array, self._is_table)
        self._add_dictionaries(body, iter(range(len(self._stored.dictionary_ids))), found)
        return [*found, EncodedBatch(body)]

    def _add_dictionaries(
        self, body: IpcBody, indices: Iterator[int], found: list[EncodedBatch]
    ) -> bool:
        """Add the new dictionaries of a body; return whether there are any."""
        before = len(found)
        for values in body.dictionaries():
            index = next(indices)
            described = self._describe(values, False)
            # Dictionaries within the values come first. Dictionaries that refer to new ones are
            # written again.
            is_changed = self._add_dictionaries(described, indices, found)
            new = self._new_values(index, values, described, is_changed)
            if new is not None:
                found.append(new)
        return len(found) > before

    def _new_values(
        self, index: int, values: ExportedArray, body: IpcBody, is_changed: bool
    ) -> EncodedBatch | None:
        """Return the values to write; None if there are none."""
        known = self._written.get(index)
        new = _Written(values, body.places())
        is_delta = False
        if known is not None and not is_changed:
            if known.places == body.places():
                return None
            # Dictionaries of a device are read only if they must be equal.
            if self._is_file or values.device_type == DeviceType.CPU:
                if same_values(self._on_host(index, new), self._on_host(index, known)):
                    return None
                if (delta := self._delta(index, known, new)) is not None:
                    body, is_delta = delta, True
        if self._is_file and known is not None and not is_delta:
            raise ValueError(
                f"dictionary {index} of the schema: the values do not begin with those of the "
                "batches before, and a file cannot replace dictionaries: use write_stream"
            )
        self._written[index] = new
        return EncodedBatch(body, (self._stored.dictionary_ids[index], is_delta))

    def _delta(self, index: int, known: _Written, new: _Written) -> IpcBody | None:
        """Return the appended values; None if the dictionaries differ in another way."""
        if not self._is_file and self._stored.decoder.end_of_dictionary(index) > index + 1:
            return None  # pyarrow does not read deltas whose values contain dictionaries
        before, after = self._on_host(index, known), self._on_host(index, new)
        if not (len(before) < len(after) and same_values(after.slice(0, len(before)), before)):
            return None
        written = map(self._written.get, range(self._stored.decoder.num_dictionaries))
        within = [None if known is None else known.values for known in written]
        appended = after.slice(len(before))
        parts, decode = parts_of(appended, self.stream), self._stored.decoder.decode
        return self._describe(decode(parts, within, "sizes", self.stream, CPU, index), False)

    def _on_host(self, index: int, written: _Written) -> pa.Array:
        if written.on_host is None:
            values = written.values.to_host(self.stream)
            written.on_host = pa.array(
                DeviceArray(values, self._stored.decoder.dictionary_schema(index), "column")
            )
        return written.on_host


def encoder_of(
    source: Any, stream: Any, preserve_index: bool | None, max_rows: int | None, **flags: bool
) -> tuple[DeviceArrayStream, MessageEncoder]:
    """Return the arrays of a source of `to_arrow_device_stream`, and the encoder for them.

    Device arrays are unchanged. The flags are those of `MessageEncoder`.
    """
    arrays = source
    if not isinstance(source, DeviceArrayStream) or max_rows is not None:
        arrays = to_arrow_device_stream(
            source, stream=stream, preserve_index=preserve_index, max_rows=max_rows
        )
    schema = arrays._schema_handle()
    return arrays, MessageEncoder(schema, _kind_of(source), resolve_stream(stream), **flags)


def _kind_of(source: Any) -> Kind | None:
    """Return the kind of an array or cuDF object; None if its schema marks columns and tables."""
    if isinstance(source, DeviceArray):
        return source._kind
    # Frames, whose description is slow, have two dimensions.
    described = None if getattr(source, "ndim", 1) == 2 else kind_and_schema(source)
    return None if described is None else described[0]


def _metadata_of(schema: Any, kind: Kind | None) -> tuple[bytes, bool]:
    """Return the message of a schema, and whether it is the schema of record batches."""
    derived: dict[Any, tuple[bytes, bool]] = schema.derived if isinstance(schema, Schema) else {}
    if kind not in derived:
        is_table = marks_table(schema.__arrow_c_schema__()) if kind is None else kind == "table"
        of_batch = as_schema(schema) if is_table else pa.schema([as_field(schema)])
        derived[kind] = schema_message(of_batch), is_table
    return derived[kind]
