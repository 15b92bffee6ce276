"""What the limiter adds to calls of this driver: reported, not asserted. (What it adds to calls
that cost nothing is measured by tests/bench/limits_overhead.cpp.)"""

import statistics
import subprocess

import machine
from machine import BUILD, REAL

CALLS = BUILD / "tests" / "driver_calls"
ROUNDS = 9 if REAL else 3


def figures(text: str) -> dict[str, float]:
    return {name: float(ns) for name, ns in (line.split() for line in text.splitlines())}


def test_what_the_limiter_adds(served, gpu, tell):
    assert CALLS.exists(), f"{CALLS} is not built: cmake --build build --target driver_calls"
    # It is not slowed down: the gate is open, and memory is ample.
    container = served.container("mine", memory=4096 * machine.MiB, enforcement="elastic")
    without, limited = [], []
    for _ in range(ROUNDS):
        done = subprocess.run([CALLS], env=gpu.env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        without.append(figures(done.stdout))
        limited.append(figures(container.run([CALLS])))
    assert len(without[0]) == 6
    for name in without[0]:
        before, after = (statistics.median(found[name] for found in each) for each in (without, limited))
        assert before > 0 and after > 0
        tell(f"{name}, ns a call: no limiter; limiter; added", f"{before:,.0f}; {after:,.0f}; {after - before:+,.0f}")
