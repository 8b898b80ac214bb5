# SPDX-License-Identifier: Apache-2.0
"""An SVG diagram of the buffers of an array and their owners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Self

from .buffers import BufferInfo
from .display import COLORS, LINES
from .text import count, shortened, size

_ROW = 24
_WIDTH = 720
_OWNER_X = 480
_OWNERS = {"shared": "Memory of the source", "copied": "Memory of the export"}


class Diagram(str):
    """The text of an SVG image, which notebooks display in the colors of the page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)

    @classmethod
    def of(cls, columns: Iterable[tuple[tuple[str, str], Sequence[BufferInfo]]]) -> Self:
        """Draw columns, each given by its name and Arrow type, and its buffers."""
        drawn, sentences = [], []
        # The sizes of all buffers, and the places of those that are drawn.
        sizes: dict[str, list[int]] = {kind: [] for kind in _OWNERS}
        places: dict[str, list[int]] = {kind: [] for kind in _OWNERS}
        y = hidden = 0
        for (path, arrow_type), buffers in columns:
            name = shortened(path)
            is_full = hidden > 0 or y > (LINES - 2) * _ROW
            if not is_full:
                drawn += [_text(8, y, 200, name, "bold"), _text(216, y, 216, arrow_type)]
                y += _ROW
            for buffer in (buffer for buffer in buffers if buffer.address):
                kind = "shared" if buffer.zero_copy else "copied"
                sizes[kind].append(buffer.size)
                if is_full or y >= LINES * _ROW:
                    hidden += 1
                    continue
                drawn += [
                    f'<rect x="16" y="{y + 1}" width="416" height="{_ROW - 2}" rx="3"'
                    f' fill="{COLORS[kind]}" fill-opacity="0.2"/>',
                    _text(24, y, 300, buffer.name),
                    _text(340, y, 88, size(buffer.size)),
                ]
                why = f"{kind}, {buffer.reason}" if buffer.reason else kind
                sentences.append(f"{name}: {shortened(buffer.name)}, {size(buffer.size)}, {why}.")
                places[kind].append(y + _ROW // 2)
                y += _ROW
        if hidden:
            drawn.append(_text(8, y, 424, f"... and {count(hidden, 'more buffer')}"))
            y += _ROW
        bottom, y = y, 0
        for kind, owner in _OWNERS.items():
            if sizes[kind]:
                total = f"{count(len(sizes[kind]), 'buffer')}, {size(sum(sizes[kind]))}, {kind}"
                drawn.append(_owner(y, owner, total, COLORS[kind], places[kind]))
                sentences.append(f"{owner}: {total}.")
                y += 3 * _ROW
        return cls(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {max(y, bottom, 1)}"'
            f' role="img" style="width:100%;max-width:{_WIDTH}px" font-family="sans-serif"'
            ' font-size="14"><title>Buffers and their owners</title>'
            f"<desc>{escape(' '.join(sentences))}</desc>{''.join(drawn)}</svg>"
        )


def _owner(y: int, owner: str, total: str, color: str, places: Iterable[int]) -> str:
    """Draw the box of an owner, connected with the buffers at some places."""
    middle = y + 28
    curves = "".join(f"M432 {p}C456 {p} 456 {middle} {_OWNER_X} {middle}" for p in places)
    box = f'x="{_OWNER_X}" y="{y + 1}" width="{_WIDTH - _OWNER_X - 1}" height="54" rx="6"'
    return (
        f'<g stroke="{color}" stroke-width="2" fill="none"><path d="{curves}"/><rect {box}/></g>'
        + _text(_OWNER_X + 12, y + 4, 216, owner, "bold")
        + _text(_OWNER_X + 12, y + 28, 216, total)
    )


def _text(x: int, y: int, width: int, text: str, weight: str = "normal") -> str:
    """Return escaped text, shortened and clipped to a width."""
    text = shortened(text, width // 7)
    return (
        f'<svg x="{x}" y="{y}" width="{width}" height="{_ROW}"><text y="17" fill="currentColor"'
        f' font-weight="{weight}">{escape(text)}</text></svg>'
    )
