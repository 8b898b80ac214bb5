# SPDX-License-Identifier: Apache-2.0
"""Random arrays of pyarrow's strategies in nested view and run-end-encoded layouts."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from testing import host, samples, views
from testing.peers.arrays import Producer, assert_same, column_from
from testing.strategies import NOT_SLOW, arrays, edits, slices


@st.composite
def layouts(draw, array):
    """Draw an array of the same rows, in another layout on a random choice of its levels."""
    type_ = array.type
    if not draw(st.booleans()):
        return array
    if len(array) < 2**15 and draw(st.integers(0, 3)) == 0:
        ends = pa.array(range(1, len(array) + 1), draw(st.sampled_from(views.RUN_ENDS)))
        return pa.RunEndEncodedArray.from_arrays(ends, array)
    if pa.types.is_string(type_):
        return views.string_view(array)
    if pa.types.is_list(type_):
        return views.list_view(
            array,
            draw(st.sampled_from(views.PLACES)),
            draw(st.booleans()),
            lambda elements: draw(layouts(elements)),
        )
    if pa.types.is_struct(type_):
        children = [draw(layouts(array.field(i))) for i in range(type_.num_fields)]
        fields = [f.with_type(c.type) for f, c in zip(type_, children, strict=True)]
        return pa.Array.from_buffers(
            pa.struct(fields), len(array), [views.mask_of(array)], children=children
        )
    return array


@NOT_SLOW
@given(arrays(), edits, st.data())
def test_import_of_random_layouts_keeps_the_rows(array, edit, data):
    if data.draw(st.booleans()):
        ends = data.draw(st.sampled_from(views.RUN_ENDS))
        other, array = views.run_ended(array, ends, lambda kept: data.draw(layouts(kept)))
    else:
        other = data.draw(layouts(array))
    other.validate(full=True)
    steps = data.draw(slices(len(array)))
    part, expected = samples.cut(other, steps), samples.cut(array, steps)
    validate = data.draw(st.sampled_from(["minimal", "full"]))
    column = column_from(Producer(part, edit), validate=validate)
    assert column.size() == len(expected)
    if not has_dictionary(array.type):
        assert_same(host.to_arrow(column, expected.type), expected)


def has_dictionary(type_):
    """Return whether a type has a dictionary: the import changes its index type and null values."""
    if pa.types.is_dictionary(type_):
        return True
    return any(has_dictionary(type_.field(i).type) for i in range(type_.num_fields))
