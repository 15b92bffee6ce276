"""An agent hands over to the next one of its release: kubelet is always answered."""

import os
import signal

from node import GPU, sharing
from programs import wait_until


RELEASE = {"TRANCHE_RELEASE": "gpu/tranche"}


def next_agent(node):
    return node.agent(env=RELEASE, config=sharing(4))


def serving_and_next(node, start=next_agent) -> tuple:
    """The node, the agent that serves it, and the next one, which is prepared."""
    here = node("l20")
    first = start(here)
    here.kubelet.wait(GPU, allocatable=4)
    second = start(here)
    second.wait_log("prepared to take over")
    return here, first, second


def test_the_next_agent_takes_over_and_no_admission_fails(node):
    here = node("l20")
    first = next_agent(here)
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.run_pod("before", GPU)
    second = next_agent(here)
    second.wait_log("prepared to take over")
    first.signal(signal.SIGTERM)
    second.wait_log("the agent before this one hands over")
    here.kubelet.run_pod("while", GPU)
    assert first.wait() == 0
    assert "handed over to the next agent" in first.log
    second.wait_log("the agent before this one has ended")
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.run_pod("after", GPU)
    assert len(here.stored_grants()) == 3, "what the first one granted is known to the second"
    assert second.stop() == 0
    assert "handed over" not in second.log


def test_what_kubelet_asks_the_one_that_ends_does_not_concern_the_next(node):
    """Both hold kubelet's connection; only one of them reads it."""
    here, first, second = serving_and_next(node)
    here.kubelet.ask("fault", register="hang")
    first.signal(signal.SIGTERM)
    second.wait_log("the agent before this one hands over")
    for pod in ("a", "b", "c"):
        here.kubelet.run_pod(pod, GPU)
    here.kubelet.ask("fault", register="none")
    assert first.wait() == 0
    second.wait_log("the agent before this one has ended")
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    here.kubelet.run_pod("d", GPU)
    assert second.log.count("registered nvidia.com/gpu with kubelet") == 1
    # Kubelet's end of the connection is noticed.
    here.kubelet.ask("restart")
    here.kubelet.wait(GPU, registrations=3, allocatable=4)


def test_kubelets_connection_lives_as_long_as_an_agent_of_the_release(node):
    here, first, second = serving_and_next(node)
    third = next_agent(here)
    third.wait_log("prepared to take over")
    assert first.stop() == 0
    # The last one to come.
    successor, other = third, second
    successor.wait_log("the agent before this one has ended")
    wait_until(lambda: other.log.count("prepared to take over") == 2, "the other one waits for it")
    successor.signal(signal.SIGTERM)
    other.wait_log("the agent before this one has ended")
    assert successor.wait() == 0
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.run_pod("a", GPU)


def test_another_release_is_given_nothing_and_is_not_ready(node):
    here = node("l20")
    first = next_agent(here)
    here.kubelet.wait(GPU, allocatable=4)
    second = here.agent(env={"TRANCHE_RELEASE": "other/second"}, config=sharing(4))
    second.wait_log("release gpu/tranche serves this node")
    assert first.stop() == 0
    assert "prepared" not in second.log
    assert "handed over" not in first.log
    # The node stays its own release's.
    next_agent(here)
    here.kubelet.wait(GPU, registrations=2, allocatable=4)


def test_agents_that_name_no_release_hand_over_to_each_other(node):
    """As deploy/daemonset.yaml's."""
    here, first, second = serving_and_next(node, lambda here: here.agent(config=sharing(4)))
    assert first.stop() == 0
    assert "handed over to the next agent" in first.log
    second.wait_log("the agent before this one has ended")
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.run_pod("a", GPU)


def test_a_successor_that_dies_meanwhile_leaves_the_node_to_others(node):
    here, first, second = serving_and_next(node)
    os.kill(second.pid, signal.SIGSTOP)
    first.signal(signal.SIGTERM)
    second.kill()
    assert first.wait() == 0
    assert "handed over" not in first.log
    next_agent(here)
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
