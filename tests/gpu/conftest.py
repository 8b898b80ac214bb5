# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import contextlib
import gc
import os

import pytest

from testing import device


def make_pool(mr):
    return mr.PoolMemoryResource(mr.CudaMemoryResource(), 1 << 26)


RESOURCES = {
    "cuda": ("CUDA", lambda mr: mr.CudaMemoryResource()),
    "pool": ("CUDA", make_pool),
    "async": ("CUDA", lambda mr: mr.CudaAsyncMemoryResource()),
    "managed": ("CUDA_MANAGED", lambda mr: mr.ManagedMemoryResource()),
    "pinned": ("CUDA_HOST", lambda mr: mr.PinnedHostMemoryResource()),
}


def pytest_collection_modifyitems(items):
    for item in items:
        if "late" in getattr(item, "fixturenames", ()):
            item.add_marker("slow_kernel")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End a worker of pytest-xdist whose test left CUDA unusable. xdist starts a new one."""
    failed = item.session.testsfailed
    result = yield
    has_failed = item.session.testsfailed > failed
    # pytest also calls this hook for the tests of other folders.
    if has_failed and item.get_closest_marker("gpu") and "PYTEST_XDIST_WORKER" in os.environ:
        try:
            device.synchronize()
        except Exception:
            os._exit(1)
    return result


@pytest.fixture(scope="session")
def slow_kernels():
    return device.Late()


@pytest.fixture
def late(slow_kernels):
    # Freeing the garbage of earlier tests would wait for the slow kernels of a test.
    gc.collect()
    device.synchronize()
    return slow_kernels


@contextlib.contextmanager
def current(resource):
    """Set rmm's current resource, and reset it after all its memory is freed."""
    import rmm.mr

    before = rmm.mr.get_current_device_resource()
    rmm.mr.set_current_device_resource(resource)
    yield resource
    gc.collect()
    device.synchronize()
    rmm.mr.set_current_device_resource(before)


@pytest.fixture
def pool():
    """A resource that allocates without synchronizing the device, unlike `cudaMalloc`."""
    import rmm.mr

    with current(make_pool(rmm.mr)) as resource:
        yield resource


@pytest.fixture
def counted(pool):
    """A pool that counts the bytes in use, as the current resource."""
    import rmm.mr

    with current(rmm.mr.StatisticsResourceAdaptor(pool)) as resource:
        yield resource


@pytest.fixture(params=RESOURCES)
def resource(request):
    """Each of rmm's resources as the current one, and the name of its memory's device type."""
    import rmm.mr

    label, make = RESOURCES[request.param]
    with current(make(rmm.mr)) as resource:
        yield resource, label
