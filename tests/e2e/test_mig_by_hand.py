"""A MIG layout that an administrator changes with nvidia-smi, with the agent running."""

import subprocess
import sys
import time

import pytest

from node import GPU, Node
from programs import TRANCHE
from test_health import MIXED

HALF, ONE = "nvidia.com/mig-3g.40gb", "nvidia.com/mig-1g.10gb"
# No reading by interval within a test, except those that a machine with MIG needs.
SELDOM = "--machine-interval=1h"

# A program that has started NVML and does nothing with it.
MONITOR = """
import ctypes, sys
assert ctypes.CDLL("libnvidia-ml.so.1").nvmlInit_v2() == 0
print("open", flush=True)
sys.stdin.read()
"""


def partition(here: Node, *profiles: str) -> None:
    here.smi("mig", "-cgi", ",".join(profiles), "-C")


def clear(here: Node) -> None:
    here.smi("mig", "-dci")
    here.smi("mig", "-dgi")


@pytest.fixture
def h100(node):
    here = node("h100")
    here.smi("-mig", "1")
    return here


@pytest.mark.difference("devices-layout-followed")
def test_mixed_follows_each_change(h100):
    agent = h100.agent(MIXED, SELDOM)
    partition(h100, "19", "19", "9")
    h100.kubelet.wait(ONE, allocatable=2)
    h100.kubelet.wait(HALF, allocatable=1)
    kept = h100.kubelet.ids(HALF)
    h100.smi("mig", "-dci", "-gi", "13")
    h100.smi("mig", "-dgi", "-gi", "13")
    h100.kubelet.wait(ONE, capacity=1, allocatable=1)
    assert h100.kubelet.ids(HALF) == kept
    clear(h100)
    h100.kubelet.wait(ONE, capacity=0)
    h100.kubelet.wait(HALF, capacity=0)
    assert agent.running


@pytest.mark.difference("devices-single-layout")
def test_single_follows_each_change(h100):
    partition(h100, "19", "19")
    h100.agent("--mig-strategy=single", SELDOM)
    h100.kubelet.wait(GPU, allocatable=2)
    partition(h100, "19", "19", "19")
    h100.kubelet.wait(GPU, capacity=5, allocatable=5)
    clear(h100)
    partition(h100, "9", "9")
    h100.kubelet.wait(GPU, capacity=2, allocatable=2)


def test_none_advertises_the_gpu_whatever_it_is_cut_into(h100):
    partition(h100, "19")
    h100.agent("--mig-strategy=none", SELDOM)
    h100.kubelet.wait(GPU, allocatable=1)
    gpu = h100.kubelet.ids(GPU)
    clear(h100)
    partition(h100, "9", "9")
    assert h100.kubelet.allocate(GPU, gpu)["envs"] == {"NVIDIA_VISIBLE_DEVICES": gpu[0]}
    assert h100.kubelet.node() == {GPU: 1}


def test_the_mode_goes_on_by_hand_while_the_agent_serves(node):
    here = node("h100")
    here.agent(MIXED, SELDOM)
    here.kubelet.wait(GPU, allocatable=1)
    here.smi("-mig", "1")
    here.kubelet.wait(GPU, capacity=0)
    partition(here, "9", "9")
    here.kubelet.wait(HALF, allocatable=2)
    clear(here)
    here.smi("-mig", "0")
    here.kubelet.wait(GPU, allocatable=1)


def test_an_ampere_gpu_keeps_its_mode_while_the_agent_has_it_open(node):
    here = node("a100-80gb-x4")
    agent = here.agent(MIXED, SELDOM)
    here.kubelet.wait(GPU, allocatable=4)
    assert "In use by another client" in here.smi("-i", "0", "-mig", "1")
    assert here.kubelet.node() == {GPU: 4}
    agent.stop()
    here.smi("-r", "-i", "0")
    here.smi("mig", "-cgi", "9,9", "-C", "-i", "0")
    here.agent(MIXED, SELDOM)
    here.kubelet.wait(HALF, allocatable=2)
    here.kubelet.wait(GPU, allocatable=3)


def test_who_has_an_ampere_gpu_open_is_named(node):
    here = node("a100-80gb-x4", kubelet=False)
    apply = [TRANCHE, "layout", "apply", "-c", "all-1g.10gb", "--yes", f"--state-dir={here.state}"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", MONITOR], env=here.env, text=True, **pipes) as monitor:
        assert monitor.stdout.readline() == "open\n"
        # A few are named. Arbiters of concurrent tests have a node of that number open for moments,
        # too.
        for _ in range(30):
            refused = subprocess.run(apply, env=here.env, capture_output=True, text=True, timeout=60)
            assert refused.returncode == 1
            if f"(pid {monitor.pid}, " in refused.stderr:
                break
            time.sleep(1)
        monitor.stdin.close()
    assert f"(pid {monitor.pid}, " in refused.stderr
    assert not any(gpu["mig"]["current"] or gpu["mig"]["pending"] for gpu in here.gpus())
    subprocess.run(apply, env=here.env, capture_output=True, timeout=60, check=True)
    assert all(len(gpu["mig"]["devices"]) == 7 for gpu in here.gpus())


def test_a_driver_that_tells_of_no_change_is_read_often_enough(h100):
    # Then only XIDs are listened to.
    h100.sim("fault", "fail", "--function", "nvmlDeviceGetSupportedEventTypes", "--error", "UNKNOWN")
    h100.agent(MIXED, SELDOM)
    partition(h100, "9")
    h100.kubelet.wait(HALF, allocatable=1)
    partition(h100, "19")
    h100.kubelet.wait(ONE, allocatable=1)


def test_an_instance_that_a_pod_holds_and_that_is_gone(h100):
    partition(h100, "9", "19")
    h100.agent(MIXED, SELDOM)
    h100.kubelet.wait(HALF, allocatable=1)
    h100.kubelet.run_pod("holder", HALF)
    gone = h100.kubelet.ids(HALF)
    h100.smi("mig", "-dci", "-gi", "2")
    h100.smi("mig", "-dgi", "-gi", "2")
    h100.kubelet.wait(HALF, allocatable=0)
    h100.kubelet.wait(ONE, allocatable=1)
    # The same place again: it is the same device, and the Pod still holds it.
    h100.smi("mig", "-cgi", "9:4", "-C")
    h100.kubelet.wait(HALF, allocatable=1)
    assert h100.kubelet.ids(HALF) == gone
    assert h100.kubelet.admit("second", {HALF: 1})["phase"] != "Running"


@pytest.mark.parametrize(("machine", "half"), [("h20", "3g.48gb"), ("h20-94gb", "3g.47gb")])
def test_a_drained_card_is_partitioned_and_served_again(node, machine, half):
    """The next card of the rollout, drained: MIG first, then time-slicing on a profile."""
    small, large = "nvidia.com/mig-1g.12gb", f"nvidia.com/mig-{half}"
    sharing = {"timeSlicing": {"resources": [{"name": small, "replicas": 2}]}}
    here = node(machine)
    here.agent(MIXED, SELDOM, config={"version": "v1", "sharing": sharing})
    here.kubelet.wait(GPU, allocatable=1)
    here.smi("-mig", "1")
    here.kubelet.wait(GPU, capacity=0)
    partition(here, "9", "1g.12gb", "1g.12gb", "1g.12gb")
    here.kubelet.wait(large, allocatable=1)
    here.kubelet.wait(small, capacity=6, allocatable=6)
    for pod in ("a", "b"):
        here.kubelet.run_pod(pod, small)
    here.kubelet.run_pod("c", large)
