# SPDX-License-Identifier: Apache-2.0
"""The opt-in protocols on cuDF's own classes: `install_protocol`, `uninstall_protocol`."""

from __future__ import annotations

import threading
from typing import Any, Self

import pyarrow as pa

from .accessors import ArrowDeviceAccessor
from .arrow.device_array import DeviceArray
from .cuda.streams import cudf_handle_of_all_threads
from .to_arrow import to_arrow_device, to_arrow_device_stream

__all__ = ["InstalledProtocol", "install_protocol", "uninstall_protocol"]


def _device_array(
    self: Any, requested_schema: object | None = None, **kwargs: Any
) -> tuple[object, object]:
    """Export by the Arrow C device data interface, through cudf_arrow_bridge."""
    return ArrowDeviceAccessor(self).__arrow_c_device_array__(requested_schema, **kwargs)


def _device_stream(self: Any, requested_schema: object | None = None, **kwargs: Any) -> object:
    """Export by the Arrow C device stream interface, through cudf_arrow_bridge."""
    return ArrowDeviceAccessor(self).__arrow_c_device_stream__(requested_schema, **kwargs)


def _host_array(self: Any) -> Any:
    """Export by the Arrow C data interface, through cudf_arrow_bridge; not from the GPU's memory.

    A method for which ``hasattr`` is False where the memory cannot be read by the CPU.
    """
    return ArrowDeviceAccessor(self).__arrow_c_array__


def _host_stream(self: Any, requested_schema: object | None = None) -> object:
    """Export by the Arrow C stream interface, through cudf_arrow_bridge.

    Data of the GPU is brought to the host, as by cuDF's own method.
    """
    return to_arrow_device_stream(_on_host(self, None)).__arrow_c_stream__(requested_schema)


def _arrow_array(self: Any, type: pa.DataType | None = None) -> pa.Array:  # noqa: A002
    """Return the object as an array of pyarrow, through cudf_arrow_bridge.

    Data of the GPU is brought to the host. The type is met as far as possible: pyarrow casts the
    rest.
    """
    return pa.array(_on_host(self, type))


def _on_host(obj: Any, requested_schema: Any) -> DeviceArray:
    # Consumers may call this on any thread, and do not know which one made the data.
    stream = cudf_handle_of_all_threads()
    return to_arrow_device(obj, stream=stream, requested_schema=requested_schema).to_host()


#: What a class of cuDF's keeps if it has it itself.
_ADDED = {
    "__arrow_c_device_array__": _device_array,
    "__arrow_c_device_stream__": _device_stream,
}
#: What takes the place of cuDF's own. Its stream always goes through the host, with what libcudf
#: makes of the data there; its ``__arrow_array__`` only refuses, and pyarrow asks for it first.
_REPLACED = {
    "__arrow_c_array__": property(_host_array),
    "__arrow_c_stream__": _host_stream,
    "__arrow_array__": _arrow_array,
}
#: For a class that inherits a method, or has none.
_NONE_OF_ITS_OWN = object()

_lock = threading.RLock()
#: The uses that have not ended.
_uses: set[InstalledProtocol] = set()
#: What each class had under each name that was set.
_originals: dict[tuple[type, str], object] = {}


class InstalledProtocol:
    """One use of the protocols; as a context manager, ends at its end.

    The last use that ends takes the methods away again.
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


def install_protocol() -> InstalledProtocol:
    """Let all consumers of Arrow take cuDF's own DataFrame, Series and Index, through this package.

    An opt-in for the whole process. Their methods ``__arrow_c_device_array__`` and
    ``__arrow_c_device_stream__`` are added, unless cuDF has its own. ``__arrow_c_array__``,
    ``__arrow_c_stream__`` and ``__arrow_array__`` are replaced, so that ``pyarrow.table(frame)``,
    ``pyarrow.array(series)``, ``polars.DataFrame(frame)`` and the like share host memory, and keep
    what an export keeps. For consumers that take no memory of the GPU, the last two bring it to the
    host; ``__arrow_c_array__`` is there only where the CPU can read the memory.

    Returns
    -------
    InstalledProtocol
        A context manager. When all that were asked for have been left, cuDF's classes are again
        what they were. One that is never entered lasts until `uninstall_protocol`.

    See Also
    --------
    uninstall_protocol : Take the methods away at once.

    Examples
    --------
    >>> import pyarrow as pa
    >>> frame = cab.from_arrow_device(pa.table({"a": [1, 2]}))
    >>> with cab.install_protocol():
    ...     pa.table(frame).num_rows
    2
    """
    return InstalledProtocol().__enter__()


def uninstall_protocol() -> None:
    """Take away what :func:`install_protocol` set, whoever still uses it; may be repeated.

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
        # What somebody else has set in the meantime stays.
        if vars(cls).get(name) is not ours[name]:
            continue
        if original is _NONE_OF_ITS_OWN:
            delattr(cls, name)
        else:
            setattr(cls, name, original)
    _originals.clear()
