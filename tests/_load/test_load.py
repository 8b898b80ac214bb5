# SPDX-License-Identifier: Apache-2.0
"""Test the import of the package, mostly in new processes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import textwrap
from importlib import metadata
from pathlib import Path

import pytest
from packaging.version import Version

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._load import build_info, check_release

TESTS = Path(__file__).parents[1]


def run(code):
    """Run code in a new interpreter; return its exit status and its output."""
    path = [str(Path(cab.__file__).parents[1]), str(TESTS)]
    preamble = (
        f"import sys, os; sys.path[:0] = {path!r}; os.environ['RAPIDS_NO_INITIALIZE'] = '1'\n"
    )
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", preamble + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return result.returncode, result.stdout


@pytest.mark.parametrize(
    ("built", "found"), [("26.10.02", "26.10.00"), ("26.10.02", "26.10.0a12"), ("26.4", "26.04.1")]
)
def test_matching_libcudf_releases_are_accepted(built, found):
    check_release(built, found)


@pytest.mark.parametrize(
    ("found", "release"),
    [("26.08.00", "26.8"), ("25.10.02", "25.10"), ("27.10", "27.10")],
)
def test_error_for_another_release_names_what_to_install(found, release):
    with pytest.raises(ImportError, match=rf"26\.10\.02.*{found}") as caught:
        check_release("26.10.02", found)
    cuda = build_info.CUDA_MAJOR
    wanted = f"Install cudf-cu{cuda}==26.10.* or cudf-arrow-bridge-cu{cuda}=={release}.*."
    assert str(caught.value).endswith(wanted)


def test_version_begins_with_the_release_of_libcudf():
    release = Version(build_info.LIBCUDF_VERSION).release[:2]
    assert Version(cab.__version__).release[:2] == release
    assert metadata.version(f"cudf-arrow-bridge-cu{build_info.CUDA_MAJOR}") == cab.__version__


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("import libcudf; libcudf.__version__ = '26.12.01'", "libcudf 26.12.01"),
        ("sys.modules['libcudf'] = None", "no libcudf"),
        ("import pylibcudf; sys.modules['libcudf'] = None", "no libcudf"),
    ],
    ids=["newer", "none", "only pylibcudf"],
)
def test_import_beside_another_libcudf_raises_one_line(change, found):
    status, output = run(f"""
        {change}
        try:
            from cudf_arrow_bridge import to_arrow_device
        except ImportError as error:
            print(error)
    """)
    assert status == 0
    assert f"but found {found}: " in output
    assert f"install cudf-cu{build_info.CUDA_MAJOR}==" in output.lower()
    assert output.count("\n") == 1


@pytest.mark.parametrize("found", ["26.08.00", "26.10.02"])
def test_import_beside_conda_packages_compares_the_release_of_pylibcudf(found):
    status, output = run(f"""
        from importlib import metadata
        from cudf_arrow_bridge import _load
        _load.PACKAGE_SUFFIX = ""
        metadata.version = {{"pylibcudf": "{found}"}}.__getitem__
        sys.modules["libcudf"] = None
        try:
            print(_load.load_libraries())
        except ImportError as error:
            print(error)
    """)
    assert status == 0
    if Version(found).release[:2] == Version(cab.__version__).release[:2]:
        assert output == "None\n"
    else:
        year, month = Version(found).release[:2]
        assert f"Install cudf=={Version(cab.__version__).major}." in output
        assert output.endswith(f"or cudf-arrow-bridge=={year}.{month}.*.\n")


def test_import_of_the_package_loads_neither_libcudf_nor_pyarrow():
    status, output = run("""
        import cudf_arrow_bridge
        print(cudf_arrow_bridge.__version__)
        large = {"asyncio", "cudf", "libcudf", "numpy", "pandas", "pyarrow", "pylibcudf", "rmm"}
        assert not large & set(sys.modules), large & set(sys.modules)
        assert cudf_arrow_bridge.DeviceArray and large & set(sys.modules)
    """)
    assert (status, output) == (0, f"{cab.__version__}\n")


def run_in_clone(folder, *arguments, **variables):
    """Run Python in a folder that has the sources of the package, as a clone does."""
    (folder / "cudf_arrow_bridge").symlink_to(TESTS.parent / "cudf_arrow_bridge")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONSAFEPATH": ""} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_import_in_a_clone_finds_the_installed_package(tmp_path):
    code = """if True:
        import importlib.resources, cudf_arrow_bridge.ipc, multiprocessing, pathlib, sys
        import cudf_arrow_bridge as cab, pyarrow as pa
        array = cab.to_arrow_device(pa.record_batch({"a": [1, 2]}))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.apply(len, [array]) == 2
        found = {pathlib.Path(module.__file__) for name, module in sys.modules.items()
                 if name.partition(".")[0] == "cudf_arrow_bridge"}
        folder = importlib.resources.files("cudf_arrow_bridge")
        assert all(path.is_relative_to(folder) for path in found), found
        print(folder)"""
    done = run_in_clone(tmp_path, "-W", "error", "-c", code)
    assert done.stdout == f"{Path(cab.__file__).parent}\n"


def test_command_in_a_clone_runs_the_installed_package(tmp_path):
    done = run_in_clone(tmp_path, "-m", "cudf_arrow_bridge", "--version")
    assert done.stdout == f"cudf-arrow-bridge {cab.__version__}\n"


def test_import_in_a_clone_without_the_package_says_how_to_install_it(tmp_path):
    done = run_in_clone(tmp_path, "-S", "-c", "import cudf_arrow_bridge", PYTHONPATH="")
    assert done.returncode == 1
    assert done.stdout.endswith(
        f"ImportError: cudf_arrow_bridge is not installed for {sys.executable}, and "
        f"{tmp_path / 'cudf_arrow_bridge'} has only its sources: install it with "
        "python dev/install.py\n"
    )


def test_missing_required_gpu_raises():
    status, output = run("""
        import os
        os.environ["CUDF_ARROW_BRIDGE_REQUIRE_GPU"] = "1"
        import pyarrow as pa
        import cudf_arrow_bridge as cab
        def size():
            return cab.from_arrow_device(pa.array([1]), to="pylibcudf").size()
        for call in (cab.has_gpu, size):
            try:
                call()
            except RuntimeError as error:
                print(error)
        os.environ["CUDF_ARROW_BRIDGE_REQUIRE_GPU"] = "0"
        assert cab.has_gpu() is False
        assert size() == 1
    """)
    if cab.has_gpu():
        pytest.skip("there is a GPU")
    assert status == 0, output
    wanted = "CUDF_ARROW_BRIDGE_REQUIRE_GPU=1 asks for a GPU, but no CUDA driver is installed"
    assert output.splitlines() == [wanted] * 2


@pytest.mark.parametrize("module", ["", ".ipc", ".dask", ".polars"])
def test_modules_list_their_public_names(module):
    if module == ".dask":
        pytest.importorskip("distributed")
    found = importlib.import_module(f"cudf_arrow_bridge{module}")
    extras = [] if module else ["dask", "polars", "ray"]
    assert dir(found) == sorted([*found.__all__, *extras])
    assert all(hasattr(found, name) for name in found.__all__)


EXTRAS = {"dask": "distributed", "polars": "polars", "ray": "ray"}


def test_missing_extra_is_an_error_that_names_it():
    pytest.importorskip("dask")
    status, output = run(f"""
        sys.modules |= dict.fromkeys({[*EXTRAS.values()]})
        import cudf_arrow_bridge as cab
        import inspect, pydoc

        for extra in {[*EXTRAS]}:
            assert not hasattr(cab, extra)
            for use in (
                f"cab.{{extra}}",
                f"import cudf_arrow_bridge.{{extra}}",
                f"from cudf_arrow_bridge import {{extra}}",
            ):
                try:
                    exec(use)
                except (AttributeError, ImportError) as error:
                    print(error)
        exec("from cudf_arrow_bridge import *")
        assert to_arrow_device is cab.to_arrow_device
        assert "DeviceArray" in dict(inspect.getmembers(cab))
        assert "from_arrow_device" in pydoc.render_doc(cab)
    """)
    assert status == 0, output
    lines = output.splitlines()
    assert len(lines) == 3 * len(EXTRAS)
    for line, extra in zip(lines, [extra for extra in EXTRAS for _ in range(3)], strict=True):
        assert line.startswith(f"cudf_arrow_bridge.{extra} requires the module {EXTRAS[extra]}")
        assert line.endswith(f": install cudf-arrow-bridge-cu{build_info.CUDA_MAJOR}[{extra}]")
