# SPDX-License-Identifier: Apache-2.0
"""What we hand out as tensors: DLPack, the CUDA array interface, and NumPy for host memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cuda.residency import DeviceType
from ..cuda.streams import stream_handle

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .._core.export import ExportedArray
    from .._core.protocols import Stream
    from .._core.tensor import Tensor

__all__ = ["TensorProtocols"]

_CPU = (DeviceType.CPU, 0)
#: DLPack's word for "order nothing".
_NO_STREAM = -1


class TensorProtocols(ABC):
    """The protocols of tensors, over an exported array."""

    _array: ExportedArray

    def __init__(self) -> None:
        self._lent: Tensor | None = None

    @abstractmethod
    def open_tensor(self, copy: bool | None) -> Tensor:
        """View the memory as a tensor; see `DeviceArray.open_tensor`."""

    @abstractmethod
    def to_host(self, *, stream: Any = None) -> TensorProtocols:
        """Bring the memory to the host; see `DeviceArray.to_host`."""

    def __dlpack_device__(self) -> tuple[DeviceType, int]:
        """Return DLPack's device type and number: 0 but for memory of one CUDA device."""
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

        The consumer's stream is made to wait for the data. The tensor keeps the memory alive, also
        after `release`, until its consumer deletes it. It is read-only, as Arrow's arrays are,
        unless it is a copy.

        Parameters
        ----------
        stream
            The consumer's stream. None: the legacy default stream, or for memory that the CPU can
            read the host itself, which then waits; 1, 2: the legacy and the per-thread default
            stream; -1: nothing is to wait; else a handle, or an object as in `to_arrow_device`.
            Memory of the CPU takes None only.
        max_version
            The newest version of DLPack that the consumer knows; before (1, 0), or with None, the
            capsule is named ``dltensor``, else ``dltensor_versioned``.
        dl_device
            Where the consumer wants the tensor: where it is, or with ``(1, 0)`` in memory that the
            CPU can read.
        copy
            None: copy if there is no other way; True: always; False: never.

        Returns
        -------
        PyCapsule
            A DLPack tensor.

        Raises
        ------
        BufferError
            If there can be no such tensor: nulls, a type that tensors lack, another device, or a
            copy that is not allowed.
        ValueError
            For a stream that doesn't go with the device, or after `release`.

        Notes
        -----
        Source: the Python array API standard, ``array.__dlpack__``.
        """
        device = self.__dlpack_device__()
        label = _label(device, device if dl_device is None else dl_device)
        versioned = max_version is not None and max_version[0] >= 1
        if label == DeviceType.CPU and stream is not None:
            raise ValueError(f"stream={stream!r} found, None expected for memory of the CPU")
        if label == DeviceType.CPU and device[0] == DeviceType.CUDA:
            if copy is False:
                raise BufferError(f"CUDA device {device[1]} found, which takes a copy to the CPU")
            return self._host_copy().capsule(versioned, label)
        tensor = self.open_tensor(copy)
        self._order(tensor, device[0], stream)
        return tensor.capsule(versioned, label)

    def _host_copy(self) -> Tensor:
        """Open a copy in host memory, marked as such."""
        return self.to_host(stream=self._array.stream).open_tensor(True)

    def _order(self, tensor: Tensor, device_type: DeviceType, stream: Any) -> None:
        if device_type == DeviceType.CPU:
            return
        if stream is None and device_type != DeviceType.CUDA:
            # Whoever names no stream may be about to read with the CPU.
            tensor.wait()
            return
        handle = _consumer(stream)
        if handle != _NO_STREAM:
            tensor.make_wait(handle)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; hidden where there can be none.

        Its ``stream`` is the one that the export was made on, or the legacy default stream where
        that is another thread's: consumers order themselves behind it. What was read from here
        holds the memory for as long as this object lives, also after `release`, since consumers
        keep the object and nothing else.

        Notes
        -----
        Source: the documentation of numba, "CUDA Array Interface (Version 3)".
        """
        device_type, _ = self.__dlpack_device__()
        if device_type == DeviceType.CPU:
            raise AttributeError("the CUDA array interface needs memory that CUDA can read")
        try:
            tensor = self.open_tensor(False)
        except BufferError as error:
            raise AttributeError(str(error)) from None
        handle = _name(self._array.stream)
        # Another thread may have exported it, behind the legacy default stream.
        tensor.make_wait(handle)
        self._lent = tensor
        shape = tensor.shape
        return {
            # Not said to be read-only, although it is: torch takes no such memory.
            "data": (tensor.address, False),
            "shape": shape,
            "strides": tensor.strides if len(shape) > 1 else None,
            "typestr": tensor.typestr,
            "version": 3,
            "stream": handle,
        }

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return a NumPy array over memory that the CPU can read; read-only unless copied.

        Raises
        ------
        TypeError
            For memory that only a GPU can read: use `to_host`.
        """
        device_type, number = self.__dlpack_device__()
        if device_type == DeviceType.CUDA:
            raise TypeError(f"memory of CUDA device {number} found: NumPy needs to_host() first")
        array = np.from_dlpack(self)
        if dtype is not None and array.dtype != np.dtype(dtype):
            if copy is False:
                raise ValueError(f"{array.dtype} found, which takes a copy to be {np.dtype(dtype)}")
            return array.astype(dtype)
        return array.copy() if copy else array


def _label(device: tuple[DeviceType, int], wanted: tuple[int, int]) -> DeviceType:
    """Return what to label memory as, of which a consumer wants to be told where it is."""
    place = (int(wanted[0]), int(wanted[1]))
    if place == device:
        return device[0]
    if place == _CPU:
        return DeviceType.CPU
    raise BufferError(f"dl_device={place} found, {tuple(map(int, device))} or (1, 0) expected")


def _consumer(stream: Any) -> int:
    """Return the handle of a consumer's stream, as DLPack counts them."""
    if stream is None:
        return _name(None)
    if isinstance(stream, (int, np.integer)):
        if stream == 0 or stream < _NO_STREAM:
            raise ValueError(f"stream={stream} found, -1, 1, 2, None or a stream's handle expected")
        if stream == _NO_STREAM:
            return _NO_STREAM
    return stream_handle(stream) or _name(None)


def _name(stream: Stream | None) -> int:
    """Return the number of a stream in protocols where 0 is ambiguous: 1 for the legacy default."""
    return 1 if stream is None else stream.handle or 1
