#!/usr/bin/env bash
# Set up .venv, build the package and install it there, run all tests. Stops at the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh

step "GoogleTest, and valgrind to count instructions"
echo '#include <gtest/gtest.h>' | g++ -x c++ -fsyntax-only - 2>/dev/null || apt_install libgtest-dev
command -v valgrind >/dev/null || (apt_install valgrind) || echo "No valgrind: one test will skip."

step "Package in .venv, built with the C++ tests"
enter_venv
rm -rf build/temp.*
CMAKE_ARGS=-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON python dev/install.py test consumers dev benchmarks ucx dask ray

step "C++ tests"
ctest --test-dir build/temp.*/_skbuild -j "$CMAKE_BUILD_PARALLEL_LEVEL" --no-tests=error --output-on-failure
find build/temp.* -name '*.gch' -delete # half a gigabyte: nothing more is compiled there

step "Python tests"
# By files: what a file sets up for its tests, benchmarks among them, is set up once.
pytest -n "$CMAKE_BUILD_PARALLEL_LEVEL" --dist loadfile

step "All passed"
