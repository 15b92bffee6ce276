#!/usr/bin/env bash
# Layout, layer rules and clang-tidy. Usage: tools/lint.sh [--all]
#
# clang-tidy looks at the files changed since the main branch (or, on it, since the last commit);
# --all looks at every file (half an hour on two processors).
set -uo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh test || exit 1
status=0

git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-19 --dry-run -Werror || {
  echo "lint: the files above are laid out differently; run 'make format'" >&2
  status=1
}
python3 tools/layers.py || status=1

# clang-tidy reads generated headers, and `files` as the build compiles them.
prepare() { # folder, further arguments of cmake
  local folder=$1
  shift
  cmake --preset dev -B "$folder" "$@" >/dev/null &&
    cmake --build "$folder" --target tranche_kubelet_proto >/dev/null
}

if [ "${1:-}" = --all ]; then
  # Merged: 12 files take as long as two by themselves. What is included is then no main file, so
  # its findings are asked for by the filter of headers.
  folder=build/lint
  prepare "$folder" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 || exit 1
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\.c[px][px]\)",\?$/\1/p' "$folder/compile_commands.json" |
    grep -vE "/$folder/(tests|CMakeFiles|generated)/|^$PWD/tests/|_proto\.dir/" | sort -u)
  how=(--checks=-bugprone-suspicious-include "--header-filter=.*/(src|sim|lab|rooms)/.*\.(h|cpp)$")
else
  folder=build/dev
  prepare "$folder" -DCMAKE_UNITY_BUILD=OFF || exit 1
  base=$(git merge-base HEAD main 2>/dev/null || echo HEAD)
  [ "$base" = "$(git rev-parse HEAD)" ] && base=HEAD~1
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'sim/*.cpp' 'lab/*.cpp')
  how=()
fi
if [ ${#files[@]} -gt 0 ]; then
  printf '%s\n' "${files[@]}" |
    xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$folder" --quiet "${how[@]}" 2>/dev/null || status=1
fi
echo "lint: ${#files[@]} files through clang-tidy, $([ $status = 0 ] && echo clean || echo findings)"
exit $status
