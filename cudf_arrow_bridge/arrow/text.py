# SPDX-License-Identifier: Apache-2.0
"""Names and numbers as text. Imports no library, so that it works beside broken ones."""

from __future__ import annotations


def printable(name: object) -> str:
    """Return a name on one line, with control characters escaped."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(name)
    )


def shortened(name: object, most: int = 100) -> str:
    """Return a name as `printable` does, without its end if it has more than `most` characters."""
    text = printable(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def size(count: int) -> str:
    """Return a number of bytes in a readable unit."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


def count(number: int, noun: str) -> str:
    """Return a number and a noun, plural unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
