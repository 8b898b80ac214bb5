# SPDX-License-Identifier: Apache-2.0
"""Loading the bridge itself, late and with an error a person can read."""

from __future__ import annotations

import os
from types import ModuleType


class BridgeError(Exception):
    """The bridge cannot be used here; the message is one line for a person."""


def load(*, frames: bool = True) -> ModuleType:
    """Import the bridge, with cuDF told to leave the GPU alone where no driver answers.

    Parameters
    ----------
    frames : bool, optional
        Import cuDF as well, which takes a moment that no step should be charged for.

    Raises
    ------
    BridgeError
        If it, or what it needs, cannot be imported.
    """
    if not driver_answers():
        os.environ.setdefault("RAPIDS_NO_INITIALIZE", "1")
    try:
        import cudf_arrow_bridge

        if frames:
            import cudf  # noqa: F401
        # The functions may be loaded on first use; this is it.
        _ = cudf_arrow_bridge.to_arrow_device
        return cudf_arrow_bridge
    except Exception as error:
        raise BridgeError(f"the bridge cannot be loaded here: {one_line(error)}") from error


def driver_answers() -> bool:
    """Whether a CUDA driver is there and starts."""
    try:
        from cuda.bindings import driver

        (status,) = driver.cuInit(0)
    except Exception:
        return False
    return bool(status == driver.CUresult.CUDA_SUCCESS)


def one_line(error: BaseException) -> str:
    """Write an exception on one line, with its type where the message alone says too little."""
    message = " ".join(str(error).split())
    return message if " " in message else f"{type(error).__name__}: {message}".rstrip(": ")
