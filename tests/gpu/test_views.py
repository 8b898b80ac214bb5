# SPDX-License-Identifier: Apache-2.0
"""Views, runs and unusual dictionaries, decoded and checked by libcudf on the device."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from testing import samples, views
from testing.device import GPU, SLICES, pylibcudf_rows, unnamed
from testing.peers.arrays import column_from
from testing.peers.device_memory import OnDevice

pytestmark = GPU


def cases():
    """Yield a name, an array of each layout, and the equal array of a plain layout."""
    for nulls in samples.NULLS:
        text = samples.values(pa.string(), samples.MANY, nulls)
        yield f"string_view-{nulls}", views.string_view(text), text
        for place in views.PLACES:
            for element in (pa.int32(), pa.string(), samples.NESTED[3]):
                lists = samples.as_list(element, samples.MANY, nulls)
                for large in (False, True):
                    view = views.list_view(lists, place, large)
                    yield f"{view.type}-{place}-{nulls}", view, lists
        for type_ in (pa.int32(), pa.bool_(), pa.string(), *samples.NESTED):
            for ends in views.RUN_ENDS:
                runs, expected = views.run_ended(samples.values(type_, samples.MANY, nulls), ends)
                yield f"{runs.type}-{nulls}", runs, expected
        keys = pa.array(["a", None, "bc", None])
        rows = enumerate(samples.mask(samples.MANY, nulls))
        codes = pa.array([None if null else i * 3 % 4 for i, null in rows], pa.uint8())
        yield f"null keys-{nulls}", pa.DictionaryArray.from_arrays(codes, keys), keys.take(codes)


CASES = [pytest.param(array, expected, id=name) for name, array, expected in cases()]


@pytest.mark.parametrize(("array", "expected"), CASES)
def test_import_decodes_views_and_runs(array, expected):
    pytest.importorskip("cupy")
    for offset, size in SLICES:
        column = column_from(OnDevice(array.slice(offset, size)))
        assert pylibcudf_rows(column) == unnamed(expected.slice(offset, size).to_pylist())
    for source in (array, OnDevice(array)):
        column = column_from(source, copy=True, validate="full")
        assert pylibcudf_rows(column) == unnamed(expected.to_pylist())


def wrong_arrays():
    """Yield a name and an array whose row 1 has contents out of bounds."""
    data = b"twenty bytes of text"
    views = {"buffer": (20, 1, 0), "end": (20, 0, 1), "begin": (20, 0, -1), "size": (-1, 0, 0)}
    for name, (size, buffer, offset) in views.items():
        good = struct.pack("<i4sii", 20, data[:4], 0, 0)
        wrong = struct.pack("<i4sii", size, data[:4], buffer, offset)
        for type_ in (pa.string_view(), pa.binary_view()):
            buffers = [None, pa.py_buffer(good + wrong), pa.py_buffer(data)]
            yield f"{type_} {name}", pa.Array.from_buffers(type_, 2, buffers)
    for type_, form in ((pa.list_view(pa.int32()), "i"), (pa.large_list_view(pa.int32()), "q")):
        most = 2 ** (struct.calcsize(form) * 8 - 1) - 1
        for offset, size in ((3, 2), (-1, 2), (2, -1), (5, 0), (most, most)):
            numbers = [pa.py_buffer(struct.pack(f"<2{form}", 0, one)) for one in (offset, size)]
            elements = [pa.array([1, 2, 3, 4], pa.int32())]
            array = pa.Array.from_buffers(type_, 2, [None, *numbers], children=elements)
            yield f"{type_} {offset} {size}", array
    for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64()):
        for index in (-1, 2):
            codes, values = pa.array([0, index], type_), pa.array(["a", None])
            array = pa.DictionaryArray.from_arrays(codes, values, safe=False)
            yield f"{type_} {index}", array


@pytest.mark.parametrize("array", [pytest.param(a, id=name) for name, a in wrong_arrays()])
def test_import_rejects_contents_out_of_bounds(array):
    """A kernel that read out of bounds would end the context: all later tests would fail."""
    pytest.importorskip("cupy")
    for source in (array, OnDevice(array)):
        with pytest.raises(ValueError, match="row 1: expected"):
            column_from(source)


def test_import_rejects_a_null_column_below_a_list_view():
    """libcudf cannot gather a null column. Views in host memory are gathered on the host."""
    pytest.importorskip("cupy")
    lists = samples.as_list(pa.null(), 9, "none")
    with pytest.raises(TypeError, match="libcudf cannot gather columns of the null type"):
        column_from(OnDevice(views.list_view(samples.as_list(lists.type, 9, "none"))))
