#!/usr/bin/env bash
# Runs the tests that dev/test.sh omits, and more random programs on the simulated CUDA runtime. Requires the environment
# and the build that dev/test.sh creates.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh
enter_venv

step "Random programs on the simulated CUDA runtime"
CUDF_ARROW_BRIDGE_SCHEDULES=3000 GTEST_FILTER='*Schedules.*' ctest --test-dir build/temp.*/_skbuild -R sim_tests \
  -j "$CMAKE_BUILD_PARALLEL_LEVEL" --no-tests=error --output-on-failure

step "Exhaustive Python tests"
pytest -n "$CMAKE_BUILD_PARALLEL_LEVEL" --dist worksteal -m exhaustive
