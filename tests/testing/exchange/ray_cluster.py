# SPDX-License-Identifier: Apache-2.0
"""A small Ray cluster on this machine, helpers for its tests, and functions for its workers."""

from __future__ import annotations

import logging
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")

#: Ray's `DataContext` sets attributes that it reports as deprecated.
RAY_WARNS = [
    pytest.mark.filterwarnings(f"ignore:`{name}` is deprecated:DeprecationWarning")
    for name in ("use_push_based_shuffle", "use_polars", "use_arrow_tensor_v2")
]
#: About the smallest size that Ray accepts.
STORE_SIZE = 80 << 20
#: The folder from which workers import `testing`.
TESTS = Path(__file__).parents[2]


@contextmanager
def running_cluster(**options):
    """Run Ray on two cores of this machine, without logs and usage statistics."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ray") as folder:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray would kill workers if other tests used all memory.
        patch.setenv("RAY_memory_monitor_refresh_ms", "0")
        # Objects that do not fit into the store are written to files immediately.
        patch.setenv("RAY_oom_grace_period_s", "0")
        # They are written even if the disk is over Ray's limit of 95%.
        patch.setenv("RAY_local_fs_capacity_threshold", "1")
        # Workers import from Ray's working directory, which must not have the package's sources.
        patch.chdir(TESTS)
        patch.setattr(logging.getLogger("ray.data"), "level", logging.ERROR)
        patch.setattr(ray.data.DataContext.get_current(), "enable_progress_bars", False)
        try:
            ray.init(
                "local",
                num_cpus=2,
                include_dashboard=False,
                object_store_memory=STORE_SIZE,
                logging_level="error",
                log_to_driver=False,
                # Paths of sockets must be short, and those of pytest's folders are too long.
                _temp_dir=folder,
                **options,
            )
            yield
        finally:
            ray.shutdown()


def is_in_store(address):
    """Return whether an address lies in the object store's shared memory, not in Ray's files."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access, _, _, _, *path = line.split()
        begin, end = (int(bound, 16) for bound in span.split("-"))
        if begin <= address < end:
            # Ray writes objects that do not fit into the store to files of its session.
            return access[3] == "s" and "/plasma" in path[0] and "/session_" not in path[0]
    raise ValueError(f"{address:#x} is not mapped")


def addresses(array):
    """Return the addresses of the buffers that are not empty, by name."""
    return {info.name: info.address for info in array.buffers() if info.address and info.size}


def pyarrow_addresses(data):
    """Return the addresses of all buffers of a pyarrow table."""
    chunks = [chunk for column in data.columns for chunk in column.chunks]
    return {buffer.address for chunk in chunks for buffer in chunk.buffers() if buffer}
