#!/usr/bin/env bash
# Runs the tests and benchmarks on a GPU host, in parts that can be resumed; see docs/gpu.md. Without a GPU, the parts
# are skipped with a reason. `--help` lists the options and the parts.
set -euo pipefail
caller=$PWD
cd "$(dirname "$0")/.."
unset PYTHONSAFEPATH # otherwise Python does not find dev/
exec python3 -m dev.gpu --relative-to "$caller" "$@"
