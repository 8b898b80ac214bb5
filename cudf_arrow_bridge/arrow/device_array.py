# SPDX-License-Identifier: Apache-2.0
"""`DeviceArray`: what an export gives, and what consumers of the PyCapsule protocols take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, SupportsIndex

import pyarrow as pa

from .._core.tensor import tensor_of
from ..cuda.residency import DeviceType
from ..cuda.streams import Stream, resolve_stream
from . import display
from .buffers import BufferInfo, BufferTensor, walk_buffers
from .loans import Loan
from .report import Report, report_column
from .schemas import as_field, as_schema
from .table_face import TableFace, available_if
from .tensor_protocols import TensorProtocols

if TYPE_CHECKING:
    from .._core.exported_array import ExportedArray
    from .._core.tensor import Tensor
    from .options import Kind

__all__ = ["DeviceArray", "Exporter"]


class Exporter(Protocol):
    """Exports the data of a `DeviceArray` again, with another schema."""

    def __call__(self, requested_schema: object) -> DeviceArray:
        """Export with the schema in a capsule, as far as it can be met."""

    def over(self, array: ExportedArray, schema: Any, kind: Kind) -> Exporter | None:
        """Return the exporter of a child or copy of the array, None if there can be none."""


class DeviceArray(TableFace, TensorProtocols):
    """A cuDF object as an Arrow device array.

    It shares ownership of the source's buffers: the source may be dropped first. It can be exported
    any number of times; what each consumer gets is released on its own. As a context manager, it is
    released at the end. A release is not ordered behind the stream of its consumer, who has to be
    done with the memory, except of imports by this package and of `borrow`.

    A table has what record batches of pyarrow have: it is also a stream of one batch, and
    ``array["name"]`` is a column of it, itself an array.

    Numbers without nulls are also a tensor, through DLPack, the CUDA array interface and NumPy: a
    column has one dimension, a table of columns of one type has two. For any other column, `buffer`
    gives the single buffers as tensors.

    It can be pickled and copied, and moved by Dask and Ray; see docs/processes.md.

    Parameters
    ----------
    array
        The exported array, the root of a tree.
    arrow_schema
        Anything with ``__arrow_c_schema__``.
    kind
        ``"table"`` for a record batch, ``"column"`` for any other array.
    labels
        Labels without a JSON form, for an import in this process.
    first_row
        For a batch of a stream, the number of rows before it: where its part of a range index
        begins. None for a single array.
    exporter
        Exports the same data again with a requested schema; None where that cannot be done.
    """

    _exporter: Exporter | None
    #: Set by the layer that knows what travels between processes, and stands above this one.
    _reduce: ClassVar[Callable[[DeviceArray, SupportsIndex], tuple[Any, ...]]]

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule."""
        return self._arrow_schema.__arrow_c_schema__()

    @available_if(TableFace._check_readable)
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Export as PyCapsules ``arrow_schema`` and ``arrow_array``; host-accessible memory only.

        ``hasattr`` is False where the memory cannot be read by the CPU.
        """
        exported = self.as_requested(requested_schema)
        array = exported._array.array_capsule()
        return exported.__arrow_c_schema__(), array

    @property
    def device_type(self) -> DeviceType:
        """The kind of memory, as Arrow names it."""
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
        """Null rows."""
        return self._array.null_count

    @property
    def nbytes(self) -> int:
        """Bytes of all buffers, children's included."""
        return sum(buffer.size for buffer in self.buffers())

    @property
    def children(self) -> list[DeviceArray]:
        """The columns of a record batch, the fields of a struct, the element of a list."""
        arrow_type = as_field(self._arrow_schema).type
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        return [
            DeviceArray(
                child, field, "column", exporter=self._exporter_over(child, field, "column")
            )
            for child, field in (
                (child, arrow_type.field(i)) for i, child in enumerate(self._array.children)
            )
        ]

    def buffers(self) -> list[BufferInfo]:
        """Describe all buffers, children's and a dictionary's included.

        For device memory, the size of each string column's data takes a scalar read, which waits;
        with views, that of each of their data buffers.
        """
        return [info for info, *_ in walk_buffers(self._array, as_field(self._arrow_schema).type)]

    def report(self) -> Report:
        """Say of each column how many bytes are shared with the source, how many copied, and why.

        Sizes as in `buffers`.

        Returns
        -------
        Report
            A `ColumnReport` for each column of a table, or for the one column.
        """
        columns = self.children if self._kind == "table" else [self]
        fields = [as_field(column._arrow_schema) for column in columns]
        return Report(
            report_column(field.name, str(field.type), column.buffers())
            for column, field in zip(columns, fields, strict=True)
        )

    def buffer(self, name: str) -> BufferTensor:
        """Return one buffer as a tensor of what is stored, null rows included.

        Parameters
        ----------
        name
            Its `BufferInfo.name`, such as ``"data"``, ``"offsets"`` or ``"text.validity"``.

        Raises
        ------
        KeyError
            If there is no such buffer, or several.
        """
        buffers = list(walk_buffers(self._array, as_field(self._arrow_schema).type))
        matches = [level for info, *level in buffers if info.name == name]
        if len(matches) != 1:
            names = [info.name for info, *_ in buffers]
            raise KeyError(f"{len(matches)} buffers named {name!r} found among {names}, 1 expected")
        ((array, arrow_type, index),) = matches
        return BufferTensor(name, array.share(), arrow_type, index)

    def open_tensor(self, copy: bool | None) -> Tensor:
        """View the array as a tensor, which keeps the buffers alive.

        Parameters
        ----------
        copy
            Whether to copy; None: only columns that are not contiguous in memory.

        Raises
        ------
        BufferError
            If the array cannot be a tensor.
        """
        array = self._array.device_array_capsule()
        return tensor_of(self.__arrow_c_schema__(), array, copy, self._array.stream)

    async def ready(self) -> Self:
        """Wait until the data is there, without blocking asyncio's event loop.

        At once for CPU memory and for what is there already: then the event loop does not run in
        between. A task that is cancelled meanwhile stops waiting; the array is not affected.

        Returns
        -------
        DeviceArray
            This array.

        Raises
        ------
        RuntimeError
            If the work that produces the data has failed.
        ValueError
            After `release`.

        Examples
        --------
        >>> import asyncio
        >>> import pandas as pd
        >>> async def count_rows(frame):
        ...     array = await cab.to_arrow_device(frame).ready()
        ...     return array.num_rows
        >>> asyncio.run(count_rows(cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]}))))
        3
        """
        if not self._array.is_ready():
            # asyncio takes time to import.
            from ..cuda.event_loops import fences_of_running_loop

            loop = fences_of_running_loop()
            await loop.wait(loop.fences.add_array(self._array))
        return self

    def borrow(self, *, stream: Any = None) -> Loan:
        """Lend the array to code that works on a stream, for the time of a ``with`` statement.

        On entry, the stream waits for the data. At the end, also of an exception, the stream that
        the array was exported on waits for the work that this one has by then: what is enqueued
        there afterwards may write to the memory. The host does not wait. Another stream that has
        worked on what was lent is the borrower's to order before the end.

        With ``async with``, the data is awaited on entry, and the work of the stream at the end.

        Parameters
        ----------
        stream
            The CUDA stream that the borrower works on, of the array's device, named as in
            `to_arrow_device`.

        Returns
        -------
        Loan
            A context manager. Its value is another `DeviceArray` over the same buffers, whose
            consumers may work on `stream` at once. It is released at the end.

        Raises
        ------
        ValueError
            On entry, after `release`.

        Notes
        -----
        CUDA's array interface, DLPack and Arrow order the start of a loan, none its end; see
        docs/ordering.md.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> array = cab.to_arrow_device(cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]})))
        >>> with array.borrow() as lent:
        ...     int(np.asarray(lent["a"]).sum())
        6
        >>> lent.is_released
        True
        """
        return Loan(self, resolve_stream(stream))

    def _on_stream(self, stream: Stream) -> DeviceArray:
        return self._over(self._array.on_stream(stream), self._exporter)

    def _over(self, array: ExportedArray, exporter: Exporter | None) -> DeviceArray:
        """Return another array of the same rows."""
        return DeviceArray(
            array, self._arrow_schema, self._kind, self._labels, self._first_row, exporter
        )

    def _exporter_over(self, array: ExportedArray, schema: Any, kind: Kind) -> Exporter | None:
        return None if self._exporter is None else self._exporter.over(array, schema, kind)

    def to_host(self, *, stream: Any = None) -> DeviceArray:
        """Bring the array to host memory.

        Waits for the copies. With strings, waits also before them, to read the sizes of their data.
        The result keeps the device memory alive as well: a consumer that requests another schema
        gets it from there.

        Parameters
        ----------
        stream
            The CUDA stream that copies are enqueued on, named as in `to_arrow_device`. It waits for
            the array's data.

        Returns
        -------
        DeviceArray
            An array in CPU memory; another handle on this one if it is there already.
        """
        array = self._array.to_host(resolve_stream(stream))
        exporter = None if self._exporter is None else _HostExporter(self._exporter, stream)
        return self._over(array, exporter)

    def release(self) -> None:
        """Drop this object's share of the buffers; consumers keep theirs. May be repeated."""
        self._exporter = None
        self._array.release()

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._array.is_released

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Take the array apart for `pickle`; see docs/processes.md.

        With protocol 5 and a ``buffer_callback``, buffers in host memory are handed out where they
        are, read-only, and none is copied on either side. Within the pickle, or with protocols
        before, they are copied. Device memory goes by way of the host, and back to a device where
        the reader has one. Slices take along what they refer to, not the whole.

        Raises
        ------
        ValueError
            After `release`.
        """
        return DeviceArray._reduce(self, protocol)

    def __copy__(self) -> DeviceArray:
        """Return another array over the same buffers, which is released on its own.

        Raises
        ------
        ValueError
            After `release`.
        """
        if self.is_released:
            raise ValueError("an array that was released found, one with data expected")
        return self._over(self._array.share(), self._exporter)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceArray:
        """Copy the buffers as well, on the device if they are there; rows that it has not are not.

        Raises
        ------
        ValueError
            After `release`.
        """
        array = self._array.copy(resolve_stream(None))
        return self._over(array, self._exporter_over(array, self._arrow_schema, self._kind))

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

    def __call__(self, requested_schema: object) -> DeviceArray:
        return self.exporter(requested_schema).to_host(stream=self.stream)

    def over(self, array: ExportedArray, schema: Any, kind: Kind) -> None:
        # Exporting a child again imports it first, which would upload it where there is a GPU.
        return None
