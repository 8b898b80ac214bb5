#!/usr/bin/env bash
# Wheels in dist/ that install without a compiler, on Python 3.11 and newer: of the CUDA versions named, else 12 and 13.
# For as old a Linux as cudf's own wheels take, build in a manylinux container: pyproject.toml tells cibuildwheel how.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh

if [ $# = 0 ]; then set -- 12 13; fi
for cuda in "$@"; do
  step "Wheel for CUDA $cuda"
  rm -rf build/temp.* build/lib.* # of another CUDA version, perhaps
  rm -rf build/unrepaired "dist/cudf_arrow_bridge_cu$cuda"-*
  CUDF_ARROW_BRIDGE_CUDA="$cuda" python3 -m pip wheel -q --no-deps -w build/unrepaired .
  bash dev/repair_wheel.sh build/unrepaired/*.whl dist
done
ls -l dist
