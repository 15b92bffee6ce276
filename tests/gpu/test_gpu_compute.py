"""A container's part of the GPU's time. On a real GPU the measurement is asserted within 10 points;
on the simulated one, whose time is the host's, only the order of caps: its figures are asserted in
virtual time (src/sharing/limit/device_test.cpp)."""

import json
import subprocess

import machine
import pytest
from machine import LIMITER, LOAD, REAL, MiB

DURATION = "3s" if REAL else "400ms"
# For concurrent programs, which do not begin at the same moment.
LONG = "8s" if REAL else "400ms"
MEMORY = 2048 * MiB
POINTS = 10
LOADS = {
    "kernels of 0.2 ms": ["storm", "--kernel", "200us"],
    "kernels of 1 ms": ["storm", "--kernel", "1ms"],
    "graphs of 20 kernels of 0.1 ms": ["graph", "--nodes", "20", "--kernel", "100us"],
}


@pytest.fixture
def speed(gpu) -> list:
    """The GPU's speed, measured by an unlimited process: determines the work of a kernel."""
    command = [LOAD, "compute", "--count", "1", "-o", "json"]
    done = subprocess.run(command, env=gpu.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return ["--rounds-per-us", json.loads(done.stdout)["device"]["roundsPerUs"]]


def near(share: float, asked: float) -> bool:
    return abs(share - asked) <= POINTS


def shares(containers: list, load: list, speed: list, duration: str) -> list[float]:
    """Their parts of the GPU's time, in percent, when they work at the same time."""
    command = [LOAD, *load, *speed, "--duration", duration, "-o", "json"]
    programs = [container.start(command) for container in containers]
    reports = [machine.reported(program) for program in programs]
    assert all(report["launches"] > 0 for report in reports), reports
    return [report["gpuPercent"] for report in reports]


@pytest.mark.parametrize("load", LOADS)
def test_caps_of_one_that_is_alone(served, speed, tell, load):
    had = {}
    for cap in (10, 30, 50):
        container = served.container(f"cap-{cap}", memory=MEMORY, permille=10 * cap)
        [had[cap]] = shares([container], LOADS[load], speed, DURATION)
        tell(f"cap {cap} %, {load}, alone", f"{had[cap]:.1f} %")
    if REAL:
        assert all(near(share, cap) for cap, share in had.items()), had
    else:
        assert had[10] < had[50] < 100, had


def test_caps_together(served, speed, tell):
    caps = (10, 30, 50)
    containers = [served.container(f"cap-{cap}", memory=MEMORY, permille=10 * cap) for cap in caps]
    had = shares(containers, LOADS["kernels of 1 ms"], speed, LONG)
    tell("caps of 10, 30 and 50 % together, kernels of 1 ms", ", ".join(f"{share:.1f} %" for share in had))
    if REAL:
        assert all(near(share, cap) for share, cap in zip(had, caps, strict=True)), had
    else:
        assert had[0] < had[2], had


def test_weights(served, speed, tell):
    weights = (1, 2, 4)
    elastic = {"memory": MEMORY, "enforcement": "elastic"}
    containers = [served.container(f"weight-{w}", weight=w, **elastic) for w in weights]
    had = shares(containers, LOADS["kernels of 1 ms"], speed, LONG)
    tell("weights 1, 2, 4 (14.3, 28.6, 57.1 %), kernels of 1 ms", ", ".join(f"{share:.1f} %" for share in had))
    if REAL:
        assert all(near(share, 100 * w / sum(weights)) for share, w in zip(had, weights, strict=True)), had


def test_latency_critical_beside_two_storms(served, speed, tell):
    fields = {"enforcement": "elastic", "memory": MEMORY}
    served.container("latency", priority="latency-critical", **fields)
    for number in (1, 2):
        served.container(f"neighbour-{number}", priority="best-effort", **fields)
    command = [LOAD, "compare", "--mechanisms", "time-slicing,limits", "--trouble", "kill", "--duration", DURATION]
    command += [*map(str, speed), "--tenants", served.tenants.folder, "--limit-library", LIMITER, "-o", "json"]
    # As root of a user namespace if it is not root already: it makes the containers itself.
    inside = served.enter if "--user" in served.enter else []
    done = subprocess.run([*inside, *command], env=served.gpu.env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    compared = json.loads(done.stdout)
    alone = compared["alone"]["request"]["latency"]["p99"]
    tell("requests of 2 ms each 10 ms, alone: p99", f"{alone / 1e6:.2f} ms")
    for mechanism in compared["mechanisms"]:
        request, neighbours = mechanism["request"], mechanism["neighbours"]
        gpu_percent = sum(neighbour["gpuPercent"] for neighbour in neighbours)
        figure = f"{request['latency']['p99'] / 1e6:.2f} ms, storms {gpu_percent:.1f} %"
        tell(f"{mechanism['mechanism']}: p99 beside two storms of 0.2 ms", figure)
        assert [report["error"] for report in [request, *neighbours]] == ["", "", ""]
        assert all(report["launches"] > 0 for report in [request, *neighbours])
        [killed] = mechanism["troubles"]
        assert killed["victim"]["error"] == ""
