#!/usr/bin/env bash
# Every test that needs no GPU, in parts, each part timed. Usage: tools/test.sh [--long]
#
#   TRANCHE_TEST_PARTS="unit e2e"   only these parts
#
# Set-up and the build come first. Then three lanes run beside each other, for most tests of the
# programs and of Kubernetes wait, and the sanitizers' compilers and fuzzers work. A part's output is
# in build/parts/<part>.log while it runs; of one that failed it is shown whole when it has ended.
set -uo pipefail
cd "$(dirname "$0")/.."

long=0
[ "${1:-}" = --long ] && long=1
export JOBS=${JOBS:-$(nproc)}
jobs=$JOBS
cache=${TRANCHE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tranche}
export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
mkdir -p "$CCACHE_DIR" build

parts=build/parts
rm -rf "$parts"
mkdir -p "$parts"

wanted() { # name
  [ -z "${TRANCHE_TEST_PARTS:-}" ] || [[ " $TRANCHE_TEST_PARTS " == *" $1 "* ]]
}

# A part with its output on the screen.
part() { # name command...
  local name=$1 begin=$SECONDS result=ok
  shift
  wanted "$name" || return 0
  echo "== $name"
  "$@" || result=FAILED
  echo "$((SECONDS - begin)) $result" >"$parts/$name.result"
  [ $result = ok ]
}

# A part of a lane: said when it begins, and with its output when it has ended.
lane_part() { # name command...
  local name=$1 begin=$SECONDS result=ok
  shift
  wanted "$name" || return 0
  echo "   $name begins"
  "$@" >"$parts/$name.log" 2>&1 </dev/null || result=FAILED
  {
    flock 9
    echo "== $name: $result, $((SECONDS - begin)) s"
    if [ $result = ok ]; then grep . "$parts/$name.log" | tail -n 1; else cat "$parts/$name.log"; fi
  } 9>"$parts/.screen"
  echo "$((SECONDS - begin)) $result" >"$parts/$name.result"
}

# Waits until another lane has ended a part.
after() { # name
  wanted "$1" || return 0
  until [ -e "$parts/$1.result" ]; do sleep 0.2; done
}

in_folder() { # build folder, ctest arguments...
  local folder=$1
  shift
  # More than there are processors: many wait. A later -j counts.
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j $((2 * jobs)) "$@" |
    awk '/^ +Start +[0-9]+:/ || /Test +#[0-9]+:.* Passed / || /^Total Test time/ { next }
         /^Label Time Summary/ { summary = 1 } /^The following tests/ { summary = 0 } !summary'
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

# A test that stands still is shown with its stacks, and holds up nothing for ever.
python_tests() {
  python_environment && timeout -k 10 $((long ? 7200 : 1800)) \
    "$venv/bin/python" -m pytest -q -n $((2 * jobs)) --dist loadfile -o faulthandler_timeout=300 "$@"
}

# Of the tests of what the tests themselves use (sim/, lab/) the short run sanitizes none.
shipped=shipped_
unshipped=(-LE '^(sim|lab)$')
[ $long = 0 ] || { shipped='' unshipped=(); }

# What Debian has in any case; clang's own symbolizer is another package.
symbolizer=external_symbolizer_path=$(command -v addr2line)

# Tests that end before a thread that uses their variables show rarely: the long run looks for them.
asan() {
  nice tools/build.sh asan-ubsan ${shipped}unit_tests &&
    ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=$long:$symbolizer UBSAN_OPTIONS=print_stacktrace=1:$symbolizer \
      in_folder build/asan-ubsan -L unit "${unshipped[@]}" -j "$jobs"
}

tsan() {
  nice tools/build.sh tsan ${shipped}threaded_tests &&
    TSAN_OPTIONS="ignore_noninstrumented_modules=1 halt_on_error=1 suppressions=$PWD/tests/tsan.supp $symbolizer" \
      in_folder build/tsan -L threaded "${unshipped[@]}"
}

fuzz_one() { # program seconds
  local name corpus result=0
  name=$(basename "$1")
  # Some write a file for each input, and on a disk each of these would be waited for.
  [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
  corpus=$(mktemp -d)
  "$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 -verbosity=0 \
    "$corpus" "tests/fuzz/corpus/$name" >"build/$name.log" 2>&1 || result=1
  rm -rf "$corpus"
  if [ $result = 0 ]; then
    echo "$name: $2 s, no finding"
  else
    echo "$name: $(tail -n 60 "build/$name.log")"
  fi
  return $result
}
export -f fuzz_one

fuzz() { # seconds for all targets together, one after the other
  nice tools/build.sh asan-ubsan fuzz_targets || return 1
  local targets=(build/asan-ubsan/fuzz/*_fuzz)
  printf '%s\n' "${targets[@]}" |
    ASAN_OPTIONS=$symbolizer nice xargs -P "$jobs" -I{} bash -c "fuzz_one {} $(($1 / ${#targets[@]}))"
}

# The agent's image and the pure rooms, cross-compiled; programs run on an emulated processor.
arm64() {
  local rooms=(base gpu cluster config offer mig limit mps cdi labels)
  tools/setup.sh arm64 && tools/arm64_root.sh &&
    nice tools/build.sh arm64 tranche tranche_limit_{library,hook} "${rooms[@]/%/_test}" && python_environment &&
    in_folder build/arm64 -R "^($(IFS='|' && echo "${rooms[*]}"))_test" &&
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

programs_lane() {
  lane_part rules python3 tools/layers.py
  lane_part unit in_folder build -L unit
  after programs  # some have a real API server
  lane_part e2e python_tests tests/docs tests/tools tests/web tests/e2e tests/sim tests/limits tests/gpu
  [ $long = 1 ] || return
  lane_part soak-ledger env TRANCHE_SOAK=1 build/tests/interpose_test
  lane_part soak-limits env TRANCHE_SOAK=1 build/tests/limited_test --gtest_filter='Churn.*'
  lane_part soak python_tests tests/e2e tests/sim tests/limits --soak
}

sanitizers_lane() {
  lane_part asan-ubsan asan
  lane_part tsan tsan
  lane_part fuzz fuzz $((long ? 2700 : 30))
  [ $long = 0 ] || lane_part arm64 arm64
}

kubernetes_lane() {
  lane_part programs lab_programs
  if [ $long = 1 ]; then
    lane_part lab lab_tests tests/cluster tests/chart/test_lifecycle.py
    lane_part lab-soak lab_tests tests/cluster --soak
  else
    lane_part lab lab_tests tests/cluster -m short
  fi
  lane_part chart python_tests tests/chart
}

part set-up tools/setup.sh test
part build tools/build.sh release -DTRANCHE_TESTS=ON -DTRANCHE_BENCH=$long ||
  { echo "the build failed: nothing was tested" >&2; exit 1; }
for name in e2e soak arm64 lab lab-soak chart; do
  ! wanted "$name" || { python_environment && break; } || exit 1  # once, before the lanes
done
trap 'trap - INT TERM; kill 0; exit 130' INT TERM  # lanes hear no interrupt from the terminal
programs_lane &
sanitizers_lane &
kubernetes_lane &
wait

echo
printf '%-12s %8s  %s\n' part seconds result
passed=0
failed=0
for name in set-up build rules unit e2e soak-ledger soak-limits soak asan-ubsan tsan fuzz arm64 programs lab \
  lab-soak chart; do
  [ -e "$parts/$name.result" ] || continue
  read -r seconds result <"$parts/$name.result"
  printf '%-12s %8s  %s\n' "$name" "$seconds" "$result"
  if [ "$result" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "total ${SECONDS} s"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
