#!/usr/bin/env bash
# The benchmarks. Figures of one run are to be compared with each other, not with another machine's.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh test
cmake --preset release -DTRANCHE_BENCH=ON -DTRANCHE_TESTS=ON >/dev/null
cmake --build --preset release -j "${JOBS:-$(nproc)}"
for program in build/bench/*_bench; do
  echo "== $(basename "$program")"
  "$program" --benchmark_min_time=0.2
done
for program in limits_overhead limits_shares; do
  echo "== $program"
  "build/bench/$program"
done
echo "== node.py"
python3 tests/bench/node.py
if [ "$(id -u)" = 0 ] && [ -x build/venv/bin/python ]; then
  # TRANCHE_METRICS_PEER: another exporter's command, TRANCHE_METRICS_PEER_URL: where it serves.
  echo "== metrics_scrape.py"
  build/venv/bin/python tests/bench/metrics_scrape.py \
    ${TRANCHE_METRICS_PEER:+--peer "$TRANCHE_METRICS_PEER" --peer-url "$TRANCHE_METRICS_PEER_URL"}
fi
for load in 0 5; do
  echo "== allocate, beside itself, $load busy processes"
  tests/bench/allocate/run --load "$load"
done
if lab/status >/dev/null 2>&1; then
  echo "== cluster.py, on the lab that runs"
  build/venv/bin/python tests/bench/cluster.py
fi
