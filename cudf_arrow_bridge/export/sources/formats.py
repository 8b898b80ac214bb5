# SPDX-License-Identifier: Apache-2.0
"""The formats of files: how they begin, and how their names end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow.csv

__all__ = [
    "FORMATS",
    "FileFormat",
    "check_delimiter",
    "format_by_name",
    "format_of",
    "parse_options",
]


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    Attributes
    ----------
    name : str
        ``parquet``, ``arrow-file``, ``arrow-stream``, ``csv`` or ``tsv``.
    endings : tuple of str
        What the names of such files end with.
    first_bytes : bytes or None
        What all such files begin with; None: anything.
    """

    name: str
    endings: tuple[str, ...]
    first_bytes: bytes | None


FORMATS = (
    FileFormat("parquet", (".parquet", ".parq", ".pq"), b"PAR1"),
    FileFormat("arrow-file", (".arrow", ".feather", ".ipc"), b"ARROW1"),
    FileFormat("arrow-stream", (".arrows",), b"\xff\xff\xff\xff"),
    FileFormat("csv", (".csv", ".csv.gz", ".csv.bz2"), None),
    FileFormat("tsv", (".tsv", ".tsv.gz", ".tsv.bz2"), None),
)
#: What files begin with that look like one of these formats, and cannot be read.
_UNREADABLE = {
    b"PARE": "an encrypted Parquet file",
    b"FEA1": "Feather version 1; write it again as version 2",
}


def format_by_name(name: str) -> str | None:
    """Return the format that files of such a name usually have; None if that is unknown."""
    name = name.lower()
    return next((known.name for known in FORMATS if name.endswith(known.endings)), None)


def format_of(name: str, head: bytes) -> str:
    """Detect the format of a file by its first bytes, CSV and TSV by the name.

    Parameters
    ----------
    name : str
        The name.
    head : bytes
        The first eight bytes, or all if there are fewer.

    Raises
    ------
    ValueError
        If there is no such format; the message does not name the file.
    """
    if not head:
        raise ValueError("the file is empty")
    for known in FORMATS:
        if known.first_bytes is not None and head.startswith(known.first_bytes):
            return known.name
    for first_bytes, reason in _UNREADABLE.items():
        if head.startswith(first_bytes):
            raise ValueError(reason)
    by_name = format_by_name(name)
    if by_name in ("csv", "tsv"):
        return by_name
    raise ValueError("neither Parquet, Arrow IPC nor (by its name) CSV or TSV")


def parse_options(file_format: str) -> pyarrow.csv.ParseOptions:
    """Return how pyarrow parses a format, ``csv`` or ``tsv``."""
    from pyarrow import csv

    return csv.ParseOptions(delimiter="\t" if file_format == "tsv" else ",")


def check_delimiter(names: Sequence[str]) -> None:
    """Refuse the columns of a CSV file that has another delimiter than the comma.

    Raises
    ------
    ValueError
        If there is one column, whose name holds another delimiter; the message does not name the
        file.
    """
    found = [mark for mark in ";\t|" if len(names) == 1 and mark in names[0]]
    if found:
        raise ValueError(
            f"expected columns delimited by commas, got {found[0]!r} in {names[0]!r}: give "
            "format=pyarrow.dataset.CsvFileFormat(pyarrow.csv.ParseOptions(delimiter="
            f"{found[0]!r}))"
        )
