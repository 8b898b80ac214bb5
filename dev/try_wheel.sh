#!/usr/bin/env bash
# Install the wheel $1 in an empty environment where no compiler is found, and send a file through it.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "$0")/.."
source dev/environment.sh

step "Wheel in an empty environment"
rm -rf build/empty
python3 -m venv build/empty
(
  export PATH="$PWD/build/empty/bin" # and nothing else
  pip install -q --only-binary :all: "$wheel"
  cudf-arrow-bridge roundtrip examples/data/nyc_flights.parquet
)
rm -rf build/empty
