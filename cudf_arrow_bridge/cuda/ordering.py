# SPDX-License-Identifier: Apache-2.0
"""The order of the work on two CUDA streams, given by their handles."""

from __future__ import annotations

from .._core.arguments import order_after


def order(later: int, earlier: int) -> None:
    """Make later work on one stream wait for the work on another, unless they are the same."""
    if later != earlier:
        order_after(later, earlier)
