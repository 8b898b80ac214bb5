# SPDX-License-Identifier: Apache-2.0
"""Conversion of schemas of any library to pyarrow objects and capsules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa

from .._core.import_.imported_fields import ImportedField
from .._core.schema import Schema, as_capsule, is_struct
from .metadata import has_type, storage_type_of, without_extension
from .options import Kind, shown
from .text import shortened

Item = TypeVar("Item")


def as_field(schema: Any) -> pa.Field:
    """Return an object with ``__arrow_c_schema__`` or a capsule, which is copied, as a field."""
    schema = copied(schema)
    field, names = pa.field(schema), schema.map_names()
    return field.with_type(_rename(field.type, iter(names))) if names else field


def as_schema(schema: Any) -> pa.Schema:
    """Return the schema of a record batch as a pyarrow schema; see `as_field`."""
    schema = copied(schema)
    return with_map_names(pa.schema(schema), schema.map_names())


def with_map_names(schema: pa.Schema, names: Sequence[tuple[str, ...]]) -> pa.Schema:
    """Return a schema with the names of the keys and values of its maps, which pyarrow replaces.

    The `names` of all maps are listed depth first.
    """
    if not names:
        return schema
    return pa.schema(list(_rename(pa.struct(list(schema)), iter(names))), schema.metadata)


def as_schema_or_field(schema: Any) -> pa.Schema | pa.Field:
    """Return a pyarrow schema if the type is that of record batches, otherwise a field."""
    schema = copied(schema)
    return as_schema(schema) if schema.is_table else as_field(schema)


def imported_fields(schema: Schema, kind: Kind) -> list[ImportedField]:
    """Return the fields of the columns of arrays of a schema, to attach them to the columns.

    Return an empty list if pyarrow does not support a type.
    """

    def describe(field: pa.Field, has_parent: bool, in_dictionary: bool = False) -> ImportedField:
        stored = storage_type_of(field.type)
        while in_dictionary and pa.types.is_dictionary(stored):
            # Dictionaries inside dictionaries are imported as their values.
            stored = storage_type_of(stored.value_type)
        if pa.types.is_dictionary(stored):
            values = describe(pa.field("", stored.value_type), True, in_dictionary=True)
            return ImportedField(field, (values,), has_parent)
        children = tuple(describe(stored.field(i), True) for i in range(stored.num_fields))
        return ImportedField(field, children, has_parent)

    is_table = kind == "table"
    try:
        fields = list(as_schema(schema)) if is_table else [as_field(schema)]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # for example nested run-end encoding
        return []
    return [describe(field, is_table) for field in fields]


def with_types_for_nulls(own: Schema, other: Schema) -> pa.Field | None:
    """Return a schema with the types of another instead of those that contain Arrow's null type.

    Return None if there are none.
    """
    is_table = own.is_table
    if own.shares(other) or not own.has_nulls() or is_table != other.is_table:
        return None
    mine, theirs = as_field(own), as_field(other)
    if not is_table:
        return mine.with_type(theirs.type)
    if mine.type.num_fields != theirs.type.num_fields:
        return None
    fields = [
        field.with_type(found.type) if has_type(field.type, pa.types.is_null) else field
        for field, found in zip(mine.type, theirs.type, strict=True)
    ]
    return mine.with_type(pa.struct(fields))


def with_bool8(field: pa.Field) -> pa.Field:
    """Return a field with bools of one byte instead of one bit, or the same object if it has none.

    Types that are not tensors, such as maps and dictionaries, keep their bools.
    """
    arrow_type = without_extension(field.type)
    if pa.types.is_map(arrow_type) or not has_type(arrow_type, pa.types.is_boolean):
        return field
    if pa.types.is_boolean(arrow_type):
        return field.with_type(pa.bool8())
    changed = with_fields(arrow_type, list(map(with_bool8, fields_of(arrow_type))))
    return field if changed == arrow_type else field.with_type(changed)


def copied(schema: Any) -> Schema:
    """Return a schema of this package, which is not copied, or a copy of another one."""
    # The copy gives every field a name, because pyarrow rejects a NULL name, which Arrow allows.
    return schema if isinstance(schema, Schema) else Schema.copy_of(as_capsule(schema))


_LISTS = {
    pa.list_(pa.null()).id: pa.list_,
    pa.large_list(pa.null()).id: pa.large_list,
    pa.list_view(pa.null()).id: pa.list_view,
    pa.large_list_view(pa.null()).id: pa.large_list_view,
}


def _rename(arrow_type: pa.DataType, names: Iterator[tuple[str, ...]]) -> pa.DataType:
    """Return a type with other names of the keys and values of its maps."""
    if isinstance(arrow_type, pa.BaseExtensionType):
        # The storage of an extension type cannot be replaced. The next type needs the next names.
        _rename(arrow_type.storage_type, names)
        return arrow_type
    is_map = pa.types.is_map(arrow_type)
    own = next(names) if is_map else ()
    if pa.types.is_dictionary(arrow_type):
        values = _rename(arrow_type.value_type, names)
        return pa.dictionary(arrow_type.index_type, values, arrow_type.ordered)
    if pa.types.is_run_end_encoded(arrow_type):
        values = _rename(arrow_type.value_type, names)
        return pa.run_end_encoded(arrow_type.run_end_type, values)
    fields = [field.with_type(_rename(field.type, names)) for field in fields_of(arrow_type)]
    if is_map:
        fields = [field.with_name(name) for field, name in zip(fields, own, strict=True)]
    return with_fields(arrow_type, fields)


def fields_of(arrow_type: pa.DataType) -> list[pa.Field]:
    """Return the fields of a nested type; for a map, the key and the value."""
    if pa.types.is_map(arrow_type):
        return [arrow_type.key_field, arrow_type.item_field]
    return [arrow_type.field(i) for i in range(arrow_type.num_fields)]


def with_fields(arrow_type: pa.DataType, fields: Sequence[pa.Field]) -> pa.DataType:
    """Return a struct, list or map type with other fields, and any other type unchanged."""
    if pa.types.is_struct(arrow_type):
        return pa.struct(fields)
    if pa.types.is_map(arrow_type):
        return pa.map_(*fields, arrow_type.keys_sorted)
    if pa.types.is_fixed_size_list(arrow_type):
        return pa.list_(*fields, arrow_type.list_size)
    return _LISTS[arrow_type.id](*fields) if arrow_type.id in _LISTS else arrow_type


def unique_positions(names: Sequence[Any]) -> dict[Any, int]:
    """Return the position of each name that occurs once, in one pass over the names."""
    counts = Counter(names)
    return {name: position for position, name in enumerate(names) if counts[name] == 1}


def positions_of(columns: Any, names: list[str]) -> list[int]:
    """Return the positions of the fields with the given names.

    Parameters
    ----------
    columns
        The value of the caller's ``columns=``.
    names
        The names of all fields.

    Raises
    ------
    TypeError, ValueError, KeyError
        If `columns` is not a sequence of names that each match one field.
    """
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(f"columns: expected a list of column names, got {shown(columns)}")
    columns = list(columns)
    for name in columns:
        if not isinstance(name, str):
            raise TypeError(
                f"columns: expected names of Arrow fields in {listed(names)}, got {shown(name)}"
            )
    positions = {name: position for position, name in enumerate(names)}
    if unknown := [name for name in columns if name not in positions]:
        raise KeyError(
            f"columns: no fields have the names {listed(unknown)}; the names are "
            f"{listed(names, unknown[0])}"
        )
    if repeated := [name for name, count in Counter(columns).items() if count > 1]:
        raise ValueError(f"columns: these names are repeated: {listed(repeated)}")
    counts = Counter(names)
    if ambiguous := [name for name in columns if counts[name] > 1]:
        raise ValueError(f"columns: several fields have the same name: {listed(ambiguous)}")
    return [positions[name] for name in columns]


def missing_name(what: str, name: str, names: list[str]) -> KeyError:
    """Return the error for a name that is not that of exactly one column or buffer."""
    number = names.count(name) or "no"
    return KeyError(
        f"{number} {what}s are named {shortened(repr(name))}; the names are {listed(names, name)}"
    )


def listed(names: Sequence[Any], wanted: str = "") -> str:
    """Return names for an error message: of many, those nearest to a name, or the first ones."""
    most = 20
    some: Sequence[Any] = names
    if len(names) > most:
        # difflib is slow for many and for long names.
        alike = (name for name in names if abs(len(name) - len(wanted)) < 4) if wanted else ()
        near = get_close_matches(wanted[:100], islice((name[:100] for name in alike), 10_000))
        some = near or names[:most]
    text = f"[{', '.join(shortened(repr(name)) for name in some)}]"
    return text if len(some) == len(names) else f"{text} and {len(names) - len(some):,} more"


def check_num_fields(requested: pa.DataType, own: pa.DataType) -> None:
    """Raise if a requested struct type has another number of fields."""
    if not pa.types.is_struct(requested) or not pa.types.is_struct(own):
        return
    if requested.num_fields != own.num_fields:
        raise ValueError(
            f"expected a requested schema of {own.num_fields} fields, got {requested.num_fields}"
        )


def empty(schema: Any) -> pa.RecordBatch | pa.Array:
    """Return a record batch without rows, or an empty array if the schema is not a struct."""
    if not is_struct(schema.__arrow_c_schema__()):
        return pa.nulls(0, pa.field(schema).type)
    arrow_schema = pa.schema(schema)
    # pyarrow 23 cannot create dictionaries of large strings from no values. from_arrays() rejects
    # the validity bitmaps that nulls() gives to nested run-end encoded arrays.
    batch = pa.RecordBatch.from_struct_array(pa.nulls(0, pa.struct(list(arrow_schema))))
    return batch.replace_schema_metadata(arrow_schema.metadata)


def or_default(items: Iterable[Item], default: Callable[[], Item]) -> Iterator[Item]:
    """Yield the items, or a default if there are none, so that a stream has a batch."""
    is_empty = True
    for item in items:
        is_empty = False
        yield item
        # A suspended generator must not keep an item alive that its consumer has released.
        del item
    if is_empty:
        yield default()
