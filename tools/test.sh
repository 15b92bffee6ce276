#!/usr/bin/env bash
# Every test that needs no GPU, part by part, each part timed. Usage: tools/test.sh [--long]
#
#   TRANCHE_TEST_PARTS="unit e2e"   only these parts
set -uo pipefail
cd "$(dirname "$0")/.."

long=0
[ "${1:-}" = --long ] && long=1
jobs=${JOBS:-$(nproc)}
cache=${TRANCHE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tranche}
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
mkdir -p "$CCACHE_DIR" build

names=()
results=()
seconds=()
failed=0

part() { # name command...
  local name=$1
  shift
  if [ -n "${TRANCHE_TEST_PARTS:-}" ] && [[ " $TRANCHE_TEST_PARTS " != *" $name "* ]]; then
    return
  fi
  echo "== $name"
  local begin=$SECONDS result=ok
  "$@" || { result=FAILED; failed=$((failed + 1)); }
  names+=("$name")
  results+=("$result")
  seconds+=($((SECONDS - begin)))
}

build() { # preset cmake-arguments... -- targets...
  local preset=$1
  shift
  local arguments=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    arguments+=("$1")
    shift
  done
  shift || true
  cmake --preset "$preset" "${arguments[@]}" >"build/configure-$preset.log" 2>&1 ||
    { cat "build/configure-$preset.log"; return 1; }
  cmake --build --preset "$preset" -j "$jobs" ${@:+--target "$@"} | grep -vE '^\[|^ninja: no work' || true
  return "${PIPESTATUS[0]}"
}

in_folder() { # build folder, ctest arguments...
  local folder=$1
  shift
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

venv=build/venv
python_environment() {
  local stamp=$venv/.requirements
  if ! cmp -s tests/requirements.txt "$stamp"; then
    rm -rf "$venv"
    python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check \
      -r tests/requirements.txt && cp tests/requirements.txt "$stamp" || return 1
  fi
}

python_tests() {
  python_environment && "$venv/bin/python" -m pytest -q -n "$jobs" --dist loadfile "$@"
}

asan() {
  build asan-ubsan -- unit_tests && ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    in_folder build/asan-ubsan -L unit
}

tsan() {
  build tsan -- threaded_tests &&
    TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1" in_folder build/tsan -L threaded
}

fuzz() { # seconds for each target
  build fuzz -- fuzz_targets || return 1
  local target name corpus
  for target in build/fuzz/fuzz/*_fuzz; do
    name=$(basename "$target")
    corpus=$(mktemp -d)
    "$target" -max_total_time="$1" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
      "$corpus" "tests/fuzz/corpus/$name" >"build/$name.log" 2>&1 ||
      { tail -n 60 "build/$name.log"; return 1; }
    rm -rf "$corpus"
    echo "$name: $1 s, no finding"
  done
}

# The library that goes into containers, cross-compiled; its programs run on an emulated processor.
arm64() {
  tools/setup.sh arm64 && build arm64 && python_environment &&
    TRANCHE_BUILD=build/arm64 "$venv/bin/python" -m pytest -q tests/limits/test_library.py -k test_it &&
    "$venv/bin/python" -m pytest -q tests/arm64
}

# The programs of a real Kubernetes: compiled once, then taken from the cache.
lab_programs() {
  tools/setup.sh lab && lab/build/build || return 1
  [ $long = 0 ] || lab/build/optional/build
}

# A short pass on a real Kubernetes; all of it is `make test-lab`.
lab_tests() { # further pytest arguments...
  if [ "$(id -u)" -ne 0 ]; then
    echo "not run: a real Kubernetes needs root (sudo make test-lab)"
    return 0
  fi
  python_environment && TRANCHE_TEST_LAB=1 "$venv/bin/python" -m pytest -q --durations=5 "$@"
}

part set-up tools/setup.sh test
part build build release -DTRANCHE_TESTS=ON --
[ $failed = 0 ] || { echo "the build failed: nothing was tested" >&2; exit 1; }
part rules python3 tools/layers.py
part unit in_folder build -L unit
part e2e python_tests tests/docs tests/tools tests/e2e tests/sim tests/limits tests/gpu
part asan-ubsan asan
part tsan tsan
if [ $long = 1 ]; then
  part fuzz fuzz 300
  part soak-ledger env TRANCHE_SOAK=1 build/tests/interpose_test
  part soak-limits env TRANCHE_SOAK=1 build/tests/limited_test --gtest_filter='Churn.*'
  part soak python_tests tests/e2e tests/sim tests/limits --soak
  part arm64 arm64
else
  part fuzz fuzz 5
fi
part programs lab_programs
part chart python_tests tests/chart
if [ $long = 1 ]; then
  part lab lab_tests tests/cluster tests/chart/test_lifecycle.py
  part lab-soak lab_tests tests/cluster --soak
else
  part lab lab_tests tests/cluster -m short
fi

echo
printf '%-12s %8s  %s\n' part seconds result
passed=0
for i in "${!names[@]}"; do
  printf '%-12s %8s  %s\n' "${names[$i]}" "${seconds[$i]}" "${results[$i]}"
  [ "${results[$i]}" = ok ] && passed=$((passed + 1))
done
echo "total ${SECONDS} s"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
