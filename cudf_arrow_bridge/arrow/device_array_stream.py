# SPDX-License-Identifier: Apache-2.0
"""`DeviceArrayStream`: batches on their way to a consumer of the PyCapsule protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import pyarrow as pa

from .._core.schema import Schema, marks_table
from .._core.stream_export import ExportedStream
from ..cuda.residency import DeviceType, has_gpu
from .device_array import DeviceArray, check_keywords
from .schemas import as_capsule, as_field, as_schema, check_shape

__all__ = ["DeviceArrayStream"]


class DeviceArrayStream:
    """A stream of device arrays of one schema, made one at a time, when they are asked for.

    It can be consumed once: handed to a consumer, or iterated as `DeviceArray` objects. It holds no
    more than one batch ahead: the first, where somebody asks for the schema or the kind of memory
    before it.

    Parameters
    ----------
    stream
        Where the batches come from.
    """

    def __init__(self, stream: ExportedStream) -> None:
        self._stream = stream
        self._gone = ""  # what became of the batches, once none can be asked for

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule; may pull the first batch."""
        self._check_there()
        return self._stream.schema().__arrow_c_schema__()

    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export as an ``arrow_device_array_stream`` PyCapsule, which spends this object.

        An exception of the source, from the first batch on, becomes an error code and a message
        for the consumer, and stays here as `error`. That of the first batch is raised at once.

        Parameters
        ----------
        requested_schema
            As in `to_arrow_device`, of all batches; a stream whose first batch has been looked at
            already, or whose schema was given when it was made, comes as it is.
        **kwargs
            For keywords of later versions of the specification.

        Raises
        ------
        ValueError
            If the stream was consumed or released already, or for a requested schema that this data
            could never have.
        NotImplementedError
            For any keyword whose value is not None.

        Notes
        -----
        Source: Arrow specification, "The Arrow PyCapsule Interface".
        """
        check_keywords(kwargs)
        return self._hand_over(requested_schema, self._stream.device_stream_capsule)

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """Export as an ``arrow_array_stream`` PyCapsule; host-accessible memory only.

        A method for which ``hasattr`` is False where the memory cannot be read by the CPU; where
        there is a GPU, that takes a look at the first batch.
        """
        # A first batch that fails shall fail in the call, not in hasattr.
        if has_gpu() and not self._gone and self._fails_or_is_on_gpu():
            raise AttributeError(
                "__arrow_c_stream__ needs memory that the CPU can read; this is on a CUDA device"
            )
        return self._export_host

    def _fails_or_is_on_gpu(self) -> bool:
        try:
            return self.device_type == DeviceType.CUDA
        except BaseException:
            return False

    def _export_host(self, requested_schema: object | None = None) -> object:
        return self._hand_over(requested_schema, self._stream.stream_capsule)

    def _hand_over(self, requested: object | None, capsule: Callable[[], object]) -> object:
        self._check_there()
        if requested is not None:
            self._request(requested)
        result = capsule()
        self._gone = "handed to a consumer"
        return result

    def _request(self, requested: object) -> None:
        notes = self._stream.notes
        if notes.started or self._stream.has_given_schema:
            # Too late, or against what the stream was made for: it comes as it is.
            check_shape(as_field(requested).type, as_field(self).type)
            return
        notes.requested = Schema.copy_of(as_capsule(requested))
        self._stream.schema()
        if notes.refusal is not None:
            refusal, notes.refusal = notes.refusal, None
            raise refusal

    def __iter__(self) -> Self:
        self._check_there()
        return self

    def __next__(self) -> DeviceArray:
        if self._gone == "iterated to its end":
            raise StopIteration
        self._check_there()
        batch = self._stream.next()
        if batch is None:
            self._gone = "iterated to its end"
            raise StopIteration
        schema, array, first_row = batch
        kind = "table" if marks_table(schema.__arrow_c_schema__()) else "column"
        return DeviceArray(array, schema, kind, self._stream.notes.labels, first_row)

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of record batches, or the field of other arrays.

        The first batch is pulled for it unless the schema was given.
        """
        capsule = self.__arrow_c_schema__()
        return as_schema(capsule) if marks_table(capsule) else as_field(capsule)

    @property
    def device_type(self) -> DeviceType:
        """What the memory is, of all batches. The first is pulled for it."""
        self._check_there()
        return DeviceType(self._stream.device_type())

    @property
    def error(self) -> BaseException | None:
        """The exception that the source ended the stream with, None if it did not.

        A consumer that is not of Python knows it by an error code and a message alone.
        """
        return self._stream.notes.error

    def release(self) -> None:
        """Drop what was not consumed; consumers keep what they took. Harmless if repeated."""
        self._gone = self._gone or "released"
        self._stream.release()

    @property
    def is_released(self) -> bool:
        """Whether nothing is left here: released, consumed, or ended by an error."""
        return bool(self._gone) or self._stream.is_released

    def _check_there(self) -> None:
        if self._gone:
            raise ValueError(
                f"a stream that was {self._gone} found, one with batches expected: "
                "a stream can be consumed once"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def __repr__(self) -> str:
        state = self._gone or (f"ended by {self.error!r}" if self.error else "not consumed")
        return f"<{type(self).__name__}, {state}>"
