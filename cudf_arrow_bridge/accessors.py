# SPDX-License-Identifier: Apache-2.0
"""The accessor ``df.arrow_device``, and the opt-in protocol on cuDF's own classes."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .arrow.device_array import DeviceArray
from .arrow.schemas import as_field, as_schema
from .cuda.streams import cudf_handle_of_all_threads
from .export.inputs import describe
from .to_arrow import to_arrow_device

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ArrowDeviceAccessor",
    "InstalledProtocol",
    "install_protocol",
    "register_when_imported",
    "uninstall_protocol",
]

_NAME = "arrow_device"
_METHOD = "__arrow_c_device_array__"


class ArrowDeviceAccessor:
    """Hand a cuDF object to anything that speaks Arrow, without leaving the GPU.

    Examples
    --------
    >>> df.arrow_device.export()  # doctest: +SKIP
    >>> consumer(df.arrow_device)  # doctest: +SKIP
    """

    __slots__ = ("_obj",)

    def __init__(self, obj: Any) -> None:
        self._obj = obj

    def export(
        self,
        *,
        stream: Any = None,
        requested_schema: Any = None,
        preserve_index: bool | None = None,
    ) -> DeviceArray:
        """Export the object; see :func:`cudf_arrow_bridge.to_arrow_device`.

        Parameters
        ----------
        stream
            The stream that made the data.
        requested_schema
            An Arrow schema that the consumer asks for.
        preserve_index
            None: a RangeIndex is metadata, any other index columns. True: always columns.
            False: dropped.
        """
        return to_arrow_device(
            self._obj,
            stream=stream,
            requested_schema=requested_schema,
            preserve_index=preserve_index,
        )

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema that the object exports with."""
        if (known := describe(self._obj)) is None:
            return self.export().schema
        kind, schema = known
        return as_schema(schema) if kind == "table" else as_field(schema)

    def __arrow_c_device_array__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> tuple[object, object]:
        # Consumers may call this on any thread, and do not know which one made the data.
        exported = self.export(stream=cudf_handle_of_all_threads())
        return exported.__arrow_c_device_array__(requested_schema, **kwargs)

    def __arrow_c_schema__(self) -> object:
        known = describe(self._obj)
        return (self.export() if known is None else known[1]).__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<{_NAME} of a cuDF {type(self._obj).__name__}: export() hands it to Arrow>"


class _Watcher(importlib.abc.MetaPathFinder):
    """Runs the registration right after cuDF's own import, without importing cuDF itself."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "cudf":
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _register()

        # Set on this loader alone, which keeps its class and other methods.
        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_WATCHER = _Watcher()


def register_when_imported() -> None:
    """Register the accessors now if cuDF is loaded, else as soon as it is."""
    if "cudf" in sys.modules:
        _register()
    elif _WATCHER not in sys.meta_path:
        sys.meta_path.insert(0, _WATCHER)


def _register() -> None:
    import cudf
    from cudf.api import extensions

    if _WATCHER in sys.meta_path:
        sys.meta_path.remove(_WATCHER)
    for cls, register in (
        (cudf.DataFrame, extensions.register_dataframe_accessor),
        (cudf.Series, extensions.register_series_accessor),
        (cudf.Index, extensions.register_index_accessor),
    ):
        if getattr(cls, _NAME, None) is not ArrowDeviceAccessor:
            register(_NAME)(ArrowDeviceAccessor)


def _export(
    self: Any, requested_schema: object | None = None, **kwargs: Any
) -> tuple[object, object]:
    """Export by the Arrow C device data interface, through cudf_arrow_bridge."""
    accessor = ArrowDeviceAccessor(self)
    return accessor.__arrow_c_device_array__(requested_schema, **kwargs)


class InstalledProtocol:
    """What :func:`install_protocol` added; as a context manager, removes it at its end."""

    def __init__(self, classes: Sequence[type]) -> None:
        self._classes = tuple(classes)

    def __enter__(self) -> InstalledProtocol:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _remove(self._classes)


def install_protocol() -> InstalledProtocol:
    """Give cuDF's own DataFrame, Series and Index ``__arrow_c_device_array__``.

    An opt-in for the whole process: any consumer of the protocol then takes cuDF objects directly.
    A class with such a method of its own keeps that. Installing twice changes nothing.

    Returns
    -------
    InstalledProtocol
        A context manager; leaving it removes what this call added.

    See Also
    --------
    uninstall_protocol : Remove it without a context.
    """
    import cudf

    added = [cls for cls in (cudf.DataFrame, cudf.Series, cudf.Index) if not hasattr(cls, _METHOD)]
    for cls in added:
        setattr(cls, _METHOD, _export)
    return InstalledProtocol(added)


def uninstall_protocol() -> None:
    """Remove what :func:`install_protocol` added, if anything."""
    import cudf

    _remove((cudf.DataFrame, cudf.Series, cudf.Index))


def _remove(classes: Sequence[type]) -> None:
    for cls in classes:
        if vars(cls).get(_METHOD) is _export:
            delattr(cls, _METHOD)
