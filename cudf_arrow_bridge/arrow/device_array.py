# SPDX-License-Identifier: Apache-2.0
"""`DeviceArray`: an exported array, for consumers of the Arrow PyCapsule protocols."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex

import pyarrow as pa

from .._core.arguments import order_after
from .._core.tensor import BufferProtocol, tensor_of
from ..cuda.streams import DEFAULT_HANDLE, Stream, resolve_stream
from . import display, higher_layers
from .buffers import BufferInfo, BufferTensor, walk_buffers
from .errors import check_host_copy
from .options import check_option
from .report import Report
from .schemas import as_field, missing_name, with_bool8
from .table_methods import TableMethods
from .tensor_protocols import TensorProtocols, reshape

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray
    from .._core.tensor import Tensor
    from .options import Kind


class DeviceArray(TableMethods, BufferProtocol, TensorProtocols):
    """A cuDF object as an Arrow device array.

    It shares ownership of the source's buffers, so the source may be deleted first. It can be
    exported any number of times, and each consumer releases its export independently. As a context
    manager, it is released on exit. A release does not wait for the stream of the consumer: the
    consumer must have finished with the memory. Imports by this package and `borrow` order the
    release themselves.

    A table has the methods of a pyarrow record batch. It is also a stream of one batch, and
    ``array["name"]`` returns one of its columns as an array.

    The protocols for host memory, ``__arrow_c_array__``, ``__arrow_c_stream__`` and ``__array__``,
    copy CUDA memory to the host in each call. They raise an error if the array was exported with
    ``copy=False``. For several consumers of host memory, export the result of `to_host`.

    Numbers and bools without nulls can be exported as a tensor through DLPack and its C exchange
    interface, the CUDA array interface, NumPy and, in memory that the CPU can read, the buffer
    protocol (``memoryview``). A column has one dimension, and another one for each level of lists,
    if all lists have one length; a table whose columns have one type has two (see `to_tensor`). For
    other columns, `buffer` returns single buffers as tensors.

    It can be pickled, copied, and transferred by Dask and Ray; see docs/pickle.md.

    Parameters
    ----------
    array
        The exported array, the root of a tree.
    arrow_schema
        An object with ``__arrow_c_schema__``.
    kind
        ``"table"`` for a record batch, ``"column"`` for any other array.
    labels
        Labels that JSON cannot represent, for an import in this process.
    first_row
        For a batch of a stream: the number of rows before it, at which its part of a range index
        starts. None for a single array.
    arguments
        The `ExportArguments` of exports with another schema. None: there are none, and a requested
        schema is ignored.
    source
        The columns that such exports start from, as an `InputExporter`, or for a copy in host
        memory the array that was copied. None: they start from this array.
    """

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Export as PyCapsules ``arrow_schema`` and ``arrow_array``, in host memory.

        The call waits until the data is ready. CUDA memory is copied to the host.

        Raises
        ------
        ValueError
            If the array is in CUDA memory and was exported with ``copy=False``; see
            `__arrow_c_device_array__` for the others.
        """
        check_host_copy(self.device_type, self._copy)
        exported = self.as_requested(requested_schema)
        array = exported._array.array_capsule()
        return exported.__arrow_c_schema__(), array

    @property
    def device_id(self) -> int:
        """The CUDA device that owns the memory; -1 for CPU memory."""
        return self._array.device_id

    @property
    def null_count(self) -> int:
        """The number of null rows."""
        return self._array.null_count

    @property
    def nbytes(self) -> int:
        """The total size of all buffers in bytes, including those of children."""
        return sum(buffer.size for buffer in self.buffers())

    def buffers(self) -> list[BufferInfo]:
        """Describe all buffers, including those of children and dictionaries.

        In device memory, the first call reads the data sizes of all columns of strings and views
        from the device, which synchronizes once.
        """
        return [info for info, *_ in walk_buffers(self._array, as_field(self._arrow_schema).type)]

    def report(self) -> Report:
        """Return the number of shared and copied bytes of each column, and the reasons of copies.

        The sizes are computed as in `buffers`.

        Returns
        -------
        Report
            A `ColumnReport` for each column of a table, or for the single column. Its method
            ``diagram`` draws the buffers and their owners.
        """
        columns = self.children if self._kind == "table" else [self]
        fields = [as_field(column._arrow_schema) for column in columns]
        return Report.of(
            (field.name, str(field.type), column.buffers())
            for column, field in zip(columns, fields, strict=True)
        )

    def buffer(self, name: str) -> BufferTensor:
        """Return one buffer as a tensor of the stored values, including those of null rows.

        Parameters
        ----------
        name
            The `BufferInfo.name`, such as ``"data"``, ``"offsets"`` or ``"text.validity"``.

        Raises
        ------
        KeyError
            If no buffer or more than one buffer has this name.
        """
        buffers = list(walk_buffers(self._array, as_field(self._arrow_schema).type))
        matches = [level for info, *level in buffers if info.name == name]
        if len(matches) != 1:
            names = [info.name for info, *_ in buffers]
            raise missing_name("buffer", name, names)
        ((array, arrow_type, index),) = matches
        return BufferTensor(name, array.share(), arrow_type, index)

    def open_tensor(self, copy: bool | None, order: str = "F") -> Tensor:
        """Return the array as a tensor, which keeps the buffers alive.

        Parameters
        ----------
        copy
            Whether to copy. None: copy only columns that are not contiguous in memory.
        order
            The order of a table: ``"F"`` for column-major, ``"C"`` for row-major.

        Raises
        ------
        BufferError
            If the array cannot be exported as a tensor.
        """
        source = self._with_bool8(copy)
        array = source._array.device_array_capsule()
        schema = source.__arrow_c_schema__()
        tensor = tensor_of(schema, array, copy, source._array.stream, order == "C")
        arrow_type = getattr(self.schema, "type", None)
        if isinstance(arrow_type, pa.FixedShapeTensorType):
            reshape(tensor, arrow_type)
        return tensor

    def _with_bool8(self, copy: bool | None) -> DeviceArray:
        """Return this array with bools of one byte instead of bits, as cuDF stores them."""
        own = self.schema
        if isinstance(own, pa.Schema):
            own = pa.field("", pa.struct(own), nullable=False, metadata=own.metadata)
        wanted = with_bool8(own)
        if wanted is own:
            return self
        array = self.as_requested(wanted)
        if copy is False and any(not buffer.zero_copy for buffer in array.buffers()):
            raise BufferError("copy=False: the bools are bits, which a tensor does not share")
        return array

    def to_tensor(self, order: Literal["C", "F"] = "C", *, copy: bool | None = None) -> DeviceArray:
        """Return an array whose tensor protocols share one contiguous piece of memory.

        Use it to pass a table of numbers to several consumers, or in row-major order. The tensor
        protocols of a table are column-major and copy in each call, unless its columns are
        contiguous.

        Parameters
        ----------
        order
            The order of a table. ``"C"``: rows are contiguous; the result is a column of lists of a
            fixed size, one for each row. ``"F"``: columns are contiguous; the result is a table.
            It has no effect on a column.
        copy
            None: copy if the memory is not in this order. True: always copy. False: never copy.

        Returns
        -------
        DeviceArray
            The rows or the table, without metadata of pandas.

        Raises
        ------
        BufferError
            If the array cannot be exported as a tensor, or needs a copy with ``copy=False``.

        Examples
        --------
        >>> import numpy as np
        >>> import pyarrow as pa
        >>> table = cab.to_arrow_device(pa.table({"x": [1, 2], "y": [3, 4]}))
        >>> np.from_dlpack(table.to_tensor("C"))
        array([[1, 3],
               [2, 4]])
        """
        check_option("order", order, ("C", "F"))
        tensor = self.open_tensor(copy, order)
        capsule = tensor.capsule(True, self.__dlpack_device__()[0])
        is_table = self._kind == "table" and order == "F"
        kind: Kind = "table" if is_table else "column"
        names = self.schema.remove_metadata() if is_table else None
        from_tensor = higher_layers.functions().from_tensor
        result: DeviceArray = from_tensor(capsule, self._array.stream, kind, names)
        return result

    async def ready(self) -> Self:
        """Wait until the data is ready, without blocking the asyncio event loop.

        Return immediately, without yielding to the event loop, if the data is in host memory or
        already ready. Cancellation of the task ends the wait and does not affect the array.

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
            # Importing asyncio is slow.
            from ..cuda.event_loops import fences_of_running_loop

            loop = fences_of_running_loop()
            await loop.wait(loop.fences.add_array(self._array))
        return self

    def borrow(self, *, stream: Any = None) -> BorrowContext:
        """Share the array with code that uses a stream, for the duration of a ``with`` statement.

        On entry, `stream` waits for the data. On exit, also after an exception, the stream that the
        array was exported on waits for the work that is enqueued on `stream`. Work that is enqueued
        on the export stream afterwards may therefore write to the memory. The host does not wait.
        If another stream uses the borrowed array, the caller must make `stream` wait for it before
        the exit.

        With ``async with``, the data is awaited on entry, and the work on `stream` on exit.

        Parameters
        ----------
        stream
            The CUDA stream that uses the array, as in `to_arrow_device`. It must be a stream of the
            array's device.

        Returns
        -------
        BorrowContext
            A context manager. Its value is another `DeviceArray` that shares the buffers. Consumers
            can use it on `stream` without waiting. It is released on exit.

        Raises
        ------
        ValueError
            On entry, after `release`.

        Notes
        -----
        The CUDA array interface, DLPack and Arrow order only the start of a consumer's work, not
        its end; see docs/ordering.md.

        Examples
        --------
        >>> import numpy as np
        >>> import pandas as pd
        >>> array = cab.to_arrow_device(cab.from_arrow_device(pd.DataFrame({"a": [1, 2, 3]})))
        >>> with array.borrow() as borrowed:
        ...     int(np.asarray(borrowed["a"]).sum())
        6
        >>> borrowed.is_released
        True
        """
        return BorrowContext(self, resolve_stream(stream))

    def _over(self, array: ExportedArray, source: Any) -> DeviceArray:
        """Return another `DeviceArray` with the same rows."""
        rows = self._labels, self._first_row
        return DeviceArray(array, self._arrow_schema, self._kind, *rows, self._arguments, source)

    def to_host(self, *, stream: Any = None) -> DeviceArray:
        """Copy the array to host memory.

        The call synchronizes after the copies. For strings it also synchronizes before the copies,
        to read the sizes of their data. The result keeps the device memory alive, because an export
        with another requested schema starts from the device memory. So a request for string views
        is ignored: the copies of strings keep their offsets and bytes.

        Parameters
        ----------
        stream
            The CUDA stream for the copies, as in `to_arrow_device`. It waits for the array's data.

        Returns
        -------
        DeviceArray
            An array in host memory. If the array is already in host memory, the result shares its
            buffers.
        """
        array = self._array.to_host(resolve_stream(stream))
        return self._over(array, self.__copy__())

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """Return the state for `pickle`; see docs/pickle.md.

        With protocol 5 and a ``buffer_callback``, buffers in host memory are passed out of band,
        read-only, and are not copied on either side. In-band buffers and earlier protocols copy
        them. Device memory is copied to the host, and back to a device if the reader has one. For
        slices only the memory of their rows is pickled.

        Raises
        ------
        ValueError
            After `release`.
        """
        state: tuple[Any, ...] = higher_layers.functions().reduce(self, index(protocol))
        return state

    def __copy__(self) -> DeviceArray:
        """Return another array that shares the buffers and is released independently.

        Raises
        ------
        ValueError
            After `release`.
        """
        if self.is_released:
            raise ValueError("the array is released")
        return self._over(self._array.share(), self._source)

    def __deepcopy__(self, memo: dict[int, Any]) -> DeviceArray:
        """Return a copy of the array and of the buffers of its rows, on the same device.

        Raises
        ------
        ValueError
            After `release`.
        """
        array = self._array.copy(resolve_stream(None))
        rows = self._labels, self._first_row
        return self._of_part(array, self._arrow_schema, self._kind, *rows)

    def __len__(self) -> int:
        return self._array.length

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)


class BorrowContext:
    """The context manager that `DeviceArray.borrow` returns."""

    def __init__(self, array: DeviceArray, stream: Stream) -> None:
        self._array = array
        self._stream = stream
        self._entered: tuple[ExportedArray, DeviceArray] | None = None

    def __enter__(self) -> DeviceArray:
        """Make the stream wait for the data and return the shared array."""
        if self._entered is not None:
            raise RuntimeError("the array is borrowed already: call borrow() again")
        lent = self._array._array.share()
        lent.make_wait(self._stream)
        borrowed = self._array._over(lent.on_stream(self._stream), self._array._source)
        self._entered = lent, borrowed
        return borrowed

    def __exit__(self, *_: object) -> None:
        """Make the array's stream wait for the other stream and release the shared array."""
        lent, borrowed = self._arrays()
        self._entered = None
        owner = DEFAULT_HANDLE if lent.stream is None else lent.stream.handle
        try:
            # Also if the handles are equal: both may stand for per-thread streams of other threads.
            order_after(owner, self._stream.handle, lent.device_id)
        finally:
            borrowed.release()

    async def __aenter__(self) -> DeviceArray:
        """Wait for the data without blocking the event loop, then enter as `__enter__`."""
        await self._array.ready()
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        """Exit as `__exit__`, then wait for the stream's work without blocking the event loop.

        If the task is cancelled during the wait, the array has been released already.
        """
        # Importing asyncio is slow.
        from ..cuda.event_loops import fences_of_running_loop

        lent = self._arrays()[0]
        try:
            loop = fences_of_running_loop()
            fence = loop.fences.add_stream(self._stream, lent.device_id)
        finally:
            self.__exit__()
        await loop.wait(fence)

    def _arrays(self) -> tuple[ExportedArray, DeviceArray]:
        if self._entered is None:
            raise RuntimeError("the borrow has not begun: use it in a with statement")
        return self._entered
