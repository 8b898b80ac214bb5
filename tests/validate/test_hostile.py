# SPDX-License-Identifier: Apache-2.0
"""Producers that break the protocol above the C structs, of which csrc/tests/fuzz takes care."""

from __future__ import annotations

import ctypes
import gc
import re
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as bridge
from testing.broken import BATCH, PATHS, child
from testing.peers.arrays import Producer, misnamed, refused

#: What may stand in place of a capsule. Capsules are made for each example: imports spend them.
PARTS = {
    "schema": lambda schema, array: schema,
    "array": lambda schema, array: array,
    "schema by another name": lambda schema, array: misnamed(schema, b"arrow_array_stream"),
    "array by another name": lambda schema, array: misnamed(array, b"used_arrow_device_array"),
    "host array": lambda schema, array: pa.array([1]).__arrow_c_array__()[1],
    "None": lambda schema, array: None,
    "number": lambda schema, array: 7,
    "text": lambda schema, array: "arrow_schema",
    "array itself": lambda schema, array: pa.array([1]),
}


class Answering:
    """Answers with whatever it was made with, or raises it."""

    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class AnsweringOnHost(Answering):
    __arrow_c_array__ = Answering.__arrow_c_device_array__
    __arrow_c_device_array__ = property()


def as_dict(parts):
    return dict(enumerate(parts))


@given(
    parts=st.lists(st.sampled_from(sorted(PARTS)), max_size=3)
    | st.tuples(*[st.sampled_from(sorted(PARTS))] * 2).map(list),
    container=st.sampled_from([tuple, list, iter, as_dict]),
    to=st.sampled_from(["cudf", "pylibcudf"]),
    kind=st.sampled_from([None, "table", "column"]),
)
def test_answers_that_are_no_pair_of_capsules(parts, container, to, kind):
    producer = Producer(BATCH)
    capsules = producer.schema_capsule, producer.array_capsule
    producer.drop()
    answer = Answering(container([PARTS[part](*capsules) for part in parts]))
    if parts == ["schema", "array"] and container in (tuple, list):
        bridge.from_arrow_device(answer, to=to, kind=kind)
    else:
        with pytest.raises((TypeError, ValueError)):
            bridge.from_arrow_device(answer, to=to, kind=kind)
    del capsules, answer
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize("answer", [None, 7, "ab", (), (None,), (None,) * 3, object()])
@pytest.mark.parametrize("producer", [Answering, AnsweringOnHost])
def test_the_error_says_what_was_found(producer, answer):
    with pytest.raises(TypeError, match="a pair of PyCapsules expected"):
        bridge.from_arrow_device(producer(answer))


@pytest.mark.parametrize("error", [KeyError("x"), RuntimeError("broken"), KeyboardInterrupt()])
def test_errors_of_the_producer_arrive_as_they_are(error):
    with pytest.raises(type(error)) as caught:
        bridge.from_arrow_device(Answering(error))
    assert caught.value is error


def test_a_spent_array_is_refused():
    producer = Producer(BATCH)
    answer = Answering((producer.schema_capsule, producer.array_capsule))
    producer.drop()
    bridge.from_arrow_device(answer, to="pylibcudf")
    for _ in range(2):
        assert "released already" in refused(ValueError, answer, kind=None)


def test_a_capsule_in_both_places():
    schema, array = BATCH.__arrow_c_device_array__()
    for pair in [(schema, schema), (array, array), (array, schema)]:
        with pytest.raises(ValueError, match="a PyCapsule named"):
            bridge.from_arrow_device(Answering(pair))
    assert bridge.from_arrow_device(Answering((schema, array)), to="pylibcudf").num_columns() == 3


NOT_UTF8 = [b"\xe9t\xe9", b"\xff", b"\xed\xa0\x80", b"a\xc3"]


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
@pytest.mark.parametrize("where", [[0], [0, 0, 1], [2]])
@pytest.mark.parametrize("member", ["name", "format"])
@pytest.mark.parametrize("text", NOT_UTF8)
def test_texts_that_are_not_utf8(to, where, member, text):
    producer = Producer(BATCH, lambda schema, _: setattr(child(schema, *where), member, text))
    assert "not UTF-8" in refused(ValueError, producer, kind=None, to=to)
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
def test_fields_need_no_name(to):
    batch = pa.record_batch([pa.array([1, 2])], ["x"])
    producer = Producer(batch, lambda schema, _: setattr(child(schema, 0), "name", None))
    bridge.from_arrow_device(producer, to=to)
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
@pytest.mark.parametrize("sizes", [[-1], [1, -5], [1, 0, -(2**31)]])
def test_metadata_of_negative_sizes(to, sizes):
    metadata = ctypes.create_string_buffer(struct.pack(f"={len(sizes)}i", *sizes))

    def edit(schema, array):
        child(schema, 2).metadata = ctypes.addressof(metadata)

    assert "metadata" in refused(ValueError, Producer(BATCH, edit), kind=None, to=to)


def test_arrays_that_contain_themselves():
    def edit(schema, array):
        for root in (schema, array.array):
            orders = root.children[0].contents
            orders.children[0] = ctypes.pointer(orders)

    producer = Producer(BATCH, edit)
    assert "64 levels" in refused(ValueError, producer, kind=None)
    assert (producer.releases, producer.schema_releases) == (1, 1)


@given(
    path=st.sampled_from(sorted(PATHS)),
    member=st.sampled_from(["length", "offset", "null_count", "n_buffers", "n_children"]),
    value=st.integers(-(2**63), -2) | st.integers(2**59, 2**63 - 1),
    to=st.sampled_from(["cudf", "pylibcudf"]),
)
def test_absurd_numbers(path, member, value, to):
    producer = Producer(BATCH, lambda _, array: setattr(PATHS[path](array.array), member, value))
    with pytest.raises((ValueError, OverflowError), match=re.escape(f"'{path}")):
        bridge.from_arrow_device(producer, to=to)
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)
