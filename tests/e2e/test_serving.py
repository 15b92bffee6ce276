"""Whether kubelet offers what the agent offers: with another plugin, with takeOver and without."""

import signal
import subprocess

import pytest

from foreign import ForeignPlugin
from node import GPU, sharing
from programs import TRANCHE, wait_until


@pytest.fixture
def here(node):
    return node("l20")


def check(here) -> str:
    """The output of `tranche agent --check=ready`."""
    done = subprocess.run(
        [TRANCHE, "agent", "--check=ready", f"--state-dir={here.state}"],
        env=here.env,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def described(here) -> tuple:
    """The labels about sharing."""
    labels = here.labels()
    return labels.get("nvidia.com/gpu.replicas"), labels.get("nvidia.com/gpu.product")


def ours(here, replicas: int) -> list:
    return [f"{uuid}::{i}" for uuid in here.uuids() for i in range(replicas)]


def test_a_list_of_another_plugin_does_not_stay_beside_our_registration(here):
    """takeOver does not split a node: kubelet kept the other plugin's list and called our
    Allocate."""
    agent = here.agent("--take-over", config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    agent.wait_log("kubelet offers what this agent offers")
    taken = agent.mark()
    # On a separate socket: ours is put back so soon that kubelet may never have met the other one
    # there.
    with ForeignPlugin(here, here.uuids(), endpoint="other.sock") as other:
        here.kubelet.wait(GPU, capacity=1)
        wait_until(lambda: here.kubelet.ids(GPU) == ours(here, 4), "taken over")
        agent.wait_log("registering again", taken)
        agent.wait_log("kubelet offers what this agent offers", taken)
        for _ in range(2):
            seen = agent.mark()
            other.send_list()
            here.kubelet.wait(GPU, capacity=1)
            assert "unknown device" in here.kubelet.refusal(GPU, here.uuids())
            agent.wait_log("another device plugin.*registering again", seen)
            wait_until(lambda: here.kubelet.ids(GPU, healthy=True) == ours(here, 4), "ours again")
            assert here.kubelet.allocate(GPU, ours(here, 4)[:1])
            agent.wait_log("kubelet offers what this agent offers", seen)
    wait_until(lambda: check(here).startswith("ready"), "ready")


def test_another_plugin_on_our_socket_is_told_of_however_quick_it_is(here):
    """It removes the socket and has its own there at once; ours is back before anybody sees its
    list."""
    agent = here.agent("--take-over", config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    with ForeignPlugin(here, here.uuids()):
        agent.wait_log("another device plugin put its socket in the place of that of nvidia.com/gpu")
        wait_until(lambda: here.kubelet.ids(GPU, healthy=True) == ours(here, 4), "ours again")
    # Its end removes our socket, and kubelet drops the resource: there is nobody to wait for.
    here.kubelet.wait(GPU, allocatable=4, connected=True)
    assert "again and again" not in agent.log


def test_a_registration_that_the_end_of_another_plugin_took_is_renewed(here):
    """kubelet drops a resource when any plugin that registered for it ends."""
    agent = here.agent("--take-over", config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    other = ForeignPlugin(here, here.uuids(), endpoint="other.sock")
    wait_until(lambda: here.kubelet.ids(GPU, healthy=True) == ours(here, 4), "ours again")
    agent.wait_log("kubelet offers what this agent offers")
    other.end()
    agent.wait_log("kubelet offers no nvidia.com/gpu of the 4")
    here.kubelet.wait(GPU, allocatable=4, connected=True)


def test_without_take_over_another_plugin_is_left_alone_and_told(here):
    here.features.mkdir()
    agent = here.agent(config=sharing(4), labels="true")
    here.kubelet.wait(GPU, allocatable=4)
    wait_until(lambda: described(here) == ("4", "NVIDIA-L20-SHARED"), "labelled as shared")
    with ForeignPlugin(here, here.uuids(), endpoint="other.sock"):
        agent.wait_log("another device plugin.*--take-over")
        wait_until(lambda: described(here) == ("1", "NVIDIA-L20"), "labelled as kubelet offers it")
        registered = here.kubelet.registered(GPU)
        said = wait_until(lambda: (text := check(here)).startswith("waiting") and text, "unready")
        assert "another device plugin" in said
        assert here.kubelet.ids(GPU, healthy=True) == here.uuids()
        assert here.kubelet.registered(GPU) == registered
    # It has gone: kubelet offers nothing, and ours is registered again.
    here.kubelet.wait(GPU, allocatable=4, connected=True)
    wait_until(lambda: described(here) == ("4", "NVIDIA-L20-SHARED"), "labelled as shared")
    wait_until(lambda: check(here).startswith("ready"), "ready")


def test_without_take_over_a_socket_that_another_plugin_took_is_left_to_it(here):
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    # An agent that is quicker than the other plugin has its socket back before that one listens.
    agent.signal(signal.SIGSTOP)
    other = ForeignPlugin(here, here.uuids())
    here.kubelet.wait(GPU, capacity=1)
    agent.signal(signal.SIGCONT)
    with other:
        said = wait_until(lambda: (text := check(here)).startswith("waiting") and text, "unready")
        assert "nvidia.com/gpu" in said
    here.kubelet.wait(GPU, allocatable=4, connected=True)
    wait_until(lambda: check(here).startswith("ready"), "ready")
