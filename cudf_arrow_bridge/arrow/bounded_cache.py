# SPDX-License-Identifier: Apache-2.0
"""Small caches, of keys that need not be hashable and of schemas that are not large."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar

from .._core.schema import MAX_CACHED_SIZE

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


def cached_if_small(
    size_of: Callable[[Any], int],
) -> Callable[[Callable[[Key], Value]], Callable[[Key], Value]]:
    """Cache the results of a function of a schema, unless the schema is large.

    Parameters
    ----------
    size_of
        Returns the size of the names and metadata of a schema in bytes.
    """

    def decorate(function: Callable[[Key], Value]) -> Callable[[Key], Value]:
        cached = lru_cache(maxsize=32)(function)

        @wraps(function)
        def call(schema: Key) -> Value:
            return (cached if size_of(schema) <= MAX_CACHED_SIZE else function)(schema)

        return call

    return decorate
