# SPDX-License-Identifier: Apache-2.0
"""examples/tour.ipynb runs, shows bars, a diagram and plots, and is committed without outputs."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

import cudf_arrow_bridge as cab

PATH = Path(__file__).parents[1] / "examples" / "tour.ipynb"
STORED = nbformat.read(PATH, as_version=4)


@pytest.fixture(scope="module")
def cells():
    """Return the executed code cells. An error in a cell is an error here."""
    notebook = nbformat.read(PATH, as_version=4)
    resources = {"metadata": {"path": str(PATH.parent)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(cells, mime):
    return [
        (cell, output["data"][mime])
        for cell in cells
        for output in cell.outputs
        if mime in output.get("data", {})
    ]


def test_notebook_is_committed_without_outputs():
    """Outputs have the times of one machine. The build of the site creates them."""
    for cell in STORED.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
    assert json.loads(PATH.read_text())["metadata"]["kernelspec"]["name"] == "python3"


def test_bars_show_shared_and_copied_bytes(cells):
    tables = [html for _, html in outputs(cells, "text/html") if 'role="img"' in html]
    tables = [html for html in tables if html.startswith(("<div", "<table"))]
    assert len(tables) == 3
    labels = re.findall('aria-label="([^"]+)"', tables[1])
    assert len(labels) == 6
    if not cab.has_gpu():
        assert labels[2:4] == ["3.2 kB shared, 0 B copied", "0 B shared, 202 B copied"]


def test_diagram_is_an_image_with_a_title(cells):
    (diagram,) = [html for _, html in outputs(cells, "text/html") if html.startswith("<svg")]
    assert ElementTree.fromstring(diagram)[0].text == "Buffers and their owners"


def test_plots_have_alternative_texts(cells):
    plots = outputs(cells, "image/png")
    assert len(plots) == 2
    for cell, _ in plots:
        assert len(cell.metadata["mystnb"]["image"]["alt"]) > 50


def test_values_are_the_same_after_the_round_trip(cells):
    streams = [output["text"] for cell in cells for output in cell.outputs if "text" in output]
    assert any(text.startswith("same values: True\n") for text in streams)
