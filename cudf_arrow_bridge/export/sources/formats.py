# SPDX-License-Identifier: Apache-2.0
"""File formats and their detection by first bytes and file name suffix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...arrow.text import printable

if TYPE_CHECKING:
    import pyarrow.csv
    import pyarrow.dataset as ds

#: The suffixes of file names, by the names of the formats.
_SUFFIXES = {
    "parquet": (".parquet", ".parq", ".pq"),
    "arrow-file": (".arrow", ".feather", ".ipc"),
    "arrow-stream": (".arrows",),
    "csv": (".csv", ".csv.gz", ".csv.bz2"),
    "tsv": (".tsv", ".tsv.gz", ".tsv.bz2"),
}
#: The first bytes of all files of a format. CSV and TSV have none.
_FIRST_BYTES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow-file",
    b"\xff\xff\xff\xff": "arrow-stream",
}
#: The number of bytes of a CSV file in which its delimiter is detected.
_LONGEST_HEADER = 1 << 16
#: The error of pyarrow for a value that does not have the type of its column.
_CONVERSION_ERROR = re.compile(r"CSV column #(\d+): .*CSV conversion error")
#: The first bytes of similar formats that cannot be read.
_UNREADABLE = {
    b"PARE": "an encrypted Parquet file",
    b"FEA1": "Feather version 1; write it again as version 2",
}


def format_by_name(name: str) -> str | None:
    """Return the name of the format for the suffix of a file name, or None if it is unknown."""
    name = name.lower()
    return next((known for known, ends in _SUFFIXES.items() if name.endswith(ends)), None)


def format_of(name: str, head: bytes) -> str:
    """Detect the format of a file from its first eight bytes, and CSV and TSV from the file name.

    Raises a ValueError that does not name the file if the format is unknown.
    """
    if not head:
        raise ValueError("the file is empty")
    for first_bytes, known in _FIRST_BYTES.items():
        if head.startswith(first_bytes):
            return known
    for first_bytes, reason in _UNREADABLE.items():
        if head.startswith(first_bytes):
            raise ValueError(reason)
    by_name = format_by_name(name)
    if by_name in ("csv", "tsv"):
        return by_name
    raise ValueError(
        "the file is neither Parquet nor Arrow IPC, and its name has no suffix of CSV or TSV"
    )


def format_of_files(filesystem: Any, paths: Sequence[str]) -> str:
    """Detect the format of files from the first bytes of the first file; see `format_of`.

    The suffixes of all files must be of one format.
    """
    first = paths[0]
    try:
        with filesystem.open(first, "rb") as file:
            found = format_of(first, file.read(8))
    except ValueError as error:
        raise ValueError(
            f"{printable(first)}: {error}; format= of to_arrow_device_stream takes the "
            "pyarrow.dataset.FileFormat of other files"
        ) from None
    expected = format_by_name(first)
    for path in paths:
        if format_by_name(path) != expected:
            raise ValueError(
                f"{printable(path)} and {printable(first)} have suffixes of different formats: "
                "select the files with a glob or a list of pathlib.Path objects"
            )
    return found


def parse_options(file_format: str) -> pyarrow.csv.ParseOptions:
    """Return pyarrow's parse options for ``csv`` or ``tsv``."""
    from pyarrow import csv

    return csv.ParseOptions(delimiter="\t" if file_format == "tsv" else ",")


def check_delimiter(file: pa.NativeFile) -> None:
    """Raise a ValueError if the first line of a CSV file has another delimiter, and no comma."""
    line = file.read(_LONGEST_HEADER).decode(errors="replace").partition("\n")[0].strip()
    found = [mark for mark in ";\t|" if "," not in line and mark in line]
    if found:
        raise ValueError(
            f"expected columns delimited by commas, got {found[0]!r} in {line[:80]!r}: give "
            "format=pyarrow.dataset.CsvFileFormat(pyarrow.csv.ParseOptions(delimiter="
            f"{found[0]!r})), and for decimal commas also "
            "convert_options=pyarrow.csv.ConvertOptions(decimal_point=',')"
        )


def error_text(error: pa.ArrowInvalid, fragment: ds.Fragment) -> str:
    """Return the text of an error of a file, with the name of a CSV column and the remedy."""
    text = str(error)
    found = _CONVERSION_ERROR.search(text)
    if found is None:
        return text
    name = fragment.physical_schema.names[int(found[1])]
    delimiter = fragment.format.parse_options.delimiter
    parsing = "" if delimiter == "," else f"pyarrow.csv.ParseOptions(delimiter={delimiter!r}), "
    return (
        f"column {name!r}: {text}; its type was detected in the first MiB of the file: give the "
        f"type with format=pyarrow.dataset.CsvFileFormat({parsing}convert_options="
        f"pyarrow.csv.ConvertOptions(column_types={{{name!r}: pyarrow.string()}}))"
    )
