# SPDX-License-Identifier: Apache-2.0
"""The order of the work on two CUDA streams, given by their handles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .._core.arguments import order_after

if TYPE_CHECKING:
    from .._core import protocols


def order(later: int, earlier: int) -> None:
    """Make later work on one stream wait for the work on another, unless they are the same."""
    if later != earlier:
        order_after(later, earlier)


@contextmanager
def ordered(stream: protocols.Stream, made_on: int) -> Iterator[None]:
    """Order a stream after the producing stream, and at exit the producing stream after it.

    So the stream sees the data, and the data is freed on the producing stream after its use.
    `made_on` is the handle of the producing stream.
    """
    order(stream.handle, made_on)
    try:
        yield
    finally:
        order(made_on, stream.handle)
