#!/usr/bin/env bash
# Runs the tests and benchmarks that need a GPU, with the installed packages of python3. docs/gpu.md describes the parts.
#
#     bash dev/test-gpu.sh [--results FOLDER] [--host TESTS] [PART ...]
#
# Without PART, all parts run. A part that the folder records as passed does not run again. With --host, the tests of
# this path run in host memory in place of those of each part, to try this script without a GPU.
set -euo pipefail
results=build/gpu-results host=
while [[ ${1:-} == --* ]]; do
  case $1 in
    --results) results=$2 ;;
    --host) host=$(realpath "$2") ;;
    *) sed -n '2,7s/^# \?//p' "$0" && exit 2 ;;
  esac
  shift 2
done
wanted=" $* "
results=$(realpath -m "$results")
cd "$(dirname "$0")/.."
mkdir -p "$results"
export PYTHONSAFEPATH=1 PYTHONFAULTHANDLER=1 PYTHONUNBUFFERED=1
PATH+=:${CUDA_HOME:-/usr/local/cuda}/bin:$(python3 -c 'import site; print(site.getsitepackages()[0])')/nvidia/cu13/bin
workers=8
[[ -z $host ]] || workers=2

wanted() { [[ $wanted == "  " || $wanted == *" $1 "* ]]; }

# part NAME SECONDS COMMAND...: run a command unless its part has passed, and record the result and the output.
part() {
  local name=$1 limit=$2 status
  shift 2
  if grep -qs ^passed "$results/$name.status"; then
    echo "$name: passed before"
    return
  fi
  SECONDS=0
  timeout --signal=INT --kill-after=30 "$limit" "$@" >"$results/$name.log" 2>&1 && status=passed || status="exit code $?"
  case $status in
    passed) ;;
    "exit code 5") status="skipped: no test can run" ;; # pytest has collected no tests
    *) status="failed: $status" && tail -n 20 "$results/$name.log" ;;
  esac
  echo "$status" >"$results/$name.status"
  echo "$name: $status in $SECONDS s"
}

# tests NAME SECONDS PATH...: a part of pytest in several processes. One that crashes is replaced, and its test named.
# With `--dist loadfile`, the test that crashed would run again and again.
tests() {
  wanted "$1" || return 0
  local selection=(-m gpu "${@:3}") seconds=${TEST_SECONDS:-120}
  [[ -z $host ]] || selection=("$host")
  # The stacks of a test that hangs are in the log, just before its process ends.
  part "$1" "$2" python3 -m pytest -n "$workers" -p no:cacheprovider --timeout "$seconds" --timeout-method thread \
    -o faulthandler_timeout="$((seconds - 2))" --junitxml "$results/$1.xml" "${selection[@]}"
}

# measure NAME MODULE ARGUMENT...: a part of benchmarks. They are in the clone, and import the installed package.
measure() {
  wanted "$1" || return 0
  part "$1" 900 env -u PYTHONSAFEPATH python3 -m "${@:2}" --json "$results/$1.json"
}

# sanitized TOOL NAME FILE: run the tests of a file under compute-sanitizer, without those that depend on time.
sanitized() {
  compute-sanitizer --tool "$1" --target-processes application-only --error-exitcode 9 --report-api-errors no \
    --log-file "$results/$2.txt" python3 -m pytest -v -m "gpu and not slow_kernel" -k "not thousands" \
    -p no:cacheprovider --timeout 400 --timeout-method thread --junitxml "$results/$2.xml" "$3" || return
  grep -Eq '^=+ [A-Z ]*SUMMARY: 0 ' "$results/$2.txt" # a process that ended early has no summary
}
export -f sanitized
export results

# sanitize TOOL FILE...: a part for each file. Several of them run at the same time.
sanitize() {
  wanted "$1" || return 0
  local file name
  if ! command -v compute-sanitizer >/dev/null; then
    echo "$1: skipped: no compute-sanitizer"
    return
  fi
  for file in "${@:2}"; do
    while (($(jobs -rp | wc -l) >= workers)); do wait -n; done
    name=$1-$(basename "$file" .py)
    part "$name" 3000 bash -c "sanitized '$1' '$name' '$file'" &
  done
  wait
}

python3 dev/gpu/record.py "$results/host.json"
if [[ -z $host ]] && grep -q '"devices": \[\]' "$results/host.json"; then
  for name in smoke computing streams tests rows queries processes examples speed memcheck initcheck racecheck; do
    ! wanted "$name" || echo "$name: skipped: no CUDA driver or no CUDA device"
  done
  exit 0
fi

gpu=tests/gpu
computing=("$gpu/test_computing.py" "$gpu/test_conversions.py")
streams=("$gpu/test_streams.py" "$gpu/test_fences.py" "$gpu/test_graph_captures.py")
rows=("$gpu/test_pylibcudf_interop.py")
queries=("$gpu/test_cudf_polars.py")
processes=("$gpu/test_dask.py" "$gpu/test_ray.py")
one_process=()
for file in "$gpu"/test_*.py; do
  [[ " ${computing[*]} ${streams[*]} ${rows[*]} ${queries[*]} ${processes[*]} " == *" $file "* ]] || one_process+=("$file")
done

if wanted smoke && [[ -z $host ]]; then
  part smoke 300 bash -ec 'python3 dev/gpu/smoke.py
    python3 -m cudf_arrow_bridge doctor
    python3 -m cudf_arrow_bridge roundtrip examples/data/nyc_flights.parquet'
fi
tests computing 600 "${computing[@]}"
tests streams 600 "${streams[@]}"
tests tests 600 "${one_process[@]}"
tests rows 600 "${rows[@]}"
tests queries 600 "${queries[@]}"
workers=1 TEST_SECONDS=300 tests processes 900 "${processes[@]}"
TEST_SECONDS=300 tests examples 900 tests/project/test_pages.py
if [[ -z $host ]]; then
  measure speed benchmarks --only "gpu "
  measure speed-ipc benchmarks.gpu.bandwidth
  measure speed-processes benchmarks.processes
  measure speed-queries benchmarks.queries
  sanitize memcheck "${computing[@]}" "${streams[@]}" "${one_process[@]}"
  sanitize initcheck "${computing[@]}"
  sanitize racecheck "${computing[@]}"
fi
python3 dev/gpu/report.py "$results"
! grep -qs ^failed "$results"/*.status
