# SPDX-License-Identifier: Apache-2.0
"""UCX connections to one peer for dissociated_ipc.py, which send memory without a copy.

They use ucxx's classes directly. ucxx's functions for asyncio start with a handshake that other
users of UCX do not support.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from ctypes import c_char_p, c_int, c_int8, c_size_t, c_uint32, c_uint64, c_void_p
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

    def finish(self, *requests: UCXRequest | GatheredSend) -> None:
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

    def send_tagged(self, tag: int, pieces: Iterable[Any]) -> GatheredSend:
        """Start to send pieces of host memory, or of device memory, as one tagged message."""
        return GatheredSend(self.peer, tag, pieces)

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


class GatheredSend:
    """A request that sends pieces of memory as one tagged message.

    ucxx sends one piece of memory in a message. UCX itself accepts a list of pieces, in host or
    device memory.
    """

    _IN_PROGRESS = 1  # UCS_INPROGRESS

    def __init__(self, peer: UCXEndpoint, tag: int, pieces: Iterable[Any]) -> None:
        self._memory = [array for array in map(Array, pieces) if array.nbytes > 0]
        count = len(self._memory)
        self._list = (_Piece * count)(*((array.ptr, array.nbytes) for array in self._memory))
        parameters = _Parameters(
            fields=1 << 3 | 1 << 16,  # UCP_OP_ATTR_FIELD_DATATYPE, UCP_OP_ATTR_FLAG_NO_IMM_CMPL
            datatype=2,  # UCP_DATATYPE_IOV
        )
        self._request = None
        request = _send(peer.handle, self._list, count, tag, ctypes.byref(parameters))
        if request >= 2**64 - 100:  # UCS_PTR_IS_ERR
            raise ConnectionError(f"UCX cannot send: {_describe(request - 2**64).decode()}")
        self._request = request

    @property
    def completed(self) -> bool:
        """Whether UCX does not need the memory any more."""
        return _status(self._request) != self._IN_PROGRESS

    def check_error(self) -> None:
        """Raise an error unless the message was sent."""
        if (status := _status(self._request)) != 0:
            raise ConnectionError(f"UCX did not send: {_describe(status).decode()}")

    def __del__(self) -> None:
        if self._request is not None:
            _free(self._request)


class _Piece(ctypes.Structure):
    """`ucp_dt_iov_t`."""

    _fields_ = (("address", c_void_p), ("size", c_size_t))


class _Parameters(ctypes.Structure):
    """`ucp_request_param_t`."""

    _fields_ = (
        ("fields", c_uint32),
        ("flags", c_uint32),
        ("request", c_void_p),
        ("callback", c_void_p),
        ("datatype", c_uint64),
        ("user_data", c_void_p),
        ("reply_buffer", c_void_p),
        ("memory_type", c_int),
        ("received", c_void_p),
        ("memory_handle", c_void_p),
    )


_UCP = ctypes.CDLL("libucp.so.0")  # loaded by ucxx
_send = _UCP.ucp_tag_send_nbx
_send.argtypes = (c_void_p, c_void_p, c_size_t, c_uint64, c_void_p)
_send.restype = c_void_p
_status = _UCP.ucp_request_check_status
_status.argtypes, _status.restype = (c_void_p,), c_int8
_free = _UCP.ucp_request_free
_free.argtypes, _free.restype = (c_void_p,), None
_describe = _UCP.ucs_status_string
_describe.argtypes, _describe.restype = (c_int8,), c_char_p
