# SPDX-License-Identifier: Apache-2.0
"""Each component of the C++ core includes only headers of lower layers."""

import re
from pathlib import Path, PurePosixPath

import pytest

SOURCES = Path(__file__).parents[2] / "csrc/src"

#: From top to bottom. A component may include those of the rows below it, not those of its own row.
LAYERS = (
    ("async",),
    ("tensor", "stream", "ipc"),
    ("import", "export"),
    ("arrays",),
    ("schema",),
    ("validate",),
    ("compute",),
    ("cuda/fences", "cuda/transfer"),
    ("cuda/release",),
    ("cuda/ordering",),
    ("cuda/location",),
    ("base",),
)
RANKS = {component: rank for rank, row in enumerate(LAYERS) for component in row}

#: Implementations that only their own component may include. Others use its dispatch.
INNER = ("compute/device",)

FILES = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.[ch]pp"))


def read(path):
    return (SOURCES / path).read_text()


def component_of(path):
    folder = str(PurePosixPath(path).parent)
    return next(
        component
        for component in RANKS
        if folder == component or folder.startswith(component + "/")
    )


def violations(path, source):
    own = component_of(path)
    wrong = []
    for included in re.findall(r'^\s*#\s*include\s*"([^"]+)"', source, re.MULTILINE):
        component = component_of(included)
        if component != own and RANKS[component] <= RANKS[own]:
            wrong.append(f"{path}: {own} includes {included}")
        folder = str(PurePosixPath(included).parent)
        if folder in INNER and component != own:
            wrong.append(f"{path}: {included} is internal to {folder}")
    return wrong


def test_components_include_lower_layers_only():
    assert [wrong for path in FILES for wrong in violations(path, read(path))] == []


def test_each_component_has_files():
    assert {component_of(path) for path in FILES} == set(RANKS)


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("import/import.cpp", "export/array_builder.hpp"),
        ("cuda/location/location.cpp", "cuda/release/deferred.hpp"),
        ("schema/negotiate.cpp", "arrays/array_tree.hpp"),
        ("import/column_importer.cpp", "compute/device/convert.hpp"),
    ],
)
def test_includes_of_higher_layers_are_found(path, included):
    assert violations(path, f'#pragma once\n\n#  include "{included}"\n') != []
