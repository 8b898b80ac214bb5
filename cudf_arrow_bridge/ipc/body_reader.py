# SPDX-License-Identifier: Apache-2.0
"""The memory for bodies that are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cuda.residency import DeviceType, has_gpu
from .compression import decompress
from .decoder import IncomingMessage
from .metadata.headers import Header
from .transport.sources import Source, open_source

if TYPE_CHECKING:
    from ..cuda.streams import Stream

__all__ = ["BodyReader"]


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Reads bodies to host memory or to the current device.

    Attributes
    ----------
    is_host
        Whether bodies are read to host memory.
    stream
        The CUDA stream for copies.
    mr
        The memory resource for device memory.
    chunk_size
        The number of bytes that are copied to a device at a time.
    """

    is_host: bool
    stream: Stream
    mr: Any
    chunk_size: int

    @classmethod
    def of(cls, device_type: Any, stream: Stream, mr: Any, chunk_size: int) -> BodyReader:
        """Create a reader from the argument ``device_type=`` of a caller.

        Raises
        ------
        ValueError
            If it is neither host nor device memory, or there is no GPU.
        """
        known = (DeviceType.CPU, DeviceType.CUDA)
        wanted = known[has_gpu()] if device_type is None else DeviceType(device_type)
        if wanted not in known:
            raise ValueError(f"device_type: expected None, 'cpu' or 'cuda', got {device_type!r}")
        if wanted == DeviceType.CUDA and not has_gpu():
            raise ValueError("device_type='cuda': expected a CUDA device, got none in this process")
        return cls(wanted == DeviceType.CPU, stream, mr, chunk_size)

    def receive(self, header: Header, source: Source) -> IncomingMessage:
        """Read the body of a message at the position of a source."""
        size = header.body_length
        if header.kind == "schema" or size == 0:
            return IncomingMessage(header, [None])
        if header.layout.codec is not None:
            buffers = decompress(header, [source.take(size)])
            return IncomingMessage(header, [*map(self._place, buffers)], is_decompressed=True)
        return IncomingMessage(
            header, [source.take(size) if self.is_host else self._upload(source, size)]
        )

    def _place(self, buffer: Any) -> Any:
        if self.is_host or not buffer:
            return buffer
        return self._upload(open_source(buffer), len(buffer))

    def _upload(self, source: Source, size: int) -> Any:
        return source.upload(size, self.stream, self.mr, self.chunk_size)
