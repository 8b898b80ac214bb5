# SPDX-License-Identifier: Apache-2.0
"""HTML of arrays and reports: bars of shared and copied bytes, a diagram of buffers and owners."""

from __future__ import annotations

import copy
import pickle
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import cudf_arrow_bridge as bridge
from testing.host import to_plc
from testing.peers.arrays import DeviceOnly

SVG = "{http://www.w3.org/2000/svg}"
BACKGROUNDS = {"light": "#ffffff", "dark": "#14181e"}

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "end of a tag": "</td></table></svg></div><img src=x onerror=alert(1)>",
    "end of an attribute": "\"'><b onmouseover='alert(1)'>",
    "entities": "&lt;b&gt;&amp;&#60;",
    "end of a comment": "--><!-- ]]>",
    "control characters": "a\r\n\t\x1b[31m\x07\x7f\x85",
    "text direction": "a\u202eb\u2066c\u200f",
    "Hebrew": "שלום",
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
    return bridge.to_arrow_device(bridge.from_arrow_device(batch))


def named(name):
    """Return an array with a hostile name of a column, of a child and of a copied child."""
    flag = pa.StructArray.from_arrays([pa.array([True])], [name])
    return bridge.to_arrow_device(pa.record_batch([pa.array([1]), flag], [name, name]))


def test_bars_have_the_proportions_of_the_bytes(array):
    report = array.report()
    shared, copied = "#0f8b8d", "#cf5c36"
    expected = [
        ("24 B shared, 0 B copied", {shared: 24}),
        ("1 B shared, 1 B copied", {shared: 1, copied: 1}),
        ("0 B shared, 1 B copied", {copied: 1}),
        ("40 B shared, 0 B copied", {shared: 40}),
    ]
    if not bridge.has_gpu():
        assert Page(report._repr_html_()).bars == expected
        # The array also has a line for the values of the list.
        values = ("24 B shared, 0 B copied", {shared: 24})
        assert Page(array._repr_html_()).bars == [*expected, values]
    for (_, parts), column in zip(Page(report._repr_html_()).bars, report, strict=True):
        amounts = {shared: column.shared_bytes, copied: column.copied_bytes}
        assert parts == {color: amount for color, amount in amounts.items() if amount}


def test_rows_have_as_many_cells_as_headings(array):
    for shown in (array, array.report()):
        heading, *rows = Page(shown._repr_html_()).rows
        assert heading[-2].split() == ["■", "shared", "■", "copied"]
        assert {len(row) for row in rows} == {len(heading)}
    assert rows[1][-1] == "bits in Arrow, bytes in cuDF"


def test_column_without_bytes_has_an_empty_bar():
    empty = bridge.to_arrow_device(to_plc(pa.array([], pa.int64())))
    assert Page(empty.report()._repr_html_()).bars == [("0 B shared, 0 B copied", {})]


def test_stream_has_no_bars(array):
    """No batch has been exported, so that the bytes are unknown."""
    stream = bridge.to_arrow_device_stream(array)
    assert len(stream.schema) == 4
    page = Page(stream._repr_html_())
    assert page.bars == []
    assert page.rows[0] == ["column", "Arrow type"]


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_are_only_text_in_html(name):
    array, harmless = named(name), named("harmless")
    stream, other = (bridge.to_arrow_device_stream(a) for a in (array, harmless))
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


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_are_only_text_in_the_diagram(name):
    diagram = named(name).report().diagram()
    tags = [element.tag for element in ElementTree.fromstring(diagram).iter()]
    expected = ElementTree.fromstring(named("harmless").report().diagram()).iter()
    assert tags == [element.tag for element in expected]
    assert all(letter.isprintable() for letter in diagram)


def test_text_of_a_report_has_one_line_for_each_column():
    for name in HOSTILE.values():
        assert len(repr(named(name).report()).splitlines()) == 3


def test_displays_of_many_columns_are_short():
    columns = [pa.array([True])] * 5000
    wide = bridge.from_arrow_device(pa.record_batch(columns, names=list(map(str, range(5000)))))
    report = bridge.to_arrow_device(wide).report()
    assert len(report) == 5000
    page = Page(report._repr_html_())
    assert [row[0] for row in page.rows[1:-1]] == [str(i) for i in range(20)]
    assert page.rows[-1] == ["... and 4,980 more columns"]
    lines = repr(report).splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == [str(i) for i in range(20)]
    assert lines[-1] == "... and 4,980 more columns"


def test_displays_of_long_names_are_narrow():
    struct = pa.StructArray.from_arrays([pa.array([True])], ["y" * 5000])
    batch = pa.record_batch([struct, struct.field(0)], names=["x" * 5000, "short"])
    array = bridge.to_arrow_device(bridge.from_arrow_device(batch))
    report = array.report()
    for shown in (repr(array), repr(report)):
        assert max(map(len, shown.splitlines())) < 500
    for html in (array._repr_html_(), report._repr_html_(), report.diagram()):
        assert re.search("[xy]{101}", html) is None
        assert "short" in html


def texts(diagram):
    return [element.text for element in ElementTree.fromstring(diagram).iter(f"{SVG}text")]


@pytest.mark.skipif(bridge.has_gpu(), reason="with a GPU, all buffers are copied to the device")
def test_diagram_has_the_buffers_sizes_and_owners(array):
    diagram = array.report().diagram()
    assert texts(diagram) == [
        *("n", "int64", "data", "24 B"),
        *("b", "bool", "validity", "1 B", "data", "1 B"),
        *("all", "bool", "data", "1 B"),
        *("l", "list<item: int64>", "offsets", "16 B", "[].data", "24 B"),
        *("Memory of the source", "4 buffers, 65 B, shared"),
        *("Memory of the export", "2 buffers, 2 B, copied"),
    ]


@pytest.mark.skipif(bridge.has_gpu(), reason="with a GPU, all buffers are copied to the device")
def test_diagram_connects_each_buffer_with_its_owner(array):
    root = ElementTree.fromstring(array.report().diagram())
    colors = {True: "#0f8b8d", False: "#cf5c36"}
    rows = [
        (element.get("fill"), float(element.get("y")) - 1 + 12)
        for element in root.iter(f"{SVG}rect")
        if element.get("fill")
    ]
    present = [buffer for buffer in array.buffers() if buffer.address]
    assert [color for color, _ in rows] == [colors[buffer.zero_copy] for buffer in present]
    owners = list(root.iter(f"{SVG}g"))
    assert [owner.get("stroke") for owner in owners] == list(colors.values())
    for owner in owners:
        path, box = owner
        ends = re.findall(r"M432 (\d+)C[\d ]+ 480 (\d+)", path.get("d"))
        assert [float(start) for start, _ in ends] == [
            y for color, y in rows if color == owner.get("stroke")
        ]
        top, height = float(box.get("y")), float(box.get("height"))
        assert all(top < float(end) < top + height for _, end in ends)


def test_diagram_has_a_title_and_a_description(array):
    root = ElementTree.fromstring(array.report().diagram())
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == "Buffers and their owners"
    description = root.find(f"{SVG}desc").text
    assert "all: data, 1 B, copied, bits in Arrow, bytes in cuDF. " in description
    assert "Memory of the export: " in description


def test_diagram_counts_the_buffers_that_do_not_fit():
    columns = 30
    wide = bridge.from_arrow_device(pa.record_batch({f"c{i}": [i] for i in range(columns)}))
    shown = texts(bridge.to_arrow_device(wide).report().diagram())
    drawn = shown.count("data")
    assert drawn == 10
    assert f"... and {columns - drawn} more buffers" in shown
    assert f"{columns} buffers, 240 B, shared" in shown
    nested = pa.StructArray.from_arrays([pa.array([1])] * 30, [f"f{i}" for i in range(30)])
    shown = texts(bridge.to_arrow_device(DeviceOnly(nested)).report().diagram())
    assert "... and 11 more buffers" in shown


def test_diagram_shortens_long_names():
    (name, *_) = texts(named("x" * 1000).report().diagram())
    assert name == "x" * 27 + "…"


def test_diagram_is_inside_its_view(array):
    root = ElementTree.fromstring(array.report().diagram())
    _, _, width, height = map(float, root.get("viewBox").split())
    for element in [*root.iter(f"{SVG}rect"), *root.findall(f"{SVG}svg")]:
        assert float(element.get("x")) + float(element.get("width")) <= width
        assert float(element.get("y")) + float(element.get("height")) <= height


def test_copies_of_a_report_have_its_diagram(array):
    report = array.report()
    for other in (copy.copy(report), copy.deepcopy(report), pickle.loads(pickle.dumps(report))):
        assert other == report
        assert other.diagram() == report.diagram()


def test_diagram_of_no_columns_is_an_image():
    empty = bridge.to_arrow_device(pa.record_batch({}))
    assert texts(empty.report().diagram()) == []
    assert Page(empty.report()._repr_html_()).bars == []


def test_notebooks_display_the_diagram(array):
    diagram = array.report().diagram()
    assert diagram._repr_html_() == diagram


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("background", BACKGROUNDS.values(), ids=BACKGROUNDS)
def test_colors_have_the_contrast_of_graphics(array, background):
    """WCAG 2.2, criterion 1.4.11: graphics have a contrast of at least 3:1."""
    colors = set(re.findall("background:(#[0-9a-f]{6})", array._repr_html_()))
    assert len(colors) == 2
    for color in colors:
        dark, light = sorted([luminance(color), luminance(background)])
        assert (light + 0.05) / (dark + 0.05) >= 3
