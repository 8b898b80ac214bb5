# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc

import device
import pytest

RESOURCES = {
    "cuda": ("CUDA", lambda mr: mr.CudaMemoryResource()),
    "pool": ("CUDA", lambda mr: mr.PoolMemoryResource(mr.CudaMemoryResource(), 1 << 26)),
    "async": ("CUDA", lambda mr: mr.CudaAsyncMemoryResource()),
    "managed": ("CUDA_MANAGED", lambda mr: mr.ManagedMemoryResource()),
    "pinned": ("CUDA_HOST", lambda mr: mr.PinnedHostMemoryResource()),
}


def pytest_collection_modifyitems(items):
    for item in items:
        if "late" in getattr(item, "fixturenames", ()):
            item.add_marker("slow_kernel")


@pytest.fixture(scope="session")
def late():
    return device.Late()


@pytest.fixture
def counted():
    """A pool that counts what is in use, as the current resource."""
    import rmm.mr

    before = rmm.mr.get_current_device_resource()
    pool = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), 1 << 26)
    current = rmm.mr.StatisticsResourceAdaptor(pool)
    rmm.mr.set_current_device_resource(current)
    yield current
    gc.collect()
    device.settle()
    rmm.mr.set_current_device_resource(before)


@pytest.fixture(params=RESOURCES)
def resource(request):
    """Each of rmm's resources as the current one, and the name of its memory's device type."""
    import rmm.mr

    label, make = RESOURCES[request.param]
    before = rmm.mr.get_current_device_resource()
    current = make(rmm.mr)
    rmm.mr.set_current_device_resource(current)
    yield current, label
    gc.collect()
    device.settle()
    rmm.mr.set_current_device_resource(before)
