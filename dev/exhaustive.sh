#!/usr/bin/env bash
# Runs the tests that dev/test.sh omits, and more random programs on the simulated CUDA runtime. Requires the environment
# and the build that dev/test.sh creates.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh
enter_venv

step "Random programs on the simulated CUDA runtime"
tests=(build/temp.*/_skbuild/csrc/tests/sim/cudf_arrow_bridge_sim_tests)
CUDF_ARROW_BRIDGE_SCHEDULES=3000 "${tests[0]}" --gtest_brief=1 --gtest_filter='*Schedules.*'

step "Exhaustive Python tests"
pytest -n "$CMAKE_BUILD_PARALLEL_LEVEL" --dist worksteal -m exhaustive
