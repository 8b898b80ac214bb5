# SPDX-License-Identifier: Apache-2.0
"""Importing the package for a command, with an error of one line."""

from __future__ import annotations

from types import ModuleType


class BridgeError(Exception):
    """The bridge cannot be used here; the message is one line."""


def load(*, frames: bool = True) -> ModuleType:
    """Import the bridge.

    Parameters
    ----------
    frames : bool, optional
        Import cuDF as well, which takes a second that no timed step should include.

    Raises
    ------
    BridgeError
        If it, or what it needs, cannot be imported.
    """
    try:
        import cudf_arrow_bridge

        if frames:
            import cudf  # noqa: F401
        return cudf_arrow_bridge
    except Exception as error:
        raise BridgeError(f"the bridge cannot be loaded here: {one_line(error)}") from error


def load_to_compute() -> ModuleType:
    """Import the bridge, and have it find out whether there is a GPU.

    Raises
    ------
    BridgeError
        If either fails.
    """
    bridge = load()
    try:
        bridge.has_gpu()
    except Exception as error:
        raise BridgeError(f"CUDA does not work here: {one_line(error)}") from error
    return bridge


def one_line(error: BaseException) -> str:
    """Write an exception on one line, with its type where the message alone says too little."""
    message = " ".join(str(error).split())
    return message if " " in message else f"{type(error).__name__}: {message}".rstrip(": ")
