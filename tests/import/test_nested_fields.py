# SPDX-License-Identifier: Apache-2.0
"""Random nested fields, with names, nullability, metadata, extensions and order flags."""

from __future__ import annotations

import io
import random
from typing import NamedTuple

import nanoarrow as na
import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing import samples, views

ROWS = 5
FLAT = [
    *(pa.int8(), pa.uint64(), pa.float64(), pa.bool_(), pa.date32(), pa.date64()),
    *(pa.time32("ms"), pa.time64("ns"), pa.duration("us"), pa.timestamp("ms")),
    *(pa.timestamp("us", "Europe/Oslo"), pa.timestamp("s", "+05:30")),
    *(pa.decimal32(5, 2), pa.decimal64(12, -1), pa.decimal128(25, 3)),
    *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(3)),
    *(pa.null(), pa.uuid(), pa.bool8(), pa.json_(), pa.float16(), pa.string_view()),
]
#: The flags of a C schema for dictionaries whose values are in order, and maps with sorted keys.
ORDERED, SORTED_KEYS = 1, 4
#: The name of an extension type that pyarrow does not know.
UNKNOWN = {b"ARROW:extension:name": b"a.unknown", b"ARROW:extension:metadata": b"p"}
KINDS = (
    *("list", "large list", "fixed list", "list view", "map", "struct"),
    *("dictionary", "runs", "opaque"),
)
KEYS = [pa.int8(), pa.string(), pa.date32(), pa.decimal64(9, 2)]


class RandomFields:
    """Draws fields from one seed."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def field(self, depth=3):
        rng = self.rng
        metadata = (
            {"key": rng.choice(["", "value", "ą"]), "other": "x"} if rng.random() < 0.5 else {}
        )
        if rng.random() < 0.1:
            metadata |= UNKNOWN
        name = rng.choice(["", "a", "key", "żółw", "item", "entries"]) + str(rng.randrange(100))
        type_ = self.type(depth)
        if isinstance(type_, pa.BaseExtensionType):
            metadata = {key: metadata[key] for key in metadata if key not in UNKNOWN}
        is_null = pa.types.is_null(type_)
        nullable = is_null or rng.random() < 0.7
        return pa.field(name, type_, nullable, metadata or None)

    def type(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return rng.choice(FLAT)
        match rng.choice(KINDS):
            case "list":
                return pa.list_(self.field(depth - 1))
            case "large list":
                return pa.large_list(self.field(depth - 1))
            case "fixed list":
                return pa.list_(self.field(depth - 1), rng.randrange(1, 3))
            case "list view":
                # pyarrow 23 crashes when it reads null lists of runs.
                return pa.list_view(pa.field("element", self.plain_values(depth)))
            case "map":
                key = pa.field(f"k{rng.random()}", rng.choice(KEYS), False, {"of": "keys"})
                return pa.map_(key, self.field(depth - 1), keys_sorted=rng.random() < 0.5)
            case "struct":
                fields = [self.field(depth - 1) for _ in range(rng.randrange(1, 4))]
                return pa.struct([f.with_name(f"{f.name}.{i}") for i, f in enumerate(fields)])
            case "dictionary":
                return pa.dictionary(
                    rng.choice([pa.int8(), pa.uint16(), pa.int32()]),
                    self.plain_values(depth),
                    ordered=rng.random() < 0.5,
                )
            case "runs":
                return pa.run_end_encoded(pa.int32(), self.plain_values(depth))
            case "opaque":
                # pyarrow does not keep the names of maps in the storage of its own extension types.
                storage = self.plain_values(depth)
                while "map<" in str(storage):
                    storage = self.plain_values(depth)
                return pa.opaque(storage, "a type", "a vendor")

    def plain_values(self, depth):
        """Return a type that can be inside of a dictionary, runs, views or an extension."""
        while True:
            type_ = self.type(depth - 1)
            special = (pa.types.is_null, pa.types.is_dictionary, pa.types.is_run_end_encoded)
            if isinstance(type_, pa.BaseExtensionType) or any(is_(type_) for is_ in special):
                continue
            return type_


def array_of(type_, size):
    """Return an array without nulls, in which lists have one element unless their size is fixed."""
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, array_of(type_.storage_type, size))
    if pa.types.is_run_end_encoded(type_):
        ends = pa.array(range(1, size + 1), type_.run_end_type)
        values = array_of(type_.value_type, size)
        return pa.Array.from_buffers(type_, size, [None], children=[ends, values])
    if pa.types.is_dictionary(type_):
        codes, values = pa.array(range(size), type_.index_type), array_of(type_.value_type, size)
        return pa.DictionaryArray.from_arrays(codes, values, ordered=type_.ordered)
    if type_ == pa.string_view():
        return views.string_view(samples.values(pa.string(), size, "none"))
    if not pa.types.is_nested(type_):
        return samples.values(type_, size, "none")
    buffers = [None]
    if pa.types.is_struct(type_):
        children = [array_of(field.type, size) for field in type_]
    elif pa.types.is_fixed_size_list(type_):
        children = [array_of(type_.value_type, size * type_.list_size)]
    else:
        is_map = pa.types.is_map(type_)
        entries = pa.struct([type_.key_field, type_.item_field]) if is_map else type_.value_type
        children = [array_of(entries, size)]
        buffers.append(pa.py_buffer(np.arange(size + 1, dtype=samples.offset_type(type_))))
    if pa.types.is_list_view(type_):
        buffers.append(pa.py_buffer(np.ones(size, "int32")))
    return pa.Array.from_buffers(type_, size, buffers, children=children)


class Level(NamedTuple):
    """One level of a C schema."""

    format: str
    name: str
    flags: int
    metadata: dict
    children: tuple
    dictionary: Level | None


def level_of(schema):
    """Return the levels of an object with ``__arrow_c_schema__``, read by nanoarrow."""
    return _level(na.c_schema(schema))


def _level(schema):
    return Level(
        schema.format,
        schema.name or "",
        schema.flags,
        dict(schema.metadata.items()) if schema.metadata else {},
        tuple(map(_level, schema.children)),
        _level(schema.dictionary) if schema.dictionary else None,
    )


#: Exports without, and by way of, an import. pyarrow's own imports rename the fields of maps.
WAYS = {
    "array": cab.to_arrow_device,
    "stream": lambda batch: next(iter(cab.to_arrow_device_stream(batch))),
    "ipc": lambda batch: through_ipc(batch),
    "cudf": lambda batch: cab.to_arrow_device(cab.from_arrow_device(batch)),
    "pylibcudf": lambda batch: cab.to_arrow_device(cab.from_arrow_device(batch, to="pylibcudf")),
}


def through_ipc(batch):
    sink = io.BytesIO()
    cab.ipc.write_stream(batch, sink)
    return next(iter(cab.ipc.open_stream(sink.getvalue())))


def expected(level, in_frame, is_top=True, exact=False):
    """Return a level with the documented differences, and whether it has the same type."""
    is_extension = not UNKNOWN.keys().isdisjoint(level.metadata)
    exact = exact or is_extension
    if level.format == "+r":
        values, _ = expected(level.children[1], in_frame, is_top, exact)
        changed = decoded(level, values)
        is_same = False
    elif level.dictionary is not None:
        changed, is_same = expected_dictionary(level, in_frame, is_top, exact)
    else:
        children = [expected(child, in_frame, False, exact) for child in level.children]
        others = {"e": "f", "+vl": "+l", "vu": "vu" if exact else "u"}
        format_ = others.get(level.format, level.format)
        changed = level._replace(format=format_, children=tuple(child for child, _ in children))
        is_same = format_ == level.format and all(is_same for _, is_same in children)
    if is_extension and not is_same:
        kept = {key: changed.metadata[key] for key in changed.metadata if key not in UNKNOWN}
        changed = changed._replace(metadata=kept)
    return changed, is_same


def expected_dictionary(level, in_frame, is_top, exact):
    values, is_same = expected(level.dictionary, in_frame, False, exact)
    is_nested = values.format[0] in "+zZw"
    if not in_frame or (is_top and not is_nested and values.format[0] != "d"):
        return level._replace(dictionary=values), is_same
    # Frames have decoded values, which are encoded again if any number of them has an index.
    level = level._replace(flags=level.flags & ~ORDERED)
    if level.format == "i" and not is_nested:
        return level._replace(dictionary=values), is_same
    return decoded(level, values), False


def decoded(level, values):
    flags = level.flags | (values.flags & SORTED_KEYS)
    return Level(
        values.format, level.name, flags, level.metadata, values.children, values.dictionary
    )


def check(seeds):
    fields, columns = [], []
    for seed in seeds:
        fields.append(RandomFields(seed).field().with_name(f"{seed}"))
        columns.append(array_of(fields[-1].type, ROWS))
    batch = pa.record_batch(columns, pa.schema(fields, metadata={"of": "schema"}))
    for name, way in WAYS.items():
        exported = way(batch)
        found = level_of(exported)
        assert found.metadata.get(b"of") == (None if name == "pylibcudf" else b"schema")
        for level, before in zip(found.children, level_of(batch.schema).children, strict=True):
            assert level == expected(before, name == "cudf")[0], (name, before)
        assert exported.to_pylist() == batch.to_pylist(), name


def test_random_fields_are_exported_as_they_were_imported():
    check(range(100))


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(100, 2000, 100))
def test_more_random_fields_are_exported_as_they_were_imported(start):
    check(range(start, start + 100))


def test_keys_are_not_sorted_because_a_schema_requests_it():
    kinds = [pa.map_(pa.string(), pa.int32(), keys_sorted=is_sorted) for is_sorted in (False, True)]
    for own, requested in (kinds, kinds[::-1]):
        array = pa.array([[("a", 1)], None, []], own)
        exported = cab.to_arrow_device(array, requested_schema=pa.field("", requested))
        assert not exported.schema.type.keys_sorted
    entries = pa.array([[{"key": "a", "value": 1}]])
    exported = cab.to_arrow_device(entries, requested_schema=pa.field("", kinds[1]))
    assert pa.types.is_map(exported.schema.type)
    assert not exported.schema.type.keys_sorted


def test_names_of_a_map_are_kept_after_a_union_of_maps():
    kinds = [
        pa.map_(pa.field(f"k{name}", pa.string(), nullable=False), pa.field(f"v{name}", pa.int64()))
        for name in "um"
    ]
    union = pa.UnionArray.from_dense(
        pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([[("x", 1)]], kinds[0])]
    )
    batch = pa.record_batch({"u": union, "m": pa.array([[("y", 2)]], kinds[1])})
    frame = cab.from_arrow_device(batch, columns=["m"])
    found = cab.to_arrow_device(frame).schema.field("m").type
    assert (found.key_field.name, found.item_field.name) == ("km", "vm")
