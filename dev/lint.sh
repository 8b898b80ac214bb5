#!/usr/bin/env bash
# Formats, lint and types of all languages, of shell scripts and of CI's workflows too, and that the lines of
# dev/removals.toml are still there. Needs what dev/test.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh
enter_venv

step "Lint"
ruff check
ruff format --check
mypy
python dev/example_types.py
cython-lint cudf_arrow_bridge
git ls-files -co --exclude-standard '*.[ch]pp' | xargs clang-format --dry-run -Werror
git ls-files -co --exclude-standard | xargs codespell
git ls-files -co --exclude-standard '*.sh' .ci/run | xargs shellcheck --external-sources
actionlint # and by shellcheck what workflows run
zizmor --quiet --offline --persona pedantic .github/workflows
python dev/remove_lines.py --check

step "clang-tidy"
# Of GCC's precompiled headers it makes nothing.
configure build/lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
run-clang-tidy.py -quiet -j "$CMAKE_BUILD_PARALLEL_LEVEL" -p build/lint '/csrc/src/'
