# SPDX-License-Identifier: Apache-2.0
"""Functions of higher layers that arrays use, which this layer cannot import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Returns the module `integrations/array_functions.py`. `integrations/registration.py` sets it.
functions: Callable[[], Any]
