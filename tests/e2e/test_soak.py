"""Long runs, with --soak: hundreds of deaths and changes."""

import collections
import os
import random
import threading

import pytest

from node import GPU, SHARED, sharing
from programs import wait_until

pytestmark = pytest.mark.soak


def test_sigkill_during_admissions(node):
    """No two Pods ever hold one tranche, and each holder's grant is in the store."""
    here = node("a100-40gb-x4")
    tranches = 4 * 24
    agent = here.agent(config=sharing(24))
    here.kubelet.wait(GPU, allocatable=tranches)
    dice = random.Random(1)
    held = {}
    pods = 0
    for kill in range(1, 21):
        # The agent dies at some moment of the following admissions.
        timer = threading.Timer(dice.uniform(0, 0.05), agent.kill)
        timer.start()
        for _ in range(12):
            if held and (len(held) > tranches - 20 or dice.random() < 0.4):
                gone = dice.choice(sorted(held))
                here.kubelet.ask("remove", pod=gone)
                del held[gone]
            pods += 1
            status = here.kubelet.admit(f"p{pods}", {GPU: dice.randint(1, 2)})
            if status["phase"] == "Running":
                held[f"p{pods}"] = status["containers"]["c"][GPU]["ids"]
        timer.join()
        agent = here.agent(config=sharing(24))
        here.kubelet.wait(GPU, allocatable=tranches, registrations=kill + 1)
        counts = collections.Counter(one for ids in held.values() for one in ids)
        assert all(count == 1 for count in counts.values()), counts
        stored = {tuple(one["record"]["ids"]) for one in here.stored_grants()}
        assert {tuple(ids) for ids in held.values()} <= stored
        for pod, ids in held.items():
            again = here.kubelet.ask("restart-container", pod=pod, container="c")
            assert again["resources"][GPU]["ids"] == ids
    assert agent.stop() == 0


def test_a_thousand_changes_of_the_configuration(node):
    here = node("l20")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)

    def figures() -> tuple:
        status = dict(
            line.split(":", 1) for line in open(f"/proc/{agent.pid}/status") if ":" in line
        )
        return int(status["VmRSS"].split()[0]), len(os.listdir(f"/proc/{agent.pid}/fd"))

    memory = descriptors = 0
    for i in range(1000):
        replicas = 2 + i % 7
        here.write(sharing(replicas, renameByDefault=i % 50 > 40))
        here.kubelet.wait(SHARED if i % 50 > 40 else GPU, allocatable=replicas)
        if i == 200:
            memory, descriptors = figures()
    wait_until(lambda: len(here.sockets()) == 1, "one socket")
    assert agent.running()
    after = figures()
    assert after[0] < memory * 1.25 + 4096, f"{memory} -> {after[0]} kB resident"
    assert after[1] <= descriptors + 4, f"{descriptors} -> {after[1]} open files"
    assert agent.stop() == 0


def test_fifty_restarts_of_kubelet(node):
    here = node("a100-40gb-x4")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=16)
    held = here.kubelet.admit("a", {GPU: 3})["containers"]["c"]
    for count in range(2, 52):
        here.kubelet.ask("restart")
        here.kubelet.wait(GPU, registrations=count, allocatable=16)
        status = here.kubelet.admit(f"p{count}", {GPU: 1})
        assert status["phase"] == "Running", (count, status)
        here.kubelet.ask("remove", pod=f"p{count}")
    again = here.kubelet.ask("restart-container", pod="a", container="c")["resources"]
    assert again == held
    assert agent.stop() == 0


def test_faults_by_the_hundred(node):
    """GPUs come and go, calls fail, the driver vanishes: at the end all is healthy again."""
    here = node("a100-40gb-x4")
    agent = here.agent("--machine-interval=20ms", "--health-recovery=10ms", config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    dice = random.Random(2)
    for _ in range(100):
        kind = dice.randrange(4)
        gpu = dice.randrange(4)
        if kind == 0:
            here.sim("fault", "lost", "--gpu", gpu, "--quiet")
        elif kind == 1:
            here.sim("fault", "no-driver")
        elif kind == 2:
            here.sim("xid", "--gpu", gpu, "--xid", 94)
        else:
            here.sim("fault", "fail", "--function", "nvmlDeviceGetUUID", "--gpu", gpu)
        here.sim("clear")
        here.kubelet.wait(GPU, capacity=8)
    here.sim("reset")
    here.kubelet.wait(GPU, allocatable=8)
    assert here.kubelet.registered(GPU) == 1
    assert agent.stop() == 0
