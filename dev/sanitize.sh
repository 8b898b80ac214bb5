#!/usr/bin/env bash
# Runs the C++ tests with AddressSanitizer and UndefinedBehaviorSanitizer, and those that start threads with ThreadSanitizer.
# Finally, at the same time, ends 1,000 file writes by signals and system errors, fuzzes with invalid structs for $1 seconds (60
# by default), and exchanges data with stuck, slow and broken peers.
# Requires the environment that dev/test.sh installs.
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
    cudf_arrow_bridge_tests cudf_arrow_bridge_sim_tests cudf_arrow_bridge_arrow_tests
  # A random program takes 0.4 s under ThreadSanitizer. dev/exhaustive.sh runs 3,000 without sanitizers.
  if [ "$sanitizers" = thread ]; then export CUDF_ARROW_BRIDGE_SCHEDULES=100; fi
  # The fuzzer starts no threads, and runs below.
  ctest --test-dir "$tree" -E fuzz -j "$CMAKE_BUILD_PARALLEL_LEVEL" --no-tests=error --output-on-failure
done

step "Counts of CUDA calls"
python -m benchmarks.reporting.cuda_calls --check build/address-undefined

step "Files whose writing fails, hostile structs, and stuck, slow and broken peers"
"${CC:-cc}" -shared -fPIC tests/testing/ipc/faulty_calls.c -o build/faulty_calls.so -ldl
export PYTHONPATH="$PWD/tests" PYTHONSAFEPATH=1
LD_PRELOAD="$PWD/build/faulty_calls.so" python -m testing.ipc.write_faults "$PWD/build/faulty_calls.so" 1000 &
files=$!
cmake --build build/address-undefined --target cudf_arrow_bridge_fuzz
build/address-undefined/csrc/tests/fuzz/cudf_arrow_bridge_fuzz --seconds "${1:-60}" --seed "$(date +%s)" &
fuzzer=$!
python -m testing.exchange.soak "${1:-60}"
wait $files
wait $fuzzer
