# SPDX-License-Identifier: Apache-2.0
"""The core's type table."""

from cython.operator cimport dereference

from cudf_arrow_bridge._core cimport libcudf_arrow_bridge as core
from cudf_arrow_bridge._core.capsules cimport schema_from_capsule
from cudf_arrow_bridge._core.copies cimport text_of

from pylibcudf.types import TypeId


cdef str crossing_name(core.crossing crossing):
    if crossing == core.crossing.zero_copy:
        return "zero-copy"
    return "converted" if crossing == core.crossing.converted else "unsupported"


cdef dict to_dict(const core.type_row& row):
    return {
        "arrow": text_of(row.arrow),
        "format": text_of(row.format),
        "type_id": TypeId(<int>row.column),
        "on_export": crossing_name(row.on_export),
        "on_import": crossing_name(row.on_import),
        "note": text_of(row.note),
        "waits_for": text_of(row.waits_for),
    }


def rows() -> list[dict]:
    """All rows of the type table."""
    cdef core.type_rows table = core.type_table()
    return [to_dict(table[i]) for i in range(table.size())]


def import_row(object capsule) -> dict:
    """The row for importing arrays of the type at a schema's top level."""
    return to_dict(core.import_row(dereference(schema_from_capsule(capsule))))
