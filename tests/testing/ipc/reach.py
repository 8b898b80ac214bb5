# SPDX-License-Identifier: Apache-2.0
"""How many bytes a consumer reads of an array's buffers, from C structs and formats alone."""

from __future__ import annotations

import ctypes

from testing.peers.arrays import nodes, struct_of

_WIDTHS = {
    **dict.fromkeys("cC", 1), **dict.fromkeys("sSe", 2), **dict.fromkeys("ifI", 4),
    **dict.fromkeys("lLg", 8), "tdD": 4, "tdm": 8, "tts": 4, "ttm": 4, "ttu": 8, "ttn": 8,
}  # fmt: skip


def width_of(form):
    """Return the bytes of a value of fixed width, or None for any other format."""
    if form in _WIDTHS:
        return _WIDTHS[form]
    if form[:2] in ("ts", "tD"):
        return 8
    if form.startswith("w:"):
        return int(form[2:])
    if form.startswith("d:"):
        parts = form[2:].split(",")
        return int(parts[2]) // 8 if len(parts) > 2 else 16
    return None


def reaches(form, array):
    """Return the bytes that are read of each buffer, or None if they depend on its values."""
    rows = array.offset + array.length
    mask = (rows + 7) // 8
    if form == "n" or form == "+r" or form[:2] == "+u":
        return []
    if form == "b":
        return [mask, mask]
    if (width := width_of(form)) is not None:
        return [mask, rows * width]
    if form in ("u", "z", "U", "Z"):
        return [mask, (rows + 1) * (4 if form in "uz" else 8), None]
    if form in ("+l", "+m", "+L"):
        return [mask, (rows + 1) * (8 if form == "+L" else 4)]
    if form in ("+vl", "+vL"):
        return [mask, *[rows * (4 if form == "+vl" else 8)] * 2]
    if form in ("vu", "vz"):
        return [mask, rows * 16, *_sizes(array), 8 * (array.n_buffers - 3)]
    assert form == "+s" or form.startswith("+w:"), form
    return [mask]


def _sizes(array):
    """Return the sizes of the data buffers of views, which their last buffer has."""
    count = array.n_buffers - 3
    return (ctypes.c_int64 * count).from_address(array.buffers[count + 2]) if count else []


def spans(obj):
    """Yield the address of each exported buffer and the bytes that are read, or None if unknown."""
    schema, array = obj.__arrow_c_device_array__()
    pairs = zip(nodes(struct_of(schema)), nodes(struct_of(array).array), strict=True)
    for form, node in pairs:
        found = reaches(form.format.decode(), node)
        assert len(found) == node.n_buffers, (form.format, node.n_buffers)
        for i, reach in enumerate(found):
            if node.buffers[i]:
                yield node.buffers[i], reach
            else:
                assert i == 0 or not node.length or not reach, (form.format, i, reach)
