#!/usr/bin/env bash
# Checks the formatting, lint and types of all languages, including shell scripts, CI workflows and the conda recipe.
# Requires the environment that dev/test.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh
enter_venv

step "Lint"
ruff check
ruff format --check
python cmake/write_stubs.py build/stubs
mypy
python dev/example_types.py
cython-lint cudf_arrow_bridge
git ls-files -co --exclude-standard '*.[ch]pp' | xargs clang-format --dry-run -Werror
git ls-files -co --exclude-standard | xargs codespell
git ls-files -co --exclude-standard '*.md' | xargs proselint check
git ls-files -co --exclude-standard '*.sh' .ci/run | xargs shellcheck --external-sources
actionlint # also runs shellcheck on the scripts in workflows
zizmor --quiet --offline --persona pedantic .github
check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
check-jsonschema --quiet --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
python - <<'END'
from rattler_build import RenderConfig, Stage0Recipe, VariantConfig
from rattler_build.tool_config import PlatformConfig

config = RenderConfig(PlatformConfig(target_platform="linux-64"))
variants = VariantConfig.from_file("conda/variants.yaml")
packages = Stage0Recipe.from_file("conda/recipe.yaml").render(variants, config)
print(f"conda/recipe.yaml describes {len(packages)} packages")
END

step "clang-tidy"
# The headers take most of the time, so the files of a folder are checked as one file. They are copied into it, because the
# analyzer follows paths only in the main file. clang-tidy cannot read GCC's precompiled headers.
configure build/lint -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DCMAKE_UNITY_BUILD=ON
sed -i -E 's|^#include "(/.*\.cpp)"$|cat "\1"|e' build/lint/csrc/CMakeFiles/*/Unity/*.cxx
run-clang-tidy.py -quiet -j "$CMAKE_BUILD_PARALLEL_LEVEL" -p build/lint '/Unity/'
