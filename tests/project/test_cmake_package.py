import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

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


@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
def test_cpp_program_finds_package(tmp_path: Path) -> None:
    spec = find_spec("cudf_arrow_bridge")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (prefix,) = spec.submodule_search_locations
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    (tmp_path / "main.cpp").write_text(MAIN)
    configure = ["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    configure.append(f"-DPython_EXECUTABLE={sys.executable}")
    for command in (configure, ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    program = tmp_path / "build" / "consumer"
    ran = subprocess.run([program], check=True, capture_output=True, text=True)
    assert ran.stdout == (Path(prefix) / "VERSION").read_text().strip() + " 0"
