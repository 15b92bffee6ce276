"""The cost of each idle program, in every state that has a name. A program that never sleeps takes
as much of the processor as a busy loop at the same time; an idle one takes next to nothing."""

import os
import subprocess
import sys

import pytest

from node import GPU, sharing
from programs import Process, wait_until
from test_controller import FLAGS as CONTROLLER
from test_controller import KUBECONFIG

SINGLE_BY_MPS = {
    "version": "v1",
    "flags": {"migStrategy": "single", "mpsRoot": "/run/nvidia/mps"},
    "sharing": {"mps": {"resources": [{"name": GPU, "replicas": 2}]}},
}
BUSY = "while True: pass"
TICKS = os.sysconf("SC_CLK_TCK")


def processor_ticks(pid: int) -> int:
    """User and system time (proc(5), stat, fields 14 and 15)."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_idle(process: Process) -> bool:
    """Takes less than a tenth of what a busy loop takes meanwhile."""
    busy = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        before = processor_ticks(process.pid)
        # Longer than an input waits before it looks again.
        wait_until(lambda: processor_ticks(busy.pid) >= 3 * TICKS // 2, "1.5 s of processor")
        spent, other = processor_ticks(process.pid) - before, processor_ticks(busy.pid)
    finally:
        busy.kill()
        busy.wait()
    assert process.running(), process.log
    return spent * 10 < other


def kubeconfig(here) -> str:
    """Of an API server that is away."""
    path = here.dir / "kubeconfig"
    path.write_text(KUBECONFIG)
    return str(path)


def no_driver(node):
    agent = node("broken-driver").agent(config={"flags": {"failOnInitError": False}})
    agent.wait_log("waiting for it")
    return agent


def no_gpu(node):
    agent = node("none").agent(config="version: v1")
    agent.wait_log("No devices found")
    return agent


def no_configuration(node):
    here = node("t4")
    flags = f"--kubeconfig={kubeconfig(here)}", "--config-map=gpu/configs"
    agent = here.agent(*flags, env={"NODE_NAME": "n1"})
    agent.wait_log("127.0.0.1:1")
    return agent


def refused_configuration(node):
    here = node("t4")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    here.write("version: v2")
    agent.wait_log("the old one stays in force")
    return agent


def refused_layout(node):
    """An input of the offer wants to look again, and then the layout no longer fits strategy
    single."""
    here = node("h100")
    agent = here.agent("--machine-interval=100ms", config=SINGLE_BY_MPS)
    agent.wait_log("not advertising nvidia.com/gpu: sharing.mps")
    here.smi("-mig", "1")
    here.smi("mig", "-cgi", "9,14", "-C")
    agent.wait_log("more than one MIG device type present on node")
    return agent


def lost_gpu(node):
    here = node("a100-40gb-x4")
    agent = here.agent("--machine-interval=100ms", config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    here.sim("fault", "lost", "--gpu", 1)
    here.kubelet.wait(GPU, allocatable=6)
    return agent


def kubelet_away(node):
    here = node("t4", kubelet=False)
    agent = here.agent(config=sharing(2))
    agent.wait_log("advertising nvidia.com/gpu")
    return agent


def served(node):
    here = node("t4")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    return agent


def arbiter(node, machine="t4"):
    here = node(machine)
    tenants = here.state / "tenants"
    tenants.mkdir(parents=True)
    state = f"--state-dir={here.dir / 'a'}"
    run = here.start("arbiter", f"--tenants={tenants}", state)
    wait_until(lambda: here.start("arbiter", "--check", state).wait() == 0, "the arbiter lives")
    return run


def arbiter_without_driver(node):
    return arbiter(node, "broken-driver")


def controller_without_api_server(node):
    here = node("none", kubelet=False)
    run = here.start("controller", *CONTROLLER, f"--kubeconfig={kubeconfig(here)}")
    run.wait_log("cannot follow")
    return run


STATES = [
    no_driver,
    no_gpu,
    no_configuration,
    refused_configuration,
    refused_layout,
    lost_gpu,
    kubelet_away,
    served,
    arbiter,
    arbiter_without_driver,
    controller_without_api_server,
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_it_is_idle(node, state):
    process = state(node)
    wait_until(lambda: is_idle(process), f"{state.__name__} costs nothing: {process.log}")


def test_the_turns_of_the_agents_loop_are_told(node):
    here = node("t4")
    here.agent("--machine-interval=50ms", config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)

    def turns() -> int:
        probe = here.start("agent", *here.places(), "--check=ready")
        assert probe.wait() == 0, probe.log
        return int(probe.output.rpartition("turns of its loop: ")[2])

    first = turns()
    assert first > 0
    wait_until(lambda: turns() > first, "it turns at each reading")
