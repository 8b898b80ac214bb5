# SPDX-License-Identifier: Apache-2.0
"""Dictionaries as cuDF and pandas support them: their categories are distinct."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from .metadata import without_extension

if TYPE_CHECKING:
    import pandas as pd


def is_interval(arrow_type: pa.DataType) -> bool:
    """Return whether a type is pandas' extension type for intervals."""
    return getattr(arrow_type, "extension_name", None) == "pandas.interval"


def distinct_values(values: pa.Array) -> tuple[pa.Array, pa.Array] | None:
    """Return the distinct values of a dictionary, and the position in them of each value.

    The position of a null is null. Structs have to be those of intervals. Return None if all values
    are distinct and valid.
    """
    keys = getattr(values, "storage", values)
    if pa.types.is_struct(keys.type):
        # pyarrow does not encode structs. The key of an interval combines those of both bounds.
        left, right = (_positions(bound).cast("int64") for bound in keys.flatten())
        keys = pc.add(pc.multiply(left, len(values)), right)
    positions = _positions(keys)
    first = pc.index_in(pc.unique(positions.drop_null()), positions)
    return None if len(first) == len(values) else (values.take(first), positions)


def _positions(values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        # pyarrow would distinguish 0.0 and -0.0.
        values = pc.add(values, 0.0)
    return values.dictionary_encode().indices


def for_pandas(array: pa.Array) -> pa.Array:
    """Return an array whose dictionary, if any, is one that pandas supports as categories.

    Nested values are decoded. Equal values become one category. NaN becomes null.
    """
    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    if pa.types.is_nested(without_extension(values.type)) and not is_interval(values.type):
        return values.take(array.indices)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    found = distinct_values(values)
    if found is None:
        return array
    values, positions = found
    return pa.DictionaryArray.from_arrays(
        positions.take(array.indices), values, ordered=array.type.ordered
    )


class _IntervalCategories:
    """Stands for a pandas dtype: converts dictionaries of intervals, which pyarrow cannot."""

    @staticmethod
    def __from_arrow__(column: pa.Array | pa.ChunkedArray) -> pd.Categorical:
        import pandas as pd

        array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return pd.Categorical.from_codes(codes, array.dictionary.to_pandas(), array.type.ordered)


def types_mapper(types: Iterable[pa.DataType]) -> Callable[[pa.DataType], Any] | None:
    """Return the argument ``types_mapper`` of pyarrow's ``to_pandas`` for columns of some types.

    Return None if no type needs one: with it, pyarrow converts strings of an index to objects.
    """
    return _dtype_of if any(map(_dtype_of, types)) else None


def _dtype_of(arrow_type: pa.DataType) -> Any:
    is_dictionary = pa.types.is_dictionary(arrow_type)
    return _IntervalCategories if is_dictionary and is_interval(arrow_type.value_type) else None
