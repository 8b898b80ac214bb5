# SPDX-License-Identifier: Apache-2.0
"""The buffers of an exported array: their addresses and sizes, and each as a tensor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from .._core.tensor import tensor_of_buffer
from ..cuda.streams import resolve_stream
from .tensor_protocols import TensorProtocols

if TYPE_CHECKING:
    from .._core.exported_array import ExportedArray
    from .._core.tensor import Tensor

__all__ = ["BufferInfo", "BufferTensor", "walk_buffers"]


class BufferInfo(NamedTuple):
    """One buffer of an exported array.

    Attributes
    ----------
    name
        ``validity``, ``data``, ``offsets``, ``views`` or ``sizes``, behind the path of the child it
        belongs to.
    address
        Its address; 0 for an absent buffer.
    size
        The bytes that Arrow reads.
    zero_copy
        Whether it is the source's own memory, rather than one that was made for the export.
    reason
        Why it was made; empty if it is the source's own.
    """

    name: str
    address: int
    size: int
    zero_copy: bool
    reason: str = ""


class BufferTensor(TensorProtocols):
    """One buffer of a `DeviceArray` as a tensor of one dimension, which keeps the memory alive.

    Its elements are what is stored: integers for offsets, timestamps,
    durations, decimals and the indices of dictionaries, bytes for bits and the data of strings.

    Parameters
    ----------
    name
        Its name, as in `BufferInfo`.
    array
        The level of the exported array tree that it belongs to.
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
        """View the buffer as a tensor; it is never copied.

        Raises
        ------
        BufferError
            For elements of more than 64 bits, or if a copy is asked for.
        """
        if copy:
            raise BufferError(f"buffer {self._name!r}: copy=True found, single buffers are shared")
        size = self._array.buffers()[self._index][2]
        schema = pa.field("", self._type).__arrow_c_schema__()
        return tensor_of_buffer(schema, self._array.device_array_capsule(), self._index, size)

    def to_host(self, *, stream: Any = None) -> BufferTensor:
        """Bring the buffer to host memory, and with it the array that it belongs to.

        Parameters
        ----------
        stream
            The CUDA stream that copies are enqueued on; see `to_arrow_device`.
        """
        array = self._array.to_host(resolve_stream(stream))
        return BufferTensor(self._name, array, self._type, self._index)

    def _host_copy(self) -> Tensor:
        return self.to_host(stream=self._array.stream).open_tensor(None)

    def __repr__(self) -> str:
        try:
            tensor = self.open_tensor(None)
        except BufferError as error:
            return f"<buffer {self._name!r}: {error}>"
        return f"<buffer {self._name!r}: {tensor.shape[0]} elements {tensor.typestr!r}>"


def walk_buffers(
    array: ExportedArray, arrow_type: pa.DataType, path: str = ""
) -> Iterator[tuple[BufferInfo, ExportedArray, pa.DataType, int]]:
    """Yield each buffer with the level that it belongs to, that level's type, and its number.

    Parameters
    ----------
    array
        An exported array.
    arrow_type
        Its Arrow type.
    path
        The path of `array`, which the names of its buffers begin with; empty at the top level.
    """
    if isinstance(arrow_type, pa.BaseExtensionType):
        arrow_type = arrow_type.storage_type
    for i, (name, address, size, reason) in enumerate(array.buffers()):
        info = BufferInfo(f"{path}{name}", address, size, not reason, reason)
        yield info, array, arrow_type, i
    for i, child in enumerate(array.children):
        field = arrow_type.field(i)
        name = field.name if pa.types.is_struct(arrow_type) else "[]"
        yield from walk_buffers(child, field.type, f"{path}{name}.")
    if array.dictionary is not None:
        yield from walk_buffers(array.dictionary, arrow_type.value_type, f"{path}dictionary.")
