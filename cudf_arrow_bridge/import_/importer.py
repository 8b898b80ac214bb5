# SPDX-License-Identifier: Apache-2.0
"""The two steps of an import: arrays to columns, and columns to the requested object."""

from __future__ import annotations

from functools import cache
from typing import Any

import pylibcudf as plc

from .._core.export.array_exporter import InputExporter
from .._core.import_.array_importer import ArrayImporter, ImportArguments, to_capsule
from .._core.import_.columns import share_columns, table_of
from .._core.import_.imported_fields import remember
from ..arrow.options import Kind, check_option
from ..arrow.schemas import imported_fields
from ..cuda.ordering import order
from ..cuda.streams import CUDF_HANDLE, PER_THREAD_HANDLE, resolve_stream
from ..frames.proxies import as_proxy, check_active

#: Columns, and their number of rows.
ImportedColumns = tuple[list[plc.Column], int]


class Importer:
    """An import with the arguments of `from_arrow_device`, which documents them."""

    def __init__(
        self, stream: Any, mr: Any, to: str, *, copy: bool | None, validate: str, sanitize: bool
    ) -> None:
        if to not in ("cudf", "cudf.pandas", "pylibcudf"):
            raise ValueError(f"to: expected 'cudf', 'cudf.pandas' or 'pylibcudf', got {to!r}")
        check_option("validate", validate, ("minimal", "full"))
        #: The stream that waits for producers and runs copies and conversions of arrays.
        self.importing = resolve_stream(stream)
        #: The stream that computes on the result. cuDF computes on its default stream, whatever
        #: stream the data was imported on, and CUDA does not order these streams.
        self.computing = self.importing if to == "pylibcudf" else resolve_stream(None)
        self._are_ordered = self.computing.handle == self.importing.handle
        if to == "cudf.pandas":
            check_active()
        self.mr = mr
        self.copy = copy
        #: Whether columns of cuDF and pylibcudf are shared as they are, neither copied nor checked.
        self.shares_columns = copy is not True and validate == "minimal"
        self._to = to
        #: Whether the result is a frame or series, not an object of pylibcudf.
        self.makes_frames = to != "pylibcudf"
        self.shares_frames = self.makes_frames and self.shares_columns
        reader = None if self._are_ordered else self.computing
        self.arguments = ImportArguments(self.importing, reader, mr, copy, validate, sanitize)

    @classmethod
    def of(
        cls, stream: Any, mr: Any, to: str, copy: bool | None, validate: str, sanitize: bool
    ) -> Importer:
        """Return an importer with these arguments. It is cached for the default arguments."""
        is_default = stream is None and mr is None and sanitize is True and copy is None
        is_default = is_default and validate == "minimal" and type(to) is str
        # A per-thread default stream must be resolved on each thread.
        if is_default and CUDF_HANDLE != PER_THREAD_HANDLE:
            return _default_importer(to)
        check_option("sanitize", sanitize, (True, False))
        return cls(stream, mr, to, copy=copy, validate=validate, sanitize=sanitize)

    def import_array(self, parsed: ArrayImporter, array: object, kind: Kind) -> ImportedColumns:
        """Import an array as the columns of a table, or as one column; see `SourceArray.array`."""
        columns = None
        if isinstance(array, InputExporter):
            columns, num_rows = self._share(array, kind), array.export_input.num_rows
        if columns is None:
            columns, num_rows, _ = parsed.import_array(
                to_capsule(array), kind == "table", self.arguments
            )
        if not self._are_ordered:
            self.compute_after_import()
        return columns, num_rows

    def _share(self, array: InputExporter, kind: Kind) -> list[plc.Column] | None:
        """Share the columns of an object of this process.

        Return None if they have to be exported and imported, which can convert or copy them.
        """
        if kind != array.export_input.kind or not self.shares_columns:
            return None
        order(self.importing.handle, array.arguments.stream.handle)
        return share_columns(array.export_input.columns, self.arguments.context())

    def compute_after_import(self) -> None:
        """Make later work on `computing` wait for the import."""
        order(self.computing.handle, self.importing.handle)

    def make_result(
        self,
        parsed: ArrayImporter,
        kind: Kind,
        labels: tuple[Any, ...],
        columns: list[plc.Column],
        num_rows: int,
        first_row: int | None,
    ) -> Any:
        """Make the result from the columns of an array; for the others see `SourceArray`.

        `labels` are the labels without a JSON form, for arrays that this process exported.
        """
        if not self.makes_frames:
            if (fields := parsed.derived.get(kind)) is None:
                fields = parsed.derived[kind] = imported_fields(parsed.schema, kind)
            remember(columns, fields)
            return table_of(columns, num_rows) if kind == "table" else columns[0]
        # Imported only for frames, because importing cuDF takes about a second.
        from ..frames.columns_to_frame import frame_maker_of

        make_frame = frame_maker_of(parsed, kind, labels)
        return self.finish(make_frame(columns, num_rows, first_row, self.computing, self.copy))

    def share_frame(self, frame: Any) -> Any:
        """Return another cuDF frame or series with the columns of one, or its proxy."""
        from ..frames.cudf_private import share_frame

        return self.finish(share_frame(frame))

    def finish(self, frame: Any) -> Any:
        """Return a frame or series, or its proxy, after ordering the caller's stream after it."""
        if not self._are_ordered:
            order(self.importing.handle, self.computing.handle)
        return as_proxy(frame) if self._to == "cudf.pandas" else frame


@cache
def _default_importer(to: str) -> Importer:
    return Importer(None, None, to, copy=None, validate="minimal", sanitize=True)
