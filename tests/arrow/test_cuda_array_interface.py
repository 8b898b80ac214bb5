# SPDX-License-Identifier: Apache-2.0
"""Test imports of objects with wrong or missing entries of the CUDA array interface."""

from __future__ import annotations

import gc
import re
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.import_.tensors import producing_handle
from testing.peers.dlpack import Interface
from testing.strategies import NOT_SLOW

INTERFACES = [
    ({"mask": np.ones(4)}, TypeError, "mask"),
    ({"typestr": ">i8"}, TypeError, "little-endian numbers or bools, got typestr '>i8'"),
    ({"typestr": "<f\u0662"}, TypeError, "numbers or bools"),
    ({"typestr": f"<i{2**61 + 1}"}, TypeError, "numbers or bools"),
    ({"typestr": "<i3"}, TypeError, "24 bits"),
    ({"strides": (12,)}, ValueError, "multiples of 8"),
    ({"strides": "8"}, TypeError, "expected a tuple of strides, got '8'"),
    ({"strides": ()}, ValueError, "expected 1 strides, one for each dimension, got 0"),
    ({"stream": 0}, ValueError, "expected a stream of at least 1, got 0"),
    ({"shape": (3.7,)}, TypeError, "float"),
    ({"shape": (1,) * 100_000}, ValueError, "or 2 .* got 100000"),
    ({"shape": ()}, ValueError, r"1 dimension \(a column\) or 2 \(a table\), got 0$"),
    ({"shape": (-4,)}, ValueError, "expected a shape with at least 0 elements, got -4"),
    ({"data": (0, False)}, ValueError, "the data pointer of the tensor is null$"),
]


@pytest.mark.parametrize(("edits", "error", "message"), INTERFACES)
def test_hostile_interfaces_are_rejected_and_their_object_is_freed(edits, error, message):
    obj = Interface(np.arange(4), **edits)
    gone = weakref.ref(obj)
    with pytest.raises(error, match=message):
        cab.from_cuda_array_interface(obj)
    del obj
    gc.collect()
    assert gone() is None


def test_import_waits_for_the_default_streams_of_all_threads():
    """The interface does not say which thread's default stream 2 is."""
    found = [producing_handle({"stream": stream}) for stream in (None, 1, 2, 0x7F00)]
    assert found == [None, 1, 1, 0x7F00]


def test_imported_interface_keeps_its_object_alive():
    obj = Interface(np.arange(4))
    gone = weakref.ref(obj)
    column = cab.from_cuda_array_interface(obj, to="pylibcudf")
    del obj
    gc.collect()
    assert gone() is not None
    assert cab.to_arrow_device(column).to_pylist() == [0, 1, 2, 3]
    del column
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("key", ["typestr", "shape", "data"])
def test_interface_without_a_required_key_is_rejected(key):
    obj = Interface(np.arange(4))
    del obj.__cuda_array_interface__[key]
    with pytest.raises(ValueError, match=f"the key '{key}' is missing"):
        cab.from_cuda_array_interface(obj)


WRONG = st.none() | st.sampled_from([-1, 2**31, 2**63, 2**64, -(2**70)]) | st.floats()
WRONG |= st.text(max_size=3) | st.binary(max_size=3)
WRONG_ENTRIES = {
    "shape": WRONG | st.tuples(WRONG) | st.tuples(WRONG, st.just(2)),
    # A stride of 2**31 bytes is valid for numbers of 8 bytes, and an import would read there.
    "strides": WRONG.filter(bool)
    | st.tuples(WRONG.filter(lambda stride: stride != 2**31))
    | st.just((8, 8, 8)),
    "typestr": (WRONG | st.from_regex(r"[<>|][iufbcV]\d{0,20}", fullmatch=True)).filter(
        lambda typestr: not re.fullmatch(r"[<|=]?[iufb]0*[1248]", str(typestr))
    ),
    "data": st.sampled_from([(), ("x", False), (0.5, False), (2**64, False), (-1, False)]),
    "stream": st.sampled_from([0, -1, "x", 0.5, 2**64]),
}


@NOT_SLOW
@given(st.sampled_from([*WRONG_ENTRIES]), st.data())
def test_wrong_entries_of_cuda_array_interfaces_are_errors(key, data):
    obj = Interface(np.arange(4), **{key: data.draw(WRONG_ENTRIES[key])})
    with pytest.raises((TypeError, ValueError, OverflowError, IndexError)):
        cab.from_cuda_array_interface(obj, to="pylibcudf")
