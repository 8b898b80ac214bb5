# SPDX-License-Identifier: Apache-2.0
"""Export as tensors: DLPack, the CUDA array interface, and NumPy for host memory."""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .._core.tensor import exchange_interface
from ..cuda.residency import DeviceType
from ..cuda.streams import LEGACY_HANDLE, PER_THREAD_HANDLE, stream_handle
from . import higher_layers
from .errors import check_host_copy

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .._core.export.exported_array import ExportedArray
    from .._core.tensor import Tensor

_CPU = (DeviceType.CPU, 0)
#: The stream value with which a DLPack consumer requests no synchronization.
_NO_STREAM = -1


def _array_of_tensor(capsule: object, on_host: bool) -> Any:
    """Return a `DeviceArray` of one column over the tensor in a DLPack capsule."""
    array = higher_layers.functions().from_tensor(capsule, None, "column", None)
    return array.to_host() if on_host else array


class TensorProtocols:
    """The tensor protocols for an exported array."""

    _array: ExportedArray
    _interface_tensor: Tensor | None = None

    @property
    def _copy(self) -> bool | None:
        """The argument ``copy=`` of the export."""
        return None

    def open_tensor(self, copy: bool | None) -> Tensor:
        """Return the memory as a tensor; see `DeviceArray.open_tensor`."""
        raise NotImplementedError

    def to_host(self, *, stream: Any = None) -> TensorProtocols:
        """Copy the memory to the host; see `DeviceArray.to_host`."""
        raise NotImplementedError

    #: DLPack's C exchange interface, for consumers such as tvm-ffi; see docs/ordering.md. It makes
    #: objects of type `DeviceArray`.
    __dlpack_c_exchange_api__ = exchange_interface(_array_of_tensor)

    def _open_exchanged(self) -> Tensor:
        """Return a tensor for consumers that work on the legacy default stream."""
        tensor = self.open_tensor(None)
        self._order_consumer(tensor, self.__dlpack_device__()[0], LEGACY_HANDLE)
        return tensor

    def __dlpack_device__(self) -> tuple[DeviceType, int]:
        """Return the DLPack device type and id. The id is 0 unless the type is CUDA."""
        device_type = DeviceType(self._array.device_type)
        return device_type, self._array.device_id if device_type == DeviceType.CUDA else 0

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export as a DLPack capsule.

        The consumer's stream waits for the data. The tensor keeps the memory alive, also after
        `release`, until its consumer deletes it. Memory is freed after the consumer's work on a
        default stream. Work on any other stream must have finished when the tensor is deleted. The
        tensor is read-only, like Arrow arrays, unless it is a copy. A table or a struct column is a
        matrix with a column for each field.

        Parameters
        ----------
        stream
            The consumer's stream: 1 for the legacy and 2 for the per-thread default stream, -1 for
            no synchronization, another handle, or an object as in `to_arrow_device`. None: the
            legacy default stream; if the CPU can read the memory, the host waits instead. For host
            memory only None is accepted.
        max_version
            The newest version of DLPack that the consumer supports. The capsule is named
            ``dltensor`` for None and versions before (1, 0), otherwise ``dltensor_versioned``.
        dl_device
            The device that the consumer requests: the current one, or ``(1, 0)`` for memory that
            the CPU can read.
        copy
            None: copy only if necessary. True: always copy. False: never copy.

        Returns
        -------
        PyCapsule
            A DLPack tensor.

        Raises
        ------
        BufferError
            For nulls, a type that DLPack does not have, another device, or a copy that is required
            but not allowed.
        ValueError
            For a stream that does not fit the device, or after `release`.

        Notes
        -----
        Source: the Python array API standard, ``array.__dlpack__``.
        """
        device = self.__dlpack_device__()
        label = _device_type_for(device, device if dl_device is None else dl_device)
        versioned = max_version is not None and max_version[0] >= 1
        if label == DeviceType.CPU and stream is not None:
            raise ValueError(f"stream: expected None for host memory, got {stream!r}")
        if label == DeviceType.CPU and device[0] == DeviceType.CUDA:
            if copy is False:
                raise BufferError(
                    "copy=False: a copy to the host is needed, since the data is in the memory of "
                    f"CUDA device {device[1]}"
                )
            host = self.to_host(stream=self._array.stream).open_tensor(None)
            return host.capsule(versioned, label, is_copy=True)
        tensor = self.open_tensor(copy)
        self._order_consumer(tensor, device[0], stream)
        return tensor.capsule(versioned, label)

    def _order_consumer(self, tensor: Tensor, device_type: DeviceType, stream: Any) -> None:
        if device_type == DeviceType.CPU:
            return
        if stream is None and device_type != DeviceType.CUDA:
            # A consumer that passes no stream may read with the CPU.
            tensor.wait()
            return
        handle = _consumer_handle(stream)
        if handle != _NO_STREAM:
            tensor.make_wait(handle)
        if handle in (LEGACY_HANDLE, PER_THREAD_HANDLE):
            # Any other stream may be destroyed before the tensor.
            tensor.release_after(self._array.stream, handle)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; ``hasattr`` returns False if it is not available.

        The consumer's work waits for ``stream``. This is the stream of the export, or the legacy
        default stream if the export used the per-thread stream of another thread. After access to
        this attribute, the object keeps the memory alive until it is deleted, also after `release`,
        because consumers keep a reference only to the object.

        Notes
        -----
        Source: the documentation of numba, "CUDA Array Interface (Version 3)".
        """
        device_type, _ = self.__dlpack_device__()
        if device_type == DeviceType.CPU:
            raise AttributeError("the data is in CPU memory, which CUDA cannot read")
        try:
            tensor = self.open_tensor(False)
        except BufferError as error:
            raise AttributeError(str(error)) from None
        stream = self._array.stream
        handle = LEGACY_HANDLE if stream is None else stream.handle or LEGACY_HANDLE
        # This may be a different stream from that of the export, so it has to wait for the data.
        tensor.make_wait(handle)
        self._interface_tensor = tensor
        shape = tensor.shape
        return {
            # The memory is read-only but not marked read-only, because torch rejects that.
            "data": (tensor.address, False),
            "shape": shape,
            "strides": tensor.strides if len(shape) > 1 else None,
            "typestr": tensor.typestr,
            "version": 3,
            "stream": handle,
        }

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return a NumPy array over memory that the CPU can read; read-only unless copied.

        CUDA memory is copied to the host.

        Raises
        ------
        ValueError
            If `copy`, or for CUDA memory the argument ``copy`` of the export, is False but the
            memory has to be copied, the array is not contiguous or `dtype` is different.
        """
        device_type, _ = self.__dlpack_device__()
        check_host_copy(device_type, self._copy if copy is None else copy)
        if device_type == DeviceType.CUDA:
            return self.to_host(stream=self._array.stream).__array__(dtype, copy=copy)
        if copy is False:
            # NumPy's own `copy` argument exists only since NumPy 2.1.
            try:
                self.open_tensor(copy=False)
            except BufferError as error:
                raise ValueError(str(error)) from None
        return np.array(np.from_dlpack(self), dtype=dtype, copy=copy)


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return row-major strides in bytes, such as (24, 8) for 2 rows of 3 elements of 8 bytes."""
    return tuple(accumulate(shape[:0:-1], mul, initial=itemsize))[::-1][: len(shape)]


def reshape(tensor: Tensor, arrow_type: pa.FixedShapeTensorType) -> None:
    """Give the tensor of a column of lists the dimensions of the tensor in each list, permuted."""
    extents, steps = arrow_type.shape, row_major(tuple(arrow_type.shape), 1)
    order = arrow_type.permutation or range(len(extents))
    rows, size = tensor.shape
    tensor.reshape((rows, *(extents[i] for i in order)), (size, *(steps[i] for i in order)))


def _device_type_for(device: tuple[DeviceType, int], dl_device: tuple[int, int]) -> DeviceType:
    """Return the device type of a tensor for the ``dl_device`` that a consumer requests."""
    requested = (int(dl_device[0]), int(dl_device[1]))
    if requested == device:
        return device[0]
    if requested == _CPU:
        return DeviceType.CPU
    raise BufferError(f"dl_device: expected {tuple(map(int, device))} or (1, 0), got {requested}")


def _consumer_handle(stream: Any) -> int:
    """Return the handle of a consumer's stream from the DLPack argument."""
    if stream is None:
        return LEGACY_HANDLE
    if isinstance(stream, (int, np.integer)):
        if stream == 0 or stream < _NO_STREAM:
            raise ValueError(
                f"stream: expected -1, 1, 2, None or the handle of a stream, got {stream}"
            )
        if stream == _NO_STREAM:
            return _NO_STREAM
    # The protocols forbid 0.
    return stream_handle(stream) or LEGACY_HANDLE
