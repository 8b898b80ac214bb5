# SPDX-License-Identifier: Apache-2.0
"""What callers of exports and imports may choose, checked."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

from .._core.export import ExportArguments
from ..cuda import streams
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import Stream, resolve_stream

__all__ = [
    "Kind",
    "TensorImportOptions",
    "Validation",
    "check_kind",
    "check_max_rows",
    "check_option",
    "check_prefetch",
    "export_arguments",
]

#: What an Arrow array is: a record batch or any other array.
Kind = Literal["table", "column"]
Validation = Literal["minimal", "full"]


def check_option(name: str, value: Any, choices: tuple[str | bool | None, ...]) -> None:
    """Refuse a value that is none of those that an argument may have.

    Raises
    ------
    ValueError
        If `value` is another; 1 is not True.
    """
    is_text = isinstance(value, str)
    if not any(value is choice or (is_text and value == choice) for choice in choices):
        *others, last = map(repr, choices)
        raise ValueError(f"{shown(name, value)} found, {', '.join(others)} or {last} expected")


def shown(name: str, value: Any) -> str:
    """Return an argument as messages show it: whole only if its ``repr`` is short for sure."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return f"{name}={value!r}"
    return f"{name} of type {type(value).__name__}"


def check_kind(kind: Kind | None) -> Kind | None:
    """Return what a caller gave as ``kind=``, if that is possible."""
    if kind is not None:
        check_option("kind", kind, ("table", "column", None))
    return kind


def check_max_rows(max_rows: Any, max_chunksize: Any = None) -> int | None:
    """Return what a caller gave as ``max_rows=`` or ``max_chunksize=``, as an int if possible."""
    name, value = "max_rows", max_rows
    if max_chunksize is not None:
        if max_rows is not None:
            raise ValueError("expected one of max_rows= and max_chunksize=, got both")
        name, value = "max_chunksize", max_chunksize
    return None if value is None else _positive(name, value, "an integer or None")


def check_prefetch(prefetch: Any) -> int:
    """Return what a caller gave as ``prefetch=``, as an int, if that is possible."""
    return _positive("prefetch", prefetch, "an integer")


def _positive(name: str, value: Any, expected: str) -> int:
    """Return an argument as an int.

    Raises
    ------
    TypeError
        If it is no integer; a bool is none.
    ValueError
        If it is less than 1.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{shown(name, value)} found, {expected} expected")
    if number < 1:
        raise ValueError(f"{name}={number} found, at least 1 expected")
    return number


def export_arguments(
    stream: Any,
    mr: Any,
    preserve_index: bool | None,
    compact: bool,
    copy: bool | None,
    device_type: Any,
) -> ExportArguments:
    """Check what a caller of `to_arrow_device` gave, and resolve the stream on this thread.

    Raises
    ------
    TypeError
        If `mr` is no memory resource.
    ValueError
        If another argument has a value that is not possible.
    """
    if preserve_index is not None:
        check_option("preserve_index", preserve_index, (None, True, False))
    is_usual = stream is None and mr is None and compact is False and copy is None
    if is_usual and device_type is None and not _default_is_per_thread():
        return _USUAL
    check_option("compact", compact, (True, False))
    managed_as_cuda = _managed_as_cuda(device_type)
    return ExportArguments(resolve_stream(stream), compact, managed_as_cuda, mr, copy)


def _managed_as_cuda(device_type: Any) -> bool:
    """Say whether managed memory is to be labelled as plain CUDA memory."""
    if device_type is None:
        return False
    name = device_type.name if isinstance(device_type, DeviceType) else device_type
    name = name.lower() if isinstance(name, str) else None
    if name == "cuda" or (name == "cpu" and not has_gpu()):
        return name == "cuda"
    advice = ": to_host() brings an array to the CPU's memory" if name == "cpu" else ""
    raise ValueError(
        f"{shown('device_type', device_type)} found, 'cuda', DeviceType.CUDA or None expected, as "
        f"an array is labelled with the memory it is in{advice}"
    )


#: What most exports ask for; making it takes a tenth of the time of a small export.
_USUAL = ExportArguments(resolve_stream(None))


def _default_is_per_thread() -> bool:
    # Such a stream is resolved on each thread.
    return streams.CUDF_HANDLE == streams.PER_THREAD_HANDLE


@dataclass(frozen=True, slots=True)
class TensorImportOptions:
    """Options of an import of a tensor; see `from_dlpack`.

    Attributes
    ----------
    stream
        The CUDA stream that waits for the data and that copies run on.
    reader
        A second stream that reads the result, or None; see `ImportArguments`.
    mr
        The memory resource of copies; None for rmm's current one.
    copy
        None: copy what cannot be shared; True: always; False: never.
    """

    stream: Stream
    reader: Stream | None
    mr: Any
    copy: bool | None
