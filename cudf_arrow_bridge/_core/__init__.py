# SPDX-License-Identifier: Apache-2.0
"""The bindings of the C++ core: column views, capsules, ownership, the GIL."""
