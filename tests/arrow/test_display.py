# SPDX-License-Identifier: Apache-2.0
"""Test the text, the HTML and the diagram of arrays and reports."""

from __future__ import annotations

import copy
import pickle
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge.arrow.text import size
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly

SVG = "{http://www.w3.org/2000/svg}"
SHARED, COPIED = "#0f8b8d", "#cf5c36"
in_host_memory = pytest.mark.skipif(
    cab.has_gpu(), reason="with a GPU, all buffers are copied to the device"
)
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "end of a tag": "</td></table></svg></div><img src=x onerror=alert(1)>",
    "end of an attribute": "\"'><b onmouseover='alert(1)'>",
    "entities": "&lt;b&gt;&amp;&#60;",
    "control characters": "a\r\n\t\x1b[31m\x07\x7f\x85",
    "text direction": "a\u202eb\u2066c\u200f",
    "line separators": "a\u2028b\u2029",
    "noncharacters": "\ufffe\uffff",
    "long": "x" * 100_000,
}


class Page(HTMLParser):
    """The text of each table cell, and the attributes of all elements."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.rows, self.open = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    @property
    def bars(self):
        """The label of each bar, and the proportions of its parts by color."""
        bars = []
        for tag, attributes in self.elements:
            style = attributes.get("style") or ""
            if tag == "div" and attributes.get("role") == "img":
                bars.append((attributes["aria-label"], {}))
            elif part := re.match(r"flex:(\d+);.*background:(#\w+)", style):
                bars[-1][1][part[2]] = int(part[1])
        return bars


@pytest.fixture
def array():
    """A shared column, a column of which half is copied, and one that is copied."""
    batch = pa.record_batch(
        {"n": [1, 2, 3], "b": [True, None, False], "all": [True] * 3, "l": [[1], [2, 3], []]}
    )
    return cab.to_arrow_device(cab.from_arrow_device(batch))


def named(name):
    """Return an array with a hostile name of a column, of a child and of a copied child."""
    flag = pa.StructArray.from_arrays([pa.array([True])], [name])
    return cab.to_arrow_device(pa.record_batch([pa.array([1]), flag], [name, name]))


@in_host_memory
def test_text_of_a_table_has_a_line_for_each_column_and_child(monkeypatch):
    cities = pa.array(["x", "y", "x"]).cast(pa.dictionary(pa.int8(), pa.string(), ordered=True))
    table = cab.to_arrow_device(
        pa.table({"a long name": [1, 2, 3], "b": [True, None, False], "city": cities})
    )
    lines = repr(table).splitlines()
    assert lines[0] == "DeviceArray, table of 3 rows x 3 columns, 43 B on CPU"
    assert lines[1].split()[3:] == ["int64", "0", "nulls", "24", "B", "zero-copy"]
    assert lines[2].split() == ["b", "bool", "1", "nulls", "2", "B", "converted"]
    assert lines[2].index("bool") == lines[1].index("int64")
    assert "dictionary<string, int8, ordered>" in lines[3]
    nested = pa.array([[{"y": 1}]], pa.large_list(pa.struct({"y": pa.int8()})))
    column = cab.to_arrow_device(pa.record_batch({"item": nested}))["item"]
    monkeypatch.setattr(cab.DeviceArray, "device_type", cab.DeviceType.CUDA)
    monkeypatch.setattr(cab.DeviceArray, "device_id", 1)
    monkeypatch.setattr(cab.DeviceArray, "null_count", -1)
    first, *lines = repr(column).splitlines()
    assert first == "DeviceArray, column of 1 row, 17 B on CUDA 1"
    assert [line.split()[:4] for line in lines] == [
        ["item", "large_list", "?", "nulls"],
        ["item", "struct", "?", "nulls"],
        ["y", "int8", "?", "nulls"],
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [2, 4, 6]


@pytest.mark.parametrize(
    ("columns", "notes"),
    [(20, []), (21, ["... and 1 more column"]), (5000, ["... and 4,980 more columns"])],
)
def test_displays_show_at_most_20_columns(columns, notes):
    batch = pa.record_batch([[True]] * columns, names=[f"c{i}" for i in range(columns)])
    array = cab.to_arrow_device(batch)
    names = [f"c{i}" for i in range(20)]
    for shown in (array, array.report()):
        lines = [line.strip() for line in repr(shown).splitlines()[1:]]
        assert [line.split()[0] for line in lines[:20]] == names
        assert lines[20:] == notes
    stream = cab.to_arrow_device_stream(array)
    assert len(stream.schema) == columns
    for shown in (array, array.report(), stream):
        rows = Page(shown._repr_html_()).rows[1:]
        assert [row[0] for row in rows] == [*names, *notes]


def test_display_of_a_column_shows_at_most_20_children():
    struct = pa.StructArray.from_arrays([pa.array([1])] * 50, [f"c{i}" for i in range(50)])
    lines = repr(cab.to_arrow_device(DeviceOnly(struct))).splitlines()
    assert (len(lines), lines[-1].strip()) == (22, "...")


def test_displays_without_columns_or_bytes_are_empty():
    empty = cab.to_arrow_device(pa.table({}))
    assert repr(empty) == "DeviceArray, table of 0 rows x 0 columns, 0 B on CPU"
    assert texts(empty.report().diagram()) == []
    for shown in (empty, empty.report()):
        assert Page(shown._repr_html_()).bars == []
    column = cab.to_arrow_device(to_plc(pa.array([], pa.int64())))
    assert Page(column.report()._repr_html_()).bars == [("0 B shared, 0 B copied", {})]


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_999, "1.0 MB"),
        (10**9, "1.0 GB"), (2 * 10**12, "2.0 TB"),
    ],
)  # fmt: skip
def test_sizes_have_decimal_units(count, shown):
    assert size(count) == shown


def test_bars_have_the_proportions_of_the_bytes(array):
    report = array.report()
    bars = Page(report._repr_html_()).bars
    for (_, parts), column in zip(bars, report, strict=True):
        amounts = {SHARED: column.shared_bytes, COPIED: column.copied_bytes}
        assert parts == {color: amount for color, amount in amounts.items() if amount}
    if not cab.has_gpu():
        assert [label for label, _ in bars] == [
            "24 B shared, 0 B copied",
            "1 B shared, 1 B copied",
            "0 B shared, 1 B copied",
            "40 B shared, 0 B copied",
        ]
        # The array also has a line for the values of the list.
        values = ("24 B shared, 0 B copied", {SHARED: 24})
        assert Page(array._repr_html_()).bars == [*bars, values]


def test_rows_have_as_many_cells_as_headings(array):
    for shown in (array, array.report()):
        heading, *rows = Page(shown._repr_html_()).rows
        assert heading[-2].split() == ["■", "shared", "■", "copied"]
        assert {len(row) for row in rows} == {len(heading)}
    assert rows[1][-1] == "bits in Arrow, bytes in cuDF"
    # No batch of the stream has been exported, so that the bytes are unknown.
    stream = cab.to_arrow_device_stream(array)
    assert len(stream.schema) == 4
    page = Page(stream._repr_html_())
    assert page.bars == []
    assert page.rows[0] == ["column", "Arrow type"]


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_are_only_text(name):
    array, harmless = named(name), named("harmless")
    stream, other = (cab.to_arrow_device_stream(a) for a in (array, harmless))
    assert stream.schema.names == [name, name]
    assert other.schema.names == ["harmless", "harmless"]
    for shown, expected in (
        (array, harmless),
        (array.report(), harmless.report()),
        (stream, other),
    ):
        html = shown._repr_html_()
        page = Page(html)
        assert page.elements == Page(expected._repr_html_()).elements
        assert all(letter.isprintable() for letter in html)
        if name.isprintable():
            assert page.rows[1][0] == (name if len(name) < 100 else "x" * 99 + "…")
        assert len(repr(shown).splitlines()) == len(repr(expected).splitlines())
        assert max(map(len, repr(shown).splitlines())) < 500
    diagram = array.report().diagram()
    expected = ElementTree.fromstring(harmless.report().diagram())
    tags = [element.tag for element in ElementTree.fromstring(diagram).iter()]
    assert tags == [element.tag for element in expected.iter()]
    assert all(letter.isprintable() for letter in diagram)
    if name == HOSTILE["long"]:
        assert texts(diagram)[0] == "x" * 27 + "…"
        assert re.search("x{101}", diagram) is None


def texts(diagram):
    return [element.text for element in ElementTree.fromstring(diagram).iter(f"{SVG}text")]


@in_host_memory
def test_diagram_has_the_buffers_sizes_and_owners(array):
    diagram = array.report().diagram()
    assert diagram._repr_html_() == diagram
    assert texts(diagram) == [
        *("n", "int64", "data", "24 B"),
        *("b", "bool", "validity", "1 B", "data", "1 B"),
        *("all", "bool", "data", "1 B"),
        *("l", "list<item: int64>", "offsets", "16 B", "[].data", "24 B"),
        *("Memory of the source", "4 buffers, 65 B, shared"),
        *("Memory of the export", "2 buffers, 2 B, copied"),
    ]
    root = ElementTree.fromstring(diagram)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Buffers and their owners"
    description = root.find(f"{SVG}desc").text
    assert "all: data, 1 B, copied, bits in Arrow, bytes in cuDF. " in description
    assert "Memory of the export: " in description
    _, _, width, height = map(float, root.get("viewBox").split())
    for element in [*root.iter(f"{SVG}rect"), *root.findall(f"{SVG}svg")]:
        assert float(element.get("x")) + float(element.get("width")) <= width
        assert float(element.get("y")) + float(element.get("height")) <= height


def test_diagram_counts_the_buffers_that_do_not_fit():
    wide = cab.from_arrow_device(pa.record_batch({f"c{i}": [i] for i in range(30)}))
    shown = texts(cab.to_arrow_device(wide).report().diagram())
    assert shown.count("data") == 10
    assert "... and 20 more buffers" in shown
    assert "30 buffers, 240 B, shared" in shown
    nested = pa.StructArray.from_arrays([pa.array([1])] * 30, [f"f{i}" for i in range(30)])
    shown = texts(cab.to_arrow_device(DeviceOnly(nested)).report().diagram())
    assert "... and 11 more buffers" in shown


def test_copies_of_a_report_have_its_diagram(array):
    report = array.report()
    for other in (copy.copy(report), copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert other == report
        assert other.diagram() == report.diagram()
