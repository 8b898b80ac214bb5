# SPDX-License-Identifier: Apache-2.0
"""Table methods of device arrays: columns by name, streams of one batch, and conversions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import pyarrow as pa

from .._core.capsules import check_keywords
from .._core.export.array_exporter import single_batch
from .._core.export.exported_array import DescribedArray
from .._core.schema import Schema, as_capsule, metadata_of
from .._core.stream.stream_export import ExportedStream, StreamState
from ..cuda.residency import DeviceType
from . import higher_layers
from .dictionaries import for_pandas, types_mapper
from .errors import check_host_copy
from .metadata import of_rows, without_extension
from .schemas import as_field, as_schema, listed, missing_name, positions_of

if TYPE_CHECKING:
    import pandas as pd

    from .._core.export.exported_array import ExportedArray
    from .options import Kind

#: The errors of pyarrow for objects that it cannot convert.
_NOT_ARROW = (TypeError, ValueError, LookupError, pa.ArrowException)

Method = TypeVar("Method", bound=Callable[..., Any])


def _only_of_tables(method: Method) -> Method:
    """Hide a method of columns from ``hasattr``."""

    def bind(self: TableMethods) -> Any:
        self._check_table(method.__name__)
        return method.__get__(self)

    # Type checkers see a method, as the protocols require.
    return cast("Method", property(bind, doc=method.__doc__))


class TableMethods(DescribedArray):
    """The methods of pyarrow record batches for an exported array."""

    #: `len` counts rows but indexing returns columns, so Python must not iterate by index.
    __iter__ = None

    if TYPE_CHECKING:

        def to_host(self, *, stream: Any = None) -> Self:
            """See `DeviceArray.to_host`."""

    def __arrow_c_schema__(self) -> object:
        """Export the schema as an ``arrow_schema`` PyCapsule."""
        capsule = self._arrow_schema.__arrow_c_schema__()
        if self._first_row is None:
            return capsule
        metadata = metadata_of(capsule)
        own_metadata = of_rows(metadata, self._first_row, self.num_rows)
        if own_metadata == metadata:
            return capsule
        return as_field(self._arrow_schema).with_metadata(own_metadata).__arrow_c_schema__()

    @property
    def schema(self) -> pa.Schema | pa.Field:
        """The Arrow schema of a record batch, or the field of a column.

        For a slice or a batch of a stream, the metadata has its part of a range index.
        """
        return self._pyarrow_schema

    @cached_property
    def _pyarrow_schema(self) -> pa.Schema | pa.Field:
        return as_schema(self) if self._kind == "table" else as_field(self)

    def _with_own_schema(self) -> Self:
        """Return this array as one that is not part of another."""
        if self._first_row is None:
            return self
        schema = Schema.copy_of(self.__arrow_c_schema__())
        return type(self)(
            self._array, schema, self._kind, self._labels, None, self._arguments, self._source
        )

    @property
    def device_type(self) -> DeviceType:
        """The Arrow device type of the memory."""
        return DeviceType(self._array.device_type)

    @property
    def children(self) -> list[Self]:
        """The columns of a record batch, the fields of a struct, the element of a list.

        The fields of a struct have the rows of the struct, also if it is a slice. The element of a
        list has all rows that the offsets refer to.
        """
        return [self._child(i) for i in range(self._array.num_children)]

    @property
    def _fields(self) -> pa.Schema | pa.DataType:
        """An object with the fields of the children."""
        return self.schema if self._kind == "table" else without_extension(self.schema.type)

    def _child(self, position: int) -> Self:
        fields = self._fields
        field = fields.field(position)
        array = self._array.child(position)
        rows = self._array.offset, self._array.length
        if isinstance(fields, pa.StructType) and rows != (0, array.length):
            array = array.slice(*rows, False)
        return self._of_part(array, field, "column")

    @property
    def _copy(self) -> bool | None:
        """The argument ``copy=`` of the export."""
        return None if self._arguments is None else self._arguments.copy

    def _check_table(self, name: str) -> None:
        """Hide an attribute that only tables have."""
        if self._kind != "table":
            raise AttributeError(
                f"{name}: only tables have this attribute, and the array is a column"
            )

    def as_requested(self, requested: object | None) -> Self:
        """Return this array with the schema that a consumer requests.

        Parameters
        ----------
        requested
            None, an ``arrow_schema`` PyCapsule, or an object with ``__arrow_c_schema__``; see
            `to_arrow_device`. The export converts to it where it can.

        Returns
        -------
        DeviceArray
            This array if `requested` is None, or if this array is a child or a deep copy of an
            array that `to_host` returned. Otherwise another array that shares buffers if it can.

        Raises
        ------
        ValueError, OverflowError
            If the data contradicts the requested schema; see `to_arrow_device`.
        """
        if requested is None or self._arguments is None:
            return self
        exported: Any = higher_layers.functions().export_again(self, as_capsule(requested))
        described: Self = exported._described_as(self)
        return described

    @_only_of_tables
    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export a table as an ``arrow_device_array_stream`` PyCapsule, a stream of one batch.

        ``hasattr`` returns False for a column. The parameters are those of
        `__arrow_c_device_array__`.
        """
        check_keywords(kwargs)
        return self._stream_of_one(requested_schema).__arrow_c_device_stream__()

    @_only_of_tables
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export a table as an ``arrow_array_stream`` PyCapsule, a stream of one batch.

        ``hasattr`` returns False for a column. CUDA memory is copied to the host as by
        `__arrow_c_array__`, when the consumer requests the batch.
        """
        check_host_copy(self.device_type, self._copy)
        return self._stream_of_one(requested_schema).stream_capsule()

    def _stream_of_one(self, requested_schema: object | None) -> ExportedStream:
        exported = self.as_requested(requested_schema)
        state = StreamState()
        state.labels = exported._labels
        schema = Schema.copy_of(exported.__arrow_c_schema__())
        batch = single_batch(schema, exported._array)
        return ExportedStream(iter((batch,)), state, schema)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._array.length

    @property
    def num_columns(self) -> int:
        """The number of columns. Only tables have it."""
        self._check_table("num_columns")
        return self._array.num_children

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order. Only tables have them."""
        self._check_table("column_names")
        names: list[str] = self.schema.names
        return names

    def __getitem__(self, key: str | int | slice | list[str]) -> Self:
        """Return a column, several columns or some rows, sharing the buffers.

        Parameters
        ----------
        key
            The name or position of a column of a table, or of a field of a struct column; a list of
            column names, for a table of these columns in this order; or a slice of rows. Negative
            positions and rows count from the end.

        Raises
        ------
        KeyError
            If no column, or more than one, has the name.
        IndexError
            If the position is out of range.
        TypeError
            If this is a column and `key` is a list. If this is a column other than a struct and
            `key` is a name or position.
        ValueError
            If several columns have a name of a list, or the step of a slice is not 1.

        Notes
        -----
        As in Arrow, the nulls of a struct are not propagated to its fields. A frame imported from a
        slice has the slice's part of a range index. Any other index is stored in columns, which a
        list has to name. The nulls of a slice are counted. This synchronizes if the array is in
        device memory and may have nulls.

        Examples
        --------
        >>> import pandas as pd
        >>> array = cab.to_arrow_device(pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
        >>> array[1:][["b"]].to_pylist()
        [{'b': 'y'}, {'b': 'z'}]
        """
        if isinstance(key, slice):
            return self._rows(key)
        if isinstance(key, list):
            return self._columns(key)
        fields = self._named_fields()
        if isinstance(key, str):
            positions = _positions(fields, key)
            if len(positions) != 1:
                raise missing_name("column", key, [field.name for field in fields])
            return self._child(positions[0])
        try:
            position = index(key)
        except TypeError:
            raise TypeError(f"expected the name or the position of a column, got {key!r}") from None
        size = self._array.num_children
        if not -size <= position < size:
            names = listed([field.name for field in fields])
            raise IndexError(
                f"expected the position of one of {size} columns, got {position}: {names}"
            )
        return self._child(position % size)

    def head(self, n: int = 5) -> Self:
        """Return the first `n` rows, sharing the buffers; all but the last ``-n`` if negative."""
        return self[:n]

    def _of_part(
        self,
        array: ExportedArray,
        schema: Any,
        kind: Kind,
        labels: tuple[Any, ...] = (),
        first_row: int | None = None,
    ) -> Self:
        """Return a `DeviceArray` of a part or a copy of this one.

        An export of the part with another schema converts the memory of the part. A copy in host
        memory ignores requested schemas, because a conversion would copy it to the GPU.
        """
        arguments = None if isinstance(self._source, DescribedArray) else self._arguments
        return type(self)(array, schema, kind, labels, first_row, arguments)

    def _rows(self, rows: slice) -> Self:
        start, stop, step = rows.indices(self.num_rows)
        if step != 1:
            raise ValueError(f"expected a slice with step 1, got step {step}")
        array = self._array.slice(start, max(stop - start, 0), self._kind == "table")
        first_row = (self._first_row or 0) + start
        return self._of_part(array, self._arrow_schema, self._kind, self._labels, first_row)

    def _columns(self, names: list[str]) -> Self:
        if self._kind != "table":
            raise TypeError(
                f"expected a slice or the name of one field for a column, got {names!r}"
            )
        whole = as_schema(self._arrow_schema)
        positions = positions_of(names, whole.names)
        array = self._array.select(positions)
        schema = pa.schema([whole.field(i) for i in positions], whole.metadata)
        return self._of_part(array, schema, "table", self._labels, self._first_row)

    def __contains__(self, name: object) -> bool:
        """Return whether a table has a column, or a struct column a field, with a name."""
        fields = self._named_fields()
        return isinstance(name, str) and bool(_positions(fields, name))

    def _named_fields(self) -> pa.Schema | pa.StructType:
        fields = self._fields
        if not isinstance(fields, pa.Schema | pa.StructType):
            raise TypeError(
                f"a column of type {fields} has no fields: to_arrow() returns its values"
            )
        return fields

    def to_arrow(self) -> pa.RecordBatch | pa.Array:
        """Return a pyarrow record batch, or for a column a pyarrow array.

        The result shares memory that the CPU can read, and the call waits until the data is ready.
        Device memory is copied to the host.
        """
        return (pa.record_batch if self._kind == "table" else pa.array)(self._on_host())

    def _on_host(self) -> Self:
        """Return this array in memory that the CPU can read."""
        return self.to_host() if self.device_type == DeviceType.CUDA else self

    def to_pandas(self) -> pd.DataFrame | pd.Series:
        """Return a pandas frame, or for a column a pandas series, with pyarrow's conversion.

        The index and dtypes are those in the metadata of the schema, which exports of frames write.
        A batch of a stream keeps its part of a range index. A column keeps its name and has a new
        range index. Data with a different layout in pandas is copied: nulls, strings, and columns
        of one type that pandas combines in one block; see ``pyarrow.RecordBatch.to_pandas``.
        Repeated values of a dictionary become one category, and nested values are decoded.
        """
        arrow = self.to_arrow()
        if self._kind == "table":
            for position, column in enumerate(arrow.columns):
                if (converted := for_pandas(column)) is not column:
                    field = arrow.schema.field(position).with_type(converted.type)
                    arrow = arrow.set_column(position, field, converted)
            return arrow.to_pandas(types_mapper=types_mapper(arrow.schema.types))
        series = for_pandas(arrow).to_pandas(types_mapper=types_mapper([arrow.type]))
        series.name = self.schema.name or None
        return series

    def to_pylist(self) -> list[Any]:
        """Return the rows as Python objects: a dict for each row of a table."""
        rows: list[Any] = self.to_arrow().to_pylist()
        return rows

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return a NumPy array in host memory.

        A column is converted as by ``pyarrow.Array.to_numpy``: the memory is shared if there are no
        nulls and NumPy has the type, otherwise it is copied. A table becomes a matrix; its columns
        must be numbers of one type, without nulls.
        """
        if self._kind == "table":
            return np.asarray(self._on_host())
        values: np.ndarray[Any, Any] = self.to_arrow().to_numpy(zero_copy_only=False)
        return values

    def equals(self, other: Any) -> bool:
        """Return whether another array has the same type and values, compared in host memory.

        Parameters
        ----------
        other
            A `DeviceArray`, or an object that ``pyarrow.table`` or, for a column, ``pyarrow.array``
            or `to_arrow_device` accepts. Any other object is not equal. As in pyarrow, metadata and
            the name of a single column are not compared; the column names of a table are.
        """
        mine = self.to_arrow()
        if isinstance(other, TableMethods):
            return other._kind == self._kind and bool(mine.equals(other.to_arrow()))
        try:
            if self._kind == "table":
                return bool(pa.Table.from_batches([mine]).equals(pa.table(other)))
            return bool(pa.chunked_array([mine]).equals(_chunked(other)))
        except _NOT_ARROW:
            pass
        try:
            return self.equals(higher_layers.functions().to_arrow_device(other))
        except _NOT_ARROW:
            return False

    def release(self) -> None:
        """Release this object's reference to the buffers. Consumers keep their references.

        Further calls have no effect.
        """
        self._source = self._arguments = None
        self._array.release()

    @property
    def is_released(self) -> bool:
        """Whether `release` was called."""
        return self._array.is_released

    def close(self) -> None:
        """Release the array, as `release` does."""
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def _chunked(values: Any) -> pa.ChunkedArray:
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    array = pa.array(values)
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _positions(fields: pa.Schema | pa.StructType, name: str) -> list[int]:
    """Return the positions of the fields with a name; none if it is not valid Unicode."""
    try:
        return list(fields.get_all_field_indices(name))
    except UnicodeEncodeError:
        return []
