# SPDX-License-Identifier: Apache-2.0
"""Compare conversions in host memory with pyarrow's, at sizes near the ends of bitmap words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pylibcudf as plc
import pytest

import cudf_arrow_bridge as bridge
from testing import host
from testing.peers.arrays import column_from
from testing.views import string_view

SIZES = (0, 1, 7, 8, 63, 64, 65, 127, 128, 600)
BEGINS = (0, 1, 7, 8, 63, 64, 65)
MOST = max(SIZES) + max(BEGINS)
DAY = 86_400


def parts(array):
    for begin in BEGINS:
        for size in SIZES:
            yield array.slice(begin, size)


def nulls(random, share):
    return pa.array(random.random(MOST) < share)


def masked(random, values, share):
    return pc.if_else(nulls(random, share), None, values) if share else values


def integers(random, low, high, type_):
    return pa.array(random.integers(low, high, MOST)).cast(type_)


def words(random):
    """Return strings of 0 to 40 bytes; views store up to 12 bytes inline."""
    return pa.array(["zero to forty bytes, and not one more than"[:n] for n in lengths(random)])


def lengths(random):
    return random.integers(0, 41, MOST).tolist()


def runs(random, values):
    ends = np.cumsum(random.integers(1, 20, len(values)))
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends.astype("int32")), values)


TAKEN = {
    "bools": lambda r, share: masked(r, nulls(r, 0.5), share),
    "half floats": lambda r, share: masked(
        r, pa.array(r.normal(size=MOST).astype("float16")), share
    ),
    "views": lambda r, share: string_view(masked(r, words(r), share)),
    "runs of int64": lambda r, share: runs(r, masked(r, integers(r, -9, 9, pa.int64()), share)),
    "runs of bools": lambda r, share: runs(r, masked(r, nulls(r, 0.5), share)),
    "runs of strings": lambda r, share: runs(r, masked(r, words(r), share)),
}
PLAIN = {pa.float16(): pa.float32(), pa.string_view(): pa.string()}


def plain(array):
    """Convert an array to the type of the imported column."""
    if pa.types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    return array.cast(PLAIN.get(array.type, array.type))


@pytest.mark.parametrize("share", [0, 0.3, 1])
@pytest.mark.parametrize("make", TAKEN.values(), ids=TAKEN)
def test_import_conversions_match_pyarrow(make, share):
    for part in parts(make(np.random.default_rng(1), share)):
        expected = plain(part)
        column = column_from(part)
        assert column.null_count() == expected.null_count
        assert host.to_arrow(column, expected.type).equals(expected)


def asked(array, requested):
    made = pa.array(bridge.to_arrow_device(array, requested_schema=pa.field("", requested)))
    made.validate(full=True)
    assert made.type == requested
    return made


GIVEN = {
    "views": (lambda r: words(r), pa.string_view()),
    "dates": (lambda r: integers(r, -9, 9, pa.int32()).view(pa.date32()), pa.date64()),
    "days": (
        lambda r: pc.multiply(integers(r, -9, 9, pa.int64()), DAY * 1000).view(pa.timestamp("ms")),
        pa.date32(),
    ),
    "times": (
        lambda r: integers(r, 0, DAY, pa.int64()).view(pa.duration("s")),
        pa.time32("s"),
    ),
    "wide decimals": (
        lambda r: integers(r, -9, 9, pa.int64()).cast(pa.decimal128(38, 0)),
        pa.decimal64(18, 0),
    ),
    "narrow decimals": (
        lambda r: integers(r, -9, 9, pa.int64()).cast(pa.decimal128(38, 0)).cast(pa.decimal32(9)),
        pa.decimal64(18, 0),
    ),
    "bools": (lambda r: nulls(r, 0.5), pa.bool_()),
}


@pytest.mark.parametrize("share", [0, 0.3, 1])
@pytest.mark.parametrize(("make", "requested"), GIVEN.values(), ids=GIVEN)
def test_requested_conversions_match_pyarrow(make, requested, share):
    random = np.random.default_rng(2)
    whole = masked(random, make(random), share)
    for part in parts(whole):
        if pa.types.is_duration(part.type):
            expected = part.view(pa.int64()).cast(pa.int32()).view(requested)
        else:
            expected = part.cast(requested)
        assert asked(column_from(part), requested).equals(expected)


VALUES = {
    "int8": lambda r: integers(r, -99, 99, pa.int8()),
    "int64": lambda r: pc.multiply(integers(r, -300, 300, pa.int64()), 1 << 40),
    "float64": lambda r: integers(r, -300, 300, pa.float64()),
    "decimal128": lambda r: integers(r, -300, 300, pa.decimal128(30, 0)),
    "string": words,
}


@pytest.mark.parametrize("share", [0, 0.3, 1])
@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_dictionary_encoding_and_decoding_match_pyarrow(make, share):
    random = np.random.default_rng(3)
    for part in parts(masked(random, make(random), share)):
        made = asked(column_from(part), pa.dictionary(pa.int32(), part.type))
        expected = part.dictionary_encode()
        assert made.dictionary.equals(expected.dictionary)
        assert made.indices.equals(expected.indices)
        for index in (pa.int8(), pa.uint16(), pa.int32(), pa.int64()):
            if len(expected.dictionary) > 100 and index == pa.int8():
                continue
            narrow = pa.DictionaryArray.from_arrays(expected.indices.cast(index), made.dictionary)
            assert asked(column_from(narrow), part.type).equals(part)


@pytest.mark.parametrize("index", [pa.int8(), pa.uint16(), pa.int32(), pa.int64()], ids=str)
def test_null_values_of_a_dictionary_become_null_rows(index):
    random = np.random.default_rng(4)
    keys = pa.array([None if i % 3 == 0 else i for i in range(100)])
    indices = masked(random, integers(random, 0, 100, index), 0.3)
    for part in parts(pa.DictionaryArray.from_arrays(indices, keys)):
        made = asked(column_from(part), pa.int64())
        assert made.equals(pc.take(keys, part.indices))


def test_compact_export_shifts_bitmaps_to_offset_0():
    random = np.random.default_rng(5)
    for part in parts(masked(random, integers(random, 0, 9, pa.int32()), 0.3)):
        made = bridge.to_arrow_device(column_from(part), compact=True)
        assert pa.array(made).offset == 0
        assert pa.array(made).equals(part)


@pytest.mark.parametrize(
    "requested",
    [pa.string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
@pytest.mark.parametrize("begin", [0, 1])
def test_export_of_strings_applies_the_offset_of_the_offsets_column(requested, begin):
    """The offsets column has an offset itself, as a view of another column has."""
    offsets = np.array([9, 9, 0, 1, 3, 6], "int32")
    offset_column = plc.Column(
        plc.DataType(plc.TypeId.INT32),
        4,
        host.span(pa.py_buffer(offsets.tobytes())),
        None,
        0,
        2,
        [],
    )
    strings = plc.Column(
        plc.DataType(plc.TypeId.STRING),
        3 - begin,
        host.span(pa.py_buffer(b"abbccc")),
        None,
        0,
        begin,
        [offset_column],
    )
    exported = bridge.to_arrow_device(strings, requested_schema=pa.field("", requested))
    assert pa.array(exported).to_pylist() == ["a", "bb", "ccc"][begin:]


@pytest.mark.parametrize("plain", [pa.string(), pa.binary()], ids=str)
def test_views_of_only_empty_strings_are_imported(plain):
    for values in (["", ""], [None, ""], [None, None]):
        array = pa.array(values, pa.string()).cast(plain)
        found = column_from(string_view(array))
        exported = bridge.to_arrow_device(found, requested_schema=pa.field("", plain))
        assert pa.array(exported).to_pylist() == array.to_pylist()
