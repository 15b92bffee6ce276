#!/usr/bin/env bash
# Layout, layer rules and clang-tidy. Usage: tools/lint.sh [--all]
#
# clang-tidy looks at the files changed since the main branch (or, on it, since the last commit);
# --all looks at every file (minutes).
set -uo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh test || exit 1
status=0

git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-19 --dry-run -Werror || {
  echo "lint: the files above are laid out differently; run 'make format'" >&2
  status=1
}
python3 tools/layers.py || status=1

# Each file by itself: merged ones have no entry in the compile database.
cmake --preset dev -DCMAKE_UNITY_BUILD=OFF >/dev/null || exit 1
cmake --build --preset dev --target tranche_kubelet_proto >/dev/null || exit 1
if [ "${1:-}" = --all ]; then
  mapfile -t files < <(git ls-files 'src/*.cpp' 'sim/*.cpp' 'lab/*.cpp')
else
  base=$(git merge-base HEAD main 2>/dev/null || echo HEAD)
  [ "$base" = "$(git rev-parse HEAD)" ] && base=HEAD~1
  mapfile -t files < <(git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp' 'sim/*.cpp' 'lab/*.cpp')
fi
if [ ${#files[@]} -gt 0 ]; then
  printf '%s\n' "${files[@]}" |
    xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/dev --quiet 2>/dev/null || status=1
fi
echo "lint: ${#files[@]} files through clang-tidy, $([ $status = 0 ] && echo clean || echo findings)"
exit $status
