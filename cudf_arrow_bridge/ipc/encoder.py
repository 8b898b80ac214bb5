# SPDX-License-Identifier: Apache-2.0
"""Encoding of arrays to messages. Bodies are only read if they are compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .._core.ipc.body import IpcBody, describe_body
from .._core.schema import Schema, marks_table
from ..arrow.bounded_cache import BoundedCache
from ..arrow.device_array_stream import DeviceArrayStream
from ..arrow.schemas import as_field, as_schema
from ..cuda.streams import Stream
from ..to_arrow import to_arrow_device_stream
from .metadata.batch_messages import batch_message
from .metadata.schema_messages import read_schema, schema_message
from .written_dictionaries import WrittenDictionaries

if TYPE_CHECKING:
    from .._core.ipc.metadata import Codec
    from ..arrow.device_array import DeviceArray
    from ..arrow.options import Kind


class EncodedBatch(NamedTuple):
    """A record batch or dictionary as a message."""

    body: IpcBody
    dictionary: tuple[int, bool] | None = None
    """The id, and whether it is a delta; None for a record batch."""

    def metadata(self, codec: Codec | None = None) -> bytes:
        """Return the flatbuffer, for buffers that are compressed with a codec."""
        return batch_message(*self.body.numbers(), codec, self.dictionary)


def arrays_of(
    source: Any, stream: Any, preserve_index: bool | None, max_rows: int | None
) -> DeviceArrayStream:
    """Return the arrays of a source of `to_arrow_device_stream`; device arrays are unchanged."""
    if isinstance(source, DeviceArrayStream) and max_rows is None:
        return source
    return to_arrow_device_stream(
        source, stream=stream, preserve_index=preserve_index, max_rows=max_rows
    )


class MessageEncoder:
    """Encodes arrays of one schema, an object with ``__arrow_c_schema__``.

    A column becomes a batch of one column. Without a kind, the schema marks columns and tables.
    `may_read` returns whether dictionaries in a kind of memory may be read, to compare them. Others
    are sent again unless they share memory. The file format cannot replace a dictionary.
    """

    def __init__(
        self,
        schema: Any,
        kind: Kind | None,
        stream: Stream,
        may_read: Callable[[int], bool],
        is_file: bool = False,
    ) -> None:
        self._stream = stream
        self.schema_metadata, self._is_table = _metadata_of(schema, kind)
        stored = read_schema(self.schema_metadata)
        self._dictionaries = WrittenDictionaries(stored, stream, may_read, is_file)

    def encode(self, array: DeviceArray) -> Iterator[EncodedBatch]:
        """Yield the messages of a batch, after the dictionaries that it needs."""
        body = describe_body(array._array, self._is_table, self._stream)
        for values, dictionary_id, is_delta in self._dictionaries.new_in(body):
            yield EncodedBatch(values, (dictionary_id, is_delta))
        yield EncodedBatch(body)


#: The schema messages of the newest arrays, and whether these are record batches.
_known: BoundedCache[tuple[Schema, Kind | None], tuple[bytes, bool]] = BoundedCache()


def _metadata_of(schema: Any, kind: Kind | None) -> tuple[bytes, bool]:
    """Return the message of a schema, and whether it is the schema of record batches."""
    if not isinstance(schema, Schema):
        return _new_metadata(schema, kind)
    known = _known.find(lambda key: key[1] == kind and key[0].shares(schema))
    if known is None:
        known = _new_metadata(schema, kind)
        _known.add((schema, kind), known)
    return known


def _new_metadata(schema: Any, kind: Kind | None) -> tuple[bytes, bool]:
    is_table = marks_table(schema.__arrow_c_schema__()) if kind is None else kind == "table"
    return schema_message(
        as_schema(schema) if is_table else pa.schema([as_field(schema)])
    ), is_table
