# SPDX-License-Identifier: Apache-2.0
"""Write type stubs of the Cython modules: python cmake/write_stubs.py FOLDER

The types are the annotations, otherwise the C types. A comment ``# type: ...`` has the type of an
attribute or of the result of a cpdef function, since Cython has no annotations of these.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "cudf_arrow_bridge" / "_core"
INTEGERS = ["core.fence_id", "int32_t", "int64_t", "Py_ssize_t", "size_t", "size_type", "uintptr_t"]
#: The Python types of C types with other names.
TYPES = {"bint": "bool", "void": "None"} | dict.fromkeys(INTEGERS, "int")
TYPES |= {"dict": "dict[Any, Any]", "list": "list[Any]", "tuple": "tuple[Any, ...]"}
#: Statements that define a name for other modules.
NAME = re.compile(r"^(?:cdef class |class |)([A-Z]\w+)(?=[(:]| = )", re.M)
CLASS = re.compile(r"cdef class (\w+)(\(\w+\))?:\n")
CONSTANT = re.compile(r"[A-Z]\w*: .+(?= = )")
MEMBER = re.compile(
    r"^(?:    cdef (?P<access>readonly|public) (?P<c_type>\S+) (?P<attribute>\w+)"
    r"|(?P<head>(?:    @(?:property|staticmethod)\n)?(?:    )?)(?:def|cpdef(?: (?P<c_result>\w+))?)"
    r" (?P<name>(?!__dealloc|__release)\w+)\((?P<arguments>[^()]*(?:\(\)[^()]*)*)\)"
    r"(?: -> (?P<result>.+)| except.*| noexcept(?: nogil)?)?:)(?:  # type: (?P<type>.+))?$",
    re.M,
)
ARGUMENT = re.compile(r"(?:^|(?<=, ))([\w.]+(?:\[\w+\])?) (\w+)(?: not None)?(?=(:|,|=|$))")


def blocks(path: Path) -> list[str]:
    """Return the top-level statements of a file, if it exists."""
    return re.split(r"\n(?=[^\s)])", path.read_text()) if path.exists() else []


def stub_of(member: re.Match[str]) -> str:
    """Return the stub of an attribute or function."""
    if member["attribute"]:
        kind = member["type"] or TYPES.get(member["c_type"], member["c_type"])
        kind = f"Final[{kind}]" if member["access"] == "readonly" else kind
        return f"    {member['attribute']}: {kind}"
    name, result = member["name"], member["result"] or member["type"]
    arguments = ARGUMENT.sub(
        lambda each: each[2] if each[3] == ":" else f"{each[2]}: {TYPES.get(each[1], each[1])}",
        " ".join(member["arguments"].split()),
    ).replace(" not None", "")
    if name in ("__cinit__", "__init__"):
        name, result = "__init__", "None"
    elif name == "__getbuffer__":
        name, arguments, result = "__buffer__", "self, flags: int, /", "memoryview"
    result = result or TYPES.get(member["c_result"], member["c_result"]) or "object"
    function = ast.parse(f"def {name}({arguments}) -> {result}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    for each in filter(None, [*function.args.args, function.args.kwarg]):
        if each.annotation is None and each.arg != "self":
            each.annotation = ast.Name("object")
    return member["head"] + ast.unparse(function).replace("\n    ", " ")


def stubs_of(path: Path) -> Iterator[str]:
    """Yield the stubs of the classes, functions and constants of a module."""
    headers = {m[1]: each for each in blocks(path.with_suffix(".pxd")) if (m := CLASS.match(each))}
    for block in blocks(path):
        if match := CLASS.match(block):
            yield f"class {match[1]}{match[2] or ''}:\n    ..."
            yield from map(stub_of, MEMBER.finditer(headers.get(match[1], "") + "\n" + block))
        elif match := CONSTANT.match(block):
            yield match[0]
        elif (match := MEMBER.match(block)) and not match["name"].startswith("_"):
            yield stub_of(match)


def main(folder: Path) -> None:
    sources = {path: path.read_text() for path in (*CORE.rglob("*.pyx"), CORE / "protocols.py")}
    modules = {"Column": "pylibcudf", "Table": "pylibcudf"}
    for path, source in sources.items():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        modules = dict.fromkeys(NAME.findall(source), module) | modules
    texts = {path: "\n".join(stubs_of(path)) for path in sources if path.suffix == ".pyx"}
    for path, text in texts.items():
        names = {*re.findall(r"\w+", text)} & modules.keys() - {*NAME.findall(text)}
        imports = [f"from {modules[name]} import {name}\n" for name in sorted(names)]
        stub = folder / path.relative_to(ROOT).with_suffix(".pyi")
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text("from typing import *\n" + "".join(imports) + text + "\n")
        (stub.parent / "__init__.pyi").touch()  # mypy finds a stub only in a package
    (folder / "cudf_arrow_bridge" / "__init__.pyi").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
