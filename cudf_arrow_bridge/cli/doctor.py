# SPDX-License-Identifier: Apache-2.0
"""``doctor``: installed packages, devices and working functions of this machine.

The probes import the libraries, which may be missing or broken.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

from cudf_arrow_bridge._load import build_info, check_release, required_cudf
from cudf_arrow_bridge.arrow.text import size
from cudf_arrow_bridge.cli import exits, report

#: The packages of RAPIDS, which are of the release of this package.
RAPIDS = ("cudf", "libcudf", "pylibcudf", "rmm")
PACKAGES = (*RAPIDS, "pyarrow", "numpy", "rich")
#: Another Arrow library, and NVIDIA's bindings of CUDA.
OPTIONAL_PACKAGES = ("nanoarrow", "cuda-bindings")
FLAVOURS = ("", "-cu12", "-cu13")


class Finding(NamedTuple):
    """The outcome of a probe.

    `status` is ok, optional (missing but not required), missing (but required) or failed.
    """

    probe: str
    status: str
    detail: str


class MissingError(Exception):
    """A package or a device is missing."""


def run(*, as_json: bool = False) -> int:
    """Run all probes, show their results and return the exit code."""
    findings = [
        run_probe("platform", lambda: f"Python {platform.python_version()}, {platform.platform()}"),
        run_probe("cudf-arrow-bridge", own_version),
        *(run_probe(name, partial(version, name), "missing") for name in PACKAGES),
        *(run_probe(name, partial(version, name)) for name in OPTIONAL_PACKAGES),
        run_probe("CUDA driver", driver),
        run_probe("devices", devices),
        run_probe("round trip of a frame", small_round_trip),
        run_probe("computing on frames", compute),
    ]
    if as_json:
        report.print_json({"findings": [finding._asdict() for finding in findings]})
    else:
        try:
            headings = ("Probe", "Status", "Found")
            report.print_table(report.console(), "This machine", headings, findings)
        except ImportError:  # without rich
            print(*map(": ".join, findings), sep="\n")
    works = all(finding.status in ("ok", "optional") for finding in findings)
    return exits.OK if works else exits.FAILED


def run_probe(probe: str, find: Callable[[], str], if_missing: str = "optional") -> Finding:
    """Run one probe and convert its exception to a finding."""
    try:
        return Finding(probe, "ok", find())
    except MissingError as error:
        return Finding(probe, if_missing, str(error))
    except Exception as error:
        return Finding(probe, "failed", report.one_line(error))


def version(name: str) -> str:
    """Return the version of a package, installed by its plain name or that for a CUDA version."""
    for flavour in FLAVOURS:
        try:
            package = metadata.distribution(name + flavour)
        except metadata.PackageNotFoundError:
            continue
        if name in RAPIDS:
            check_release(build_info.LIBCUDF_VERSION, package.version, name)
        return f"{package.version} ({package.metadata['Name']})"
    raise MissingError(f"not installed: install {required_cudf() if name in RAPIDS else name}")


def own_version() -> str:
    """Return the version of this package and of its build dependencies."""
    built_against = f"libcudf {build_info.LIBCUDF_VERSION}, CUDA {build_info.CUDA_MAJOR}"
    return f"{build_info.__version__}, built against {built_against}"


def runtime(if_missing: str) -> Any:
    """Return the CUDA runtime; raise MissingError without a GPU."""
    from cudf_arrow_bridge.cuda.residency import has_gpu

    if not has_gpu():
        raise MissingError(if_missing)
    from cupy.cuda import runtime

    return runtime


def driver() -> str:
    """Check for a driver with this package's CUDA runtime, and return its version."""
    number = runtime("no driver or no device: frames are in host memory").driverGetVersion()
    return f"supports CUDA {number // 1000}.{number % 1000 // 10}"


def devices() -> str:
    """Return the devices that the CUDA runtime can use."""
    cuda = runtime("none")
    properties = map(cuda.getDeviceProperties, range(cuda.getDeviceCount()))
    return "; ".join(
        f"{index}: {device['name'].decode()}, {size(device['totalGlobalMem'])}"
        for index, device in enumerate(properties)
    )


def small_round_trip() -> str:
    """Import, export and import three rows."""
    import pyarrow as pa

    from cudf_arrow_bridge.arrow import display
    from cudf_arrow_bridge.cli import compare
    from cudf_arrow_bridge.cli.file_round_trip import run_stages

    batch = pa.record_batch({"number": [1, None, 3], "text": ["a", "", None]})
    stages = run_stages(batch, {})
    for name, *columns in zip(batch.schema.names, batch, stages.consumed, strict=True):
        difference = compare.difference(*columns)
        if difference:
            raise RuntimeError(f"column {name}: {difference}")
    return f"in {display.device(stages.exported[0][0])} memory, read by {stages.consumer}"


def compute() -> str:
    """Add numbers with cuDF, which needs a GPU."""
    runtime("needs a GPU; frames can be imported and exported without one")
    import cudf

    total = cudf.Series([1, 2, 3]).sum()
    if total != 6:
        raise RuntimeError(f"1 + 2 + 3 gave {total}")
    return "works"
