# SPDX-License-Identifier: Apache-2.0
"""Random columns, exported with a random supported type at each level."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.tests.strategies as past
from hypothesis import assume, given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from testing import foreign
from testing.peers.arrays import DeviceOnly, Producer, column_from
from testing.samples import cut
from testing.strategies import NOT_SLOW, arrays, dictionary_types, flat_types, slices

# A pylibcudf column has no time zone.
plain_types = flat_types.filter(lambda type_: getattr(type_, "tz", None) is None)
types = st.recursive(
    plain_types | dictionary_types | st.sampled_from([pa.decimal32(9, 2), pa.decimal64(18, 0)]),
    lambda inner: (
        st.builds(pa.list_, inner)
        | st.lists(inner, max_size=3).map(
            lambda fields: pa.struct([(str(i), type_) for i, type_ in enumerate(fields)])
        )
    ),
    max_leaves=5,
)


@st.composite
def requests(draw, type_):
    """Draw a type that a column can be exported as for any data."""
    if pa.types.is_list(type_):
        make = draw(st.sampled_from([pa.list_, pa.large_list]))
        return make(draw(requests(type_.value_type)))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, draw(requests(field.type))) for field in type_])
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    requested = type_
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        requested = draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
    elif pa.types.is_date(type_):
        requested = draw(st.sampled_from([pa.date32(), pa.date64()]))
    elif pa.types.is_decimal(type_):
        wider = [pa.decimal64(18, type_.scale), pa.decimal128(30, type_.scale)]
        requested = draw(st.sampled_from([type_, *wider]))
    if pa.types.is_null(type_) or not draw(st.booleans()):
        return requested
    return pa.dictionary(draw(past.integer_types), requested)


def plain(type_):
    """Return the same type without dictionaries, as the target of pyarrow's cast."""
    if pa.types.is_list(type_):
        return pa.list_(plain(type_.value_type))
    if pa.types.is_large_list(type_):
        return pa.large_list(plain(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, plain(field.type)) for field in type_])
    return type_.value_type if pa.types.is_dictionary(type_) else type_


def has_lists_of_nulls(type_, within=False):
    if pa.types.is_null(type_):
        return within
    within = within or pa.types.is_list(type_)
    return any(has_lists_of_nulls(type_.field(i).type, within) for i in range(type_.num_fields))


def rows(array):
    """Return the values as text, in which NaN equals NaN."""
    return repr(array.to_pylist())


@NOT_SLOW
@given(arrays(types), st.data())
def test_columns_are_exported_as_any_type_they_convert_to(array, data):
    array = cut(array, data.draw(slices(len(array))))
    target = data.draw(requests(array.type))
    column = column_from(Producer(array))
    found = pa.array(DeviceOnly(cab.to_arrow_device(column, requested_schema=pa.field("", target))))
    found.validate(full=True)
    assert found.type.equals(target)
    expected = foreign.expected_import(array)
    if plain(array.type).equals(array.type):
        # pyarrow cannot read its own casts of lists of nulls.
        assume(not has_lists_of_nulls(array.type))
        expected = expected.cast(plain(target))
    assert rows(found) == rows(expected)
