# SPDX-License-Identifier: Apache-2.0
"""The buffers of an exported array: addresses, sizes and tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .._core.tensor import BufferProtocol, tensor_of_buffer
from ..cuda.streams import resolve_stream
from .metadata import without_extension
from .tensor_protocols import TensorProtocols

if TYPE_CHECKING:
    from .._core.export.exported_array import ExportedArray
    from .._core.tensor import Tensor


class BufferInfo(NamedTuple):
    """One buffer of an exported array.

    Attributes
    ----------
    name
        ``validity``, ``data``, ``offsets``, ``views`` or ``sizes``, prefixed with the path of its
        child array.
    address
        The address of the buffer; 0 for an absent buffer.
    size
        The number of bytes that Arrow reads.
    zero_copy
        Whether the buffer shares the memory of the source. False if the export allocated it.
    reason
        Why the export allocated the buffer; empty if it is shared.
    """

    name: str
    address: int
    size: int
    zero_copy: bool
    reason: str = ""


class BufferTensor(BufferProtocol, TensorProtocols):
    """One buffer of a `DeviceArray` as a tensor of one dimension, which keeps the memory alive.

    The elements are the stored values: integers for offsets, timestamps, durations, decimals and
    dictionary indices; bytes for bits and the data of strings.

    In memory that the CPU can read, it also implements the buffer protocol, read-only, for
    ``memoryview`` and ``pyarrow.py_buffer``.

    Parameters
    ----------
    name
        The name of the buffer, as in `BufferInfo`.
    array
        The level of the exported array tree that contains the buffer.
    arrow_type
        The Arrow type of that level.
    index
        The number of the buffer in that level.
    """

    def __init__(
        self, name: str, array: ExportedArray, arrow_type: pa.DataType, index: int
    ) -> None:
        self._name = name
        self._array = array
        self._type = arrow_type
        self._index = index

    def open_tensor(self, copy: bool | None) -> Tensor:
        """Return the buffer as a tensor without copying.

        Raises
        ------
        BufferError
            For elements of more than 64 bits, or if a copy is requested.
        """
        if copy:
            raise BufferError(
                f"buffer {self._name!r}: expected copy=False or None, got "
                "copy=True: single buffers are always shared"
            )
        size = self._array.buffers()[self._index][2]
        schema = pa.field("", self._type).__arrow_c_schema__()
        return tensor_of_buffer(schema, self._array.device_array_capsule(), self._index, size)

    def to_host(self, *, stream: Any = None) -> BufferTensor:
        """Copy the buffer, and the array that contains it, to host memory.

        Parameters
        ----------
        stream
            The CUDA stream for the copies; see `to_arrow_device`.
        """
        array = self._array.to_host(resolve_stream(stream))
        return BufferTensor(self._name, array, self._type, self._index)

    def __repr__(self) -> str:
        try:
            tensor = self.open_tensor(None)
        except BufferError as error:
            return f"<buffer {self._name!r}: {error}>"
        return f"<buffer {self._name!r}: {tensor.shape[0]} elements {tensor.typestr!r}>"


def walk_buffers(
    array: ExportedArray, arrow_type: pa.DataType, path: str = ""
) -> Iterator[tuple[BufferInfo, ExportedArray, pa.DataType, int]]:
    """Yield each buffer with its level of the array tree, the type of that level, and its index.

    The path of the array is the prefix of the names of its buffers; it is empty at the top level.
    """
    arrow_type = without_extension(arrow_type)
    for i, (name, address, size, reason) in enumerate(array.buffers()):
        info = BufferInfo(f"{path}{name}", address, size, not reason, reason)
        yield info, array, arrow_type, i
    for i, child in enumerate(array.children):
        field = arrow_type.field(i)
        name = field.name if pa.types.is_struct(arrow_type) else "[]"
        yield from walk_buffers(child, field.type, f"{path}{name}.")
    if array.dictionary is not None:
        yield from walk_buffers(array.dictionary, arrow_type.value_type, f"{path}dictionary.")
