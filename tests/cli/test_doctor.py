# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pytest

import cudf_arrow_bridge
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import doctor

PROBES = [
    "platform", "cudf-arrow-bridge", "cudf", "libcudf", "pylibcudf", "rmm", "pyarrow", "numpy",
    "rich", "nanoarrow", "cuda-bindings", "CUDA driver", "devices", "round trip of a frame",
    "computing on frames",
]  # fmt: skip


def findings(capsys):
    code = main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return code, {finding["probe"]: finding for finding in found}


def test_doctor_exits_with_0_on_a_healthy_machine(capsys):
    code, found = findings(capsys)
    assert code == 0, found
    assert list(found) == PROBES
    assert found["pyarrow"]["detail"] == f"{metadata.version('pyarrow')} (pyarrow)"
    assert found["round trip of a frame"]["status"] == "ok"
    gpu = "ok" if cudf_arrow_bridge.has_gpu() else "optional"
    assert {found[probe]["status"] for probe in PROBES[-4:-2] + PROBES[-1:]} == {gpu}


def test_table_lists_every_probe(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert all(probe in out for probe in PROBES)


@pytest.mark.parametrize(
    "function",
    ["to_arrow.to_arrow_device", "from_arrow.from_arrow_device", "cuda.residency.has_gpu"],
)
def test_error_in_the_package_fails_the_probe(function, monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise RuntimeError("worn out\nand more")

    monkeypatch.setattr(f"cudf_arrow_bridge.{function}", broken)
    code, found = findings(capsys)
    assert code == 1
    asking = ["CUDA driver", "devices", "computing on frames"]
    for probe in asking if function.endswith("has_gpu") else ["round trip of a frame"]:
        assert (found[probe]["status"], found[probe]["detail"]) == ("failed", "worn out and more")


def test_wrong_values_fail_the_round_trip_probe(monkeypatch, capsys):
    genuine = cudf_arrow_bridge.from_arrow_device

    def altered(source, *args, **kwargs):
        wrong = pa.record_batch({"number": [1, None, 4], "text": ["a", "", None]})
        return genuine(wrong if isinstance(source, pa.RecordBatch) else source, *args, **kwargs)

    monkeypatch.setattr("cudf_arrow_bridge.from_arrow.from_arrow_device", altered)
    code, found = findings(capsys)
    assert code == 1
    assert found["round trip of a frame"]["detail"] == "column number: row 2: 3 became 4"


@pytest.mark.parametrize(
    ("package", "status", "code"),
    [("nanoarrow", "optional", 0), ("cuda-bindings", "optional", 0), ("rmm", "missing", 1)],
)
def test_missing_package_is_reported(package, status, code, monkeypatch, capsys):
    genuine = metadata.distribution

    def absent(name):
        if name.startswith(package):
            raise metadata.PackageNotFoundError(name)
        return genuine(name)

    monkeypatch.setattr(metadata, "distribution", absent)
    found_code, found = findings(capsys)
    assert found_code == code
    assert found[package]["status"] == status
    assert found[package]["detail"].startswith("not installed: install ")


def test_missing_required_gpu_fails_the_gpu_probes():
    if cudf_arrow_bridge.has_gpu():
        pytest.skip("there is a GPU")
    asked = subprocess.run(
        [sys.executable, "-m", "cudf_arrow_bridge", "doctor", "--json"],
        env=os.environ | {"CUDF_ARROW_BRIDGE_REQUIRE_GPU": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 1, asked.stderr
    found = {finding["probe"]: finding for finding in json.loads(asked.stdout)["findings"]}
    for probe in ("CUDA driver", "devices", "round trip of a frame", "computing on frames"):
        assert found[probe]["status"] == "failed"
        assert "CUDF_ARROW_BRIDGE_REQUIRE_GPU=1 asks for a GPU" in found[probe]["detail"]
    assert found["cudf"]["status"] == "ok"


def test_driver_and_device_probes_report_versions_and_memory(monkeypatch):
    from cupy.cuda import runtime

    properties = {"name": b"GPU X", "totalGlobalMem": 80_000_000_000}
    monkeypatch.setattr("cudf_arrow_bridge.cuda.residency.has_gpu", lambda: True)
    monkeypatch.setattr(runtime, "driverGetVersion", lambda: 12090)
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: 2)
    monkeypatch.setattr(runtime, "getDeviceProperties", lambda device: properties)
    assert doctor.driver() == "supports CUDA 12.9"
    assert doctor.devices() == "0: GPU X, 80.0 GB; 1: GPU X, 80.0 GB"


SAMPLE = Path(__file__).parents[2] / "examples" / "data" / "nyc_flights.parquet"
MAIN = """
import site, sys
folder = sys.argv.pop(1)
site.addsitedir(folder)
site.getsitepackages = lambda: [folder]  # in which NVIDIA's libraries are found
from cudf_arrow_bridge.__main__ import main
sys.exit(main())
"""


def without(package, folder):
    """Fill a folder with links to all installed packages except one and its metadata."""
    mine = re.compile(rf"{package}(\.libs|[-_].*(info|libs))?")
    for path in map(Path, sys.path):
        if path.name in ("site-packages", "dist-packages"):
            for entry in path.iterdir():
                if not mine.fullmatch(entry.name) and not (folder / entry.name).exists():
                    (folder / entry.name).symlink_to(entry)
    return folder


def add_package(folder, name, version, source):
    """Add an importable package and its metadata to a folder."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(source)
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}")


def run_in(folder, *arguments):
    """Run the command line with the packages of a folder."""
    return subprocess.run(
        [sys.executable, "-P", "-S", "-c", MAIN, folder, *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def doctor_in(folder):
    """Run doctor with the packages of a folder, where the package does not work."""
    done = run_in(folder, "doctor", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    found = {finding["probe"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert list(found) == PROBES
    return {probe: (finding["status"], finding["detail"]) for probe, finding in found.items()}


@pytest.mark.parametrize("package", ["cudf", "libcudf", "pylibcudf", "pyarrow", "numpy", "rich"])
def test_doctor_without_a_package_says_what_to_install(package, tmp_path):
    found = doctor_in(without(package, tmp_path))
    status, detail = found[package]
    assert status == "missing"
    assert detail.startswith("not installed: install ")
    assert package in detail or "cudf" in detail
    assert [probe for probe, (status, _) in found.items() if status == "missing"] == [package]
    if package != "rich":
        status, detail = found["round trip of a frame"]
        assert status == "failed"
        assert package in detail


def test_doctor_names_a_libcudf_of_another_release(tmp_path):
    add_package(without("libcudf", tmp_path), "libcudf", "24.2.1", "__version__ = '24.2.1'")
    found = doctor_in(tmp_path)
    status, detail = found["libcudf"]
    assert status == "failed"
    assert "found libcudf 24.2.1" in detail
    assert "Install cudf" in detail
    assert found["round trip of a frame"] == (status, detail)
    assert found["pylibcudf"][0] == "ok"


@pytest.mark.parametrize("package", ["libcudf", "pyarrow", "numpy"])
def test_doctor_reports_a_package_that_cannot_be_imported(package, tmp_path):
    source = "raise OSError('libfoo.so: cannot open shared object file')"
    version = metadata.version("pyarrow") if package == "pyarrow" else "26.10.0"
    add_package(without(package, tmp_path), package, version, source)
    status, detail = doctor_in(tmp_path)["round trip of a frame"]
    assert (status, detail) == ("failed", "libfoo.so: cannot open shared object file")


def test_doctor_without_rich_prints_plain_lines(tmp_path):
    done = run_in(without("rich", tmp_path), "doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == PROBES


@pytest.mark.parametrize("package", ["libcudf", "rich"])
def test_other_commands_name_a_missing_package_in_one_line(package, tmp_path):
    done = run_in(without(package, tmp_path), "inspect", SAMPLE)
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert package in line
    assert "cudf-arrow-bridge doctor" in line
