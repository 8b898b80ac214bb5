# SPDX-License-Identifier: Apache-2.0
"""`DeviceArrayStream`: an export in batches, for consumers of the PyCapsule protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from .._core.capsules import check_keywords
from .._core.schema import Schema, as_capsule, marks_table
from .._core.stream_export import ExportedStream
from ..cuda.residency import DeviceType, has_gpu
from .device_array import DeviceArray, Exporter
from .options import Kind
from .schemas import as_field, as_schema, check_num_fields

if TYPE_CHECKING:
    from .._core.exported_array import ExportedArray

__all__ = ["DeviceArrayStream"]


class DeviceArrayStream:
    """A stream of device arrays of one schema, each made when it is asked for.

    It can be consumed once: handed to a consumer, or iterated as `DeviceArray` objects. No batch is
    made ahead, except the first when the schema or the device type is asked for. One thread at a
    time may use it: while a batch is made, other calls raise a `ValueError`.

    Parameters
    ----------
    stream
        The core's stream of batches.
    exporter_of
        Makes the exporter of a batch of its array, schema and kind.
    """

    def __init__(
        self, stream: ExportedStream, exporter_of: Callable[[ExportedArray, Schema, Kind], Exporter]
    ) -> None:
        self._stream = stream
        self._exporter_of = exporter_of
        # Why no batches are left; empty while there may be some.
        self._end_reason = ""

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule; may make the first batch."""
        self._check_open()
        return self._stream.schema().__arrow_c_schema__()

    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export as an ``arrow_device_array_stream`` PyCapsule, which consumes this object.

        The first batch is made here, and its exception raised. A later exception of the source
        becomes an error code and a message for the consumer, and stays here as `error`.

        Parameters
        ----------
        requested_schema
            An ``arrow_schema`` PyCapsule of the schema that the consumer asks for, met as far as
            possible; see `to_arrow_device`. It takes the place of the one that the stream was made
            with. Ignored if the first batch has been made already.
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
        return self._export(requested_schema, self._stream.device_stream_capsule)

    @property
    def __arrow_c_stream__(self) -> Callable[..., object]:
        """Export as an ``arrow_array_stream`` PyCapsule; host-accessible memory only.

        A method for which ``hasattr`` is False where the memory cannot be read by the CPU. Where
        there is a GPU, the first batch is made to find out.
        """
        if has_gpu() and not self._end_reason and self._is_on_gpu():
            raise AttributeError(
                "__arrow_c_stream__ needs memory that the CPU can read; this is on a CUDA device"
            )
        return self._export_host

    def _is_on_gpu(self) -> bool:
        try:
            return self.device_type == DeviceType.CUDA
        except BaseException:
            # The first batch fails: that is for the call to raise, not for hasattr.
            return False

    def _export_host(self, requested_schema: object | None = None) -> object:
        return self._export(requested_schema, self._stream.stream_capsule)

    def _export(
        self, requested_schema: object | None, make_capsule: Callable[[], object]
    ) -> object:
        self._check_open()
        if requested_schema is not None:
            self._request(requested_schema)
        capsule = make_capsule()
        self._end_reason = "handed to a consumer"
        return capsule

    def _request(self, requested_schema: object) -> None:
        state = self._stream.state
        if state.started:
            check_num_fields(as_field(requested_schema).type, as_field(self).type)
            return
        self._stream.request(Schema.copy_of(as_capsule(requested_schema)))
        # Makes the first batch, which says whether it can be had so.
        self._stream.schema()
        if state.refusal is not None:
            refusal, state.refusal = state.refusal, None
            raise refusal

    def __iter__(self) -> Self:
        self._check_open()
        return self

    def __next__(self) -> DeviceArray:
        if self._end_reason == "iterated to its end":
            raise StopIteration
        self._check_open()
        batch = self._stream.next()
        if batch is None:
            self._end_reason = "iterated to its end"
            raise StopIteration
        schema, array, first_row = batch
        kind: Kind = "table" if marks_table(schema.__arrow_c_schema__()) else "column"
        exporter = self._exporter_of(array, schema, kind)
        return DeviceArray(array, schema, kind, self._stream.state.labels, first_row, exporter)

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of record batches, or the field of other arrays.

        The first batch is made for it.
        """
        capsule = self.__arrow_c_schema__()
        return as_schema(capsule) if marks_table(capsule) else as_field(capsule)

    @property
    def device_type(self) -> DeviceType:
        """The kind of memory of all batches, for which the first is made."""
        self._check_open()
        return DeviceType(self._stream.device_type())

    @property
    def error(self) -> BaseException | None:
        """The exception with which the source ended the stream, or None.

        A consumer outside Python gets an error code and a message only.
        """
        return self._stream.state.error

    def release(self) -> None:
        """Drop what was not consumed; consumers keep what they took. May be repeated."""
        self._stream.release()
        self._end_reason = self._end_reason or "released"

    @property
    def is_released(self) -> bool:
        """Whether the stream was released, consumed, or ended by an error."""
        return bool(self._end_reason) or self._stream.is_released

    def _check_open(self) -> None:
        if self._end_reason:
            raise ValueError(
                f"a stream that was {self._end_reason} found, one with batches expected: "
                "a stream can be consumed once"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def __repr__(self) -> str:
        state = self._end_reason or (f"ended by {self.error!r}" if self.error else "not consumed")
        return f"<{type(self).__name__}, {state}>"
