# SPDX-License-Identifier: Apache-2.0
"""A few things worked out lately, to be found again by comparing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Recent"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Remembers the last few values under keys that need not be hashable.

    Parameters
    ----------
    most
        How many to remember.
    """

    def __init__(self, most: int = 16) -> None:
        self._most = most
        # Replaced as a whole, so that threads need no lock.
        self._entries: tuple[tuple[Key, Value], ...] = ()

    def find(self, is_same: Callable[[Key], bool]) -> Value | None:
        """Return the value of the latest key that passes."""
        for key, value in self._entries:
            if is_same(key):
                return value
        return None

    def add(self, key: Key, value: Value) -> None:
        """Remember a value, and forget the oldest of many."""
        self._entries = ((key, value), *self._entries[: self._most - 1])
