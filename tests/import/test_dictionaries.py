# SPDX-License-Identifier: Apache-2.0
"""Dictionaries with each index type, and with values that the import must convert."""

from __future__ import annotations

import pyarrow as pa
import pylibcudf as plc
import pytest

from testing import host, samples, views
from testing.peers.arrays import Producer, column_from, forget_null_counts

SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
UNSIGNED = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def plain(array):
    """Return the decoded rows of a dictionary. pyarrow cannot decode all dictionaries itself."""
    if not pa.types.is_dictionary(array.type):
        return array
    values = plain(array.dictionary)
    return values.take(array.indices)


def arrived(array):
    """Import an array; return the rows of the column, read by its layout."""
    column = column_from(array)
    codes, keys = column.children()
    assert keys.null_count() == 0 or keys.type().id() == plc.TypeId.EMPTY
    index_type = {v: k for k, v in host.PLAIN.items()}[codes.type().id()]
    found = host.to_arrow(column, pa.dictionary(index_type, key_type(array.type)))
    found.validate(full=True)
    assert column.null_count() == found.indices.null_count
    return found


def key_type(type_):
    return key_type(type_.value_type) if pa.types.is_dictionary(type_) else type_


def check(array):
    for steps in samples.cuts(len(array))[::2]:
        part = samples.cut(array, steps)
        assert plain(arrived(part)).equals(plain(part)), (steps, part)
    uncounted = column_from(Producer(array, forget_null_counts))
    assert uncounted.null_count() == column_from(array).null_count()


def coded(keys, size, nulls, index_type):
    rows = enumerate(samples.mask(size, nulls))
    codes = [None if null else i * 3 % len(keys) for i, null in rows]
    return pa.DictionaryArray.from_arrays(pa.array(codes, index_type), keys)


@pytest.mark.parametrize("index_type", [*SIGNED, *UNSIGNED], ids=str)
def test_import_accepts_every_index_type(index_type):
    check(coded(pa.array(["a", "b", "", "żółw"]), samples.MANY, "some", index_type))


@pytest.mark.parametrize(
    ("index_type", "count", "wanted"),
    [
        (pa.uint8(), 128, plc.TypeId.INT8),
        (pa.uint8(), 129, plc.TypeId.INT16),
        (pa.uint16(), 32_768, plc.TypeId.INT16),
        (pa.uint16(), 32_769, plc.TypeId.INT32),
        (pa.uint32(), 40_000, plc.TypeId.INT32),
        (pa.uint64(), 40_000, plc.TypeId.INT64),
    ],
)
def test_import_widens_unsigned_indices_only_if_necessary(index_type, count, wanted):
    codes = pa.array(range(count), index_type)
    array = pa.DictionaryArray.from_arrays(codes, pa.array(range(count)))
    (found, _) = column_from(array).children()
    assert found.type().id() == wanted
    shared = found.data().ptr == codes.buffers()[1].address
    assert shared == (plc.types.size_of(found.type()) == index_type.byte_width)
    assert plain(arrived(array)).equals(plain(array))


@pytest.mark.parametrize("nulls", samples.NULLS)
@pytest.mark.parametrize("index_type", [*SIGNED, *UNSIGNED], ids=str)
def test_rows_of_null_dictionary_values_become_null(index_type, nulls):
    for keys in (["a", None, "bc", None, "d"], [None, None], [None], ["a", None]):
        check(coded(pa.array(keys, pa.string()), samples.MANY, nulls, index_type))


@pytest.mark.parametrize(
    "type_", [t for t in samples.TYPES if t not in samples.DICTIONARY], ids=str
)
def test_import_accepts_null_dictionary_values_of_any_type(type_):
    check(coded(samples.values(type_, 11, "some"), samples.MANY, "some", pa.int16()))


@pytest.mark.parametrize("nulls", samples.NULLS)
def test_import_of_nested_dictionaries_keeps_the_rows(nulls):
    inner = coded(pa.array(["a", None, "bc"]), 7, nulls, pa.uint8())
    check(coded(inner, samples.MANY, "some", pa.int32()))
    deeper = coded(inner, 5, "some", pa.int16())
    check(coded(deeper, samples.MANY, nulls, pa.int8()))


@pytest.mark.parametrize("nulls", samples.NULLS)
def test_import_of_dictionaries_of_runs_and_views_keeps_the_rows(nulls):
    keys = samples.values(pa.string(), 12, nulls)
    runs, expected = views.run_ended(keys)
    for kept, standing in ((runs, expected), (views.string_view(keys), keys)):
        codes = coded(standing, samples.MANY, "some", pa.int8())
        array = pa.DictionaryArray.from_arrays(codes.indices, kept)
        for steps in samples.cuts(len(array)):
            column = column_from(samples.cut(array, steps))
            assert column.children()[1].null_count() == 0
            found = host.to_arrow(column, codes.type)
            assert plain(found).equals(plain(samples.cut(codes, steps)))


@pytest.mark.parametrize("keys", [pa.array([], pa.string()), pa.nulls(0), pa.nulls(2)])
def test_import_of_a_dictionary_without_values_gives_null_rows(keys):
    codes = pa.array([0 if len(keys) else None, None, None], pa.int8())
    column = column_from(pa.DictionaryArray.from_arrays(codes, keys))
    assert (column.size(), column.null_count()) == (3, 3)


def test_import_checks_the_indices_if_dictionary_values_are_null():
    keys = pa.array(["a", None])
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 7], pa.int8()), keys, safe=False)
    with pytest.raises(ValueError, match=r"row 2: .*7$"):
        column_from(array)
