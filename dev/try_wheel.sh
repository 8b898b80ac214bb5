#!/usr/bin/env bash
# Installs the wheel $1 in an empty environment without a compiler, and runs a round trip of a file.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
source dev/environment.sh

step "Wheel in an empty environment"
rm -rf build/empty
python3 -m venv build/empty
(
  export PATH="$PWD/build/empty/bin" # hides all compilers
  pip install -q --only-binary :all: "$wheel"
  cudf-arrow-bridge roundtrip examples/data/nyc_flights.parquet
)
rm -rf build/empty
