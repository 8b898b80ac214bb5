# SPDX-License-Identifier: Apache-2.0
"""Checks of the invariants of libcudf's algorithms, for pylibcudf columns in host memory.

The invariants are those of ``csrc/tests/testing/invariants.hpp``, with the same names.
``docs/invariants.md`` says where libcudf relies on each.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pylibcudf as plc

from cudf_arrow_bridge.export import inputs
from cudf_arrow_bridge.import_ import tensors
from cudf_arrow_bridge.import_.importer import Importer

T = plc.TypeId
SIGNED = {T.INT8: "int8", T.INT16: "int16", T.INT32: "int32", T.INT64: "int64"}


def integers(span, kind, count):
    """Return the first integers of a span, or no integers without a span."""
    if span is None or count == 0:
        return np.empty(0, kind)
    return np.frombuffer(pa.foreign_buffer(span.ptr, span.size, base=span), kind, count)


def end_of(column):
    return column.offset() + column.size()


def nulls_of(column, begin, end):
    """Return whether rows are null. Rows are counted from the start of the buffers."""
    mask = column.null_mask()
    if column.type().id() == T.EMPTY:
        return np.ones(end - begin, "bool")
    if mask is None:
        return np.zeros(end - begin, "bool")
    bits = np.unpackbits(integers(mask, "uint8", -(-end // 8)), bitorder="little")
    return bits[begin:end] == 0


def sliced_field(column, index):
    """Slice a field like `structs_column_view::get_sliced_child`, which ignores its own offset."""
    field = column.children()[index]
    begin, end = column.offset(), end_of(column)
    nulls = int(nulls_of(field, begin, end).sum()) if field.null_count() else 0
    if field.type().id() == T.EMPTY:
        nulls = end - begin
    return plc.Column(
        field.type(),
        column.size(),
        field.data(),
        field.null_mask(),
        nulls,
        begin,
        field.children(),
    )


def violations(column, *, sanitized=True):
    """Return the violations of libcudf's invariants by a column, one sentence each."""
    found = []
    _visit(column, "column", sanitized, found)
    return found


def refuse(found):
    """Fail if there are violations. A `note` for `watch`."""
    assert not found, "\n".join(found)


def watch(monkeypatch, note):
    """Check every imported column, and call `note` with its violations.

    Columns are imported from arrays and tensors, also by exports of foreign objects.
    """

    def look(columns, sanitized):
        note([v for column in columns for v in violations(column, sanitized=sanitized)])

    unsanitized = set()

    def init(self, *args, sanitize, **arguments):
        original_init(self, *args, sanitize=sanitize, **arguments)
        if not sanitize:
            unsanitized.add(self)

    def import_array(self, *args):
        imported = original_import(self, *args)
        look(imported[0], self not in unsanitized)
        return imported

    def export_input(*args):
        made = original_input(*args)
        look(made.columns, False)
        return made

    def tensor(original):
        def checked(*args):
            imported = original(*args)
            look(imported[0], True)
            return imported

        return checked

    original_init, original_import = Importer.__init__, Importer.import_array
    original_input = inputs.export_input_of_source
    monkeypatch.setattr(Importer, "__init__", init)
    monkeypatch.setattr(Importer, "import_array", import_array)
    monkeypatch.setattr(inputs, "export_input_of_source", export_input)
    for name in ("import_dlpack", "import_memory"):
        monkeypatch.setattr(tensors, name, tensor(getattr(tensors, name)))


class _Level:
    """One level of a column, and the list that collects its violations."""

    def __init__(self, column, path, sanitized, found):
        self.column = column
        self.path = path
        self.sanitized = sanitized
        self.kind = column.type().id()
        self.children = column.children()
        self.begin = column.offset()
        self.end = end_of(column)
        self._found = found

    def expect(self, holds, name, what, below=""):
        if not holds:
            self._found.append(f"{self.path}{below}: {name}: {what} found")
        return holds

    def visit(self, child, below):
        _visit(child, self.path + below, self.sanitized, self._found)


def _visit(column, path, sanitized, found):
    level = _Level(column, path, sanitized, found)
    if not _has_its_shape(level) or level.kind == T.EMPTY:
        return
    if not _check_mask(level):
        return
    check = {
        T.STRING: _check_strings,
        T.LIST: _check_lists,
        T.STRUCT: _check_fields,
        T.DICTIONARY32: _check_dictionary,
    }
    check.get(level.kind, _check_data)(level)


def _has_its_shape(level):
    count = len(level.children)
    empty = level.column.size() == 0 and count == 0
    right = {
        T.STRING: count == 1 or empty,
        T.LIST: count == 2,
        T.STRUCT: True,
        T.DICTIONARY32: count == 2 or empty,
    }.get(level.kind, count == 0)
    fits = level.expect(level.end < 2**31, "rows_fit", f"an end of {level.end} rows")
    return level.expect(right, "children_are_there", f"{count} children") and fits


def _check_mask(level):
    """Check a mask; return whether its bits can be read."""
    column, mask = level.column, level.column.null_mask()
    if mask is not None and column.size() > 0:
        level.expect(mask.ptr % 4 == 0, "mask_is_aligned", "a misaligned mask")
        what = f"a mask of {mask.size} bytes"
        if not level.expect(_has_its_mask(column), "mask_is_padded", what):
            return False
    nulls = int(nulls_of(column, level.begin, level.end).sum())
    level.expect(
        column.null_count() == nulls,
        "null_count_is_right",
        f"a null count of {column.null_count()} for {nulls} nulls",
    )
    return True


def _check_data(level):
    if level.column.size() == 0:
        return
    width = plc.types.size_of(level.column.type())
    data = level.column.data()
    aligned = data is not None and data.ptr % min(width, 8) == 0
    level.expect(aligned, "data_is_aligned", "misaligned data")
    level.expect(_has_its_data(level.column), "data_is_allocated", "data of fewer rows")


def _has_its_data(column):
    data = column.data()
    size = 0 if data is None else data.size
    return size >= end_of(column) * plc.types.size_of(column.type())


def _has_its_mask(column):
    mask = column.null_mask()
    return mask is None or column.size() == 0 or mask.size >= -(-end_of(column) // 8)


def _offsets_of(level):
    """Return the offsets, or None if they cannot be read or do not ascend."""
    column, below = level.children[0], ".offsets"
    kind = column.type().id()
    wide = kind == T.INT64 and level.kind == T.STRING
    if not level.expect(
        kind == T.INT32 or wide, "offsets_have_their_type", f"type {kind.name}", below
    ):
        return None
    nulls = column.null_count()
    level.expect(nulls == 0, "offsets_have_no_nulls", f"{nulls} nulls", below)
    own = column.offset()
    level.expect(own == 0, "offsets_begin_at_their_head", f"offset {own}", below)
    level.visit(column, below)
    if level.end == 0 and column.size() == 0:
        return np.zeros(1, "int64")
    enough = column.size() > level.end
    if not level.expect(
        enough, "offsets_are_enough", f"{column.size()} for {level.end} rows", below
    ):
        return None
    if not _has_its_data(column):
        return None
    offsets = integers(column.data(), SIGNED[kind], column.size()).astype("int64")
    first = int(offsets[level.begin])
    at = f"offset {first} at {level.begin}"
    level.expect(level.begin > 0 or first == 0, "first_offset_is_zero", at, below)
    rising = first >= 0 and bool((np.diff(offsets[level.begin :]) >= 0).all())
    return offsets if level.expect(rising, "offsets_ascend", at, below) else None


def _check_empty_nulls(level, offsets):
    if not level.sanitized or level.column.size() == 0:
        return
    nulls = nulls_of(level.column, level.begin, level.end)
    sizes = np.diff(offsets[level.begin : level.end + 1])[nulls]
    level.expect(not sizes.any(), "null_rows_are_empty", f"{int(sizes.sum())} items of null rows")


def _check_strings(level):
    if not level.children or (offsets := _offsets_of(level)) is None:
        return
    data = level.column.data()
    size = 0 if data is None else data.size
    last = int(offsets[-1])
    level.expect(last <= size, "offsets_stay_within", f"{size} characters for {last}")
    _check_empty_nulls(level, offsets)


def _check_lists(level):
    elements = level.children[1]
    own = elements.offset()
    level.expect(own == 0, "elements_begin_at_their_head", f"offset {own}", "[]")
    if (offsets := _offsets_of(level)) is not None:
        last, size = int(offsets[-1]), elements.size()
        what = f"{size} elements for a last offset of {last}"
        within = level.expect(last <= size, "offsets_stay_within", what)
        ends = level.children[0].size() <= level.end + 1
        level.expect(not within or not ends or last == size, "child_ends_with_offsets", what)
        _check_empty_nulls(level, offsets)
    level.visit(elements, "[]")


def _check_fields(level):
    for index, field in enumerate(level.children):
        below = f".{index}"
        own = field.offset()
        level.expect(own == 0, "fields_begin_at_their_head", f"offset {own}", below)
        covered = field.size() >= level.end
        what = f"{field.size()} rows below {level.end}"
        if not level.expect(covered, "fields_cover_the_struct", what, below):
            continue
        if not level.expect(_has_its_mask(field), "mask_is_padded", "a mask too short", below):
            continue
        nulls = int(nulls_of(field, own, end_of(field)).sum())
        level.expect(
            field.null_count() == nulls,
            "null_count_is_right",
            f"a null count of {field.null_count()} for {nulls} nulls",
            below,
        )
        above = nulls_of(level.column, level.begin, level.end)
        clean = not (above & ~nulls_of(field, level.begin, level.end)).any()
        level.expect(
            clean or not level.sanitized,
            "null_structs_have_null_fields",
            "a value in a null row",
            below,
        )
        level.visit(sliced_field(level.column, index), below)


def _check_dictionary(level):
    if not level.children:
        return
    indices, keys = level.children
    below = ".indices"
    level.visit(keys, ".keys")
    nulls = keys.null_count()
    level.expect(nulls == 0, "keys_have_no_nulls", f"{nulls} nulls", ".keys")
    kind = indices.type().id()
    if not level.expect(kind in SIGNED, "indices_are_signed", f"type {kind.name}", below):
        return
    nulls = indices.null_count()
    level.expect(nulls == 0, "indices_have_no_nulls", f"{nulls} nulls", below)
    own = indices.offset()
    level.expect(own == 0, "indices_begin_at_their_head", f"offset {own}", below)
    level.visit(indices, below)
    what = f"{indices.size()} for {level.end} rows"
    if not level.expect(indices.size() >= level.end, "indices_cover_the_rows", what, below):
        return
    if not _has_its_data(indices):
        return
    rows = integers(indices.data(), SIGNED[kind], level.end)[level.begin :]
    used = rows[~nulls_of(level.column, level.begin, level.end)]
    within = bool(((used >= 0) & (used < keys.size())).all())
    what = f"indices outside of {keys.size()} keys"
    level.expect(within, "indices_are_within_keys", what, below)
