# SPDX-License-Identifier: Apache-2.0
"""Validation of the arguments of exports and imports."""

from __future__ import annotations

import operator
from typing import Any, Literal
from urllib.parse import unquote

from .._core.export.array_exporter import ExportArguments
from .._core.protocols import Kind as Kind
from ..cuda import streams
from ..cuda.residency import DeviceType, has_gpu
from ..cuda.streams import resolve_stream

Validation = Literal["minimal", "full"]


def check_option(name: str, value: Any, choices: tuple[str | bool | None, ...]) -> None:
    """Check that an argument has one of its allowed values.

    Raises
    ------
    ValueError
        If `value` is not one of `choices`. 1 does not count as True.
    """
    # Objects are compared by identity, because 1 == True.
    if not (value in choices if isinstance(value, str) else any(value is it for it in choices)):
        *others, last = map(repr, choices)
        raise ValueError(f"{name}: expected {', '.join(others)} or {last}, got {shown(value)}")


def shown(value: Any) -> str:
    """Return an argument for error messages: its ``repr`` if that is short, else its type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"an object of type {type(value).__name__}"


def check_kind(kind: Kind | None) -> None:
    """Check the argument ``kind=``."""
    check_option("kind", kind, ("table", "column", None))


def check_max_rows(max_rows: Any) -> int | None:
    """Return the value of ``max_rows=`` as an int after validation."""
    return None if max_rows is None else _integer("max_rows", max_rows, "an integer or None")


def path_of(name: Any) -> Any:
    """Return the path that a ``file:`` URL names; anything else unchanged.

    Raises
    ------
    ValueError
        If the URL names another host, or no absolute path.
    """
    if not (isinstance(name, str) and name.startswith("file://")):
        return name
    host, slash, path = name.removeprefix("file://").partition("/")
    if host not in ("", "localhost") or not slash:
        raise ValueError(f"expected a URL such as file:///folder/name, got {name!r}")
    return slash + unquote(path)


def check_max_bytes(max_bytes: Any) -> int | None:
    """Return the value of ``max_bytes=`` as an int after validation."""
    return None if max_bytes is None else _integer("max_bytes", max_bytes, "an integer or None", 0)


def check_prefetch(prefetch: Any, least: int = 1) -> int:
    """Return the value of ``prefetch=`` as an int after validation."""
    return _integer("prefetch", prefetch, "an integer", least)


def _integer(name: str, value: Any, expected: str, least: int = 1) -> int:
    """Return an argument as an int.

    Raises
    ------
    TypeError
        If it is not an integer, or is a bool.
    ValueError
        If it is less than `least`.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise TypeError(f"{name}: expected {expected}, got {shown(value)}")
    if number < least:
        raise ValueError(f"{name}: expected at least {least}, got {number}")
    return number


def export_arguments(
    stream: Any,
    mr: Any,
    preserve_index: bool | None,
    compact: bool,
    copy: bool | None,
    device_type: Any,
) -> ExportArguments:
    """Validate the arguments of `to_arrow_device` and resolve the stream on this thread.

    Raises
    ------
    TypeError
        If `mr` is not a memory resource.
    ValueError
        If another argument has an invalid value.
    """
    if preserve_index is not None:
        check_option("preserve_index", preserve_index, (None, True, False))
    is_default = stream is None and mr is None and compact is False and copy is None
    # The per-thread default stream is resolved on each thread.
    is_shared = streams.CUDF_HANDLE != streams.PER_THREAD_HANDLE
    if is_default and device_type is None and is_shared:
        return _DEFAULT_ARGUMENTS
    check_option("compact", compact, (True, False))
    managed_as_cuda = _managed_as_cuda(device_type)
    return ExportArguments(resolve_stream(stream), compact, managed_as_cuda, mr, copy)


def _managed_as_cuda(device_type: Any) -> bool:
    """Return whether to export managed memory with the device type of plain CUDA memory."""
    if device_type is None:
        return False
    name = device_type.name if isinstance(device_type, DeviceType) else device_type
    name = name.lower() if isinstance(name, str) else None
    if name == "cuda" or (name == "cpu" and not has_gpu()):
        return name == "cuda"
    advice = ": to_host() brings an array to the CPU's memory" if name == "cpu" else ""
    raise ValueError(
        f"device_type: expected 'cuda', DeviceType.CUDA or None, got {shown(device_type)}: an "
        f"array has the device type of its memory{advice}"
    )


#: The arguments of most exports. Creating them takes a tenth of the time of a small export.
_DEFAULT_ARGUMENTS = ExportArguments(resolve_stream(None))
