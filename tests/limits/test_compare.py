"""tranche-load compare --mechanisms limits: the limiter, a real arbiter and the simulated driver
together. The assertions hold at any speed of the machine; figures are for people (docs/load.md)."""

import json
import os
import subprocess

import pytest

ours = pytest.importorskip("arbiter", reason="needs tests/limits/arbiter.py")
from programs import TRANCHE_SIM, clean_environment  # noqa: E402

BUILD = TRANCHE_SIM.parent.parent
MiB = 1 << 20
CONTEXT = 256 * MiB  # of a simulated L20

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="each process gets a mount namespace: needs root")


class Gpu:
    """A simulated L20."""

    def __init__(self, folder):
        self.machine, self.uuid = ours.simulated_l20(folder)
        self.env = clean_environment(LD_LIBRARY_PATH=BUILD / "sim", **self.machine)

    def compare(self, tenants, *flags) -> dict:
        """The part about limits."""
        command = [BUILD / "bin/tranche-load", "compare", "--mechanisms", "limits", "--duration", "200ms"]
        command += ["--tenants", tenants, "-o", "json", *flags]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120)
        [limits] = json.loads(done.stdout)["mechanisms"]
        assert (done.returncode == 0) == limits["available"], done.stderr
        return limits


@pytest.fixture
def gpu(tmp_path):
    return Gpu(tmp_path)


@pytest.fixture
def tenants(tmp_path, gpu):
    made = ours.Tenants(tmp_path / "tenants")
    made.promise("latency", gpu.uuid, memory=16000 * MiB, priority="latency-critical", enforcement="elastic")
    for number in (1, 2):
        fields = {"memory": 12000 * MiB, "priority": "best-effort", "enforcement": "elastic"}
        made.promise(f"neighbour-{number}", gpu.uuid, **fields)
    return made


LIBRARY = ("--limit-library", BUILD / "lib/libtranche-limit.so")


def test_trouble_stays_with_the_tenant_that_makes_it(tmp_path, gpu, tenants):
    process = ours.arbiter(tmp_path, tenants.folder, **gpu.machine)
    try:
        process.wait_log("serving 3 tenants")
        limits = gpu.compare(tenants.folder, *LIBRARY)
    finally:
        process.kill()
    assert [report["error"] for report in [limits["request"], *limits["neighbours"]]] == ["", "", ""]
    assert all(report["launches"] > 0 for report in limits["neighbours"])
    memory, killed = limits["troubles"]
    # It took what it was promised, and no more.
    assert 0 <= 12000 * MiB - CONTEXT - memory["offender"]["memory"] < 4 * MiB
    assert "OUT_OF_MEMORY" in memory["offender"]["refused"]
    for trouble in (memory, killed):
        assert trouble["victim"]["error"] == ""
        assert trouble["victim"]["launches"] > 0


def test_without_an_arbiter_nothing_is_measured(gpu, tenants):
    limits = gpu.compare(tenants.folder, *LIBRARY)
    assert "no arbiter serves the tenant" in limits["reason"]
    assert "request" not in limits


def test_a_library_that_is_not_loaded_is_found_out(tmp_path, gpu, tenants):
    other = tmp_path / "libtranche-limit.so"
    other.write_text("not a library")
    process = ours.arbiter(tmp_path, tenants.folder, **gpu.machine)
    try:
        process.wait_log("serving 3 tenants")
        limits = gpu.compare(tenants.folder, "--limit-library", other)
    finally:
        process.kill()
    assert f"latency does not load {other}" in limits["reason"]
