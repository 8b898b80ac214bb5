# SPDX-License-Identifier: Apache-2.0
"""A cache of the results of functions of schemas that are not large."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from .._core.schema import MAX_CACHED_SIZE

Key = TypeVar("Key")
Value = TypeVar("Value")


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
