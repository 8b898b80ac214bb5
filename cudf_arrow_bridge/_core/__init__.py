# SPDX-License-Identifier: Apache-2.0
"""Bindings of the C++ core: column views, capsules, ownership and the GIL."""

from .._load import load_libraries

load_libraries()
