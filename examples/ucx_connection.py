# SPDX-License-Identifier: Apache-2.0
"""UCX connections to one peer for dissociated_ipc.py.

They use ucxx's classes directly. ucxx's functions for asyncio start with a handshake that other
users of UCX do not support.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ucxx._lib.arr import Array
from ucxx._lib.libucxx import (
    Feature,
    UCXContext,
    UCXEndpoint,
    UCXError,
    UCXListener,
    UCXRequest,
    UCXWorker,
    UCXXTag,
    UCXXTagMask,
)

T = TypeVar("T")


class Connection:
    """A connection to one peer, which sends and receives messages with and without tags.

    Each connection has its own worker, because UCX does not report the sender of a tagged message.
    """

    def __init__(self) -> None:
        features = (Feature.TAG, Feature.AM, Feature.WAKEUP)
        self.worker = UCXWorker(UCXContext(feature_flags=features))
        self.worker.init_blocking_progress_mode()
        self.peer: UCXEndpoint | None = None

    @classmethod
    def to(cls, host: str, port: int) -> Connection:
        """Connect to a listener at a port."""
        self = cls()
        self.peer = UCXEndpoint.create(self.worker, host, port, endpoint_error_handling=True)
        return self

    def progress_until(self, ready: Callable[[], T]) -> T:
        """Make progress until `ready` returns a true value, and return the value.

        Raises
        ------
        ConnectionError
            If the peer closes the connection first.
        """
        while not (result := ready()):
            if self.peer is not None and not self.peer.alive:
                raise ConnectionError("the peer has closed the connection")
            self.worker.progress_worker_event(epoll_timeout=100)
        return result

    def finish(self, *requests: UCXRequest) -> None:
        """Wait for requests, whose memory must stay alive until then."""
        for request in requests:
            self.progress_until(lambda: request.completed)  # noqa: B023 - called in this iteration
            try:
                request.check_error()
            except UCXError as error:
                raise ConnectionError(f"UCX has failed: {error}") from error

    def send(self, message: bytes) -> None:
        """Send a message without a tag."""
        self.finish(self.peer.am_send(Array(message)))

    def receive(self) -> bytes:
        """Wait for the next message without a tag."""
        self.progress_until(self.peer.am_probe)
        self.finish(request := self.peer.am_recv())
        return bytes(request.recv_buffer)

    def send_tagged(self, tag: int, memory: Any) -> UCXRequest:
        """Start to send one piece of host memory, or of device memory, as a tagged message."""
        return self.peer.tag_send(Array(memory), UCXXTag(tag))

    def receive_tagged(self, tag: int, mask: int, allocate: Callable[[int], T]) -> tuple[int, T]:
        """Wait for a message whose tag is `tag` where `mask` has ones.

        `allocate` takes the number of bytes of the message and returns memory to receive it.
        """

        def arrived() -> Any:
            found = self.worker.tag_probe(UCXXTag(tag), UCXXTagMask(mask), remove=True)
            return found if found.matched else None

        found = self.progress_until(arrived)
        memory = allocate(found.length)
        self.finish(self.worker.tag_recv_with_handle(Array(memory), found))
        return found.sender_tag.value, memory

    def wait_until_closed(self) -> None:
        """Wait until the peer closes the connection. Sent messages may be in flight until then."""
        self.progress_until(lambda: not self.peer.alive)

    def close(self) -> None:
        """Close the connection and notify the peer."""
        if self.peer is not None:
            self.peer.close_blocking()
            self.worker.progress()  # without it, sockets may stay open and the peer waits


class Listener(Connection):
    """Waits for one peer at a port of this machine; port 0 selects a free one."""

    def __init__(self, port: int = 0) -> None:
        super().__init__()
        self._accepted: list[UCXEndpoint] = []
        accept = self._accepted.append
        self._listener = UCXListener.create(self.worker, port, accept, deliver_endpoint=True)
        self.port: int = self._listener.port

    def accept(self) -> None:
        """Wait until a peer connects."""
        self.progress_until(lambda: self._accepted)
        self.peer = self._accepted.pop()
