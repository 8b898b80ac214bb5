#!/usr/bin/env bash
# Creates .venv, builds and installs the package there, and runs the C++ tests, then the Python tests. A step that fails is the
# last one. dev/exhaustive.sh runs the tests that take long.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh

step "GoogleTest, and valgrind to count instructions"
echo '#include <gtest/gtest.h>' | g++ -x c++ -fsyntax-only - 2>/dev/null || apt_install libgtest-dev
command -v valgrind >/dev/null || (apt_install valgrind) || echo "No valgrind: one test will skip."

step "Package in .venv, built with the C++ tests"
enter_venv
rm -rf build/temp.*
CMAKE_ARGS=-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON python dev/install.py test consumers dev benchmarks ucx dask ray polars

step "C++ tests"
ctest --test-dir build/temp.*/_skbuild -j "$CMAKE_BUILD_PARALLEL_LEVEL" --no-tests=error --output-on-failure
find build/temp.* -name '*.gch' -delete # 0.5 GB of precompiled headers, which are not needed any more

step "Python tests"
# Distribute by file, so that the fixtures of a file, such as benchmark results, are set up once.
pytest -n "$CMAKE_BUILD_PARALLEL_LEVEL" --dist loadfile -m "not exhaustive"

step "All passed"
