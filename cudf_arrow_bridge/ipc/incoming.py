# SPDX-License-Identifier: Apache-2.0
"""Messages before they are decoded: the options for reading them, and the memory of bodies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .._core.export.array_exporter import ExportArguments
from .._core.ipc.body_transfer import upload_memory
from ..arrow.options import check_max_bytes, check_option
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import resolve_stream
from .compression import compressed_buffers, decompress
from .transport.framing import CHUNK_SIZE, check_chunk_size
from .transport.sources import Source

if TYPE_CHECKING:
    from .._core.ipc.metadata import Header
    from ..cuda.streams import Stream

#: The checks of a batch before it is used; see `from_messages`.
Checks = Literal["sizes", "minimal", "full"]


class IncomingMessage(NamedTuple):
    """A received message."""

    header: Header
    buffers: list[Any]
    """The buffers of its body, or one with the packed body. Those of a compressed body are
    `CompressedBuffer` objects.
    """
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
    max_bytes
        The limit of a `MemoryLimit`.
    arguments
        The arguments of the exports of the arrays.
    """

    stream: Stream
    checks: Checks
    mr: Any = None
    on_device: bool = False
    chunk_size: int = CHUNK_SIZE
    max_bytes: int | None = None
    arguments: ExportArguments = field(init=False)

    def __post_init__(self) -> None:
        check_option("validate", self.checks, ("sizes", "minimal", "full"))
        check_chunk_size(self.chunk_size)
        self.max_bytes = check_max_bytes(self.max_bytes)
        self.arguments = ExportArguments(self.stream, mr=self.mr)

    @classmethod
    def of(
        cls,
        stream: Any,
        checks: Checks,
        mr: Any,
        device_type: Any,
        chunk_size: int,
        max_bytes: int | None,
    ) -> ReadOptions:
        """Create options from the arguments of a caller after validation."""
        known = (DeviceType.CPU, DeviceType.CUDA)
        wanted = known[has_gpu()] if device_type is None else DeviceType(device_type)
        if wanted not in known:
            raise ValueError(f"device_type: expected None, 'cpu' or 'cuda', got {device_type!r}")
        if wanted == DeviceType.CUDA and not has_gpu():
            raise ValueError("device_type='cuda': expected a CUDA device, got none in this process")
        on_device = wanted == DeviceType.CUDA
        return cls(resolve_stream(stream), checks, mr, on_device, chunk_size, max_bytes)


class MemoryLimit:
    """The limit of the bytes of a record batch and of the dictionaries that were read before it.

    A message takes its body, or its decompressed buffers if these have more bytes.
    """

    def __init__(self, max_bytes: int | None) -> None:
        self._max_bytes = max_bytes
        #: The bytes of the dictionary with each id, and of its deltas.
        self._dictionaries: dict[int, int] = {}

    def check(self, header: Header, size: int) -> None:
        """Raise ValueError if a message of `size` bytes would exceed the limit."""
        if self._max_bytes is None or header.kind == "schema":
            return
        is_batch = header.kind == "batch"
        total = size + sum(self._dictionaries.values())
        if not (is_batch or header.is_delta):
            total -= self._dictionaries.get(header.dictionary_id, 0)
        if total > self._max_bytes:
            subject = "the record batch takes" if is_batch else "the dictionaries take"
            raise ValueError(f"{subject} {total:,} bytes, more than max_bytes={self._max_bytes}")

    def accept(self, header: Header, buffers: list[Any]) -> IncomingMessage:
        """Return a message after a check of its size, which counts for later messages."""
        size = header.body_length
        if header.codec is not None:
            buffers = compressed_buffers(header, buffers)
            size = max(size, sum(buffer.size for buffer in buffers))
        self.check(header, size)
        if header.kind == "dictionary":
            before = self._dictionaries.get(header.dictionary_id, 0) if header.is_delta else 0
            self._dictionaries[header.dictionary_id] = before + size
        return IncomingMessage(header, buffers)


def receive(
    header: Header, source: Source, options: ReadOptions, limit: MemoryLimit
) -> IncomingMessage:
    """Read the body of a message at the position of a source."""
    size = header.body_length
    if header.kind == "schema" or size == 0:
        return limit.accept(header, [None])
    limit.check(header, size)
    if not options.on_device:
        return limit.accept(header, [source.take(size)])
    target = options.stream, options.mr, options.chunk_size
    if header.codec is None:
        return limit.accept(header, [source.upload(size, *target)])
    buffers = [
        upload_memory(buffer, *target) if buffer else None
        for buffer in decompress(header, limit.accept(header, [source.take(size)]).buffers)
    ]
    return IncomingMessage(header, buffers, is_decompressed=True)
