# SPDX-License-Identifier: Apache-2.0
"""The stubs of the Cython modules, which cmake/write_stubs.py makes from their sources."""

from __future__ import annotations

import ast
import inspect
import runpy
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cudf_arrow_bridge" / "_core"
stubs_of = runpy.run_path(str(ROOT / "cmake" / "write_stubs.py"))["stubs_of"]

SOURCE = """
V4: int = 4
cdef int hidden = 5


cdef class Batch(Source):
    cdef readonly bint is_made
    cdef public object labels  # type: list[str]
    cdef object stream

    def __cinit__(self, schema, tuple parts not None: tuple[int, ...]=(), *, size_t size=0):
        \"\"\"Do nothing.\"\"\"

    cpdef dict keys(self, int64_t index) except *:  # type: dict[str, bytes]
        return {}

    cdef int private(self) except -1:
        return 0

    @property
    def location(self) -> tuple[int, int]:
        return 1, 0

    def __getbuffer__(self, Py_buffer* view, int flags):
        pass

    def __dealloc__(self):
        pass


def aligned(
    list buffers not None,
    found: Callable[[int, str], None] | None = None,
):
    def nested(x):
        return x

    return nested
"""

STUB = """
V4: int

class Batch(Source):
    ...
    serial: Final[int]
    is_made: Final[bool]
    labels: list[str]
    def __init__(
        self, schema: object, parts: tuple[int, ...] = (), *, size: int = 0
    ) -> None: ...
    def keys(self, index: int) -> dict[str, bytes]: ...
    @property
    def location(self) -> tuple[int, int]: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def aligned(
    buffers: list[Any], found: Callable[[int, str], None] | None = None
) -> object: ...
"""


def test_stub_has_annotations_and_otherwise_c_types(tmp_path):
    (tmp_path / "module.pyx").write_text(SOURCE)
    (tmp_path / "module.pxd").write_text("cdef class Batch:\n    cdef readonly uintptr_t serial\n")
    found = ast.parse("\n".join(stubs_of(tmp_path / "module.pyx")))
    assert ast.unparse(found) == ast.unparse(ast.parse(STUB))


def runtime_members(obj, module):
    """Return the parameters of each function of a module or class, and None for attributes."""
    members = {}
    for name, each in vars(obj).items():
        each = getattr(each, "__func__", each)
        if inspect.isdatadescriptor(each):
            members[name] = None
        elif type(each).__name__ == "cython_function_or_method" and each.__module__ == module:
            members[name] = list(inspect.signature(each).parameters)
    return {name: each for name, each in members.items() if not name.startswith("__")}


def stub_members(node):
    members = {}
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            members[each.target.id] = None
        elif isinstance(each, ast.FunctionDef):
            decorators = [decorator.id for decorator in each.decorator_list]
            parameters = [argument.arg for argument in each.args.args]
            members[each.name] = None if decorators == ["property"] else parameters
    return {name: each for name, each in members.items() if not name.startswith("__")}


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.pyx")), ids=lambda path: path.stem)
def test_stub_has_the_functions_and_attributes_of_the_module(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    module, stub = import_module(name), ast.parse("\n".join(stubs_of(path)))
    functions = runtime_members(module, name)
    assert {k: v for k, v in functions.items() if not k.startswith("_")} == {
        k: v for k, v in stub_members(stub).items() if v is not None
    }
    classes = {each.name: each for each in stub.body if isinstance(each, ast.ClassDef)}
    own = [each for each in vars(module).values() if getattr(each, "__module__", None) == name]
    assert {each.__name__ for each in own if isinstance(each, type)} == classes.keys()
    for each, node in classes.items():
        assert runtime_members(getattr(module, each), name) == stub_members(node)
