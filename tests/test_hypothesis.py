# SPDX-License-Identifier: Apache-2.0
"""Arrays of pyarrow's own strategies, nested and sliced at random, through the border and back."""

from __future__ import annotations

import datetime as dt
import os

import foreign
import host
import pyarrow as pa
import pyarrow.tests.strategies as past
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peers import DeviceOnly, Producer, assert_same, column_from, forget_null_counts, read
from samples import cut, cut_column

import cudf_arrow_bridge as bridge

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile(os.getenv("HYPOTHESIS_PROFILE", "ci" if os.getenv("CI") else "default"))

NOT_SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

zoned = past.timestamp_types.filter(lambda type_: type_.tz is not None)
flat_types = st.one_of(
    past.null_type,
    past.bool_type,
    past.integer_types,
    st.sampled_from([pa.float32(), pa.float64(), pa.date32()]),
    past.string_type,
    past.large_string_type,
    past.duration_types,
    zoned,
)
dictionary_types = past.dictionary_types(
    key_strategy=past.integer_types,
    value_strategy=st.one_of(past.integer_types, past.string_type, past.bool_type),
)
types = st.recursive(
    flat_types | dictionary_types,
    lambda inner: st.builds(pa.list_, inner) | past.struct_types(inner),
    max_leaves=5,
)


@st.composite
def arrays(draw, types=types):
    """An array with nulls at every level, its children being slices of longer ones."""
    type_ = draw(types)
    return draw(arrays_of(type_, draw(st.integers(0, 80))))


@st.composite
def arrays_of(draw, type_, size):
    extra = draw(st.integers(0, 40))
    whole = draw(whole_arrays_of(type_, size + extra))
    return whole.slice(draw(st.integers(0, extra)), size)


@st.composite
def whole_arrays_of(draw, type_, size):
    if pa.types.is_null(type_):
        return pa.nulls(size)
    valid = draw(st.none() | st.integers(0, 2 ** max(size, 1) - 1))
    bits = None
    if valid is not None:
        bits = pa.py_buffer(valid.to_bytes(max(size, 1) // 8 + 1, "little"))
    if pa.types.is_struct(type_):
        children = [draw(arrays_of(field.type, size)) for field in type_]
        return pa.Array.from_buffers(type_, size, [bits], children=children)
    if pa.types.is_list(type_):
        lengths = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        offsets = [0]
        for length in lengths:
            offsets.append(offsets[-1] + length)
        child = draw(arrays_of(type_.value_type, offsets[-1]))
        buffers = [bits, pa.array(offsets, pa.int32()).buffers()[1]]
        return pa.Array.from_buffers(type_, size, buffers, children=[child])
    if pa.types.is_dictionary(type_):
        values = draw(whole_arrays_of(type_.value_type, draw(st.integers(1, 20))))
        codes = draw(st.lists(st.integers(0, len(values) - 1), min_size=size, max_size=size))
        return pa.DictionaryArray.from_arrays(
            with_nulls(pa.array(codes, type_.index_type), bits), values, ordered=type_.ordered
        )
    plain = pa.array(draw(past.arrays(type_, size=min(size, 12))).to_pylist(), type_)
    return with_nulls(pa.concat_arrays([plain] * (size // max(len(plain), 1) + 1))[:size], bits)


def with_nulls(array, bits):
    if array.offset or bits is None or not len(array):
        return array
    return pa.Array.from_buffers(array.type, len(array), [bits, *array.buffers()[1:]])


@st.composite
def slices(draw, size):
    """Up to three slices, one of another."""
    steps = []
    for _ in range(draw(st.integers(0, 3))):
        offset = draw(st.integers(0, size))
        size = draw(st.integers(0, size - offset))
        steps.append((offset, size))
    return steps


edits = st.sampled_from([None, forget_null_counts])


@NOT_SLOW
@given(arrays(), edits, st.data())
def test_arrays_arrive(array, edit, data):
    array = cut(array, data.draw(slices(len(array))))
    column = column_from(Producer(array, edit))
    expected = foreign.landed(array)
    assert column.null_count() == expected.null_count
    if not has_unsigned_indices(array.type):
        assert_same(host.to_arrow(column, array.type), expected)


def has_unsigned_indices(type_):
    if pa.types.is_dictionary(type_):
        return pa.types.is_unsigned_integer(type_.index_type)
    return any(has_unsigned_indices(type_.field(i).type) for i in range(type_.num_fields))


signed = types.filter(lambda type_: not has_unsigned_indices(type_))


@NOT_SLOW
@given(arrays(signed), edits, st.booleans())
def test_arrays_come_back(array, edit, compact):
    exported = bridge.to_arrow_device(Producer(array, edit), compact=compact)
    assert_same(read(exported), foreign.landed(array))


@NOT_SLOW
@given(arrays(), edits, st.data())
def test_slices_on_both_sides(array, edit, data):
    before = data.draw(slices(len(array)))
    array = cut(array, before)
    between = data.draw(slices(len(array)))
    column = cut_column(
        column_from(Producer(array, edit)),
        between,
        lambda start, size: foreign.landed(array.slice(start, size)).null_count,
    )
    expected = cut(array, between)
    back = read(bridge.to_arrow_device(column))
    after = data.draw(slices(len(expected)))
    assert cut(back, after).to_pylist() == unnamed(cut(expected, after).to_pylist())


def unnamed(value):
    """Rows as a pylibcudf column gives them: fields named by position, time zones forgotten."""
    if isinstance(value, dict):
        return {str(i): unnamed(item) for i, item in enumerate(value.values())}
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return [unnamed(item) for item in value] if isinstance(value, list) else value


@NOT_SLOW
@given(st.lists(arrays(signed), max_size=4), st.data())
def test_record_batches_come_back(columns, data):
    size = min((len(column) for column in columns), default=0)
    columns = [column[:size] for column in columns]
    names = data.draw(st.lists(st.text(), min_size=len(columns), max_size=len(columns)))
    names = [name.replace("\0", "") for name in names]
    metadata = data.draw(st.dictionaries(st.text(min_size=1), st.text()))
    schema = pa.schema(
        [pa.field(n, c.type) for n, c in zip(names, columns, strict=True)], metadata=metadata
    )
    batch = pa.record_batch(columns, schema)
    back = pa.record_batch(DeviceOnly(bridge.to_arrow_device(DeviceOnly(batch))))
    back.validate(full=True)
    assert back.schema.equals(schema, check_metadata=True)
    assert back.equals(pa.record_batch([foreign.landed(c) for c in columns], schema))
