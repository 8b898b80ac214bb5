# SPDX-License-Identifier: Apache-2.0
"""Each component of the package imports only components of lower layers; only frames load cuDF."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

PACKAGE = "cudf_arrow_bridge"
ROOT = Path(__file__).parents[2]

#: From top to bottom. A component may import those of the rows below it, not those of its own row.
LAYERS = (
    ("__init__", "__main__"),
    ("cli", "dask", "integrations", "polars", "ray"),
    ("async_", "from_arrow", "ipc"),
    ("tensors", "to_arrow"),
    ("export", "import_"),
    ("frames",),
    ("arrow",),
    ("cuda",),
    ("_core",),
    ("_load",),
)
RANKS = {component: rank for rank, row in enumerate(LAYERS) for component in row}

#: A Cython import, possibly of several lines: the module and the names.
CIMPORT = re.compile(r"^[ \t]*(?:from\s+([\w.]+)\s+)?c?import\s+(\([^)]*\)|[^\n]+)", re.MULTILINE)


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the package, from its path relative to the root."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def component_of(module: str) -> str:
    """Return the component of a dotted name: a folder or a module at the top of the package."""
    return [*module.split("."), "__init__"][1]


def imports(source: str, path: Path) -> list[tuple[str, str]]:
    """Return all imports of a file, also nested ones, as pairs of absolute module and name."""
    module = module_of(path)
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    found = []
    if path.suffix in (".pyx", ".pxd"):
        for line in CIMPORT.finditer(source):
            names = [name.split()[0] for name in line[2].strip("() \n,").split(",")]
            found += [(line[1], name) if line[1] else (name, "") for name in names]
    else:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found += [(alias.name, "") for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                origin = "." * node.level + (node.module or "")
                found += [(origin, alias.name) for alias in node.names]
    return [(resolve_name(origin, package), name) for origin, name in found]


def violations(source: str, path: Path) -> list[str]:
    """Return the imports of a file of the package that break the order of the layers, as text."""
    own = component_of(module_of(path))
    wrong = []
    for origin, name in imports(source, path):
        if origin.split(".")[0] != PACKAGE:
            continue
        # From the package itself: a component, otherwise a public name.
        known = origin == PACKAGE and name in RANKS
        component = name if known else component_of(origin)
        if component != own and RANKS[component] <= RANKS[own]:
            wrong.append(f"{path}: {own} imports {component}")
    return wrong


def import_graph(files: dict[Path, str]) -> dict[str, set[str]]:
    """Return the modules of the package that each module imports, nested imports included."""
    graph: dict[str, set[str]] = {module_of(path): set() for path in files}
    for path, source in files.items():
        module = module_of(path)
        for origin, name in imports(source, path):
            graph[module] |= {f"{origin}.{name}", origin, f"{origin}.__init__"} & graph.keys()
        graph[module].discard(module)
    return graph


def sources() -> list[Path]:
    """Return the source files of the package, relative to the root of the sources."""
    kinds = (".py", ".pyi", ".pyx", ".pxd")
    found = [path for path in (ROOT / PACKAGE).rglob("*") if path.suffix in kinds]
    return sorted(path.relative_to(ROOT) for path in found)


def test_components_import_lower_layers_only():
    assert [wrong for path in sources() for wrong in violations(read(path), path)] == []


def read(path: Path) -> str:
    return (ROOT / path).read_text()


def test_no_modules_import_each_other():
    TopologicalSorter(import_graph({path: read(path) for path in sources()})).prepare()


def test_modules_that_import_each_other_are_found():
    files = {
        Path(PACKAGE, "arrow/report.py"): "def late():\n    from . import options",
        Path(PACKAGE, "arrow/options.pyx"): "from .sources import batches",
        Path(PACKAGE, "arrow/sources.py"): f"from {PACKAGE}.arrow.report import Report",
    }
    with pytest.raises(CycleError):
        TopologicalSorter(import_graph(files)).prepare()
    del files[Path(PACKAGE, "arrow/sources.py")]
    TopologicalSorter(import_graph(files)).prepare()


def test_every_component_has_a_layer():
    components = {component_of(module_of(path)) for path in sources()}
    assert components == set(RANKS)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("arrow/sources.py", "from ..import_.importer import Importer"),
        ("arrow/sources.py", "def late():\n    from ..export import batches\n"),
        ("arrow/sources.py", "if TYPE_CHECKING:\n    from cudf_arrow_bridge.frames import labels"),
        ("arrow/sources.py", "from .. import to_arrow"),
        ("arrow/sources.py", "import cudf_arrow_bridge"),
        ("export/inputs.py", "from cudf_arrow_bridge.import_ import importer"),
        ("to_arrow.py", "from . import tensors"),
        ("_core/export.pyx", "from ..cuda.streams import LEGACY_HANDLE"),
        ("_core/export.pyx", "from cudf_arrow_bridge cimport (\n    cuda,\n)"),
        ("_core/export.pxd", "cimport cudf_arrow_bridge.arrow.sources"),
    ],
)
def test_imports_of_higher_layers_are_found(path, source):
    assert len(violations(source, Path(PACKAGE, path))) == 1


def test_only_frames_import_cudf_when_they_are_loaded():
    """Importing cuDF takes a second, so other components import it only when a frame is needed."""
    top_level = re.compile(r"^(?:from|import) (?:.*, )?cudf\b", re.MULTILINE)
    loading = {component_of(module_of(path)) for path in sources() if top_level.search(read(path))}
    assert loading == {"frames"}


def test_only_cudf_private_imports_private_modules_of_cudf():
    private = re.compile(r"^\s*(?:from|import) cudf\.(?:core|utils|_lib)\b", re.MULTILINE)
    users = [path.as_posix() for path in sources() if private.search(read(path))]
    assert users == [f"{PACKAGE}/frames/cudf_private.py"]
