#!/usr/bin/env bash
# Builds wheels in dist/ for Python 3.11 and newer, which need no compiler, for the given CUDA versions (default: both).
# For the minimum Linux version of cudf's wheels, use cibuildwheel in a manylinux container, as in pyproject.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh

if [ $# = 0 ]; then set -- 12 13; fi
for cuda in "$@"; do
  step "Wheel for CUDA $cuda"
  rm -rf build/temp.* build/lib.* # can be from another CUDA version
  rm -rf build/unrepaired "dist/cudf_arrow_bridge_cu$cuda"-*
  CUDF_ARROW_BRIDGE_CUDA="$cuda" python3 -m pip wheel -q --no-deps -w build/unrepaired .
  bash dev/repair_wheel.sh build/unrepaired/*.whl dist
done
ls -l dist
