# SPDX-License-Identifier: Apache-2.0
"""Information about the host: its GPU and driver, the machine, and the commit under test."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .run import ROOT

_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_COMPUTE_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


class DriverError(Exception):
    """A call of the CUDA driver failed."""


@dataclass(frozen=True)
class Device:
    name: str
    memory_mib: int
    compute_capability: str


@dataclass(frozen=True)
class Host:
    """Information about the host. `why_no_gpu` is empty if there is a GPU."""

    devices: tuple[Device, ...]
    why_no_gpu: str
    cuda: tuple[int, int] | None  # the version that the driver supports
    commit: str
    machine: dict[str, Any]

    def details(self) -> dict[str, Any]:
        """Return all fields as objects that a JSON round trip preserves."""
        details: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return details


def look(commit: str | None) -> Host:
    """Collect the information about the host.

    Parameters
    ----------
    commit
        The name of the commit if git cannot determine it.

    Raises
    ------
    DriverError
        If a call of the CUDA driver fails.
    """
    cuda, devices, why = _devices()
    return Host(
        devices=devices,
        why_no_gpu=why,
        cuda=cuda,
        commit=_commit() or commit or "unknown",
        machine={
            "system": platform.platform(),
            "libc": "-".join(platform.libc_ver()),
            "cpu": _first(r"^model name\s*: (.*)$", Path("/proc/cpuinfo")),
            "cores": os.cpu_count(),
            "memory": _first(r"^MemTotal:\s*(.*)$", Path("/proc/meminfo")),
            "disk_free_gib": shutil.disk_usage(ROOT).free >> 30,
            "driver": _first(r"^(.*)$", Path("/proc/driver/nvidia/version")),
            "python": sys.version.split()[0],
        },
    )


def _devices() -> tuple[tuple[int, int] | None, tuple[Device, ...], str]:
    """Return the CUDA version that the driver supports, the devices, and why there are none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, (), "no CUDA driver (libcuda.so.1)"

    def call(function: str, *arguments: Any) -> None:
        if code := getattr(driver, function)(*arguments):
            raise DriverError(f"{function}: error {code} of the CUDA driver")

    number = ctypes.c_int()
    call("cuDriverGetVersion", ctypes.byref(number))
    version = number.value // 1000, number.value % 1000 // 10
    if (code := driver.cuInit(0)) == _NO_DEVICE:
        return version, (), "no CUDA device"
    if code:
        raise DriverError(f"cuInit: error {code} of the CUDA driver")
    call("cuDeviceGetCount", ctypes.byref(number))
    devices = []
    for index in range(number.value):
        device, memory, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(128)
        call("cuDeviceGet", ctypes.byref(device), index)
        call("cuDeviceGetName", name, len(name), device)
        call("cuDeviceTotalMem_v2", ctypes.byref(memory), device)
        capability = []
        for attribute in _COMPUTE_CAPABILITY:
            part = ctypes.c_int()
            call("cuDeviceGetAttribute", ctypes.byref(part), attribute, device)
            capability.append(str(part.value))
        devices.append(Device(name.value.decode(), memory.value >> 20, ".".join(capability)))
    return version, tuple(devices), "" if devices else "no CUDA device"


def _commit() -> str | None:
    """Return the commit, with a hash of the uncommitted changes."""
    try:
        commit = _git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").decode()
        changed = _git("diff", "HEAD") if commit.strip().endswith("-dirty") else b""
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.strip() + (f"-{hashlib.sha256(changed).hexdigest()[:12]}" if changed else "")


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
    ).stdout


def _first(pattern: str, file: Path) -> str | None:
    try:
        found = re.search(pattern, file.read_text(), re.MULTILINE)
    except OSError:
        return None
    return found[1] if found else None
