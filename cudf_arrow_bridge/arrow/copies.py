# SPDX-License-Identifier: Apache-2.0
"""Copies that a caller forbids with ``copy=False``, in the words of the core."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["CopyRefusedError", "quoted", "reasons_of", "refusal"]


class CopyRefusedError(Exception):
    """One column needs a copy that the caller forbids; told as a part of `refusal`.

    Parameters
    ----------
    path
        The path of the column.
    reason
        Why it cannot be shared.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def quoted(path: str) -> str:
    """Return the path of a column as errors name it."""
    return f"'{path or '(top level)'}'"


def refusal(refused: Sequence[CopyRefusedError]) -> ValueError:
    """Return the error that names all columns that were refused, as `copy_log::check` does."""
    columns = ", ".join(f"{quoted(one.path)} ({one.reason})" for one in refused)
    return ValueError(
        f"columns that have to be copied found, none expected with copy=False: {columns}; "
        "copy=None copies what cannot be shared"
    )


def reasons_of(error: ValueError) -> list[str]:
    """Return the reasons in such an error, each once."""
    return list(dict.fromkeys(re.findall(r"' \(([^()]+)\)(?=, '|; copy=None)", str(error))))
