# SPDX-License-Identifier: Apache-2.0
"""The checker of libcudf's invariants: sound columns pass, planted violations are found."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pylibcudf as plc
import pytest

from testing import reading
from testing.host import Memory, to_plc
from testing.invariants import violations

T = plc.TypeId
LISTS = pa.array([[1, 2], None, [3]], pa.list_(pa.int32()))
TEXTS = pa.array(["ab", None, "c"])
NUMBERS = pa.array([1, None, 3], pa.int32())
STRUCTS = pa.StructArray.from_arrays(
    [pa.array([1, None], pa.int32())], ["a"], mask=pa.array([False, True])
)
WORDS = pa.array(["", None, "y"]).dictionary_encode()


def memory_of(values, kind):
    return Memory(pa.py_buffer(np.array(values, kind).tobytes()))


def changed(column, **parts):
    """Return a column with some of its parts replaced."""
    now = {
        "data_type": column.type(), "size": column.size(), "data": column.data(),
        "mask": column.null_mask(), "null_count": column.null_count(),
        "offset": column.offset(), "children": column.children(),
    } | parts  # fmt: skip
    return plc.Column(validate=False, **now)


def with_child(column, index, **parts):
    children = column.children()
    children[index] = changed(children[index], **parts)
    return changed(column, children=children)


def with_offsets(array, values):
    return with_child(to_plc(array), 0, data=memory_of(values, "int32"), size=len(values))


def misplaced(buffer_bytes, by):
    """Return memory that begins some bytes after an aligned address."""
    memory = Memory(pa.py_buffer(bytes(by) + buffer_bytes))
    memory.ptr, memory.size = memory.ptr + by, memory.size - by
    return memory


NULL_IN_FIRST = memory_of([0xFFFFFFFE] * 16, "uint32")

PLANTED = {
    "rows_fit": lambda: changed(to_plc(pa.array([1, 2], pa.int32())), offset=2**31 - 1),
    "null_count_is_right": lambda: changed(to_plc(NUMBERS), null_count=0),
    "mask_is_aligned": lambda: changed(to_plc(NUMBERS), mask=misplaced(b"\x05" + bytes(63), 1)),
    "mask_is_padded": lambda: changed(
        to_plc(pa.array([1, None] * 5)), mask=Memory(pa.py_buffer(b"\x55"))
    ),
    "data_is_aligned": lambda: changed(
        to_plc(pa.array([1, 2], pa.int32())), data=misplaced(bytes(8), 2)
    ),
    "data_is_allocated": lambda: changed(
        to_plc(pa.array([1, 2], pa.int32())), data=memory_of([1], "int32")
    ),
    "children_are_there": lambda: changed(to_plc(LISTS), children=to_plc(LISTS).children()[:1]),
    "offsets_have_their_type": lambda: with_child(
        to_plc(TEXTS), 0, data_type=plc.DataType(T.UINT32)
    ),
    "offsets_have_no_nulls": lambda: with_child(to_plc(LISTS), 0, mask=NULL_IN_FIRST, null_count=1),
    "offsets_begin_at_their_head": lambda: with_child(
        with_offsets(LISTS, [0, 2, 2, 3, 3]), 0, offset=1, size=4
    ),
    "offsets_are_enough": lambda: with_child(to_plc(TEXTS), 0, size=3),
    "first_offset_is_zero": lambda: with_offsets(LISTS, [1, 2, 2, 3]),
    "offsets_ascend": lambda: with_offsets(LISTS, [0, 4, 4, 3]),
    "offsets_stay_within": lambda: with_offsets(LISTS, [0, 2, 2, 4]),
    "child_ends_with_offsets": lambda: with_offsets(LISTS, [0, 1, 1, 2]),
    "elements_begin_at_their_head": lambda: with_child(
        to_plc(LISTS), 1, data=memory_of([0, 1, 2, 3], "int32"), offset=1
    ),
    "null_rows_are_empty": lambda: with_offsets(TEXTS, [0, 1, 2, 3]),
    "fields_begin_at_their_head": lambda: with_child(
        changed(to_plc(pa.array([{"a": 1}, {"a": 2}])), size=1), 0, offset=1, size=1
    ),
    "fields_cover_the_struct": lambda: with_child(
        to_plc(pa.array([{"a": 1}, {"a": 2}])), 0, size=1
    ),
    "null_structs_have_null_fields": lambda: with_child(
        to_plc(STRUCTS), 0, mask=None, null_count=0
    ),
    "indices_are_signed": lambda: with_child(to_plc(WORDS), 0, data_type=plc.DataType(T.UINT32)),
    "indices_have_no_nulls": lambda: with_child(to_plc(WORDS), 0, mask=NULL_IN_FIRST, null_count=1),
    "indices_begin_at_their_head": lambda: with_child(
        to_plc(WORDS), 0, data=memory_of([0, 0, 0, 1], "int32"), offset=1
    ),
    "indices_cover_the_rows": lambda: with_child(to_plc(WORDS), 0, size=2),
    "indices_are_within_keys": lambda: with_child(
        to_plc(WORDS), 0, data=memory_of([0, 0, 2], "int32")
    ),
    "keys_have_no_nulls": lambda: with_child(to_plc(WORDS), 1, mask=NULL_IN_FIRST, null_count=1),
}  # fmt: skip


#: Further violations, of nested buffers that the checker must not read beyond their end.
TOO_SHORT = [
    ("data_is_allocated", lambda: with_child(to_plc(LISTS), 0, data=memory_of([0, 2], "int32"))),
    ("data_is_allocated", lambda: with_child(to_plc(WORDS), 0, data=memory_of([0], "int32"))),
    (
        "mask_is_padded",
        lambda: changed(to_plc(pa.array([[1], None] * 5)), mask=Memory(pa.py_buffer(b"\x55"))),
    ),
]


@pytest.mark.parametrize(("name", "plant"), [*PLANTED.items(), *TOO_SHORT])
def test_checker_reports_a_planted_violation(name, plant):
    (found,) = violations(plant())
    assert f": {name}: " in found


@pytest.mark.parametrize("name", ["null_rows_are_empty", "null_structs_have_null_fields"])
def test_checker_allows_values_below_nulls_in_unsanitized_columns(name):
    assert not violations(PLANTED[name](), sanitized=False)


SOUND = [LISTS, TEXTS, NUMBERS, STRUCTS, WORDS, pa.array([[["a"], []], None, [["b", None]]])]


@pytest.mark.parametrize("array", SOUND, ids=lambda a: str(a.type))
def test_sound_columns_pass_and_have_the_values_of_pyarrow(array):
    column = to_plc(array)
    assert not violations(column)
    assert reading.read(column, array.type) == array.to_pylist()
    for begin in range(len(array) + 1):
        part = reading.cut(column, begin, len(array))
        assert not violations(part)
        assert reading.read(part, array.type) == array.to_pylist()[begin:]


def test_invariants_are_the_same_in_the_core_the_page_and_the_tests():
    root = Path(__file__).parents[2]
    source = (root / "csrc/tests/testing/invariants/statements.cpp").read_text()
    rows = re.findall(r"\{invariant::(\w+),\s*((?:\"[^\"]*\"\s*)+),", source)
    stated = {name: "".join(re.findall(r'"([^"]*)"', text)) for name, text in rows}
    page, _ = (root / "docs/invariants.md").read_text().split("\n## Invariants of exports\n")
    assert dict(re.findall(r"^\| `(\w+)` \| (.+?) \| `", page, re.MULTILINE)) == stated
    assert list(PLANTED) == list(stated)
