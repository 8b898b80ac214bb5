# SPDX-License-Identifier: Apache-2.0
"""`DeviceArrayStream`: an export in batches, for consumers of the PyCapsule protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, Self
from weakref import ref

import pyarrow as pa

from .._core.capsules import check_keywords
from .._core.schema import Schema, as_capsule, marks_table
from .._core.stream.stream_export import ExportedStream, StreamState
from ..cuda.residency import DeviceType, has_gpu
from . import display
from .device_array import DeviceArray, Exporter
from .options import Kind
from .refusals import StaysHere
from .schemas import as_field, as_schema_or_field, check_num_fields
from .table_face import available_if

if TYPE_CHECKING:
    from .._core.exported_array import ExportedArray

__all__ = ["DeviceArrayStream", "Passes"]

#: Makes the exporter of a batch of its array, schema and kind.
ExporterOf = Callable[["ExportedArray", Schema, Kind], Exporter]


class Passes(Protocol):
    """Opens passes over the batches of one source, independent of each other."""

    @property
    def why_once(self) -> str:
        """Why no further pass can be opened; empty while one can."""

    def open(self) -> ExportedStream:
        """Open a pass from the first batch on, which is not made yet.

        Raises
        ------
        ValueError
            If the source can be read only once, and was.
        """

    def known_schema(self) -> Schema | None:
        """Return the schema of the batches if it takes none of them to know it."""

    def release(self) -> None:
        """Let go of the source; passes that are open keep it."""


class DeviceArrayStream(StaysHere):
    """A stream of device arrays of one schema, each made when it is asked for.

    Each consumer, and each ``for`` loop, makes a pass of its own from the first batch on, also
    several at once. Where the source can be read only once, as a generator, there is one pass, and
    whoever asks for another is told why. A consumer that releases its stream before it pulled a
    batch has not made a pass: some ask for the schema first.

    No batch is made ahead, except the first of a pass when the schema or the device type is asked
    for and cannot be known otherwise; it waits for the next consumer. The source is kept alive
    until `release`; batches are not.

    Any number of threads may use a stream, but one at a time each pass: while a batch is made,
    other calls to that pass raise a `ValueError`.

    Parameters
    ----------
    passes
        The source, in as many passes as it can be read.
    exporter_of
        Makes the exporter of a batch of its array, schema and kind.
    """

    def __init__(self, passes: Passes, exporter_of: ExporterOf) -> None:
        self._passes = passes
        self._exporter_of = exporter_of
        # The next consumer's, or lent to one that may give it back; loops have theirs.
        self._waiting: ExportedStream | None = passes.open()
        self._newest_state = self._waiting.state
        self._iterated: set[ref[ExportedStream]] = set()
        self._is_released = False
        self._seen_schema: Schema | None = None
        self._seen_device_type: DeviceType | None = None

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule; may make the first batch."""
        return self._schema_handle().__arrow_c_schema__()

    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export as an ``arrow_device_array_stream`` PyCapsule, which makes one pass.

        The first batch is made here, and its exception raised. A later exception of the source
        becomes an error code and a message for the consumer, and stays here as `error`.

        Parameters
        ----------
        requested_schema
            An ``arrow_schema`` PyCapsule of the schema that the consumer asks for, for this pass
            only; met as far as possible, see `to_arrow_device`. It takes the place of the one that
            the stream was made with. Ignored if the only pass has made its first batch already.
        **kwargs
            For keywords of later versions of the specification.

        Raises
        ------
        ValueError
            If the stream was released, or consumed and cannot be consumed again, or for a requested
            schema that this data could never have.
        NotImplementedError
            For any keyword whose value is not None.

        Notes
        -----
        Source: Arrow specification, "The Arrow PyCapsule Interface".
        """
        check_keywords(kwargs)
        return self._export(requested_schema, ExportedStream.device_stream_capsule)

    def _check_readable(self, name: str) -> None:
        if has_gpu() and not self.is_released and self._is_on_gpu():
            raise AttributeError(
                f"{name} needs memory that the CPU can read; this is on a CUDA device"
            )

    @available_if(_check_readable)
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export as an ``arrow_array_stream`` PyCapsule; host-accessible memory only.

        ``hasattr`` is False where the memory cannot be read by the CPU. Where there is a GPU, the
        first batch is made to find out.
        """
        return self._export(requested_schema, ExportedStream.stream_capsule)

    def _is_on_gpu(self) -> bool:
        try:
            return self.device_type == DeviceType.CUDA
        except BaseException:
            # The first batch fails: that is for the call to raise, not for hasattr.
            return False

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

    def _drive(self, handler: int) -> StreamState:
        """Have threads of the library make a pass, and hand its batches to a consumer in C.

        Unlike an export in a capsule, this makes no batch here.

        Parameters
        ----------
        handler
            The address of its ``ArrowAsyncDeviceStreamHandler``, which will be released.

        Returns
        -------
        StreamState
            The state of the pass.
        """
        stream = self._claim()
        stream.drive(handler)
        return stream.state

    def _claim(self, is_requested: bool = False) -> ExportedStream:
        """Return a pass that nobody else has and that is at its start."""
        while True:
            stream = self._at_start(is_requested)
            # Another thread may be faster.
            if stream.claim():
                return stream

    def _at_start(self, is_requested: bool = False) -> ExportedStream:
        """Return the pass that the next consumer gets.

        Parameters
        ----------
        is_requested
            Whether the consumer asks for a schema, which the first batch must be made with.
        """
        if self._is_released:
            raise ValueError("a stream that was released found, one with batches expected")
        waiting = self._waiting
        if waiting is not None and waiting.is_at_start:
            state = waiting.state
            # With the schema that another consumer asked for, or without the one asked for now.
            is_requested = is_requested and state.started
            is_fixed = is_requested or state.requested_schema is not state.given_schema
            # What another thread is looking at is left to it, if there are other passes.
            if not (is_fixed or waiting.is_read) or self._passes.why_once:
                return waiting
        if why_once := self._passes.why_once:
            raise self.error or ValueError(why_once)
        self._waiting = waiting = self._passes.open()
        self._newest_state = waiting.state
        return waiting

    def __iter__(self) -> Iterator[DeviceArray]:
        """Begin a pass; it takes the stream's batches from the first one that is asked for."""
        return _Batches(self)

    def _iterate(self) -> ExportedStream:
        stream = self._claim()
        if self._waiting is stream:
            # A loop that is left early drops it.
            self._waiting = None
        self._iterated.add(ref(stream, self._iterated.discard))
        if self._is_released:
            stream.release()
        return stream

    def _wrap(
        self, batch: tuple[Schema, ExportedArray, int], labels: tuple[Any, ...]
    ) -> DeviceArray:
        schema, array, first_row = batch
        kind: Kind = "table" if marks_table(schema.__arrow_c_schema__()) else "column"
        exporter = self._exporter_of(array, schema, kind)
        return DeviceArray(array, schema, kind, labels, first_row, exporter)

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of record batches, or the field of other arrays.

        Known without a batch for objects of cuDF and pylibcudf, also in lists, unless a schema was
        requested; else the first batch is made for it.
        """
        return as_schema_or_field(self.__arrow_c_schema__())

    def _schema_handle(self) -> Schema:
        """Return the schema; may make the first batch."""
        schema = self._known_schema()
        if schema is None:
            schema = self._seen_schema = self._at_start().schema()
        return schema

    def _known_schema(self) -> Schema | None:
        return self._passes.known_schema() or self._seen_schema

    @property
    def device_type(self) -> DeviceType:
        """The kind of memory of all batches, for which the first is made."""
        if self._seen_device_type is None:
            self._seen_device_type = DeviceType(self._at_start().device_type())
        return self._seen_device_type

    @property
    def error(self) -> BaseException | None:
        """The exception with which the source ended the newest pass, or None.

        A consumer outside Python gets an error code and a message only.
        """
        return self._newest_state.error

    def release(self) -> None:
        """Drop the source, and what loops have not taken; consumers keep theirs. May be repeated.

        A batch that another thread is making is the last one of its loop.
        """
        self._is_released = True
        for stream in (self._waiting, *(found() for found in tuple(self._iterated))):
            if stream is not None:
                stream.release()
        self._passes.release()

    def close(self) -> None:
        """Do what `release` does."""
        self.release()

    @property
    def is_released(self) -> bool:
        """Whether nothing is left to consume: after `release`, or the only pass of a generator."""
        if self._is_released:
            return True
        if not self._passes.why_once:
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
            return f"ended by {self.error!r}"
        return "consumed" if self.is_released else "open"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {self._state()}>"

    def _repr_html_(self) -> str:
        known = self._known_schema()
        schema = None if known is None else as_schema_or_field(known.__arrow_c_schema__())
        return display.stream_html(self._state(), schema)


class _Batches(Iterator[DeviceArray]):
    """One pass over the batches of a stream, as Python iterates."""

    def __init__(self, owner: DeviceArrayStream) -> None:
        self._owner = owner
        self._stream: ExportedStream | None = None
        self._is_done = False

    def __next__(self) -> DeviceArray:
        if self._is_done:
            raise StopIteration
        if self._stream is None:
            self._stream = self._owner._iterate()
        batch = self._stream.next()
        if batch is None:
            self._is_done = True
            raise StopIteration
        return self._owner._wrap(batch, self._stream.state.labels)


def _request(stream: ExportedStream, requested_schema: object) -> None:
    """Have the batches of a pass made with the schema that its consumer asks for."""
    state = stream.state
    if state.started:
        check_num_fields(as_field(requested_schema).type, as_field(stream.schema()).type)
        return
    stream.request(Schema.copy_of(as_capsule(requested_schema)))
    # Makes the first batch, which says whether it can be had so.
    stream.schema()
    if state.refusal is not None:
        refusal, state.refusal = state.refusal, None
        raise refusal
