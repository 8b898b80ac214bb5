# SPDX-License-Identifier: Apache-2.0
"""cuDF takes a second to import: it is loaded when the first frame is made or taken apart."""

from __future__ import annotations

from types import ModuleType

__all__ = ["load_frames"]


def load_frames() -> ModuleType:
    """Load `frames`, and cuDF with it, also on a machine without a GPU."""
    from .frames import disassemble as frames

    return frames
