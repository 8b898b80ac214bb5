#!/usr/bin/env bash
# The C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer, and under ThreadSanitizer; then a minute of
# hostile structs on each core, which is $1 seconds if given. Needs what dev/test.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
source dev/environment.sh
enter_venv

for sanitizers in address,undefined thread; do
  step "C++ tests under the sanitizers $sanitizers"
  tree="build/${sanitizers/,/-}"
  configure "$tree" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_UNITY_BUILD=ON \
    -DCUDF_ARROW_BRIDGE_BUILD_TESTS=ON -DCUDF_ARROW_BRIDGE_SANITIZE="$sanitizers"
  cmake --build "$tree" --target \
    cudf_arrow_bridge_tests cudf_arrow_bridge_sim_tests cudf_arrow_bridge_arrow_tests cudf_arrow_bridge_fuzz
  ctest --test-dir "$tree" -j "$CMAKE_BUILD_PARALLEL_LEVEL" --no-tests=error --output-on-failure
done

step "Hostile structs"
fuzz=build/address-undefined/csrc/tests/fuzz/cudf_arrow_bridge_fuzz
seed=$(date +%s)
for run in $(seq "$CMAKE_BUILD_PARALLEL_LEVEL"); do
  "$fuzz" --seconds "${1:-60}" --seed "$run$seed" &
done
for run in $(seq "$CMAKE_BUILD_PARALLEL_LEVEL"); do wait -n; done
