# SPDX-License-Identifier: Apache-2.0
"""Messages whose numbers contradict each other, one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from testing.ipc import samples as ipc_samples
from testing.ipc.metadata import SCHEMA, Metadata, messages_of

pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")


def messages_with(batches, at=-1, body=None, **places):
    """The messages of batches, one with other numbers in its metadata, or with another body."""
    found = list(messages_of(ipc_samples.written(batches[0].schema, batches)))
    metadata, old = found[at]
    found[at] = Metadata(metadata).patched(**places), old if body is None else body(old)
    return [(m, [] if Metadata(m).kind == SCHEMA else [b]) for m, b in found]


def refused(messages, match, **options):
    with pytest.raises(ValueError, match=match):
        list(cab.ipc.from_messages(messages, **options))


NUMBERS = pa.record_batch({"n": pa.array([1, None, 3], pa.int64())})


@pytest.mark.parametrize(
    ("places", "match"),
    [
        ({"length": 2}, "'n': 3 rows found, 2 expected"),
        ({"length": 4}, "'n': 3 rows found, 4 expected|at least 4 expected"),
        ({"length": -1}, "length -1 found, 0 or more expected"),
        ({"node 0": 2}, "'n': 2 rows found, 3 expected|at least 3 expected"),
        ({"node 0": 2**62}, "'n'.* expected"),
        ({"node 1": 4}, "'n': a null count of 4 found, 0 to 3 expected"),
        ({"node 1": -1}, "'n': a null count of -1 found, 0 to 3 expected"),
        ({"buffer 1": 0}, "'n': .* 0 bytes found, 1 expected"),
        ({"buffer 2": 2**40}, "buffer 1: bytes .* found, none outside expected"),
        ({"buffer 2": -8}, "buffer 1: bytes .* found, none outside expected"),
        ({"buffer 3": 23}, "'n': .* 23 bytes found, 24 expected"),
        ({"buffer 3": 2**63 - 1}, "buffer 1: bytes .* found, none outside expected"),
    ],
)
@pytest.mark.parametrize("validate", ["sizes", "minimal", "full"])
def test_numbers(places, match, validate):
    refused(messages_with([NUMBERS], **places), match, validate=validate)


def test_numbers_as_they_are():
    """Else nothing would follow from the others."""
    (array,) = cab.ipc.from_messages(messages_with([NUMBERS]))
    assert pa.record_batch(array).equals(NUMBERS)


def test_null_counts_are_those_of_all_rows():
    """Also of elements that no list refers to."""
    batch = pa.record_batch({"a": pa.array([[1, None], [None, 4]], pa.list_(pa.int32()))})

    def without_the_last(body):
        # Offsets come first, as no list is null.
        offsets = np.frombuffer(body, "int32").copy()
        assert offsets[:3].tolist() == [0, 2, 4]
        offsets[2] = 3
        return offsets

    (array,) = cab.ipc.from_messages(messages_with([batch], body=without_the_last), validate="full")
    assert pa.record_batch(array)["a"].to_pylist() == [[1, None], [None]]
    messages = messages_with([batch], body=without_the_last, **{"node 3": 1})
    refused(messages, "a null count of 1 found, where 2 rows are null", validate="full")


def test_a_schema_whose_dictionaries_are_no_children_of_its_types():
    batch = pa.record_batch(
        {"a": pa.ListArray.from_arrays([0, 2], ipc_samples.coded([0, 1], "ab"))}
    )
    (metadata, _), *rest = messages_with([batch])
    list_, binary = 12, 4  # of the union Type
    places = [i for i, code in enumerate(metadata) if code == list_]
    found = []
    for place in places:
        changed = bytearray(metadata)
        changed[place] = binary
        try:
            list(cab.ipc.from_messages([(bytes(changed), []), *rest]))
        except ValueError as error:
            found.append(str(error))
    assert any("ids of dictionaries found" in text for text in found), found


@pytest.mark.parametrize(
    "validate",
    [
        pytest.param("sizes", marks=pytest.mark.unsound),  # the batches before the delta
        pytest.param("minimal", marks=pytest.mark.unsound),
        "full",
    ],
)
@pytest.mark.parametrize("offset", [-1, 2**31 - 1, -(2**31)])
def test_deltas_are_checked_before_they_are_appended(validate, offset):
    """Whatever is asked for: appending reads the values."""
    batches = [pa.record_batch({"a": ipc_samples.coded([0], keys)}) for keys in ("xyz", "xyzuvw")]
    stream = ipc_samples.written(batches[0].schema, batches, deltas=True)
    messages = [(m, [b] if b.size else []) for m, b in messages_of(stream)]
    for at in (1, 3):
        changed = list(messages)
        metadata, (body,) = changed[at]
        data = np.frombuffer(body, "int32").copy()
        data[1] = offset
        changed[at] = metadata, [data]
        refused(changed, "offset", validate=validate)
