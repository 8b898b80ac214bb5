# SPDX-License-Identifier: Apache-2.0
"""Reading of Parquet files on the GPU with libcudf's chunked reader."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pylibcudf as plc

from ..._core.export.array_exporter import ExportInput
from ..._core.schema import SchemaSpec
from ...arrow.metadata import from_field, has_dictionary
from ...cuda.ordering import ordered
from ...cuda.residency import has_gpu
from ...cuda.streams import CUDF_HANDLE

if TYPE_CHECKING:
    import pyarrow.dataset as ds

    from ..._core.protocols import Stream

#: The maximum size of a chunk on the GPU.
_CHUNK_BYTES = 1 << 30


class ParquetReader:
    """Reads columns of Parquet files on the GPU.

    The export restores properties of the fields of the schema that the reader drops, such as time
    zones, if the types of the columns allow it.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def can_read(self, fragment: ds.Fragment) -> bool:
        """Return whether there is a GPU and a local file has the columns with the same fields."""
        import pyarrow.dataset as ds
        from pyarrow import fs

        if not (has_gpu() and isinstance(fragment, ds.ParquetFileFragment)):
            return False
        stored = fragment.physical_schema
        return (
            self._has_types
            and isinstance(fragment.filesystem, fs.LocalFileSystem)
            # get_field_index returns -1 for duplicate names.
            and all(
                stored.get_field_index(field.name) >= 0 and stored.field(field.name) == field
                for field in self._schema
            )
        )

    def read(self, fragment: ds.ParquetFileFragment, stream: Stream) -> Iterator[ExportInput]:
        """Read the row groups of a fragment chunk by chunk, on cuDF's default stream.

        The CUDA stream of the export waits for each chunk.
        """
        parquet = plc.io.parquet
        source = plc.io.SourceInfo([fragment.path])
        # With pandas metadata, the reader would add index columns.
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
        # The reader would return dictionaries as strings.
        return len(self._schema) > 0 and not any(map(has_dictionary, self._schema.types))

    @cached_property
    def _spec(self) -> SchemaSpec:
        # Shared by all batches, since the spec caches their schema.
        return SchemaSpec(
            [from_field(field) for field in self._schema], self._schema.metadata or {}
        )
