# SPDX-License-Identifier: Apache-2.0
"""Device arrays as tables: columns by name, streams of one batch, objects of pyarrow and pandas."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import pyarrow as pa

from .._core.capsules import check_keywords
from .._core.export import single_batch
from .._core.exported_array import DescribedArray
from .._core.schema import Schema
from .._core.stream.stream_export import ExportedStream, StreamState
from ..cuda.residency import DeviceType

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableFace", "available_if"]


Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any, str], None]) -> Callable[[Method], Method]:
    """Make a method an attribute that is there, as ``hasattr`` says, only if a check allows it.

    Parameters
    ----------
    check
        Called with the object and the method's name; raises AttributeError to hide the method.
    """

    def decorate(method: Method) -> Method:
        name = method.__name__

        def bind(self: Any) -> Any:
            check(self, name)
            return method.__get__(self)

        # To type checkers it stays a method, as those of the protocols are.
        return cast("Method", property(bind, doc=method.__doc__))

    return decorate


class TableFace(DescribedArray):
    """What pyarrow's record batches can do, over an exported array."""

    #: `len` counts rows, brackets take columns: Python must not iterate by the latter.
    __iter__ = None

    if TYPE_CHECKING:

        def __arrow_c_schema__(self) -> object:
            """See `DeviceArray.__arrow_c_schema__`."""

        @property
        def schema(self) -> pa.Schema | pa.Field:
            """See `DeviceArray.schema`."""

        @property
        def device_type(self) -> DeviceType:
            """See `DeviceArray.device_type`."""

        @property
        def children(self) -> list[Self]:
            """See `DeviceArray.children`."""

        def to_host(self, *, stream: Any = None) -> Self:
            """See `DeviceArray.to_host`."""

        def release(self) -> None:
            """See `DeviceArray.release`."""

    def _check_readable(self, name: str) -> None:
        """Hide a method where the CPU cannot read the memory."""
        if self.device_type == DeviceType.CUDA:
            raise AttributeError(
                f"{name} needs memory that the CPU can read; this is on "
                f"CUDA device {self._array.device_id}"
            )

    def _check_table(self, name: str) -> None:
        """Hide an attribute that only tables have."""
        if self._kind != "table":
            raise AttributeError(f"{name}: a column found, a table expected")

    def _check_readable_table(self, name: str) -> None:
        self._check_table(name)
        self._check_readable(name)

    @available_if(_check_table)
    def __arrow_c_device_stream__(
        self, requested_schema: object | None = None, **kwargs: Any
    ) -> object:
        """Export a table as an ``arrow_device_array_stream`` PyCapsule, a stream of one batch.

        ``hasattr`` is False on a column. It takes what `__arrow_c_device_array__` does.
        """
        check_keywords(kwargs)
        return self._stream_of_one(requested_schema).device_stream_capsule()

    @available_if(_check_readable_table)
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export a table as an ``arrow_array_stream`` PyCapsule; host-accessible memory only.

        ``hasattr`` is False on a column, and where the memory cannot be read by the CPU.
        """
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
        """The number of columns; a column has none."""
        self._check_table("num_columns")
        return len(self._array.children)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order; a column has none."""
        self._check_table("column_names")
        names: list[str] = self.schema.names
        return names

    def __getitem__(self, key: str | int) -> Self:
        """Return one column of a table, or one field of a struct column, as an array of its own.

        As in Arrow, the nulls of a struct are not those of its fields.

        Parameters
        ----------
        key
            Its name, or its position; negative ones count from the end.

        Raises
        ------
        KeyError
            If there is no column of this name, or several.
        IndexError
            If there is no column at this position.
        TypeError
            If this is a column that is not a struct, or `key` is no name or position.
        ValueError
            If this is a slice of a struct column that has an offset, so that its fields have more
            rows than it; export it with ``compact=True``.
        """
        names = self._names_of_children()
        if isinstance(key, str):
            if names.count(key) != 1:
                raise KeyError(
                    f"{names.count(key)} columns named {key!r} found among {names}, 1 expected"
                )
            return self.children[names.index(key)]
        try:
            position = index(key)
        except TypeError:
            raise TypeError(
                f"{key!r} found, the name or the position of a column expected"
            ) from None
        if not -len(names) <= position < len(names):
            raise IndexError(
                f"column {position} found, one of the {len(names)} in {names} expected"
            )
        return self.children[position]

    def __contains__(self, name: object) -> bool:
        """Say whether a table has a column, or a struct column a field, of a name."""
        return name in self._names_of_children()

    def _names_of_children(self) -> list[str]:
        if self._kind == "table":
            return self.column_names
        arrow_type = self.schema.type
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        if not pa.types.is_struct(arrow_type):
            raise TypeError(
                f"a column of type {arrow_type} found, a table or a column of structs expected: "
                "to_arrow() gives the rows"
            )
        if self._array.offset:
            raise ValueError(
                f"structs that begin at row {self._array.offset} of their fields found, at row 0 "
                "expected: export them with compact=True"
            )
        return [field.name for field in arrow_type]

    def to_arrow(self) -> pa.RecordBatch | pa.Array:
        """Return a record batch of pyarrow, or for a column an array.

        In memory that the CPU can read it is the same memory, for which this waits. From a GPU it
        is copied to the host.
        """
        readable = self.to_host() if self.device_type == DeviceType.CUDA else self
        return (pa.record_batch if self._kind == "table" else pa.array)(readable)

    def to_pandas(self) -> pd.DataFrame | pd.Series:
        """Return a frame of pandas, or for a column a series, with pyarrow's conversion.

        Index and dtypes are those that the schema's metadata tells, which exports of frames write.
        The rows of a batch of a stream keep their part of a range index. A column has its name and
        a new range index. Everything is copied that pandas lays out differently: nulls, strings,
        columns of one type that pandas puts in one block; see ``pyarrow.RecordBatch.to_pandas``.
        """
        arrow = self.to_arrow()
        if self._kind == "table":
            frame = arrow.to_pandas()
            _place(frame, arrow.schema, self._first_row)
            return frame
        series = arrow.to_pandas()
        series.name = self.schema.name or None
        return series

    def to_pylist(self) -> list[Any]:
        """Return the rows as objects of Python: a dict for each row of a table."""
        rows: list[Any] = self.to_arrow().to_pylist()
        return rows

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Return an array of NumPy in host memory.

        Of a column, as ``pyarrow.Array.to_numpy`` makes it: the same memory where there are no
        nulls and NumPy has the type, else a copy. Of a table, a matrix: the columns must be numbers
        of one type, without nulls.
        """
        if self._kind == "table":
            return np.asarray(self)
        values: np.ndarray[Any, Any] = self.to_arrow().to_numpy(zero_copy_only=False)
        return values

    def equals(self, other: Any) -> bool:
        """Say whether another array has the same type and values, compared in host memory.

        Parameters
        ----------
        other
            A `DeviceArray`, or anything that ``pyarrow.record_batch`` or, for a column,
            ``pyarrow.array`` takes. As there, metadata and the names of columns alone are not
            compared, those of a table are.
        """
        if isinstance(other, TableFace):
            if other._kind != self._kind:
                return False
            other = other.to_arrow()
        mine = self.to_arrow()
        if self._kind != "table":
            return bool(mine.equals(other if isinstance(other, pa.Array) else pa.array(other)))
        other = other if isinstance(other, pa.RecordBatch) else pa.record_batch(other)
        return bool(mine.equals(other))

    def close(self) -> None:
        """Do what `release` does."""
        self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def _place(frame: pd.DataFrame, schema: pa.Schema, first_row: int | None) -> None:
    """Give a batch of a stream the part of the whole's range index that its rows have."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    if first_row is None or len(columns) != 1 or not isinstance(columns[0], dict):
        return
    start, step = (int(columns[0][key]) for key in ("start", "step"))
    begin = start + first_row * step
    rows = range(begin, begin + len(frame) * step, step)
    frame.index = type(frame.index)(rows, name=columns[0]["name"])
