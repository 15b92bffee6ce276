"""kubelet away, restarting, hanging, refusing; another process on our socket; a second agent."""

import os
import shutil
import socket

import pytest

from node import GPU, Node, sharing
from programs import wait_until


def foreign(here: Node, name: str = "nvidia-gpu.sock") -> socket.socket:
    """Another process that answers on a plugin's socket."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(here.kubelet.socket_folder / name))
    listener.listen()
    return listener


def test_away_at_start(node):
    here = node("l20")
    here.kubelet.ask("stop")
    agent = here.agent(config=sharing(2))
    agent.wait_log("cannot register nvidia.com/gpu|nvidia.com/gpu .*kubelet")
    wait_until(lambda: "nvidia-gpu.sock" in here.sockets(), "the plugin's socket")
    here.kubelet.ask("start")
    here.kubelet.wait(GPU, allocatable=2)
    assert agent.running()


@pytest.mark.difference("devices-kubelet-folder")
def test_its_folder_comes_later(node):
    here = node("l20")
    here.kubelet.ask("stop")
    shutil.rmtree(here.kubelet.root)
    agent = here.agent(config=sharing(2))
    agent.wait_log("cannot serve nvidia.com/gpu: .*; trying again until it works")
    here.kubelet.ask("start")
    here.kubelet.wait(GPU, allocatable=2)


def test_restarts(node):
    here = node("a100-40gb-mig")
    agent = here.agent("--mig-strategy=mixed")
    resources = [f"nvidia.com/mig-{p}" for p in ("1g.5gb", "2g.10gb", "3g.20gb")]
    held = None
    for count in range(1, 5):
        for resource in resources:
            here.kubelet.wait(resource, registrations=count, connected=True)
        here.kubelet.wait(resources[0], allocatable=2)
        if held is None:
            held = here.kubelet.admit("a", {resources[0]: 1})["containers"]["c"]
        assert here.kubelet.ask("restart-container", pod="a", container="c")["resources"] == held
        here.kubelet.ask("restart")
    here.kubelet.wait(resources[2], allocatable=1)
    agent.wait_log("kubelet was restarted; serving and registering anew")
    assert agent.running()


def test_its_socket_alone_is_made_anew(node):
    """kubelet was away for a while, and nobody deleted our sockets."""
    here = node("l20")
    here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    here.kubelet.ask("stop")
    here.kubelet.ask("start")
    here.kubelet.wait(GPU, registrations=2, allocatable=2)


def test_a_removed_plugin_socket_is_served_anew(node):
    here = node("l20")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    (here.kubelet.socket_folder / "nvidia-gpu.sock").unlink()
    here.kubelet.wait(GPU, registrations=2, allocatable=2)
    agent.wait_log("the socket of nvidia.com/gpu was removed; serving it anew")


def test_hangs_on_register(node):
    here = node("l20")
    here.kubelet.ask("fault", register="hang")
    agent = here.agent(config=sharing(2))
    wait_until(lambda: "nvidia-gpu.sock" in here.sockets(), "the plugin's socket")
    # The agent is not stuck: it follows its configuration and ends on request.
    seen = agent.mark()
    here.write(sharing(3))
    agent.wait_log("advertising nvidia.com/gpu: 3 tranches", seen)
    here.kubelet.ask("fault", register="none")
    here.kubelet.wait(GPU, allocatable=3)


def test_hangs_on_register_and_the_agent_still_ends(node):
    here = node("l20")
    here.kubelet.ask("fault", register="hang")
    agent = here.agent(config=sharing(2))
    wait_until(lambda: "nvidia-gpu.sock" in here.sockets(), "the plugin's socket")
    assert agent.stop() == 0
    assert here.sockets() == set()


@pytest.mark.difference("devices-register-again")
def test_refuses_to_register(node):
    here = node("l20")
    here.kubelet.ask("fault", register="error")
    agent = here.agent(config=sharing(2))
    agent.wait_log("the stand-in was told to refuse registrations")
    wait_until(lambda: len(here.kubelet.registrations()) >= 2, "a second attempt")
    assert agent.log.count("was told to refuse") == 1  # said once
    here.kubelet.ask("fault", register="none")
    here.kubelet.wait(GPU, allocatable=2)


def test_what_is_registered(node):
    here = node("l20")
    here.agent(config=sharing(2, renameByDefault=True))
    here.kubelet.wait("nvidia.com/gpu.shared", allocatable=2)
    [entry] = here.kubelet.registrations()
    del entry["time"]
    assert entry == {
        "resource": "nvidia.com/gpu.shared",
        "endpoint": "nvidia-gpu.shared.sock",
        "version": "v1beta1",
        "pre_start_required": False,
        "get_preferred_allocation_available": True,
        "error": "",
    }


def test_no_kubelet_socket_means_no_registration(node):
    here = node("l20")
    agent = here.agent("--kubelet-socket=", config=sharing(2))
    agent.wait_log("not registering with kubelet")
    wait_until(lambda: "nvidia-gpu.sock" in here.sockets(), "the plugin's socket")
    assert here.kubelet.registrations() == []


@pytest.mark.difference("devices-other-socket")
def test_somebody_else_on_our_socket_is_not_robbed(node):
    here = node("l20")
    with foreign(here) as other:
        inode = (here.kubelet.socket_folder / "nvidia-gpu.sock").stat().st_ino
        agent = here.agent(config=sharing(2))
        agent.wait_log("another device plugin answers on .*nvidia-gpu.sock; .*--take-over")
        # Other resources are not delayed by it.
        here.write(sharing(2, renameByDefault=True))
        here.kubelet.wait("nvidia.com/gpu.shared", allocatable=2)
        here.write(sharing(3))
        here.kubelet.wait("nvidia.com/gpu.shared", allocatable=0)
        assert (here.kubelet.socket_folder / "nvidia-gpu.sock").stat().st_ino == inode
        assert here.kubelet.registered(GPU) == 0
        other.close()
    # It has gone, its socket file is still there: nobody answers, so it is replaced.
    here.kubelet.wait(GPU, allocatable=3)


def test_somebody_else_on_our_socket_is_robbed_when_told_so(node):
    here = node("l20")
    with foreign(here):
        agent = here.agent("--take-over", config=sharing(2))
        here.kubelet.wait(GPU, allocatable=2)
        agent.wait_log("taking .*nvidia-gpu.sock over from the process that answers on it")


def test_a_second_agent_waits_and_takes_over(node):
    here = node("l20")
    first = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    held = here.kubelet.admit("a", {GPU: 1})["containers"]["c"]
    second = here.agent(config=sharing(2))
    second.wait_log("another agent serves this node .*; waiting for it to end")
    assert here.kubelet.registered(GPU) == 1
    assert first.stop() == 0
    second.wait_log("restored 1 grants")
    here.kubelet.wait(GPU, registrations=2, allocatable=2)
    assert here.kubelet.ask("restart-container", pod="a", container="c")["resources"] == held
    # The same when the first one is killed, and with a third.
    third = here.agent(config=sharing(2))
    third.wait_log("waiting for it to end")
    second.kill()
    here.kubelet.wait(GPU, registrations=3, allocatable=2)
    assert third.stop() == 0


def test_a_waiting_agent_ends_when_told_to(node):
    here = node("l20")
    here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    second = here.agent(config=sharing(2))
    second.wait_log("waiting for it to end")
    assert second.stop() == 0
    assert here.sockets() == {"nvidia-gpu.sock"}


def test_two_agents_with_kubelets_of_their_own(node):
    here, there = node("l20"), node("t4")
    here.agent(config=sharing(2))
    there.agent(config=sharing(3))
    here.kubelet.wait(GPU, allocatable=2)
    there.kubelet.wait(GPU, allocatable=3)


def test_a_path_too_long_for_a_socket_is_told(node):
    here = node("l20")
    long = here.dir / ("x" * 100) / "k"
    os.makedirs(long / "device-plugins")
    agent = here.agent(f"--kubelet-root={long}", config=sharing(2))
    agent.wait_log("bytes long.*use a shorter --kubelet-root")
    assert agent.stop() == 0
