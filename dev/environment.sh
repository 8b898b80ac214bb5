# shellcheck shell=bash
# The common environment of the scripts in this folder. They source it from the root of the clone.
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-2}"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_REQUIRE_VIRTUALENV=0 PIP_USER=0
export PYTHONNOUSERSITE=1 RAPIDS_NO_INITIALIZE=1
unset PIP_NO_BUILD_ISOLATION PIP_PREFIX PIP_TARGET PYTHONHOME PYTHONPATH
# Without stored bytecode, each process that imports cuDF would compile it for 2 seconds.
unset PYTHONDONTWRITEBYTECODE

step() {
  printf '\n=== %s (at %d s, %s of disk free)\n' "$*" "$SECONDS" "$(df -h --output=avail . | tail -1 | tr -d ' ')"
}

apt_install() {
  local as_root=()
  if ! command -v apt-get >/dev/null; then
    echo "Please install $*: there is no apt-get here to do it." >&2
    exit 1
  elif [ "$(id -u)" != 0 ]; then
    as_root=(sudo -n)
    sudo -n true || { echo "Please install $*: that takes root." >&2; exit 1; }
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

enter_venv() {
  [ -x .venv/bin/python ] || python3 -m venv .venv
  export PATH="$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv"
}

# Configures the build tree $1 for the C++ tests with the remaining arguments as options.
configure() {
  local tree="$1"
  shift
  cmake -S . -B "$tree" -G Ninja -DPython_EXECUTABLE="$PWD/.venv/bin/python" "$@" > /dev/null
}
