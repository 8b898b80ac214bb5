# SPDX-License-Identifier: Apache-2.0
"""A small cache whose keys need not be hashable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """A cache of the newest entries, searched linearly.

    Parameters
    ----------
    max_entries
        The maximum number of entries. Adding another entry drops the oldest.
    """

    def __init__(self, max_entries: int = 16) -> None:
        self._max_entries = max_entries
        # Replace the whole tuple on each change, so that threads need no lock.
        self._entries: tuple[tuple[Key, Value], ...] = ()

    def find(self, matches: Callable[[Key], bool]) -> Value | None:
        """Return the value of the newest key that matches, or None."""
        for key, value in self._entries:
            if matches(key):
                return value
        return None

    def add(self, key: Key, value: Value) -> None:
        """Add an entry."""
        self._entries = ((key, value), *self._entries[: self._max_entries - 1])
