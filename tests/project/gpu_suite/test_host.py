# SPDX-License-Identifier: Apache-2.0
"""`dev/test-gpu.sh` with a CUDA driver, and with a folder of wheels."""

from __future__ import annotations

import os
from zipfile import ZipFile

import pytest

import cudf_arrow_bridge as bridge

pytestmark = pytest.mark.skipif(bridge.has_gpu(), reason="about machines without a GPU")


@pytest.fixture
def driver(stub_driver):
    """Return an environment in which the command finds a driver with two devices."""
    path = f"{stub_driver}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {"LD_LIBRARY_PATH": path, "STUB_RESULT": "0", "STUB_VERSION": "13020"}


def test_devices_are_recorded_and_must_work(driver, command):
    """The CUDA runtime cannot use the two devices of the driver. This is a failure, not a skip."""
    failed = command("--installed", "smoke", **driver)
    assert failed.returncode == 1
    assert command.part("host")["status"] == "passed"
    assert command.part("smoke")["status"] == "failed"
    name, found = command.summary()
    assert name == "gpu-stub-h9-sxm.json"
    assert found["host"]["cuda"] == [13, 2]
    assert found["host"]["devices"] == [
        {"name": "Stub H9 (SXM)", "memory_mib": 16384, "compute_capability": "9.1"},
        {"name": "Stub H8", "memory_mib": 32768, "compute_capability": "9.1"},
    ]


def test_error_of_the_driver_is_reported(driver, command):
    failed = command("--installed", **driver | {"STUB_RESULT": "999"})
    assert failed.returncode == 1
    assert failed.stderr == "cuInit: error 999 of the CUDA driver\n"


def test_driver_without_devices_counts_as_no_gpu(driver, command):
    skipped = command("--installed", "memcheck", **driver | {"STUB_RESULT": "100"})
    assert skipped.returncode == 0
    assert command.part("host")["reason"] == "no CUDA device"


def test_driver_that_is_too_old_is_reported(driver, command):
    failed = command("--installed", **driver | {"STUB_VERSION": "11040"})
    assert failed.returncode == 1
    assert "a driver for CUDA 11.4" in command.part("install")["reason"]
    assert not command.file("smoke").exists()


def test_recorded_version_is_that_of_the_imported_package(command, tmp_path):
    first = tmp_path / "first/pytest-99.0.dist-info"
    first.mkdir(parents=True)
    (first / "METADATA").write_text("Metadata-Version: 2.1\nName: pytest\nVersion: 99.0\n")
    command("--installed", "memcheck", PYTHONPATH=str(first.parent))
    assert command.part("install")["details"]["packages"]["pytest"] == "99.0"


def make_wheel(folder, name, **files):
    """Write a wheel of modules, given by name and source, without dependencies."""
    about = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    tags = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for module, text in files.items():
            wheel.writestr(f"{module.replace('__dot__', '/')}.py", text)
        wheel.writestr(f"{about}/METADATA", metadata)
        wheel.writestr(f"{about}/WHEEL", tags)
        wheel.writestr(f"{about}/RECORD", "")


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    folder.mkdir()
    built = {"cudf_arrow_bridge__dot___load__dot__build_info": "CUDA_MAJOR = 12\n"}
    make_wheel(folder, "cudf_arrow_bridge_cu12", **built)
    for name in ("pytest", "nanoarrow", "torch"):
        make_wheel(folder, name, **{name: ""})
    return folder


def test_folder_of_wheels_is_installed_once_and_without_a_network(wheels, command):
    offline = {"PIP_INDEX_URL": "file:///nowhere", "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
    done = command("--wheels", wheels, "memcheck", **offline)
    assert done.returncode == 0, done.stdout
    installed = command.part("install")
    assert installed["details"]["cuda"] == 12
    names = {"cudf_arrow_bridge_cu12", "pytest", "nanoarrow", "torch"}
    found = installed["details"]["packages"]
    assert {name: found.get(name) for name in names} == dict.fromkeys(names, "1.0")

    # Installed wheels are not installed again. Other wheels in the folder are an error.
    log = command.results / "parts/install.log"
    commands = log.read_text().count("\n$ ")
    assert command("--wheels", wheels, "memcheck", **offline).returncode == 0
    assert log.read_text().count("\n$ ") == commands
    make_wheel(wheels, "ray", ray="")
    other = command("--wheels", wheels, "memcheck", **offline)
    assert other.returncode == 1
    assert "the packages on record is not that of now" in other.stderr


def test_folder_with_two_wheels_of_the_bridge_is_rejected(wheels, command):
    make_wheel(wheels, "cudf_arrow_bridge_cu13")
    refused = command("--wheels", wheels)
    assert refused.returncode == 1
    assert "2 of cudf_arrow_bridge_cu*.whl found, one expected" in refused.stderr
