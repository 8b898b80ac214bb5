# SPDX-License-Identifier: Apache-2.0
"""Where bodies that are read are put."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cuda.residency import DeviceType, has_gpu
from .compression import decompress
from .decoder import Received
from .metadata.headers import Header
from .transport.sources import Source, open_source

if TYPE_CHECKING:
    from ..cuda.streams import Stream

__all__ = ["Landing"]


@dataclass(frozen=True, slots=True)
class Landing:
    """Puts bodies into host memory, or onto the current device.

    Attributes
    ----------
    is_host
        Which of the two.
    stream
        The CUDA stream that copies are enqueued on.
    mr
        The memory resource of a device's memory.
    chunk_size
        The bytes that are copied to a device at a time.
    """

    is_host: bool
    stream: Stream
    mr: Any
    chunk_size: int

    @classmethod
    def of(cls, device_type: Any, stream: Stream, mr: Any, chunk_size: int) -> Landing:
        """Make one of what a caller gave as ``device_type=``.

        Raises
        ------
        ValueError
            If it is neither host memory nor a device's, or there is no GPU.
        """
        known = (DeviceType.CPU, DeviceType.CUDA)
        wanted = known[has_gpu()] if device_type is None else DeviceType(device_type)
        if wanted not in known:
            raise ValueError(f"device_type={device_type!r} found, None, 'cpu' or 'cuda' expected")
        if wanted == DeviceType.CUDA and not has_gpu():
            raise ValueError("device_type='cuda' found, but this process can use no CUDA device")
        return cls(wanted == DeviceType.CPU, stream, mr, chunk_size)

    def receive(self, header: Header, source: Source) -> Received:
        """Take the body of a message from where a source stands."""
        size = header.body_length
        if header.kind == "schema" or size == 0:
            return Received(header, [None])
        if header.layout.codec is not None:
            buffers = decompress(header, [source.take(size)])
            return Received(header, [*map(self._place, buffers)], is_decompressed=True)
        return Received(header, [source.take(size) if self.is_host else self._upload(source, size)])

    def _place(self, buffer: Any) -> Any:
        if self.is_host or not buffer:
            return buffer
        return self._upload(open_source(buffer), len(buffer))

    def _upload(self, source: Source, size: int) -> Any:
        return source.upload(size, self.stream, self.mr, self.chunk_size)
