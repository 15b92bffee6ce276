"""`tranche layout apply|show --node`: a person changes a node's MIG layout and follows the change. A real API
server, the agent and the controller, a kubelet stand-in and a simulated machine."""

import json
import re
import signal
import subprocess

import pytest

from node import GPU
from programs import TRANCHE, Process, clean_environment, wait_until
from test_mig_change import MERGE, SMALL, controller, end, is_evicted, offer, run, server, show  # noqa: F401
from test_mig_manager import Managed

NODE = "used"


class Person:
    def __init__(self, server, folder):
        self.server, self.folder, self.calls = server, folder, 0

    def command(self, word: str, *flags: str) -> list:
        cluster = f"--kubeconfig={self.server.kubeconfig()}"
        return [TRANCHE, "layout", word, f"--node={NODE}", cluster, *flags]

    def calls_apply(self, layout: str, *flags: str) -> Process:
        self.calls += 1
        command = self.command("apply", f"--selected-config={layout}", *flags)
        return Process(command, self.folder / f"person-{self.calls}", clean_environment())

    def apply(self, layout: str, *flags: str) -> tuple:
        command = self.command("apply", f"--selected-config={layout}", *flags)
        done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def show(self) -> dict:
        command = self.command("show", "-o", "json")
        done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)


@pytest.fixture
def used(server, node):  # noqa: F811
    """A node whose only GPU a Pod holds."""
    here = node("h100")
    managed = Managed(server, here, NODE, "--mig-ask-controller=true")
    here.kubelet.wait(GPU, capacity=1, allocatable=1)
    show(server, NODE, **{GPU: 1})
    run(server, here, "train")
    return managed


def test_a_person_changes_the_layout_of_a_node(server, used, controller, tmp_path):  # noqa: F811
    person = Person(server, tmp_path)
    before = used.object()["metadata"]
    code, told = person.apply("all-1g.10gb", "--dry-run")
    assert code == 0 and f"default/train ({GPU}: 1): nothing makes it anew" in told
    assert used.object()["metadata"].get("labels") == before.get("labels"), "a dry run changes nothing"

    # It is the only node with a whole GPU.
    code, told = person.apply("all-1g.10gb")
    assert code == 1 and "no other node that takes Pods offers nvidia.com/gpu" in told
    assert not is_evicted(server, "train") and used.layouts() == ["off"]

    process = person.calls_apply("all-1g.10gb", "--accept-outage")
    wait_until(lambda: is_evicted(server, "train"), f"it is evicted: {controller.log}")
    wait_until(lambda: "held by default/train: it is ending" in process.output, "the Pod is named")
    (held,) = person.show()["heldBy"]
    assert re.fullmatch(r"default/train: it is ending; since [0-9:]{8}Z, waited for until [0-9:]{8}Z", held)
    assert "draining" in person.show()["change"] and person.show()["cordoned"]
    end(server, used.here, "train")
    wait_until(lambda: "finished; " in process.output, "it waits for what kubelet tells")
    offer(server, NODE, **{GPU: 0, SMALL: 7})
    assert process.wait() == 0
    # What is over between two looks is not shown.
    phases = [f"MIG layout all-1g.10gb on {NODE}", "draining, ", f"{NODE} has all-1g.10gb: {SMALL} 7"]
    at = [process.output.find(phase) for phase in phases]
    assert -1 not in at and at == sorted(at), process.output
    assert used.layouts() != ["off"]
    shown = person.show()
    assert (shown["layout"], shown["state"], shown["change"]) == ("all-1g.10gb", "success", "")

    code, told = person.apply("all-1g.10gb")
    assert code == 0 and "has all-1g.10gb already" in told
    code, told = person.apply("all-9g.10gb")
    assert code == 1 and "all-9g.10gb" in told and "not in force" in told


def test_ctrl_c_leaves_the_change_to_go_on(server, used, controller, tmp_path):  # noqa: F811
    process = Person(server, tmp_path).calls_apply("all-1g.10gb", "--accept-outage")
    wait_until(lambda: is_evicted(server, "train"), f"it is evicted: {controller.log}")
    process.signal(signal.SIGINT)
    assert process.wait() == 1
    assert "interrupted" in process.log and "the change goes on" in process.log
    assert f"kubectl label node {NODE} nvidia.com/mig.config-" in process.log
    end(server, used.here, "train")
    offer(server, NODE, **{GPU: 0, SMALL: 7})
    used.wait_state("success")
