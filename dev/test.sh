#!/usr/bin/env bash
# Set up .venv, build the package and install it there, lint, run all tests. Stops at the first failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-2}"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_REQUIRE_VIRTUALENV=0 PIP_USER=0
export PYTHONNOUSERSITE=1 RAPIDS_NO_INITIALIZE=1
unset PIP_NO_BUILD_ISOLATION PIP_PREFIX PIP_TARGET PYTHONHOME PYTHONPATH

step() {
  printf '\n=== %s (at %d s, %s of disk free)\n' "$*" "$SECONDS" "$(df -h --output=avail . | tail -1 | tr -d ' ')"
}

apt_install() {
  local as_root=()
  if ! command -v apt-get >/dev/null; then
    echo "Please install $*: there is no apt-get here to do it." >&2
    exit 1
  elif [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    sudo -n true || { echo "Please install $*: that takes root." >&2; exit 1; }
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

step "GoogleTest, and valgrind to count instructions"
echo '#include <gtest/gtest.h>' | g++ -x c++ -fsyntax-only - 2>/dev/null || apt_install libgtest-dev
command -v valgrind >/dev/null || (apt_install valgrind) || echo "No valgrind: one test will skip."

step "Python environment in .venv"
[ -x .venv/bin/python ] || python3 -m venv .venv
export PATH="$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv"
# What the build needs goes where the package goes: the large wheels are unpacked once, not twice.
python dev/install_build_requires.py

step "Package, built with the C++ tests"
rm -rf build/temp.*
CMAKE_ARGS=-DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON \
  python -m pip install -q --no-build-isolation ".[test,dev,benchmarks]"
built=$(echo build/temp.*/_skbuild)

step "Lint"
ruff check
ruff format --check
mypy
cython-lint cudf_arrow_bridge
git ls-files -co --exclude-standard '*.[ch]pp' | xargs clang-format --dry-run -Werror
git ls-files -co --exclude-standard | xargs codespell
# Of GCC's precompiled headers clang-tidy makes nothing.
cmake -S . -B build/lint -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
  -DPython_EXECUTABLE="$PWD/.venv/bin/python" > /dev/null
run-clang-tidy.py -quiet -j "$CMAKE_BUILD_PARALLEL_LEVEL" -p build/lint '/csrc/src/'

python dev/remove_lines.py --check

step "C++ tests"
ctest --test-dir "$built" --output-on-failure --no-tests=error
find "$built" -name '*.gch' -delete # half a gigabyte: nothing more is compiled there

for sanitizers in address,undefined thread; do
  step "C++ tests under the sanitizers $sanitizers"
  tree="build/${sanitizers/,/-}"
  cmake -S . -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON -DCUDF_ARROW_BRIDGE_SANITIZE="$sanitizers" \
    -DPython_EXECUTABLE="$PWD/.venv/bin/python"
  cmake --build "$tree" --target \
    cudf_arrow_bridge_tests cudf_arrow_bridge_sim_tests cudf_arrow_bridge_fuzz
  ctest --test-dir "$tree" --output-on-failure --no-tests=error
done

step "Hostile structs"
fuzz=build/address-undefined/csrc/tests/fuzz/cudf_arrow_bridge_fuzz
seed=$(date +%s)
for run in $(seq "$CMAKE_BUILD_PARALLEL_LEVEL"); do
  "$fuzz" --seconds 60 --seed "$run$seed" &
done
for run in $(seq "$CMAKE_BUILD_PARALLEL_LEVEL"); do wait -n; done

step "Python tests"
pytest

step "All passed"
