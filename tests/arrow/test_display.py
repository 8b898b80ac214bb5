# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass, field
from enum import IntEnum

import pyarrow as pa
import pytest

from cudf_arrow_bridge.arrow import display
from cudf_arrow_bridge.arrow.text import size


class DeviceType(IntEnum):
    CPU = 1
    CUDA = 2


@dataclass
class FakeBuffer:
    zero_copy: bool = True
    size: int = 24


@dataclass
class FakeArray:
    """Has the attributes of a device array that the display reads."""

    schema: object
    rows: int = 3
    null_count: int = 0
    nbytes: int = 24
    children: list = field(default_factory=list)
    own: list = field(default_factory=lambda: [FakeBuffer()])
    device_type: DeviceType = DeviceType.CPU
    device_id: int = -1
    is_released: bool = False

    def __len__(self):
        return self.rows

    def buffers(self):
        return self.own + [b for child in self.children for b in child.buffers()]


def column(name, arrow_type=None, **more):
    return FakeArray(pa.field(name, arrow_type or pa.int64()), **more)


def table(*columns, **more):
    return FakeArray(pa.schema([c.schema for c in columns]), children=list(columns), **more)


def test_text_of_a_table_has_a_line_for_each_column():
    shown = display.text(
        table(
            column("id"),
            column(
                "flag", pa.bool_(), null_count=1, own=[FakeBuffer(size=0), FakeBuffer(False, 1)]
            ),
            column("city", pa.dictionary(pa.int8(), pa.string(), ordered=True), null_count=-1),
            nbytes=12_345,
            device_type=DeviceType.CUDA,
            device_id=1,
        )
    ).splitlines()
    assert shown[0] == "DeviceArray, table of 3 rows x 3 columns, 12.3 kB on CUDA 1"
    assert [line.split(maxsplit=1)[0] for line in shown[1:]] == ["id", "flag", "city"]
    assert shown[1].split() == ["id", "int64", "0", "nulls", "24", "B", "zero-copy"]
    assert shown[2].split() == ["flag", "bool", "1", "nulls", "1", "B", "converted"]
    assert "dictionary<string, int8, ordered>" in shown[3]
    assert "? nulls" in shown[3]


def test_text_aligns_the_types_of_columns():
    lines = display.text(table(column("a"), column("a long name", null_count=1000))).splitlines()[
        1:
    ]
    assert len({line.index("int64") for line in lines}) == 1


def test_text_indents_the_children_of_a_column():
    inner = column("y", pa.int8())
    outer = column("x", pa.struct([inner.schema]), children=[inner])
    shown = display.text(column("item", pa.list_(outer.schema), rows=1, children=[outer]))
    lines = shown.splitlines()
    assert lines[0] == "DeviceArray, column of 1 row, 24 B on CPU"
    assert [len(line) - len(line.lstrip()) for line in lines[1:]] == [2, 4, 6]
    assert [line.split()[:2] for line in lines[1:]] == [
        ["item", "list"], ["x", "struct"], ["y", "int8"],
    ]  # fmt: skip


@pytest.mark.parametrize("show", [display.text, display.html])
@pytest.mark.parametrize(
    ("columns", "note"),
    [(20, None), (21, "... and 1 more column"), (1000, "... and 980 more columns")],
)
def test_display_shows_at_most_20_columns_of_a_table(show, columns, note):
    shown = show(table(*(column(f"c{i}") for i in range(columns))))
    assert "c19" in shown
    assert "c20" not in shown
    assert ("... and" in shown) == (note is not None)
    if note:
        assert note in shown


def test_text_shows_at_most_20_children_of_a_column():
    children = [column(f"c{i}") for i in range(50)]
    arrow_type = pa.struct([child.schema for child in children])
    shown = display.text(column("s", arrow_type, children=children)).splitlines()
    assert shown[-1].strip() == "..."
    assert len(shown) <= 22


def test_text_does_not_read_the_buffers_of_hidden_columns():
    class Untouchable(FakeArray):
        def buffers(self):
            raise AssertionError("off the screen")

    far = Untouchable(pa.field("far", pa.int8()))
    assert "far" not in display.text(table(*(column(f"c{i}") for i in range(30)), far))


def test_table_without_columns_is_displayed():
    assert display.text(table(rows=0, nbytes=0)) == (
        "DeviceArray, table of 0 rows x 0 columns, 0 B on CPU"
    )
    assert "<table>" in display.html(table(rows=0))


@pytest.mark.parametrize("show", [display.text, display.html])
def test_display_of_a_released_array_contains_released(show):
    class Gone:
        is_released = True

    assert "released" in show(Gone())


def test_text_escapes_control_characters():
    shown = display.text(table(column("a\x1b[2J\nb")))
    assert "\x1b" not in shown
    assert "a\\x1b[2J\\nb" in shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_999, "1.0 MB"),
        (10**9, "1.0 GB"), (2 * 10**12, "2.0 TB"),
    ],
)  # fmt: skip
def test_sizes_have_decimal_units(count, shown):
    assert size(count) == shown
