#!/usr/bin/env bash
# Configures and builds with a line of progress. Usage: tools/build.sh PRESET [-DNAME=VALUE...] [TARGET...]
#
# Builds everything of the preset when no target is named. JOBS: how many commands at a time.
# What a command that fails says is shown whole, and the exit status is ninja's.
set -uo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
options=()
targets=()
for argument in "$@"; do
  case "$argument" in
    -D*) options+=("$argument") ;;
    *) targets+=("$argument") ;;
  esac
done
cache=${TRANCHE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tranche}
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
mkdir -p "$CCACHE_DIR" build

log=build/configure-$preset.log
cmake --preset "$preset" "${options[@]}" >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
export NINJA_STATUS='[%f/%t %e] '
cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}" ${targets:+--target "${targets[@]}"} 2>&1 |
  tools/progress.sh "building${targets:+ ${targets[*]}} ($preset)"
