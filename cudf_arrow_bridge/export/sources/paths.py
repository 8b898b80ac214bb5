# SPDX-License-Identifier: Apache-2.0
"""Resolution of paths, globs and URLs to files, in order."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from typing import Any

from .formats import format_by_name

__all__ = ["find_files"]

_WILDCARD = re.compile(r"[*?[]")


def find_files(names: Sequence[str | os.PathLike[str]]) -> tuple[Any, list[str], str | None]:
    """Find the files of a path, folder, URL or glob, or of several paths.

    Return their fsspec filesystem, their paths in it, and the folder if a single one was named. Its
    subfolders can be named ``key=value``. A missing file, or a folder without files, is an error.
    """
    filesystem: Any = None
    paths: list[str] = []
    folder = None
    for name in names:
        filesystem, path = _open_filesystem(name)
        is_folder = filesystem.isdir(path)
        # Check for a file before a glob, since a file name can look like one.
        found = [path] if filesystem.isfile(path) else _list_files(filesystem, path, is_folder)
        if not found:
            what = "no file in this folder" if is_folder else "no such file"
            raise FileNotFoundError(errno.ENOENT, what, os.fspath(name))
        if is_folder and len(names) == 1:
            folder = path
        paths += found
    return filesystem, paths, folder


def _open_filesystem(name: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the fsspec filesystem and the path in it, with ``~`` expanded."""
    from fsspec.core import url_to_fs
    from fsspec.implementations.local import LocalFileSystem

    if isinstance(name, str) and "://" in name:
        filesystem, path = url_to_fs(name)
        return filesystem, path
    return LocalFileSystem(), os.path.abspath(os.path.expanduser(name))


def _list_files(filesystem: Any, path: str, is_folder: bool) -> list[str]:
    """Return the data files of a folder or glob in order.

    Files such as ``_SUCCESS``, ``.crc`` and README are skipped, but not for a part of the path that
    the caller named.
    """
    if is_folder:
        begin, found = path, filesystem.find(path)
    else:
        begin, *has_wildcard = _WILDCARD.split(path)
        infos = filesystem.glob(path, detail=True) if has_wildcard else {}
        found = [path for path, info in infos.items() if info["type"] == "file"]
    visible = [
        path
        for path in sorted(found)
        if not any(part.startswith(("_", ".")) for part in path[len(begin) :].split("/"))
    ]
    return [path for path in visible if format_by_name(path)] or visible
