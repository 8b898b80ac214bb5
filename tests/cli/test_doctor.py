# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
from importlib import metadata

import pyarrow as pa
import pytest

import cudf_arrow_bridge
from cudf_arrow_bridge.__main__ import main
from cudf_arrow_bridge.cli import doctor

PROBES = [
    "platform", "cudf-arrow-bridge", "cudf", "libcudf", "pylibcudf", "rmm", "pyarrow", "nanoarrow",
    "cuda-bindings", "CUDA driver", "devices", "round trip of a frame", "computing on frames",
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


@pytest.mark.parametrize("function", ["to_arrow_device", "from_arrow_device", "has_gpu"])
def test_error_in_the_package_fails_the_probe(function, monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise RuntimeError("worn out\nand more")

    monkeypatch.setattr(cudf_arrow_bridge, function, broken)
    code, found = findings(capsys)
    assert code == 1
    asking = ["CUDA driver", "devices", "computing on frames"]
    for probe in asking if function == "has_gpu" else ["round trip of a frame"]:
        assert (found[probe]["status"], found[probe]["detail"]) == ("failed", "worn out and more")


def test_wrong_values_fail_the_round_trip_probe(monkeypatch, capsys):
    genuine = cudf_arrow_bridge.from_arrow_device

    def altered(source, *args, **kwargs):
        wrong = pa.record_batch({"number": [1, None, 4], "text": ["a", "", None]})
        return genuine(wrong if isinstance(source, pa.RecordBatch) else source, *args, **kwargs)

    monkeypatch.setattr(cudf_arrow_bridge, "from_arrow_device", altered)
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
    assert (found[package]["status"], found[package]["detail"]) == (status, "not installed")


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
    monkeypatch.setattr(cudf_arrow_bridge, "has_gpu", lambda: True)
    monkeypatch.setattr(runtime, "driverGetVersion", lambda: 12090)
    monkeypatch.setattr(runtime, "getDeviceCount", lambda: 2)
    monkeypatch.setattr(runtime, "getDeviceProperties", lambda device: properties)
    assert doctor.driver() == "supports CUDA 12.9"
    assert doctor.devices() == "0: GPU X, 80.0 GB; 1: GPU X, 80.0 GB"
