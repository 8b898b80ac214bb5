# SPDX-License-Identifier: Apache-2.0
"""Parquet on a GPU, by cuDF's chunked reader."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pylibcudf as plc

from ..._core.export import ExportInput
from ..._core.schema import SchemaSpec
from ...arrow.metadata import child_fields, from_field, storage_type_of
from ...cuda.ordering import ordered
from ...cuda.residency import has_gpu
from ...cuda.streams import CUDF_HANDLE

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from ..._core.protocols import Stream

__all__ = ["ParquetReader"]

#: The size of what is read of a row group at a time, on the GPU.
_CHUNK_BYTES = 1 << 30


class ParquetReader:
    """Reads columns of Parquet files on the GPU.

    Parameters
    ----------
    schema
        The columns, which are exported with these fields as far as their types allow: the reader
        itself drops time zones, for example.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def can_read(self, fragment: ds.Fragment) -> bool:
        """Say whether there is a GPU, and the columns are in a local file as they are wanted."""
        import pyarrow.dataset as ds
        from pyarrow import fs

        if not (has_gpu() and isinstance(fragment, ds.ParquetFileFragment)):
            return False
        stored = fragment.physical_schema
        return (
            self._has_types
            and isinstance(fragment.filesystem, fs.LocalFileSystem)
            # A name that the file has twice has no index.
            and all(
                stored.get_field_index(field.name) >= 0 and stored.field(field.name) == field
                for field in self._schema
            )
        )

    def read(self, fragment: ds.ParquetFileFragment, stream: Stream) -> Iterator[ExportInput]:
        """Read the row groups of a fragment chunk by chunk, on cuDF's default stream.

        Parameters
        ----------
        fragment
            Of what `can_read` is true.
        stream
            The CUDA stream of the export, which waits for each chunk.
        """
        parquet = plc.io.parquet
        source = plc.io.SourceInfo([fragment.path])
        # By pandas' metadata it would add columns.
        options = parquet.ParquetReaderOptions.builder(source).use_pandas_metadata(False).build()
        options.set_column_names(self._schema.names)
        options.set_row_groups([[group.id for group in fragment.row_groups]])
        reader = parquet.ChunkedParquetReader(options, chunk_read_limit=_CHUNK_BYTES)
        while reader.has_next():
            batch = self._input_of(reader.read_chunk())
            with ordered(stream, CUDF_HANDLE):
                yield batch
            del batch

    def _input_of(self, chunk: plc.io.TableWithMetadata) -> ExportInput:
        names = chunk.column_names(include_children=False)
        columns = dict(zip(names, chunk.tbl.columns(), strict=True))
        wanted = [columns[name] for name in self._schema.names]
        return ExportInput("table", wanted, chunk.tbl.num_rows(), self._spec)

    @cached_property
    def _has_types(self) -> bool:
        # Of categories the reader would make strings.
        return len(self._schema) > 0 and not any(map(_has_dictionary, self._schema.types))

    @cached_property
    def _spec(self) -> SchemaSpec:
        # One for all batches, as the spec keeps their schema.
        return SchemaSpec(
            [from_field(field) for field in self._schema], self._schema.metadata or {}
        )


def _has_dictionary(arrow_type: pa.DataType) -> bool:
    return pa.types.is_dictionary(storage_type_of(arrow_type)) or any(
        _has_dictionary(field.type) for field in child_fields(arrow_type)
    )
