# SPDX-License-Identifier: Apache-2.0
"""The C++ core and pylibcudf as Python meets them: views, capsules, ownership, the GIL."""
