# SPDX-License-Identifier: Apache-2.0
"""What a path, a glob or a URL stands for: files of one format, in order."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .formats import format_by_name, format_of

if TYPE_CHECKING:
    import pyarrow.dataset as ds
    import pyarrow.fs

__all__ = ["Files", "find_files"]

_WILDCARD = re.compile(r"[*?[]")


@dataclass(frozen=True)
class Files:
    """Files of one format.

    Attributes
    ----------
    name
        What the caller named, for messages.
    filesystem
        The filesystem.
    paths
        The files, in order, as the filesystem names them.
    format
        The name of a `FileFormat`, or what the caller gave.
    memory_map
        Whether the filesystem maps files into memory.
    base
        The folder below which folders are named ``key=value``; None if there is none.
    """

    name: str
    filesystem: pyarrow.fs.FileSystem
    paths: list[str]
    format: str | ds.FileFormat
    memory_map: bool
    base: str | None


def find_files(
    names: Sequence[str | os.PathLike[str]],
    memory_map: bool = False,
    file_format: ds.FileFormat | None = None,
) -> Files:
    """Find the files that paths stand for.

    Parameters
    ----------
    names
        One path, URL or glob; or several paths.
    memory_map
        Whether local Arrow files are mapped into memory rather than read.
    file_format
        The format of the files; None: see `format_of`.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or none in a folder.
    ValueError
        If a file has another format than those that can be read, or than the first file.
    """
    filesystem: Any = None
    paths: list[str] = []
    base = None
    for name in names:
        filesystem, path = _open_filesystem(name)
        found = _list_files(filesystem, path)
        if not found:
            what = "no file in this folder" if filesystem.isdir(path) else "no such file"
            raise FileNotFoundError(errno.ENOENT, what, os.fspath(name))
        if filesystem.isdir(path):
            base = path
        paths += found
    found_format: str | ds.FileFormat | None = file_format
    if found_format is None:
        found_format = _format_of_all(filesystem, paths)
    is_arrow = isinstance(found_format, str) and found_format.startswith("arrow")
    memory_map = memory_map and is_arrow and _is_local(filesystem)
    return Files(
        ", ".join(os.fspath(name) for name in names),
        _as_pyarrow(filesystem, memory_map),
        paths,
        found_format,
        memory_map,
        base if len(names) == 1 else None,
    )


def _open_filesystem(name: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return fsspec's filesystem, and the path in it; ``~`` is expanded."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    if isinstance(name, str) and "://" in name:
        filesystem, path = url_to_fs(name)
        return filesystem, path
    return LocalFileSystem(), os.path.abspath(os.path.expanduser(name))


def _list_files(filesystem: Any, path: str) -> list[str]:
    # First of all, since names of files may look like globs.
    if filesystem.isfile(path):
        return [path]
    if filesystem.isdir(path):
        return _data_files(filesystem.find(path), path)
    found = filesystem.glob(path, detail=True) if _WILDCARD.search(path) else {}
    files = [path for path, info in found.items() if info["type"] == "file"]
    return _data_files(files, _WILDCARD.split(path)[0])


def _data_files(paths: list[str], begin: str) -> list[str]:
    """Leave out what others keep beside data: ``_SUCCESS``, ``.crc``, a README.

    Parameters
    ----------
    paths
        Files, in any order.
    begin
        What all of them begin with, and the caller has named.
    """
    visible = [
        path
        for path in sorted(paths)
        if not any(part.startswith(("_", ".")) for part in path[len(begin) :].split("/"))
    ]
    return [path for path in visible if format_by_name(path)] or visible


def _format_of_all(filesystem: Any, paths: list[str]) -> str:
    first = paths[0]
    try:
        with filesystem.open(first, "rb") as file:
            file_format = format_of(first, file.read(8))
    except ValueError as error:
        raise ValueError(
            f"{first}: {error}; format= takes the pyarrow.dataset.FileFormat of other files"
        ) from None
    expected = format_by_name(paths[0])
    for path in paths:
        if format_by_name(path) != expected:
            raise ValueError(
                f"{path}: a file of another format found than {paths[0]}, one format expected:"
                " pass a glob or a list of pathlib.Path objects that leaves the others out"
            )
    return file_format


def _as_pyarrow(filesystem: Any, memory_map: bool) -> pyarrow.fs.FileSystem:
    from pyarrow import fs

    if _is_local(filesystem):
        return fs.LocalFileSystem(use_mmap=memory_map)
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem))


def _is_local(filesystem: Any) -> bool:
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(filesystem, LocalFileSystem)
