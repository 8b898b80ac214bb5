# SPDX-License-Identifier: Apache-2.0
"""Errors for copies that ``copy=False`` forbids, with the messages of the core."""

from __future__ import annotations

from collections.abc import Sequence


class CopyRefusedError(Exception):
    """A column requires a copy that the caller forbids; reported as a part of `copy_error`."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def quoted(path: str) -> str:
    """Return the path of a column in the form that error messages use."""
    return f"'{path or '(top level)'}'"


def copy_error(refused: Sequence[CopyRefusedError]) -> ValueError:
    """Return the error that names all columns that require a copy, as `copy_log::check` does."""
    columns = ", ".join(f"{quoted(one.path)} ({one.reason})" for one in refused)
    return ValueError(
        "copy=False: expected columns that can be shared, got columns that have to be "
        f"copied: {columns}; copy=None copies them"
    )
