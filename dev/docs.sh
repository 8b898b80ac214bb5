#!/usr/bin/env bash
# Builds the documentation site in build/site, from the package that is installed in .venv; installs it if it is missing.
# With --test it also opens the site in a browser.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh
enter_venv

step "Tools"
command -v doxygen >/dev/null || apt_install doxygen
python -P -c "import cudf_arrow_bridge" 2>/dev/null || python dev/install.py
python -m pip install -q "uv>=0.9" && python -m uv pip install --system-certs -q -r docs/requirements.txt

step "Site"
rm -rf build/doxygen build/site docs/api/python
mkdir -p build
doxygen docs/Doxyfile
sphinx-build -q -W --keep-going -j "$CMAKE_BUILD_PARALLEL_LEVEL" -c docs . build/site

if [ "${1:-}" = --test ]; then
  step "Browser"
  command -v chromium >/dev/null || apt_install chromium
  pytest -n "$CMAKE_BUILD_PARALLEL_LEVEL" docs/test_site.py
fi
step "The site is build/site/index.html"
