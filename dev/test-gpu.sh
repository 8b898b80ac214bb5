#!/usr/bin/env bash
# Test and measure on a GPU host, in parts that can be resumed: docs/gpu.md says how. Without a GPU each part says what it
# lacks, and is skipped. `--help` lists the options and the parts.
set -euo pipefail
caller=$PWD
cd "$(dirname "$0")/.."
unset PYTHONSAFEPATH # it would hide dev/ from Python
exec python3 -m dev.gpu --relative-to "$caller" "$@"
