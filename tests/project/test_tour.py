# SPDX-License-Identifier: Apache-2.0
"""examples/tour.ipynb runs, shows bars, a diagram and plots, and is committed without outputs."""

import re
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
from nbclient import NotebookClient

import cudf_arrow_bridge as cab

PATH = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_notebook_is_committed_without_outputs():
    """Outputs have the times of one machine. The build of the site creates them."""
    cells = code_cells(nbformat.read(PATH, as_version=4))
    assert not any(cell.outputs or cell.execution_count for cell in cells)


@pytest.mark.exhaustive
def test_notebook_runs_and_shows_tables_a_diagram_and_plots():
    """An error in a cell is an error here."""
    notebook = nbformat.read(PATH, as_version=4)
    cells = code_cells(notebook)
    resources = {"metadata": {"path": str(PATH.parent)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()
    outputs = [(cell, output) for cell in cells for output in cell.outputs]
    data = [(cell, mime, data) for cell, o in outputs for mime, data in o.get("data", {}).items()]
    html = [text for _, mime, text in data if mime == "text/html"]
    tables = [text for text in html if text.startswith(("<div", "<table")) and 'role="img"' in text]
    assert len(tables) == 3
    labels = re.findall('aria-label="([^"]+)"', tables[1])
    assert len(labels) == 6
    if not cab.has_gpu():
        assert labels[2:4] == ["3.2 kB shared, 0 B copied", "0 B shared, 202 B copied"]
    (diagram,) = [text for text in html if text.startswith("<svg")]
    assert ElementTree.fromstring(diagram)[0].text == "Buffers and their owners"
    plots = [cell for cell, mime, _ in data if mime == "image/png"]
    assert len(plots) == 2
    assert all(len(cell.metadata["mystnb"]["image"]["alt"]) > 50 for cell in plots)
    assert any(o.get("text", "").startswith("same values: True\n") for _, o in outputs)
