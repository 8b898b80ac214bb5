#!/usr/bin/env bash
# Builds a source distribution, and a wheel from it for Python 3.11 and newer, which needs no compiler, in dist/ for the
# given CUDA versions (default: both). Two builds of a commit give the same wheel.
# For the minimum Linux version of cudf's wheels, use cibuildwheel in a manylinux container, as in pyproject.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
if [ $# = 0 ]; then set -- 12 13; fi
python3 -m venv build/build-tools
build/build-tools/bin/pip install -q 'build[uv]==1.*'
for cuda in "$@"; do
  step "Wheel for CUDA $cuda"
  rm -rf build/unrepaired "dist/cudf_arrow_bridge_cu$cuda"-*
  CUDF_ARROW_BRIDGE_CUDA="$cuda" CXXFLAGS=-g1 SKBUILD_INSTALL_STRIP=false UV_SYSTEM_CERTS=1 \
    build/build-tools/bin/python -m build --installer uv -o build/unrepaired
  bash dev/repair_wheel.sh build/unrepaired/*.whl dist dist
  mv build/unrepaired/*.tar.gz dist
done
ls -l dist
