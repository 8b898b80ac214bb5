# SPDX-License-Identifier: Apache-2.0
"""The two steps of every import: arrays to columns, and columns to the object asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import pylibcudf as plc

from .._core.import_ import ArrayImporter, ImportArguments
from ..arrow.options import Kind, check_option
from ..cuda.ordering import ImportStreams
from ..cuda.streams import CUDF_HANDLE, PER_THREAD_HANDLE
from ..frames.proxies import as_proxy, check_active

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["ImportedColumns", "Importer"]

#: Columns, and their number of rows.
ImportedColumns = tuple[list[plc.Column], int]

#: Makes the result from columns, their number of rows, and `SourceArray.first_row`.
Assembler = Callable[[list[plc.Column], int, int | None], Any]


class Importer:
    """An import with the arguments of `from_arrow_device`.

    Parameters
    ----------
    stream
        The CUDA stream that will use the data.
    mr
        The memory resource of converted buffers; None for rmm's current one.
    to
        What to make: "cudf", "cudf.pandas" or "pylibcudf".
    copy, validate, sanitize
        See `from_arrow_device`.
    """

    def __init__(
        self, stream: Any, mr: Any, to: str, *, copy: bool | None, validate: str, sanitize: bool
    ) -> None:
        self.streams = ImportStreams.of(stream, to)
        if to == "cudf.pandas":
            check_active()
        self.mr = mr
        self.copy = copy
        self._to = to
        self._are_ordered = self.streams.reader is None
        self._arguments = ImportArguments(
            self.streams.importing, self.streams.reader, mr, copy, validate, sanitize
        )

    @classmethod
    def of(
        cls, stream: Any, mr: Any, to: str, copy: bool | None, validate: str, sanitize: bool
    ) -> Importer:
        """Return an importer with these arguments, of which most callers give the usual ones."""
        is_usual = stream is None and mr is None and sanitize is True and copy is None
        is_usual = is_usual and validate == "minimal" and type(to) is str
        # A per-thread default stream is resolved on each thread.
        if is_usual and CUDF_HANDLE != PER_THREAD_HANDLE:
            return _usual_importer(to)
        check_option("sanitize", sanitize, (True, False))
        return cls(stream, mr, to, copy=copy, validate=validate, sanitize=sanitize)

    @property
    def makes_frames(self) -> bool:
        """Whether the result is a frame or series, not pylibcudf's."""
        return self._to != "pylibcudf"

    def import_array(self, parsed: ArrayImporter, capsule: object, kind: Kind) -> ImportedColumns:
        """Import an array, given by its capsule, as the columns of a table, or as one column."""
        imported = parsed.import_array(capsule, kind == "table", self._arguments)
        if not self._are_ordered:
            self.streams.compute_after_import()
        return imported

    def assembler(self, parsed: ArrayImporter, kind: Kind, labels: tuple[Any, ...]) -> Assembler:
        """Return a function that makes the result from the columns of any array of one schema.

        Parameters
        ----------
        parsed
            The importer of the schema.
        kind
            Whether the arrays are tables or columns.
        labels
            Labels without a JSON form, of arrays that this process exported.
        """
        if self._to == "pylibcudf":
            return parsed.table if kind == "table" else parsed.column
        assemble_on_stream = _frames().assembler_of(parsed, kind, labels)

        def assemble(columns: list[plc.Column], num_rows: int, first_row: int | None) -> Any:
            result = assemble_on_stream(
                columns, num_rows, first_row, self.streams.computing, self.copy
            )
            if not self._are_ordered:
                self.streams.import_after_compute()
            return as_proxy(result) if self._to == "cudf.pandas" else result

        return assemble


@cache
def _usual_importer(to: str) -> Importer:
    return Importer(None, None, to, copy=None, validate="minimal", sanitize=True)


@cache
def _frames() -> ModuleType:
    # Importing cuDF takes a second, which callers that want no frames are spared.
    from ..frames import assemble

    return assemble
