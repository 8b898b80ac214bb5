# SPDX-License-Identifier: Apache-2.0
"""The field tables of a schema: their dictionaries and sizes.

Source: Arrow columnar format, Schema.fbs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .flatbuffer_tables import INT64, UINT8, Table, key_values

__all__ = ["dictionary_ids_of"]

#: Slots of the tables Field and DictionaryEncoding.
NAME, _, TYPE_CODE, TYPE, DICTIONARY, CHILDREN, CUSTOM_METADATA = range(7)
ID = 0

#: Types with a vector in slot 1, and the size of its items: Timestamp's zone, Union's codes.
TYPE_VECTOR = 1
TYPE_VECTORS = {10: 1, 14: 4}

#: The maximum depth of fields, as in Arrow C++.
MAX_DEPTH = 64

#: The number of fields from which reading all at once is faster than one by one.
MANY = 32

Positions = np.ndarray[Any, np.dtype[np.int64]]


def dictionary_ids_of(schema: Table, slot: int) -> tuple[int, ...]:
    """Return the ids of the dictionaries of the fields in a slot, depth first.

    Raises
    ------
    ValueError
        If fields lie outside of the bytes, are too deep, are shared by several parents, or their
        strings overlap, because a reader would need far more memory than the bytes.
    """
    first, count = schema.vector(slot, 4, 4)
    ids: list[int] = []
    if count < MANY or not _are_plain(schema.buffer.data, first, count):
        _walk(schema.tables_of(slot), 1, ids)
    return tuple(ids)


def _walk(fields: list[Table], depth: int, ids: list[int]) -> None:
    for field in fields:
        field.string(NAME)
        key_values(field, CUSTOM_METADATA)
        item_size = TYPE_VECTORS.get(field.number(TYPE_CODE, UINT8))
        type_ = field.table(TYPE) if item_size else None
        if item_size and type_:
            first, count = type_.vector(TYPE_VECTOR, item_size, item_size)
            field.buffer.spend(first, count * item_size)
        dictionary = field.table(DICTIONARY)
        if dictionary is not None:
            ids.append(dictionary.number(ID, INT64))
        children = field.tables_of(CHILDREN)
        if children and depth == MAX_DEPTH:
            raise field.buffer.error(field.position, "a field deeper than that", f"{depth} levels")
        _walk(children, depth + 1, ids)


def _are_plain(data: bytes, first: int, count: int) -> bool:
    """Return whether these fields have only a name and a type; False if unknown."""
    try:
        tables = _targets(data, first + 4 * np.arange(count))
        vtables = tables - _read(data, tables, "<i4")
        sizes = _read(data, vtables, "<u2")

        def stored(slot: int) -> Positions:
            entry = 4 + 2 * slot
            has = sizes > entry
            offsets = _read(data, vtables[has] + entry, "<u2")
            positions: Positions = (tables[has] + offsets)[offsets != 0]
            return positions

        if stored(DICTIONARY).size or stored(CUSTOM_METADATA).size:
            return False
        codes = _read(data, stored(TYPE_CODE), "u1")
        children = _read(data, _targets(data, stored(CHILDREN)), "<u4")
        names = _read(data, _targets(data, stored(NAME)), "<u4")
    except IndexError:
        return False
    vectors = children.any() or any((codes == code).any() for code in TYPE_VECTORS)
    return not vectors and int(names.sum()) <= len(data)


def _targets(data: bytes, positions: Positions) -> Positions:
    return positions + _read(data, positions, "<u4")


def _read(data: bytes, positions: Positions, kind: str) -> Positions:
    """Read numbers; raise IndexError if one is misaligned or outside of the data."""
    size = np.dtype(kind).itemsize
    bits = int(np.bitwise_or.reduce(positions))
    if bits < 0 or bits % size:
        raise IndexError
    return np.frombuffer(data, kind, len(data) // size)[positions // size].astype(np.int64)
