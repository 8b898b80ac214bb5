# SPDX-License-Identifier: Apache-2.0
"""Arrays in the storage of dask-cuda's workers."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge import DeviceType

dask_cuda = pytest.importorskip("dask_cuda.device_host_file", exc_type=ImportError)
pytestmark = pytest.mark.skipif(cab.has_gpu(), reason="of host memory")

TABLE = pa.table({"ints": pa.array([1, None, 3] * 500), "strings": ["größer", None, ""] * 500})


@pytest.fixture
def label(monkeypatch):
    """Return a function that makes arrays in host memory say that they are in other memory."""

    def set_type(device_type):
        monkeypatch.setattr(cab.DeviceArray, "device_type", device_type)
        monkeypatch.setattr(
            cab.DeviceArray, "__dlpack_device__", lambda array: (array.device_type, 0)
        )

    return set_type


@pytest.mark.parametrize("device_type", DeviceType)
def test_arrays_in_memory_of_a_gpu_are_device_objects(device_type, label):
    label(device_type)
    is_device_object = dask_cuda.is_device_object
    is_on_device = device_type in (DeviceType.CUDA, DeviceType.CUDA_MANAGED)
    array = cab.to_arrow_device(TABLE)
    for obj in (array, array["ints"], array["strings"], [1, array], {"a": array}):
        assert is_device_object(obj) == is_on_device


def test_registration_keeps_no_memory_alive_after_release(label):
    label(DeviceType.CUDA)
    values = np.arange(3)
    memory = weakref.ref(values)
    array = cab.to_arrow_device(pa.array(values))
    del values
    assert dask_cuda.is_device_object(array)
    array.release()
    gc.collect()
    assert memory() is None
