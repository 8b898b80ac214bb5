# SPDX-License-Identifier: Apache-2.0
"""`doctor` on a healthy machine, and in environments whose packages are missing or broken."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import doctor

PROBES = [
    "platform", "cudf-arrow-bridge", "cudf", "libcudf", "pylibcudf", "rmm", "pyarrow", "numpy",
    "rich", "nanoarrow", "cuda-bindings", "CUDA driver", "devices", "round trip of a frame",
    "computing on frames",
]  # fmt: skip


def findings_of(text):
    return {finding["probe"]: finding for finding in json.loads(text)["findings"]}


def findings(capsys):
    code = main(["doctor", "--json"])
    return code, findings_of(capsys.readouterr().out)


def test_doctor_exits_with_0_on_a_healthy_machine(capsys):
    code, found = findings(capsys)
    assert code == 0, found
    assert list(found) == PROBES
    assert found["pyarrow"]["detail"] == f"{metadata.version('pyarrow')} (pyarrow)"
    assert found["round trip of a frame"]["status"] == "ok"
    gpu = "ok" if cab.has_gpu() else "optional"
    assert {found[probe]["status"] for probe in PROBES[-4:-2] + PROBES[-1:]} == {gpu}
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert all(probe in out for probe in PROBES)


@pytest.mark.parametrize(
    ("function", "probes"),
    [
        ("cli.file_round_trip.from_arrow_device", ["round trip of a frame"]),
        ("cuda.residency.has_gpu", ["CUDA driver", "devices", "computing on frames"]),
    ],
)
def test_error_in_the_package_fails_the_probe(function, probes, monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise RuntimeError("worn out\nand more")

    monkeypatch.setattr(f"cudf_arrow_bridge.{function}", broken)
    code, found = findings(capsys)
    assert code == 1
    for probe in probes:
        assert (found[probe]["status"], found[probe]["detail"]) == ("failed", "worn out and more")


def test_wrong_values_fail_the_round_trip_probe(monkeypatch, capsys):
    genuine = cab.from_arrow_device

    def altered(source, *args, **kwargs):
        wrong = pa.record_batch({"number": [1, None, 4], "text": ["a", "", None]})
        return genuine(wrong if isinstance(source, pa.RecordBatch) else source, *args, **kwargs)

    monkeypatch.setattr("cudf_arrow_bridge.cli.file_round_trip.from_arrow_device", altered)
    code, found = findings(capsys)
    assert code == 1
    assert found["round trip of a frame"]["detail"] == "column number: row 2: 3 became 4"


@pytest.mark.parametrize(
    ("package", "status", "code"), [("cuda-bindings", "optional", 0), ("rmm", "missing", 1)]
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
    """Run the command line with the packages of a folder, among which it does not work."""
    command = [sys.executable, "-P", "-S", "-c", MAIN, folder, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    return done


def statuses_in(folder):
    """Return the status and the detail of each probe with the packages of a folder."""
    found = findings_of(run_in(folder, "doctor", "--json").stdout)
    assert list(found) == PROBES
    return {probe: (finding["status"], finding["detail"]) for probe, finding in found.items()}


@pytest.mark.parametrize("package", ["libcudf", "numpy"])
def test_missing_package_fails_the_round_trip_and_other_commands(package, tmp_path):
    found = statuses_in(without(package, tmp_path))
    status, detail = found[package]
    assert status == "missing"
    assert detail.startswith("not installed: install ")
    assert [probe for probe, (status, _) in found.items() if status == "missing"] == [package]
    status, detail = found["round trip of a frame"]
    assert status == "failed"
    assert package in detail
    [line] = run_in(tmp_path, "inspect", SAMPLE).stderr.splitlines()
    assert package in line
    assert "cudf-arrow-bridge doctor" in line


def test_doctor_without_rich_prints_plain_lines(tmp_path):
    """Without cuDF, the round trip fails after all modules are imported: none needs rich."""
    done = run_in(without("(rich|cudf(?!_arrow_bridge))", tmp_path), "doctor")
    assert done.stderr == ""
    found = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert list(found) == PROBES
    assert found["rich"].startswith("missing: not installed: install rich")
    assert found["round trip of a frame"] == "failed: No module named 'cudf'"


def test_doctor_names_a_libcudf_of_another_release(tmp_path):
    add_package(without("libcudf", tmp_path), "libcudf", "24.2.1", "__version__ = '24.2.1'")
    found = statuses_in(tmp_path)
    status, detail = found["libcudf"]
    assert status == "failed"
    assert "found libcudf 24.2.1" in detail
    assert found["round trip of a frame"] == (status, detail)
    assert found["pylibcudf"][0] == "ok"


@pytest.mark.parametrize("package", ["libcudf", "pyarrow"])
def test_doctor_reports_a_package_that_cannot_be_imported(package, tmp_path):
    source = "raise OSError('libfoo.so: cannot open shared object file')"
    version = metadata.version("pyarrow") if package == "pyarrow" else "26.10.0"
    add_package(without(package, tmp_path), package, version, source)
    status, detail = statuses_in(tmp_path)["round trip of a frame"]
    assert (status, detail) == ("failed", "libfoo.so: cannot open shared object file")
