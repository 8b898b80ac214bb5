# SPDX-License-Identifier: Apache-2.0
"""Batches for IPC: every supported type, nested, with nulls and sliced, and unusual streams."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

from testing import foreign, samples, views

ROWS = 41
#: Slices that become batches: one begins within a byte of the mask, one has no rows.
CUTS = [(0, 19), (19, 0), (19, 22)]


def with_nulls(type_, nulls):
    """Return an array of any type, including views and run-end encoding."""
    if pa.types.is_run_end_encoded(type_):
        return views.run_ended(with_nulls(type_.value_type, nulls), type_.run_end_type)[0]
    if type_ in (pa.string_view(), pa.binary_view()):
        texts = samples.values(pa.string(), ROWS, nulls)
        return views.string_view(texts if type_ == pa.string_view() else texts.cast(pa.binary()))
    if pa.types.is_list_view(type_) or pa.types.is_large_list_view(type_):
        lists = samples.values(pa.list_(type_.value_type), ROWS, nulls)
        return views.list_view(lists, "shuffled", pa.types.is_large_list_view(type_))
    return samples.values(type_, ROWS, nulls)


def nested(array):
    """Return the array in lists and in a struct. The lists skip the first element."""
    offsets = pa.array([min(1 + 2 * i, len(array)) for i in range(len(array) + 1)], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, array)
    return lists, pa.StructArray.from_arrays([array, lists], ["plain", "lists"])


def batch_of(type_):
    """Return a batch of columns of a type: without nulls, with some, with nulls only, nested."""
    columns = {nulls: with_nulls(type_, nulls) for nulls in samples.NULLS}
    columns["list"], columns["struct"] = nested(columns["some"])
    return pa.record_batch(columns)


VIEWS = [
    *(pa.string_view(), pa.binary_view()),
    *(pa.list_view(pa.int32()), pa.large_list_view(pa.string())),
]
RUNS = [pa.run_end_encoded(ends, pa.string()) for ends in views.RUN_ENDS]
TYPES = list(dict.fromkeys([*samples.TYPES, *samples.PARAMETRIC, *foreign.TYPES, *VIEWS, *RUNS]))
ALL_TYPES = [pytest.param(type_, id=str(type_)) for type_ in TYPES]


def batches_of(type_):
    """Return batches of one type, sliced from one batch."""
    whole = batch_of(type_)
    return [whole.slice(*cut) for cut in CUTS]


def coded(codes, keys, ordered=False):
    """Return a dictionary array."""
    keys = keys if isinstance(keys, pa.Array) else pa.array(keys)
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), keys, ordered=ordered)


def _unusual():
    """Yield names, schemas and batches."""
    numbers = pa.record_batch({"a": [1, None, 3]})
    yield "no batches", numbers.schema, []
    yield "no rows", numbers.schema, [numbers.slice(0, 0)] * 2
    yield "no columns", pa.schema([]), [pa.record_batch([], schema=pa.schema([]))]
    for name, value in (("metadata", "ja"), ("binary metadata", b"\x00\xff")):
        metadata = {"größe": value, "": ""}
        field = pa.field("", pa.int64(), nullable=False, metadata=metadata)
        schema = pa.schema([field, field.with_name("twice"), field.with_name("twice")], metadata)
        column = pa.array([1, 2, 3])
        yield name, schema, [pa.record_batch([column] * 3, schema=schema)]
    yield "known extension", *_one(pa.array([b"0123456789abcdef", None], pa.uuid()))
    extension = {"ARROW:extension:name": "tests.text", "ARROW:extension:metadata": "how"}
    schema = pa.schema([pa.field("a", pa.string(), metadata=extension)])
    yield "unknown extension", schema, [pa.record_batch([pa.array(["x", None])], schema=schema)]
    keys = ["a", "bc", "d"]
    yield "shared dictionary", *_one(coded([0, 2, None], keys), coded([1], keys))
    yield "ordered", *_one(coded([0, 2, None], keys, ordered=True))
    inner = coded([0, 1, 2, 1], keys)
    of_struct = pa.StructArray.from_arrays([inner, pa.array([1, 2, 3, 4])], ["kind", "number"])
    outer = pa.DictionaryArray.from_arrays(pa.array([3, 0, None], pa.int16()), of_struct)
    yield "dictionary within a dictionary", *_one(outer)
    lists = pa.ListArray.from_arrays(pa.array([1, 1, 3, 4], pa.int32()), inner)
    yield "dictionary within lists", *_one(lists, lists[1:])
    yield "no keys", *_one(coded([None, None], pa.array([], pa.string())))


def _one(*columns):
    batches = [pa.record_batch({"a": column}) for column in columns]
    return batches[0].schema, batches


UNUSUAL = {name: (schema, batches) for name, schema, batches in _unusual()}


def written(schema, batches, *, file=False, deltas=False, **options):
    """Return a stream or a file that pyarrow writes."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas, **options)
    make = pa.ipc.new_file if file else pa.ipc.new_stream
    with make(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def replaced():
    """Yield batches whose dictionaries grow and are then replaced, also within lists."""
    texts = [["a"], ["a", "b"], ["a", "b", "cd"], ["x"], ["x", "y"], ["x", "y"]]
    for keys in texts:
        plain = coded([len(keys) - 1, None, 0], keys)
        lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), plain)
        yield pa.record_batch({"plain": plain, "lists": lists})
