# SPDX-License-Identifier: Apache-2.0
"""Messages before they are decoded: the options for reading them, and the memory of bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._core.export.array_exporter import ExportArguments
from ..arrow.options import check_option
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import resolve_stream
from .compression import decompress
from .transport.framing import CHUNK_SIZE, check_chunk_size
from .transport.sources import Source, open_source

if TYPE_CHECKING:
    from .._core.ipc.metadata import Header
    from ..cuda.streams import Stream

#: The checks of a batch before it is used; see `from_messages`.
Checks = Literal["sizes", "minimal", "full"]


class IncomingMessage(NamedTuple):
    """A received message."""

    header: Header
    buffers: list[Any]
    """The buffers of its body, or one with the packed body."""
    is_decompressed: bool = False
    """Whether the buffers are decompressed buffers of a compressed body."""


@dataclass(slots=True)
class ReadOptions:
    """Options for reading and decoding messages.

    Attributes
    ----------
    stream
        The CUDA stream for copies to a device, and that waits for received buffers.
    checks
        The checks.
    mr
        The memory resource for device memory, and for conversions if a consumer requests another
        schema.
    on_device
        Whether bodies are read to the current device. If the first body has no bytes, it counts as
        memory of this device.
    chunk_size
        The number of bytes that are copied to a device at a time.
    arguments
        The arguments of the exports of the arrays.
    """

    stream: Stream
    checks: Checks
    mr: Any = None
    on_device: bool = False
    chunk_size: int = CHUNK_SIZE
    arguments: ExportArguments = field(init=False)

    def __post_init__(self) -> None:
        check_option("validate", self.checks, ("sizes", "minimal", "full"))
        check_chunk_size(self.chunk_size)
        self.arguments = ExportArguments(self.stream, mr=self.mr)

    @classmethod
    def of(
        cls, stream: Any, checks: Checks, mr: Any, device_type: Any, chunk_size: int
    ) -> ReadOptions:
        """Create options from the arguments of a caller after validation."""
        known = (DeviceType.CPU, DeviceType.CUDA)
        wanted = known[has_gpu()] if device_type is None else DeviceType(device_type)
        if wanted not in known:
            raise ValueError(f"device_type: expected None, 'cpu' or 'cuda', got {device_type!r}")
        if wanted == DeviceType.CUDA and not has_gpu():
            raise ValueError("device_type='cuda': expected a CUDA device, got none in this process")
        return cls(resolve_stream(stream), checks, mr, wanted == DeviceType.CUDA, chunk_size)


def receive(header: Header, source: Source, options: ReadOptions) -> IncomingMessage:
    """Read the body of a message at the position of a source."""
    size = header.body_length
    if header.kind == "schema" or size == 0:
        return IncomingMessage(header, [None])
    if not options.on_device:
        return IncomingMessage(header, [source.take(size)])
    if header.codec is None:
        return IncomingMessage(header, [_upload(source, size, options)])
    buffers = [
        _upload(open_source(buffer), len(buffer), options) if buffer else None
        for buffer in decompress(header, [source.take(size)])
    ]
    return IncomingMessage(header, buffers, is_decompressed=True)


def _upload(source: Source, size: int, options: ReadOptions) -> Any:
    return source.upload(size, options.stream, options.mr, options.chunk_size)
