# SPDX-License-Identifier: Apache-2.0
"""``doctor``: what this machine has, and what works on it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from typing import Any

from cudf_arrow_bridge.arrow.display import size
from cudf_arrow_bridge.cli import exits, report
from cudf_arrow_bridge.cli.bridge import load, one_line

PACKAGES = ("cudf", "libcudf", "pylibcudf", "rmm", "pyarrow")
#: Another consumer, and the names of the devices.
OPTIONAL_PACKAGES = ("nanoarrow", "cuda-bindings")
FLAVOURS = ("", "-cu12", "-cu13")
HEADINGS = (
    report.Heading("Probe", "word"),
    report.Heading("Status", "word"),
    report.Heading("Found"),
)


@dataclass(frozen=True)
class Finding:
    """The outcome of a probe.

    `status` is ok, optional (missing but not required), missing (but required) or failed.
    """

    probe: str
    status: str
    detail: str


class NotHereError(Exception):
    """Something optional is missing."""


class MissingError(Exception):
    """Something required is missing."""


def run(*, as_json: bool = False) -> int:
    """Run every probe and show what it found.

    Parameters
    ----------
    as_json : bool, optional
        Print JSON instead of a table.

    Returns
    -------
    int
        0 if the bridge works on this machine, else 1.
    """
    findings = examine()
    if as_json:
        report.show_json({"findings": [asdict(finding) for finding in findings]})
    else:
        cells = [(finding.probe, finding.status, finding.detail) for finding in findings]
        report.console().print(report.table("This machine", HEADINGS, cells))
    works = all(finding.status in ("ok", "optional") for finding in findings)
    return exits.OK if works else exits.FAILED


def examine() -> list[Finding]:
    """Run all probes."""
    return [
        run_probe("platform", lambda: f"Python {platform.python_version()}, {platform.platform()}"),
        run_probe("cudf-arrow-bridge", own_version),
        *(run_probe(name, partial(needed, name)) for name in PACKAGES),
        *(run_probe(name, partial(version, name)) for name in OPTIONAL_PACKAGES),
        run_probe("CUDA driver", driver),
        run_probe("devices", devices),
        run_probe("round trip of a frame", small_round_trip),
        run_probe("computing on frames", compute),
    ]


def run_probe(probe: str, probe_function: Callable[[], str]) -> Finding:
    """Run one probe, and turn its exception into a finding."""
    try:
        return Finding(probe, "ok", probe_function())
    except NotHereError as absence:
        return Finding(probe, "optional", str(absence))
    except MissingError as absence:
        return Finding(probe, "missing", str(absence))
    except Exception as error:
        return Finding(probe, "failed", one_line(error))


def installed(name: str) -> metadata.Distribution:
    """Find a package under its plain name or that of a CUDA flavour."""
    for flavour in FLAVOURS:
        try:
            return metadata.distribution(name + flavour)
        except metadata.PackageNotFoundError:
            continue
    raise NotHereError("not installed")


def version(name: str) -> str:
    """Name the installed package and its version."""
    package = installed(name)
    return f"{package.version} ({package.metadata['Name']})"


def needed(name: str) -> str:
    """Name the installed package and its version; it is required."""
    try:
        return version(name)
    except NotHereError as absence:
        raise MissingError(str(absence)) from None


def own_version() -> str:
    """Name this package's version, and what it was built against."""
    from cudf_arrow_bridge import _build_info as built

    return (
        f"{built.VERSION}, built against libcudf {built.LIBCUDF_VERSION}, CUDA {built.CUDA_MAJOR}"
    )


def driver() -> str:
    """Ask the bridge's own CUDA runtime for a driver, and the driver for its version."""
    if not load(frames=False).has_gpu():
        raise NotHereError("no driver or no device: frames live in the CPU's memory here")
    cuda = bindings()
    if cuda is None:
        return "works"
    status, number = cuda.cuDriverGetVersion()
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"cuDriverGetVersion: {status.name}")
    return f"supports CUDA {number // 1000}.{number % 1000 // 10}"


def devices() -> str:
    """Name the devices that the bridge's own CUDA runtime can use."""
    if not load(frames=False).has_gpu():
        raise NotHereError("none")
    cuda = bindings()
    if cuda is None:
        return "usable; cuda-bindings would name them"

    def check(result: tuple[object, ...]) -> object:
        status, *values = result
        if status != cuda.CUresult.CUDA_SUCCESS:
            raise RuntimeError(str(status))
        return values[0] if values else None

    check(cuda.cuInit(0))
    names = []
    for index in range(int(str(check(cuda.cuDeviceGetCount())))):
        device = check(cuda.cuDeviceGet(index))
        name = check(cuda.cuDeviceGetName(128, device))
        label = name.rstrip(b"\0").decode() if isinstance(name, bytes) else str(name)
        memory = int(str(check(cuda.cuDeviceTotalMem(device))))
        names.append(f"{index}: {label}, {size(memory)}")
    return "; ".join(names)


def bindings() -> Any:
    """Return the driver module of cuda-bindings, if that is installed."""
    try:
        from cuda.bindings import driver
    except ImportError:
        return None
    return driver


def small_round_trip() -> str:
    """Import, export and import three rows."""
    bridge = load()
    import pyarrow as pa

    from cudf_arrow_bridge.arrow.display import device
    from cudf_arrow_bridge.cli import compare
    from cudf_arrow_bridge.cli.consumers import consume

    batch = pa.record_batch({"number": [1, None, 3], "text": ["a", "", None]})
    exported = bridge.to_arrow_device(bridge.from_arrow_device(batch))
    seen, consumer = consume(exported)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        difference = compare.difference(column, seen.column(name))
        if difference:
            raise RuntimeError(f"column {name}: {difference}")
    return f"in {device(exported)} memory, read by {consumer}"


def compute() -> str:
    """Add numbers with cuDF, which takes a GPU."""
    if not load().has_gpu():
        raise NotHereError("needs a GPU; frames here can be made, handed over and taken back")
    import cudf

    total = cudf.Series([1, 2, 3]).sum()
    if total != 6:
        raise RuntimeError(f"1 + 2 + 3 gave {total}")
    return "works"
