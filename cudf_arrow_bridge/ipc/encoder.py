# SPDX-License-Identifier: Apache-2.0
"""Arrays as messages: metadata, and bodies that are not touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .._core.ipc import IpcBody, describe_body
from ..arrow.device_array_stream import DeviceArrayStream
from ..cuda.streams import Stream
from ..to_arrow import to_arrow_device_stream
from .batch_templates import batch_template
from .schema_messages import read_schema, schema_message
from .written_dictionaries import WrittenDictionaries

if TYPE_CHECKING:
    from ..arrow.device_array import DeviceArray

__all__ = ["EncodedMessage", "MessageEncoder", "arrays_of"]


class EncodedMessage(NamedTuple):
    """One message.

    Attributes
    ----------
    metadata
        The flatbuffer.
    body
        The buffers; None for a schema, which has none.
    is_dictionary
        Whether it is a dictionary.
    """

    metadata: bytes
    body: IpcBody | None
    is_dictionary: bool = False


def arrays_of(
    source: Any, stream: Any, preserve_index: bool | None, max_rows: int | None
) -> DeviceArrayStream:
    """Return the arrays of a source that `to_arrow_device_stream` takes; our own as they are."""
    if isinstance(source, DeviceArrayStream) and max_rows is None:
        return source
    return to_arrow_device_stream(
        source, stream=stream, preserve_index=preserve_index, max_rows=max_rows
    )


class MessageEncoder:
    """Makes the messages of arrays of one schema.

    Parameters
    ----------
    schema
        The schema of record batches, or the field of other arrays, which become a batch of the one
        column.
    stream
        The stream that reads of offsets and copies of slices are enqueued on.
    is_file
        Whether the messages are for the file format, which has no way to replace a dictionary.
    reads_dictionaries
        Says of a kind of memory whether dictionaries in it may be read, to compare them. Others
        are sent again unless they are the same memory.
    """

    def __init__(
        self,
        schema: pa.Schema | pa.Field,
        stream: Stream,
        reads_dictionaries: Callable[[int], bool],
        is_file: bool = False,
    ) -> None:
        self._stream = stream
        self._is_table = isinstance(schema, pa.Schema)
        self.metadata = schema_message(schema if self._is_table else pa.schema([schema]))
        stored = read_schema(self.metadata)
        self._dictionaries = WrittenDictionaries(stored, stream, reads_dictionaries, is_file)

    def encode(self, array: DeviceArray) -> Iterator[EncodedMessage]:
        """Give the messages of a batch: the dictionaries that it needs first."""
        body = describe_body(array._array, self._is_table, self._stream)
        for values, dictionary_id, is_delta in self._dictionaries.new_in(body):
            template = batch_template(*values.shape, is_dictionary=True)
            metadata = values.fill(template.data, template.layout, dictionary_id, is_delta)
            yield EncodedMessage(metadata, values, True)
        template = batch_template(*body.shape)
        yield EncodedMessage(body.fill(template.data, template.layout), body)
