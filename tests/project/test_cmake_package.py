import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

import pytest

import cudf_arrow_bridge as cab
from cudf_arrow_bridge._load import build_info

PROJECT = """
cmake_minimum_required(VERSION 3.26)
project(consumer LANGUAGES CXX)
find_package(cudf_arrow_bridge REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE cudf_arrow_bridge::cudf_arrow_bridge)
"""

MAIN = """
#include <cudf_arrow_bridge/version.hpp>

#include <cudf/column/column_view.hpp>

#include <iostream>

int main()
{
  std::cout << CUDF_ARROW_BRIDGE_VERSION << " " << cudf::column_view{}.size();
}
"""


NEEDS_CMAKE = pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
EXAMPLES = Path(__file__).parents[2] / "examples"


def package_folder() -> Path:
    spec = find_spec("cudf_arrow_bridge")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (folder,) = spec.submodule_search_locations
    return Path(folder)


def output_of(source: str, folder: Path) -> str:
    """Build a program against the installed package, and run it."""
    (folder / "CMakeLists.txt").write_text(PROJECT)
    (folder / "main.cpp").write_text(source)
    configure = ["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={package_folder()}"]
    configure.append(f"-DPython_EXECUTABLE={sys.executable}")
    for command in (configure, ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=folder, check=True)
    program = folder / "build" / "consumer"
    return subprocess.run([program], check=True, capture_output=True, text=True, timeout=60).stdout


@NEEDS_CMAKE
def test_cpp_program_finds_package(tmp_path: Path) -> None:
    assert output_of(MAIN, tmp_path) == f"{cab.__version__} 0"


def link_as_in_conda(prefix: Path) -> None:
    """Fill a folder with links to the wheels' files, in the layout of a conda environment."""
    site = package_folder().parent
    targets = prefix / "targets" / "x86_64-linux"
    for folder in (prefix, targets):
        (folder / "include").mkdir(parents=True)
        (folder / "lib").mkdir()
    parts = [(site, prefix)]
    parts += [(site / name, prefix) for name in ("libcudf", "librmm", "rapids_logger", "libkvikio")]
    parts += [(folder, prefix) for folder in site.glob("nvidia/libnvcomp")]
    parts += [(folder, targets) for folder in site.glob("nvidia/*")]
    for source, target in parts:
        for kind in ("include", "lib", "lib64"):
            for path in source.glob(f"{kind}/*"):
                link = target / kind.removesuffix("64") / path.name
                if not link.exists():
                    link.symlink_to(path)
    record = f"libcudf-{build_info.LIBCUDF_VERSION}-cuda{build_info.CUDA_MAJOR}_0.json"
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / record).touch()


@NEEDS_CMAKE
def test_build_finds_the_packages_of_conda(tmp_path: Path) -> None:
    prefix = tmp_path / "conda"
    link_as_in_conda(prefix)
    options = ["-B", str(tmp_path / "build"), f"-DRapidsPackages_ROOTS={prefix}"]
    result = subprocess.run(
        ["cmake", "-S", EXAMPLES.parent, *options], check=True, capture_output=True, text=True
    )
    cuda = build_info.CUDA_MAJOR
    assert f"libcudf {build_info.LIBCUDF_VERSION} for CUDA {cuda}: {prefix}" in result.stdout
    commands = json.loads((tmp_path / "build" / "compile_commands.json").read_text())
    folders = {
        path for entry in commands for path in re.findall(r"-isystem (\S+)", entry["command"])
    }
    assert folders == {
        str(prefix / folder)
        for folder in ("include", "include/rapids", "targets/x86_64-linux/include")
    }


@pytest.mark.exhaustive
@NEEDS_CMAKE
def test_cpp_program_reads_a_stream_asynchronously(tmp_path: Path) -> None:
    printed = output_of((EXAMPLES / "async_consumer.cpp").read_text(), tmp_path)
    assert printed == "".join(f"{rows} rows of format i\n" for rows in (10, 10, 5))


@pytest.mark.exhaustive
@NEEDS_CMAKE
def test_cpp_program_exports_and_imports(tmp_path: Path) -> None:
    printed = output_of((EXAMPLES / "export_import.cpp").read_text(), tmp_path)
    assert printed == "number: 25 rows of format i\n25 rows, shared\n"


@pytest.mark.parametrize(
    ("page", "program"), [("async", "async_consumer"), ("how-to/cpp", "export_import")]
)
def test_page_shows_a_part_of_the_example_program(page: str, program: str) -> None:
    text = (EXAMPLES.parent / f"docs/{page}.md").read_text()
    [shown] = re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert indent(shown, "  ") in (EXAMPLES / f"{program}.cpp").read_text()


def test_cpp_page_shows_the_cmake_project_of_these_tests() -> None:
    text = (EXAMPLES.parent / "docs/how-to/cpp.md").read_text()
    [shown] = re.findall(r"^```cmake\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for line in shown.replace("my_program", "consumer").splitlines():
        assert line in PROJECT.splitlines()
