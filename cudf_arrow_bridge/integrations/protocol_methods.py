# SPDX-License-Identifier: Apache-2.0
"""The opt-in protocols on cuDF's own classes: `install_protocol`, `uninstall_protocol`."""

from __future__ import annotations

import threading
from typing import Any, Self

import pyarrow as pa

from ..cuda.streams import cudf_handle_of_all_threads
from ..to_arrow import to_arrow_device
from .accessors import ArrowDeviceAccessor


def _of_accessor(name: str) -> property:
    """Return a method of `ArrowDeviceAccessor` as an attribute of cuDF objects."""
    return property(lambda self: getattr(ArrowDeviceAccessor(self), name))


def _arrow_array(self: Any, type: pa.DataType | None = None) -> pa.Array:  # noqa: A002
    """Return the object as a pyarrow array, exported with cudf_arrow_bridge.

    Device memory is copied to the host. The export converts to `type` if it can; otherwise pyarrow
    casts the result.
    """
    # Consumers call this on any thread and do not know which thread produced the data.
    stream = cudf_handle_of_all_threads()
    return pa.array(to_arrow_device(self, stream=stream, requested_schema=type).to_host())


#: Methods that are added only to cuDF classes that do not define them.
_ADDED = {
    name: _of_accessor(name) for name in ("__arrow_c_device_array__", "__arrow_c_device_stream__")
}
#: Methods that replace those of cuDF. cuDF's stream always copies to the host and uses libcudf's
#: conversion. Its ``__arrow_array__`` always raises, and pyarrow calls it first.
_REPLACED = {
    "__arrow_c_array__": _of_accessor("__arrow_c_array__"),
    "__arrow_c_stream__": _of_accessor("__arrow_c_stream__"),
    "__arrow_array__": _arrow_array,
}
#: Marks a class that inherits the method or does not have it.
_NONE_OF_ITS_OWN = object()

_lock = threading.RLock()
#: The installations that are active.
_uses: set[ProtocolInstallation] = set()
#: The original attribute for each class and name that was set.
_originals: dict[tuple[type, str], object] = {}


class ProtocolInstallation:
    """One installation of the protocol methods, usable as a context manager.

    The methods are removed when the last active installation ends.
    """

    def __enter__(self) -> Self:
        with _lock:
            _uses.add(self)
            _add_methods()
        return self

    def __exit__(self, *exception: object) -> None:
        with _lock:
            if self in _uses:
                _uses.remove(self)
                if not _uses:
                    _restore_methods()


def install_protocol() -> ProtocolInstallation:
    """Install Arrow PyCapsule protocol methods on cuDF's DataFrame, Series and Index.

    This is an opt-in for the whole process. The methods ``__arrow_c_device_array__`` and
    ``__arrow_c_device_stream__`` are added if cuDF does not define them. The methods
    ``__arrow_c_array__``, ``__arrow_c_stream__`` and ``__arrow_array__`` are replaced, so that
    ``pyarrow.table(frame)``, ``pyarrow.array(series)``, ``polars.DataFrame(frame)`` and similar
    calls share host memory and keep the same information as `to_arrow_device`. They copy device
    memory to the host for consumers that do not support it.

    Returns
    -------
    ProtocolInstallation
        A context manager. cuDF's classes are restored when all installations have exited. An
        installation that is never entered lasts until `uninstall_protocol` is called.

    See Also
    --------
    uninstall_protocol : Remove the methods immediately.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = cab.from_arrow_device(pa.table({"a": [1, 2]}))
    >>> with cab.install_protocol():
    ...     pa.table(frame).num_rows
    2
    """
    return ProtocolInstallation().__enter__()


def uninstall_protocol() -> None:
    """Remove the methods of all installations of :func:`install_protocol`.

    Further calls have no effect.

    Examples
    --------
    >>> installed = cab.install_protocol()
    >>> cab.uninstall_protocol()
    """
    with _lock:
        _uses.clear()
        _restore_methods()


def _add_methods() -> None:
    import cudf

    for cls in (cudf.DataFrame, cudf.Series, cudf.Index):
        added = {name: method for name, method in _ADDED.items() if not hasattr(cls, name)}
        for name, method in {**added, **_REPLACED}.items():
            if vars(cls).get(name) is not method:
                _originals[cls, name] = vars(cls).get(name, _NONE_OF_ITS_OWN)
                setattr(cls, name, method)


def _restore_methods() -> None:
    ours = {**_ADDED, **_REPLACED}
    for (cls, name), original in _originals.items():
        # Keep a method that other code has set since.
        if vars(cls).get(name) is not ours[name]:
            continue
        if original is _NONE_OF_ITS_OWN:
            delattr(cls, name)
        else:
            setattr(cls, name, original)
    _originals.clear()
