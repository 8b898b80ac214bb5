# SPDX-License-Identifier: Apache-2.0
import gc
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

os.environ.setdefault("RAPIDS_NO_INITIALIZE", "1")
# Processes that tests start in the root of the sources must import the installed package.
os.environ["PYTHONSAFEPATH"] = "1"

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=5000)
settings.load_profile(os.getenv("HYPOTHESIS_PROFILE", "ci" if os.getenv("CI") else "default"))


@cache
def why_no_gpu() -> str | None:
    # A driver that fails raises an error, so that its tests are not skipped.
    import cudf_arrow_bridge

    return None if cudf_arrow_bridge.has_gpu() else "no CUDA driver or no CUDA device"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and (reason := why_no_gpu()):
        # All tests skip on the same line, so that pytest reports them as one.
        pytest.skip(f"needs a GPU (docs/gpu.md says how to run these): {reason}")


@pytest.fixture(scope="module", autouse=True)
def _objects_of_earlier_files_are_not_visited():
    """Exclude modules, collected tests and reports of earlier files from garbage collection.

    Hundreds of tests call `gc.collect`, which otherwise visits all of these objects.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _everything_is_released():
    """Check at the end of the session that all structs with Python callbacks were released.

    The callbacks cannot be called after the interpreter has ended.
    """
    yield
    gc.unfreeze()
    gc.collect()
    if (bridge := sys.modules.get("cudf_arrow_bridge")) is not None:
        bridge.drain_releases()
    for name in ("testing.peers.dlpack", "testing.peers.arrays"):
        if (module := sys.modules.get(name)) is not None:
            assert not module.Producer.alive, f"{name}: handed out and never released"


@pytest.fixture(scope="session")
def stub_driver(tmp_path_factory):
    """Return a folder with a libcuda.so.1 compiled from `tests/cuda/stub_driver.c`."""
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("driver")
    source = Path(__file__).with_name("cuda") / "stub_driver.c"
    command = [compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", source]
    subprocess.run([*command, "-o", folder / "libcuda.so.1"], check=True)
    return folder


@pytest.fixture(autouse=True)
def _columns_and_arrays_obey_libcudf(request, monkeypatch):
    """Check that all columns and arrays of a test in host memory obey libcudf's invariants."""
    from cudf_arrow_bridge import has_gpu
    from testing import invariants
    from testing.peers import exports

    if has_gpu():
        yield
        return
    is_sound = not request.node.get_closest_marker("unsound")
    found = []
    for checker in (exports, invariants):
        checker.watch(monkeypatch, invariants.refuse if is_sound else found.extend)
    yield
    if is_sound:
        return
    # Also detects hooks that check nothing.
    assert found, "marked as unsound, but nothing was found"
