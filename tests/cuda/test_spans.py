# SPDX-License-Identifier: Apache-2.0
import gc
import weakref

import numpy as np
import pylibcudf as plc
import pytest

from cudf_arrow_bridge.cuda.residency import compute_location, device_type, has_gpu
from cudf_arrow_bridge.cuda.spans import HostSpan, view_host


def test_host_span_has_the_address_and_size_of_its_array():
    array = np.arange(4, dtype="int32")
    span = HostSpan(array)
    assert (span.ptr, span.size) == (array.ctypes.data, 16)
    assert span.__cuda_array_interface__["data"][0] == array.ctypes.data
    assert plc.span.is_span(span)


def test_host_span_keeps_its_array_alive():
    array = np.arange(4)
    span, gone = HostSpan(array), weakref.ref(array)
    del array
    gc.collect()
    assert gone() is not None
    del span
    assert gone() is None


def test_host_span_rejects_a_strided_array():
    with pytest.raises(ValueError, match="contiguous"):
        HostSpan(np.arange(8)[::2])


def test_view_host_shares_memory():
    array = np.arange(4, dtype="int64")
    view = view_host(HostSpan(array), "int64", 3)
    assert view.tolist() == [0, 1, 2]
    array[0] = 9
    assert view[0] == 9
    assert view_host(None, "int8", 0).size == 0


def test_view_host_rejects_elements_beyond_the_span():
    with pytest.raises(ValueError, match="expected at most"):
        view_host(HostSpan(np.arange(4, dtype="int8")), "int16", 3)


def test_numpy_memory_is_host_memory():
    array = np.arange(4)
    assert device_type(array.ctypes.data) == 1
    column = plc.Column(plc.DataType(plc.TypeId.INT64), 4, HostSpan(array), None, 0, 0, [])
    empty = plc.Column(plc.DataType(plc.TypeId.EMPTY), 4, None, None, 4, 0, [])
    nested = plc.Column(plc.DataType(plc.TypeId.STRUCT), 4, None, None, 0, 0, [column])
    assert compute_location(column).host
    assert compute_location(nested).host
    assert compute_location(empty).host is compute_location().host is (not has_gpu())
