# SPDX-License-Identifier: Apache-2.0
"""Test producers that break the Python protocol; csrc/tests/fuzz tests the C structs."""

from __future__ import annotations

import ctypes
import gc
from itertools import product

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.broken import BATCH, child
from testing.peers.arrays import ArrowArray, Producer, misnamed, refused
from testing.peers.streams import StreamProducer
from testing.processes import forks, in_fork

#: Objects in place of a capsule. Each call gets new capsules; an import consumes them.
PARTS = {
    "schema": lambda schema, array: schema,
    "array": lambda schema, array: array,
    "schema by another name": lambda schema, array: misnamed(schema, b"arrow_array_stream"),
    "array by another name": lambda schema, array: misnamed(array, b"used_arrow_device_array"),
    "array without a name": lambda schema, array: misnamed(array, None),
    "host array": lambda schema, array: pa.array([1]).__arrow_c_array__()[1],
    "None": lambda schema, array: None,
    "text": lambda schema, array: "arrow_schema",
    "array itself": lambda schema, array: pa.array([1]),
}


class Answering:
    """A producer that returns `answer`, or raises it if it is an exception."""

    def __init__(self, answer):
        self.answer = answer

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class AnsweringOnHost(Answering):
    __arrow_c_array__ = Answering.__arrow_c_device_array__
    __arrow_c_device_array__ = property()


def test_results_other_than_a_schema_and_an_array_capsule_are_rejected():
    right = ("schema", "array")
    cases = [(tuple, parts) for parts in [*product(PARTS, repeat=2), (), right[:1], right * 2]]
    producers = []
    for container, parts in [*cases, (list, right), (iter, right)]:
        producer = Producer(BATCH)
        producers.append(producer)
        capsules = producer.schema_capsule, producer.array_capsule
        producer.drop()
        answer = Answering(container([PARTS[part](*capsules) for part in parts]))
        if parts == right and container is not iter:
            cab.from_arrow_device(answer, to="pylibcudf")
        else:
            with pytest.raises((TypeError, ValueError)):
                cab.from_arrow_device(answer, to="pylibcudf")
        del capsules, answer
    gc.collect()
    assert {(each.releases, each.schema_releases) for each in producers} == {(1, 1)}


@pytest.mark.parametrize("answer", [None, 7, "ab", (), (None,) * 3])
@pytest.mark.parametrize("producer", [Answering, AnsweringOnHost])
def test_result_without_a_pair_of_capsules_raises_a_type_error(producer, answer):
    with pytest.raises(TypeError, match="a pair of PyCapsules"):
        cab.from_arrow_device(producer(answer))


@pytest.mark.parametrize("error", [KeyError("x"), KeyboardInterrupt()])
def test_exception_of_the_producer_is_raised_unchanged(error):
    with pytest.raises(type(error)) as caught:
        cab.from_arrow_device(Answering(error))
    assert caught.value is error


def test_consumed_array_is_rejected():
    for answer in (
        Answering(BATCH.__arrow_c_device_array__()),
        AnsweringOnHost(BATCH.__arrow_c_array__()),
    ):
        cab.from_arrow_device(answer, to="pylibcudf")
        for _ in range(2):
            assert "the array is released" in refused(ValueError, answer, kind=None)


@pytest.mark.parametrize("to", ["cudf", "pylibcudf"])
def test_field_without_a_name_is_imported(to):
    batch = pa.record_batch([pa.array([1, 2])], ["x"])
    producer = Producer(batch, lambda schema, _: setattr(child(schema, 0), "name", None))
    cab.from_arrow_device(producer, to=to)
    gc.collect()
    assert (producer.releases, producer.schema_releases) == (1, 1)


class EditedBatch:
    """A batch whose C struct a function changes."""

    def __init__(self, batch, edit):
        self._batch, self._edit = batch, edit

    def _export_to_c(self, address):
        self._batch._export_to_c(address)
        self._edit(ArrowArray.from_address(address))


def joined(schema, batches):
    """Return the concatenated batches, or the error. pyarrow crashes for most hostile ones."""
    producer = StreamProducer(schema, batches)
    return in_fork(lambda: repr(pa.record_batch(cab.to_arrow_device(producer)).to_pylist()))


@forks
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("length", -1, "length is negative"),
        ("length", 1, "1"),
        ("offset", -(1 << 62), "offset is negative"),
        ("buffers", type(ArrowArray().buffers)(), "null"),
        ("buffer", 1, "null"),
        ("n_buffers", 2, "2"),
        ("offset of the last text", -5, "-5"),
    ],
)
def test_hostile_batches_are_rejected_before_pyarrow_concatenates_them(name, value, reason):
    def edit(root):
        column = child(root, 0)
        if name == "offset of the last text":
            ctypes.c_int32.from_address(column.buffers[1] + 12).value = value
        elif name == "buffer":
            column.buffers[value] = None
        else:
            setattr(column, name, value)

    batch = pa.record_batch({"a": ["one", "two", None]})
    error = joined(batch.schema, [batch, EditedBatch(batch, edit)])
    assert error.startswith("ValueError: column 'a': ")
    assert reason in error


@forks
@pytest.mark.parametrize("in_struct", [False, True])
@pytest.mark.parametrize("num_batches", [2, 3])
@pytest.mark.parametrize(
    ("kind", "buffer", "value"),
    [
        ("run ends", 1, 1),
        ("run ends", 1, -5),
        ("run ends", 1, 1 << 30),
        ("list views", 1, 1 << 30),
        ("list views", 1, -(1 << 30)),
        ("list views", 2, 1 << 30),
        ("list views", 2, -1),
    ],
)
def test_hostile_positions_are_rejected_before_pyarrow_uses_them(
    kind, buffer, value, num_batches, in_struct
):
    if kind == "run ends":
        # The first end is wrong where a last end of any size would be right.
        position = 0 if value > 3 else 1
        array = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8]))
    else:
        position = 1
        array = pa.array([[1, 2], [3, 4]], pa.list_view(pa.int32()))
    batch = pa.record_batch(
        {"a": pa.StructArray.from_arrays([array], ["x"]) if in_struct else array}
    )

    def edit(root):
        column = child(root, 0, 0) if in_struct else child(root, 0)
        edited = child(column, 0) if kind == "run ends" else column
        ctypes.c_int32.from_address(edited.buffers[buffer] + 4 * position).value = value

    error = joined(batch.schema, [EditedBatch(batch, edit)] * num_batches)
    assert error.startswith("ValueError: column 'a")


@forks
def test_rows_after_the_length_of_a_batch_are_not_concatenated():
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    shorter = EditedBatch(batch, lambda root: setattr(root, "length", 2))
    expected = batch.to_pylist()[:2]
    assert joined(batch.schema, [shorter, batch]) == repr(expected + batch.to_pylist())
    assert joined(batch.schema, [batch, shorter]) == repr(batch.to_pylist() + expected)


@forks
def test_batches_that_are_slices_of_structs_are_concatenated():
    batch = pa.record_batch({"a": [1, 2, 3], "b": ["x", "y", "z"]})

    def edit(root):
        root.offset, root.length = 1, 2

    assert joined(batch.schema, [batch, EditedBatch(batch, edit)]) == repr(
        [*batch.to_pylist(), *batch.to_pylist()[1:]]
    )
