# SPDX-License-Identifier: Apache-2.0
"""Who may include whom in the C++ core: each room only what lies below it."""

import re
from pathlib import Path, PurePosixPath

import pytest

SOURCES = Path(__file__).parents[2] / "csrc/src"

#: From top to bottom. A row may include those below it, and none of its neighbours.
LAYERS = (
    ("async",),
    ("tensor", "stream", "ipc"),
    ("import", "export"),
    ("arrays",),
    ("validate", "schema"),
    ("compute",),
    ("cuda/fences", "cuda/transfer"),
    ("cuda/release",),
    ("cuda/ordering", "cuda/location"),
    ("base",),
)
RANKS = {room: rank for rank, row in enumerate(LAYERS) for room in row}

#: Implementations that only their own room may name: others go through its dispatch.
INNER = ("compute/host", "compute/device")

FILES = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.[ch]pp"))


def room_of(path):
    folder = str(PurePosixPath(path).parent)
    return next(room for room in RANKS if folder == room or folder.startswith(room + "/"))


def violations(path, source):
    own = room_of(path)
    wrong = []
    for included in re.findall(r'^\s*#\s*include\s*"([^"]+)"', source, re.MULTILINE):
        room = room_of(included)
        if room != own and RANKS[room] <= RANKS[own]:
            wrong.append(f"{path}: {own} includes {included}")
        folder = str(PurePosixPath(included).parent)
        if folder in INNER and room != own:
            wrong.append(f"{path}: {included} is nobody else's")
    return wrong


@pytest.mark.parametrize("path", FILES)
def test_a_room_includes_what_lies_below_it(path):
    assert violations(path, (SOURCES / path).read_text()) == []


def test_each_room_has_files():
    assert {room_of(path) for path in FILES} == set(RANKS)


def test_a_header_is_named_by_its_room():
    names = {
        (path, included)
        for path in FILES
        for included in re.findall(r'#\s*include\s*"([^"]+)"', (SOURCES / path).read_text())
    }
    assert [(path, name) for path, name in names if not (SOURCES / name).is_file()] == []


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("import/import.cpp", "export/array_builder.hpp"),
        ("base/utf8.cpp", "cuda/ordering/events.hpp"),
        ("cuda/location/memory.cpp", "cuda/release/deferred.hpp"),
        ("schema/negotiate.cpp", "arrays/array_tree.hpp"),
        ("import/column_importer.cpp", "compute/host/convert.hpp"),
        ("compute/gather.hpp", "import/layouts.hpp"),
    ],
)
def test_what_lies_above_or_beside_is_seen(path, included):
    assert violations(path, f'#pragma once\n\n#  include "{included}"\n') != []


@pytest.mark.parametrize(
    ("path", "included"),
    [
        ("import/import.cpp", "arrays/adopt.hpp"),
        ("compute/dispatch.cpp", "compute/host/convert.hpp"),
        ("compute/host/gather.cpp", "compute/gather.hpp"),
        ("tensor/tensor_export.cpp", "import/column_importer.hpp"),
    ],
)
def test_what_lies_below_is_not(path, included):
    assert violations(path, f'#include "{included}"\n') == []
