# SPDX-License-Identifier: Apache-2.0
"""cuDF takes a second to import: it is loaded when the first frame is made or taken apart."""

from __future__ import annotations

import os
from types import ModuleType

from .residency import has_gpu

__all__ = ["load_frames"]


def load_frames() -> ModuleType:
    """Load `frames`, and cuDF with it, also on a machine without a GPU."""
    if not has_gpu():
        # Otherwise cuDF asks for a driver as it is imported, which it can do without.
        os.environ.setdefault("RAPIDS_NO_INITIALIZE", "1")
    from . import frames

    return frames
