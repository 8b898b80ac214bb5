# SPDX-License-Identifier: Apache-2.0
"""What callers are told who give an object of which no array can be had."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NoReturn, SupportsIndex

from .sources import ARRAY_PROTOCOLS, STREAM_PROTOCOLS

__all__ = ["ANY_PROTOCOL", "StaysHere", "is_of_cudf", "refusal", "why_once"]

#: The protocols of arrays and streams, for messages.
ANY_PROTOCOL = f"{', '.join((*ARRAY_PROTOCOLS, *STREAM_PROTOCOLS[:-1]))} or {STREAM_PROTOCOLS[-1]}"


def is_of_cudf(obj: Any) -> bool:
    """Say whether an object is one of cuDF's own classes, without importing cuDF."""
    return type(obj).__module__.partition(".")[0] == "cudf"


def refusal(obj: Any, expected: str, takes_several: str | None = None) -> TypeError:
    """Return the error for an object that a function does not take.

    Parameters
    ----------
    obj
        The object.
    expected
        What the function takes.
    takes_several
        The name of the function that takes several arrays, if this one does not.
    """
    if isinstance(obj, type):
        return TypeError(f"the class {obj.__name__} found, {expected} expected")
    advice = _advice(obj, takes_several)
    message = f"an object of type {type(obj).__name__} found, {expected} expected"
    return TypeError(f"{message}: {advice}" if advice else message)


def why_once(name: str) -> str:
    """Return why there is no second pass over a source that can be consumed once.

    Parameters
    ----------
    name
        The name of the source's class.
    """
    article = "an" if name[0] in "AEIOUaeiou" else "a"
    return (
        f"{article} {name} can be consumed once: a second pass over it found, a stream of its "
        "own for each consumer expected (or a list, a frame, a table or a file as the source)"
    )


class StaysHere:
    """What cannot be pickled or copied: streams, whose source stays where it is."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse to be pickled or copied: the arrays of a stream can be, not where they come from.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError(
            f"an object of type {type(self).__name__} found, arrays expected: pickle or copy those "
            "that the stream gives"
        )


def _advice(obj: Any, takes_several: str | None) -> str:
    if isinstance(obj, (str, os.PathLike)):
        return "to_arrow_device_stream reads the file of a path"
    if isinstance(obj, dict):
        return "pyarrow.table makes a table of a dict"
    if takes_several is not None and isinstance(obj, (list, tuple, Iterator)):
        return f"{takes_several} takes several"
    if is_of_cudf(obj) and hasattr(obj, "to_pylibcudf"):
        return "this is cuDF data already, which to_arrow_device exports"
    if hasattr(obj, "__dlpack__"):
        return "from_dlpack imports tensors"
    if hasattr(obj, "__cuda_array_interface__"):
        return "from_cuda_array_interface imports tensors"
    if hasattr(obj, "collect"):
        return "its collect() may give one"
    return ""
