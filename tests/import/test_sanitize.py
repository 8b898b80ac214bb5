# SPDX-License-Identifier: Apache-2.0
"""Nested columns arrive as libcudf expects them, and nothing is rewritten where they were so."""

from __future__ import annotations

import foreign
import host
import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest
import samples
from hypothesis import given
from peers import DeviceOnly, Producer, assert_same, column_from, forget_null_counts, read
from test_hypothesis import NOT_SLOW, arrays, cut, signed, slices

import cudf_arrow_bridge as bridge

BELOW_MASKS = [
    pa.struct([("0", pa.int32())]),
    pa.struct([("0", pa.string()), ("1", pa.struct([("0", pa.int8()), ("1", pa.null())]))]),
    pa.struct([("0", pa.list_(pa.struct([("0", pa.string())])))]),
    pa.struct([("0", pa.dictionary(pa.int8(), pa.string()))]),
]
WITH_OFFSETS = [
    pa.string(),
    pa.large_string(),
    pa.list_(pa.int32()),
    pa.list_(pa.list_(pa.string())),
    pa.list_(pa.struct([("0", pa.string()), ("1", pa.null())])),
    pa.list_(pa.dictionary(pa.int8(), pa.string())),
]
OTHERS = [
    *(pa.binary(), pa.large_binary(), pa.binary(3)),
    pa.list_(pa.string(), 2),
    pa.large_list(pa.list_(pa.bool_(), 3)),
    pa.map_(pa.string(), pa.binary()),
]


def dirty(array, seed=0):
    """The same data, with nulls of its own at each level that has more below."""
    type_, size = array.type, len(array)
    children, buffers = [], array.buffers()
    if pa.types.is_dictionary(type_):
        return pa.DictionaryArray.from_arrays(
            dirty_mask(array.indices, seed), dirty(array.dictionary, seed + 1)
        )
    if pa.types.is_struct(type_):
        children = [dirty(array.field(i), seed + 1 + i) for i in range(type_.num_fields)]
    elif pa.types.is_map(type_):
        children = [pa.StructArray.from_arrays([array.keys, array.items], fields=entries(type_))]
    elif foreign.is_list(type_):
        children = [dirty(array.values, seed + 1)]
    if pa.types.is_null(type_):
        return array
    own = buffers[1 : type_.num_buffers]
    return pa.Array.from_buffers(type_, size, [bits(size, seed), *own], children=children)


def dirty_mask(array, seed):
    return pa.Array.from_buffers(
        array.type, len(array), [bits(len(array), seed), *array.buffers()[1:]]
    )


def entries(type_):
    return [type_.key_field, type_.item_field]


def bits(size, seed):
    valid = np.random.default_rng(seed).integers(0, 3, size) > 0
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())


def valid(column):
    """Which rows that a column stores are valid, those before its offset included."""
    size = column.offset() + column.size()
    if column.type().id() == plc.TypeId.EMPTY:
        return np.zeros(size, "bool")
    if column.null_mask() is None:
        return np.ones(size, "bool")
    mask = np.frombuffer(host.foreign(column.null_mask()), "uint8")
    return np.unpackbits(mask, bitorder="little")[:size].astype("bool")


def dirt(column):
    """What libcudf does not expect, as text; reads masks and offsets by their layout alone."""
    found, kind, children = [], column.type().id(), column.children()
    null = ~valid(column)
    if kind == plc.TypeId.STRUCT:
        for child in children:
            assert child.offset() == 0
            if (valid(child)[: len(null)] & null).any():
                found.append("rows below a null struct")
    if kind in (plc.TypeId.LIST, plc.TypeId.STRING) and children and len(null):
        wide = children[0].type().id() == plc.TypeId.INT64
        offsets = np.frombuffer(host.foreign(children[0].data()), "int64" if wide else "int32")
        if (np.diff(offsets)[: len(null)][null] != 0).any():
            found.append(f"a null {kind.name} with a length")
    for child in children:
        found += dirt(child)
        if child.type().id() != plc.TypeId.EMPTY:
            assert child.null_count() == (~valid(child)).sum()
    return found


def check(array, edit=None):
    expected = foreign.landed(array)
    column = column_from(Producer(array, edit))
    assert dirt(column) == []
    assert column.null_count() == array.null_count
    assert_same(host.to_arrow(column, expected.type), expected)


@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS, *OTHERS], ids=str)
def test_dirty_columns_arrive_clean(type_):
    array = dirty(foreign.values(type_, samples.MANY, "none"))
    array.validate(full=True)
    before = column_from(Producer(array), sanitize=False)
    assert dirt(before), "nothing to do"
    for steps in samples.cuts(len(array)):
        part = samples.cut(array, steps)
        check(part)
        check(part, forget_null_counts)


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("type_", [*BELOW_MASKS, *WITH_OFFSETS], ids=str)
def test_clean_columns_arrive_as_they_are(type_, nulls):
    array = samples.values(type_, samples.MANY, nulls)
    assert {s.ptr for s in host.spans(column_from(array))} == {
        s.ptr for s in host.spans(column_from(array, sanitize=False))
    }


@NOT_SLOW
@given(arrays(signed), slices(80))
def test_any_column_arrives_clean(array, steps):
    array = cut(array, [s for s in steps if s[0] + s[1] <= len(array)][:1])
    column = column_from(Producer(array))
    assert dirt(column) == []
    left = host.to_arrow(column_from(Producer(array), sanitize=False), array.type)
    assert_same(host.to_arrow(column, array.type), left)


# -- what it costs -----------------------------------------------------------------------------


def buffers(array):
    return {b.address for b in array.buffers() if b and b.size}


@pytest.mark.parametrize("type_", BELOW_MASKS[:1], ids=str)
def test_only_masks_are_rewritten_below_structs(type_):
    array = dirty(foreign.values(type_, samples.MANY, "none"))
    column = column_from(array)
    child = column.children()[0]
    assert column.null_mask().ptr == array.buffers()[0].address
    assert child.data().ptr == array.field(0).buffers()[1].address
    assert child.null_mask().ptr not in buffers(array)


def test_children_that_are_null_already_keep_their_masks():
    inner = pa.array([None, None, 3, None])
    mask = pa.py_buffer(b"\x06")
    array = pa.Array.from_buffers(pa.struct([("0", pa.int64())]), 4, [mask], children=[inner])
    column = column_from(array)
    # Row 1 is valid above and null below, rows 0 and 3 are null in both.
    assert {s.ptr for s in host.spans(column)} == buffers(array)


def test_only_what_is_dirty_is_copied():
    clean = samples.values(pa.list_(pa.int64()), samples.MANY, "some")
    spoiled = dirty(samples.values(pa.list_(pa.int64()), samples.MANY, "none"))
    array = pa.StructArray.from_arrays([clean, spoiled], ["clean", "spoiled"])
    left, right = column_from(array).children()
    assert {s.ptr for s in host.spans(left)} == buffers(clean)
    assert {s.ptr for s in host.spans(right)}.isdisjoint(buffers(spoiled))


def test_producers_known_to_be_clean_are_not_looked_at():
    for type_ in (*BELOW_MASKS[:1], pa.string(), pa.list_(pa.int32())):
        array = dirty(foreign.values(type_, samples.MANY, "none"))
        column = column_from(array, sanitize=False)
        assert {s.ptr for s in host.spans(column)} == buffers(array)


def test_what_goes_on_to_somebody_else_stays_as_it_is():
    array = dirty(samples.values(pa.list_(pa.int64()), samples.MANY, "none"))
    assert buffers(read(bridge.to_arrow_device(DeviceOnly(array)))) == buffers(array)


def test_frames_are_clean_too():
    array = dirty(samples.values(pa.string(), samples.MANY, "none"))
    series = bridge.from_arrow_device(DeviceOnly(array))
    assert dirt(series._column.plc_column) == []
