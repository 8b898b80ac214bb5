# SPDX-License-Identifier: Apache-2.0
"""`DeviceArray`: what an export gives, and what consumers of the PyCapsule protocols take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from .._core.tensor import tensor_of
from ..cuda.residency import DeviceType
from ..cuda.streams import resolve_stream
from . import display
from .buffers import Buffer, BufferInfo, walk
from .schemas import as_capsule, as_field, as_schema
from .tensor_protocols import TensorProtocols

if TYPE_CHECKING:
    from .._core.export import ExportedArray
    from .._core.tensor import Tensor

__all__ = ["DeviceArray", "Exporter", "check_keywords"]


class Exporter(Protocol):
    """What a `DeviceArray` was exported from, to be exported again in another way."""

    def __call__(self, requested: object) -> DeviceArray:
        """Export it as the capsule of a requested schema says."""

    def of_part(self, array: ExportedArray, schema: Any) -> Exporter | None:
        """Return the same for one of its children."""


class DeviceArray(TensorProtocols):
    """A cuDF object as an Arrow device array.

    It shares ownership of the source's buffers: the source may go first. It can be handed out any
    number of times; what each consumer gets is released on its own.

    Numbers without nulls are a tensor, too, to whoever speaks DLPack, the CUDA array interface or
    NumPy: a column has one dimension, a table of columns of one type two. Of any other column,
    `buffer` gives the single buffers as tensors.

    Parameters
    ----------
    array
        The exported tree.
    arrow_schema
        Anything with ``__arrow_c_schema__``.
    kind
        ``"table"`` for a record batch, ``"column"`` for any other array.
    labels
        Labels that Arrow metadata can only quote, for an import in this process.
    first_row
        Of a batch of a stream: its first row, counted as the schema's metadata counts them.
    exporter
        Exports the same data again as a requested schema says; None where that can't be done.
    """

    def __init__(
        self,
        array: ExportedArray,
        arrow_schema: Any,
        kind: str,
        labels: tuple[Any, ...] = (),
        first_row: int | None = None,
        exporter: Exporter | None = None,
    ) -> None:
        super().__init__()
        # Goes before the array does, whose owner the interpreter waits for when it ends.
        self._exporter = exporter
        self._array = array
        self._arrow_schema = arrow_schema
        self._kind = kind
        self._labels = labels
        self._first_row = first_row

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule."""
        return self._arrow_schema.__arrow_c_schema__()

    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]:
        """Export as a pair of PyCapsules, ``arrow_schema`` and ``arrow_device_array``.

        Parameters
        ----------
        requested_schema
            An ``arrow_schema`` PyCapsule of what the consumer would rather have, met as far as
            there is a way; see `to_arrow_device`. The capsule stays what it was.
        **kwargs
            For keywords of later versions of the specification.

        Raises
        ------
        NotImplementedError
            For any keyword whose value is not None.
        ValueError, OverflowError
            For a requested schema that this data contradicts, or after `release`.

        Notes
        -----
        Source: Arrow specification, "The Arrow PyCapsule Interface".
        """
        check_keywords(kwargs)
        agreed = self.as_requested(requested_schema)
        array = agreed._array.device_array_capsule()
        return agreed.__arrow_c_schema__(), array

    @property
    def __arrow_c_array__(self) -> Callable[..., tuple[object, object]]:
        """Export as PyCapsules ``arrow_schema`` and ``arrow_array``; host-accessible memory only.

        A method for which ``hasattr`` is False where the memory cannot be read by the CPU.
        """
        if self.device_type == DeviceType.CUDA:
            raise AttributeError(
                "__arrow_c_array__ needs memory that the CPU can read; this is on "
                f"CUDA device {self.device_id}"
            )
        return self._export_host

    def _export_host(self, requested_schema: object | None = None) -> tuple[object, object]:
        agreed = self.as_requested(requested_schema)
        array = agreed._array.array_capsule()
        return agreed.__arrow_c_schema__(), array

    def as_requested(self, requested: object | None) -> DeviceArray:
        """Return this array the way that a consumer would rather have it.

        Parameters
        ----------
        requested
            None, an ``arrow_schema`` PyCapsule, or anything with ``__arrow_c_schema__``; as in
            `to_arrow_device`.

        Returns
        -------
        DeviceArray
            This very array if nothing is requested, else one that shares what it can with it.

        Raises
        ------
        ValueError, OverflowError
            As in `to_arrow_device`.
        """
        if requested is None or self._exporter is None:
            return self
        return self._exporter(as_capsule(requested))

    @property
    def device_type(self) -> DeviceType:
        """What the memory is."""
        return DeviceType(self._array.device_type)

    @property
    def device_id(self) -> int:
        """The CUDA device that owns the memory; -1 for CPU memory."""
        return self._array.device_id

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of a record batch, or the field of a column."""
        if self._kind == "table":
            return as_schema(self._arrow_schema)
        return as_field(self._arrow_schema)

    @property
    def null_count(self) -> int:
        """Null rows, or -1 where that is not known without reading the mask."""
        return self._array.null_count

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers, children's included."""
        return sum(buffer.size for buffer in self.buffers())

    @property
    def children(self) -> list[DeviceArray]:
        """The columns of a record batch, the fields of a struct, the element of a list."""
        type_ = as_field(self._arrow_schema).type
        if isinstance(type_, pa.BaseExtensionType):
            type_ = type_.storage_type
        of_part = self._exporter.of_part if self._exporter is not None else lambda *_: None
        return [
            DeviceArray(child, field, "column", exporter=of_part(child, field))
            for child, field in (
                (child, type_.field(i)) for i, child in enumerate(self._array.children)
            )
        ]

    def buffers(self) -> list[BufferInfo]:
        """Describe all buffers, children's and a dictionary's included.

        On device memory, the size of each string column's data is one scalar read that waits.
        """
        return [info for info, *_ in walk(self._array, as_field(self._arrow_schema).type)]

    def buffer(self, name: str) -> Buffer:
        """Return one buffer, for consumers of tensors: null rows and all, as it is stored.

        Parameters
        ----------
        name
            As in `buffers`: ``"data"``, ``"offsets"``, ``"text.validity"``.

        Raises
        ------
        KeyError
            If there is no such buffer, or several.
        """
        buffers = list(walk(self._array, as_field(self._arrow_schema).type))
        found = [place for info, *place in buffers if info.name == name]
        if len(found) != 1:
            names = [info.name for info, *_ in buffers]
            raise KeyError(f"{len(found)} buffers named {name!r} found among {names}, 1 expected")
        ((array, type_, index),) = found
        return Buffer(name, array.share(), type_, index)

    def open_tensor(self, copy: bool | None) -> Tensor:
        """View the array as a tensor, which keeps the buffers alive.

        Parameters
        ----------
        copy
            Whether to copy; None: where columns do not stand behind one another in memory.

        Raises
        ------
        BufferError
            If the array is no tensor.
        """
        array = self._array.device_array_capsule()
        return tensor_of(self.__arrow_c_schema__(), array, copy, self._array.stream)

    def to_host(self, *, stream: Any = None) -> DeviceArray:
        """Bring the array to host memory.

        Waits for the copies, and once more before them if there are strings, whose sizes are data.

        Parameters
        ----------
        stream
            The stream that copies are enqueued on, as in `to_arrow_device`; it is made to wait for
            the array's data.

        Returns
        -------
        DeviceArray
            An array in CPU memory; of an array that is there already, another handle on it.
        """
        array = self._array.to_host(resolve_stream(stream))
        exporter = None if self._exporter is None else _HostExporter(self._exporter, stream)
        return DeviceArray(
            array, self._arrow_schema, self._kind, self._labels, self._first_row, exporter
        )

    def release(self) -> None:
        """Drop this object's share of the buffers; consumers keep theirs. Harmless if repeated."""
        self._exporter = None
        self._array.release()

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._array.is_released

    def __len__(self) -> int:
        return self._array.length

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)


@dataclass(frozen=True)
class _HostExporter:
    """Exports where the data is, and brings the result to host memory."""

    exporter: Exporter
    stream: Any

    def __call__(self, requested: object) -> DeviceArray:
        return self.exporter(requested).to_host(stream=self.stream)

    def of_part(self, array: ExportedArray, schema: Any) -> None:
        # Where there is a GPU, whatever is exported again would go there.
        return None


def check_keywords(keywords: dict[str, Any]) -> None:
    """Refuse keywords of later versions of the specification that mean something."""
    unknown = [name for name, value in keywords.items() if value is not None]
    if unknown:
        raise NotImplementedError(f"keyword arguments found that are not known: {unknown}")
