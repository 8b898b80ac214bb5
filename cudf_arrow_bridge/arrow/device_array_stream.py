# SPDX-License-Identifier: Apache-2.0
"""`DeviceArrayStream`: a stream of exported batches, for consumers of the PyCapsule protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self
from weakref import ref

import pyarrow as pa

from .._core.capsules import check_keywords
from .._core.schema import Schema, as_capsule
from .._core.stream.stream_export import ExportedStream
from ..cuda.residency import DeviceType
from . import display
from .device_array import DeviceArray
from .errors import NotPicklable, check_host_copy
from .options import Kind
from .schemas import as_field, as_schema_or_field, check_num_fields
from .text import printable

if TYPE_CHECKING:
    from .._core.export.array_exporter import ExportArguments
    from .._core.export.exported_array import ExportedArray


class ReplayableSource(Protocol):
    """A source whose batches can be iterated several times, independently."""

    @property
    def single_use_reason(self) -> str:
        """The reason why no further iteration can be opened; empty if one can."""

    def open(self) -> ExportedStream:
        """Open an iteration at the first batch, without producing it.

        Raises
        ------
        ValueError
            If the source can be read only once and has been read.
        """

    def known_schema(self) -> Schema | None:
        """Return the schema of the batches if it is known without producing a batch."""

    def release(self) -> None:
        """Release the source. Open iterations keep their references."""


class DeviceArrayStream(NotPicklable):
    """A stream of device arrays with one schema, each exported when it is requested.

    Each consumer and each ``for`` loop has an independent iteration that starts at the first batch.
    Several iterations can be active at the same time. A source that can be read only once, such as
    a generator, has one iteration; a request for another one raises an error with the reason. A
    consumer that releases its stream before it requests a batch does not use up the iteration,
    because some consumers request only the schema first.

    Batches are not exported ahead. The exception is the first batch of an iteration, if the schema
    or device type is requested and not known otherwise. That batch is kept for the next consumer.
    The stream keeps a reference to the source until `release`, but not to batches.

    Several threads can use a stream, but only one thread at a time can use an iteration. While an
    iteration exports a batch, other calls to it raise a `ValueError`.

    Parameters
    ----------
    source
        The source of the batches.
    arguments
        The arguments with which batches are exported again, if another schema is requested.
    """

    def __init__(self, source: ReplayableSource, arguments: ExportArguments) -> None:
        self._source = source
        self._arguments = arguments
        # The iteration for the next consumer, or of a consumer that may return it. Loops have their
        # own.
        self._waiting: ExportedStream | None = source.open()
        self._newest_state = self._waiting.state
        self._iterated: set[ref[ExportedStream]] = set()
        self._is_released = False
        self._seen_schema: Schema | None = None
        self._seen_device_type: DeviceType | None = None

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule; may export the first batch."""
        return self._schema_handle().__arrow_c_schema__()

    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export one iteration as an ``arrow_device_array_stream`` PyCapsule.

        The first batch is exported by this call, which raises its exceptions. The consumer receives
        a later exception of the source as an error code and a message; `error` is the exception.

        Parameters
        ----------
        requested_schema
            An ``arrow_schema`` PyCapsule of the schema that the consumer requests, for this
            iteration only; see `to_arrow_device`. It replaces the schema that the stream was
            created with. It is ignored if there is only one iteration and its first batch has been
            exported.
        **kwargs
            For keywords of later versions of the specification.

        Raises
        ------
        ValueError
            If the stream was released, or was consumed and has only one iteration, or if the data
            cannot be converted to the requested schema.
        NotImplementedError
            For any keyword whose value is not None.

        Notes
        -----
        Source: Arrow specification, "The Arrow PyCapsule Interface".
        """
        check_keywords(kwargs)
        return self._export(requested_schema, ExportedStream.__arrow_c_device_stream__)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export one iteration as an ``arrow_array_stream`` PyCapsule, in host memory.

        When the consumer requests a batch, the call waits until its data is ready. Batches in CUDA
        memory are copied to the host.

        Raises
        ------
        ValueError
            If the batches are in CUDA memory and are exported with ``copy=False``; see
            `__arrow_c_device_stream__` for the others.
        """
        return self._export(requested_schema, self._stream_capsule)

    def _stream_capsule(self, stream: ExportedStream) -> object:
        check_host_copy(stream.device_type(), self._arguments.copy)
        return stream.stream_capsule()

    def _export(
        self, requested_schema: object | None, make_capsule: Callable[[ExportedStream], object]
    ) -> object:
        stream = self._claim(is_requested=requested_schema is not None)
        try:
            if requested_schema is not None:
                _request(stream, requested_schema)
            return make_capsule(stream)
        except BaseException:
            stream.unclaim()
            raise

    def _drive(self, handler: int) -> None:
        """Run an iteration on a thread of its own and give its batches to a consumer in C.

        Unlike the export as a capsule, this call exports no batch.

        Parameters
        ----------
        handler
            The address of the consumer's ``ArrowAsyncDeviceStreamHandler``, which is released.
        """
        self._claim().drive(handler)

    def _claim(self, is_requested: bool = False) -> ExportedStream:
        """Return an iteration at its start that no other consumer uses."""
        while True:
            stream = self._at_start(is_requested)
            # Another thread may claim the iteration first.
            if stream.claim():
                return stream

    def _at_start(self, is_requested: bool = False) -> ExportedStream:
        """Return the iteration for the next consumer.

        Parameters
        ----------
        is_requested
            Whether the consumer requests a schema for the export of the first batch.
        """
        if self._is_released:
            raise ValueError("the stream is released")
        waiting = self._waiting
        if waiting is not None and waiting.is_at_start:
            state = waiting.state
            # The first batch has the schema of another consumer, or not the one requested now.
            is_requested = is_requested and state.started
            is_fixed = is_requested or state.requested_schema is not state.given_schema
            # Leave the iteration to a thread that is reading it, if another one can be opened.
            if not (is_fixed or waiting.is_read) or self._source.single_use_reason:
                return waiting
        if single_use_reason := self._source.single_use_reason:
            raise self.error or ValueError(single_use_reason)
        self._waiting = waiting = self._source.open()
        self._newest_state = waiting.state
        return waiting

    def __iter__(self) -> Iterator[DeviceArray]:
        """Return an iterator over a new iteration, which starts when a batch is requested."""
        return _Batches(self)

    def _take(self) -> ExportedStream:
        """Claim an iteration that is not used again: if its consumer ends early, it is dropped."""
        stream = self._claim()
        if self._waiting is stream:
            self._waiting = None
        return stream

    def _iterate(self) -> ExportedStream:
        stream = self._take()
        self._iterated.add(ref(stream, self._iterated.discard))
        if self._is_released:
            stream.release()
        return stream

    def _wrap(
        self, batch: tuple[Schema, ExportedArray, int], labels: tuple[Any, ...]
    ) -> DeviceArray:
        schema, array, first_row = batch
        kind: Kind = "table" if schema.is_table else "column"
        return DeviceArray(array, schema, kind, labels, first_row, self._arguments)

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of record batches, or the field of other arrays.

        For cuDF and pylibcudf objects, also in lists, the schema is known without a batch unless a
        schema was requested. For other sources this exports the first batch.
        """
        return as_schema_or_field(self.__arrow_c_schema__())

    def _schema_handle(self) -> Schema:
        """Return the schema; may export the first batch."""
        schema = self._known_schema()
        if schema is None:
            schema = self._seen_schema = self._at_start().schema()
        return schema

    def _known_schema(self) -> Schema | None:
        return self._source.known_schema() or self._seen_schema

    @property
    def device_type(self) -> DeviceType:
        """The device type of all batches. Access exports the first batch."""
        if self._seen_device_type is None:
            self._seen_device_type = DeviceType(self._at_start().device_type())
        return self._seen_device_type

    @property
    def error(self) -> BaseException | None:
        """The exception that ended the newest iteration, or None.

        A consumer outside Python receives only an error code and a message.
        """
        return self._newest_state.error

    def release(self) -> None:
        """Release the source and end the iterations of loops. Consumers keep their iterations.

        If another thread is exporting a batch, that batch is the last one of its loop. Further
        calls have no effect.
        """
        self._is_released = True
        for stream in (self._waiting, *(found() for found in tuple(self._iterated))):
            if stream is not None:
                stream.release()
        self._source.release()

    def close(self) -> None:
        """Release the stream, as `release` does."""
        self.release()

    @property
    def is_released(self) -> bool:
        """Whether no iteration is left: after `release`, or after the only one of a generator."""
        if self._is_released:
            return True
        if not self._source.single_use_reason:
            return False
        return self._waiting is None or not self._waiting.is_at_start

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def _state(self) -> str:
        if self._is_released:
            return "released"
        if self.error:
            return f"ended by {printable(repr(self.error))}"
        return "consumed" if self.is_released else "open"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._state()}>"

    def _repr_html_(self) -> str:
        known = self._known_schema()
        schema = None if known is None else as_schema_or_field(known.__arrow_c_schema__())
        return display.stream_html(self._state(), schema)


class _Batches(Iterator[DeviceArray]):
    """A Python iterator over one iteration of a stream."""

    def __init__(self, owner: DeviceArrayStream) -> None:
        self._owner = owner
        self._stream: ExportedStream | None = None
        self._start_lock = Lock()
        self._is_done = False

    def __next__(self) -> DeviceArray:
        if self._is_done:
            raise StopIteration
        with self._start_lock:
            self._stream = self._stream or self._owner._iterate()
        batch = self._stream.next()
        if batch is None:
            self._is_done = True
            raise StopIteration
        return self._owner._wrap(batch, self._stream.state.labels)


def _request(stream: ExportedStream, requested_schema: object) -> None:
    """Set the schema that the batches of an iteration are exported with."""
    state = stream.state
    if state.started:
        check_num_fields(as_field(requested_schema).type, as_field(stream.schema()).type)
        return
    stream.request(Schema.copy_of(as_capsule(requested_schema)))
    # Export the first batch, which fails if it cannot be converted to this schema.
    stream.schema()
    if state.schema_error is not None:
        error, state.schema_error = state.schema_error, None
        raise error
