"""docs/mig-manager.md, "A session": what a person sees who changes a node's layout. The commands
run on a real API server, with the agent, the controller, a kubelet stand-in and a simulated
machine, and their output is compared with the page and the picture. TRANCHE_WRITE_SESSION=1 writes
both again."""

import html
import importlib.util
import os
import re
import subprocess

from programs import ROOT, TRANCHE, Process, clean_environment, wait_until
from test_mig_change import MERGE, PODS, controller, end, is_evicted, offer, server, show  # noqa: F401
from test_mig_manager import Managed

NODE = "gpu-1"
PAGE = ROOT / "docs" / "mig-manager.md"
PICTURE = ROOT / "docs" / "images" / "mig-session.svg"
BLOCK = re.compile(r"(?<=<!-- the session -->\n```text\n).*?(?=```\n)", re.S)
BUDGET = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
OLD = {"nvidia.com/mig-3g.40gb": 1, "nvidia.com/mig-2g.20gb": 1, "nvidia.com/mig-1g.10gb": 2}


def tool():
    spec = importlib.util.spec_from_file_location("picture", ROOT / "tools" / "picture.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lasting(text: str) -> list:
    """The lines except those that depend on when the command looked."""
    phases = ("asking", "draining", "changing", "verifying", "undoing", "finished", "  held by", "  agent")
    return [line.rstrip() for line in text.splitlines() if not line.startswith(phases)]


def run_train(server, here) -> None:  # noqa: F811
    """A Pod of a ReplicaSet with a PodDisruptionBudget, which holds the largest instance."""
    resource = "nvidia.com/mig-3g.40gb"
    here.kubelet.run_pod("train", resource)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "train", "uid": "1", "controller": True}
    metadata = {"name": "train", "namespace": "default", "labels": {"app": "train"}, "ownerReferences": [owner]}
    container = {"name": "c", "image": "i", "resources": {"limits": {resource: "1"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    server.apply(pod | {"spec": {"nodeName": NODE, "containers": [container]}})
    ready = [{"type": "Ready", "status": "True"}]
    status = {"status": {"phase": "Running", "conditions": ready}}
    server.request("PATCH", f"{PODS}/train/status", status, kind=MERGE)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "train"}}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    server.apply(budget | {"metadata": {"name": "train", "namespace": "default"}})
    # As the disruption controller counts.
    counted = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1,
               "expectedPods": 1}
    server.request("PATCH", f"{BUDGET}/train/status", {"status": counted}, kind=MERGE)


class Session:
    """What a person types, and sees."""

    def __init__(self):
        self.text = ""

    def add(self, typed: str, output: str) -> None:
        self.text += f"$ {typed}\n{output}\n"


def on_the_node(here) -> str:
    """`tranche layout show` in the agent's container."""
    flags = [f"--host-root={here.host}"]
    done = subprocess.run([TRANCHE, "layout", "show", *flags], env=here.env, capture_output=True, text=True, check=True)
    return done.stdout


def hold(session: str) -> None:
    """Compares the session with the page and the picture, or writes them."""
    if os.environ.get("TRANCHE_WRITE_SESSION"):
        PAGE.write_text(BLOCK.sub(lambda _: session, PAGE.read_text()))
        runs = []
        for line in session.splitlines():
            bright = "1" if line.startswith(("$", "MIG layout", "draining", f"{NODE} has")) else ""
            runs.append([(line, "32" if line.startswith("$") else bright)] if line else [])
        PICTURE.write_text(tool().svg(runs, "A person changes a node's MIG layout"))
    shown = html.unescape(re.search(r"<desc>(.*?)</desc>", PICTURE.read_text(), re.S).group(1))
    again = "make it anew: TRANCHE_WRITE_SESSION=1 pytest tests/e2e/test_mig_session.py"
    assert lasting(BLOCK.search(PAGE.read_text()).group(0)) == lasting(session), again
    assert lasting(shown) == lasting(session), again


def test_the_session_of_the_page(server, node, controller, tmp_path):  # noqa: F811
    here = node("h100")
    managed = Managed(server, here, NODE, "--mig-ask-controller=true")
    show(server, NODE, **OLD)
    server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-2"}})
    show(server, "gpu-2", **OLD, **{"nvidia.com/gpu": 1})
    label = {"metadata": {"labels": {"nvidia.com/mig.config": "all-balanced"}}}
    server.request("PATCH", f"/api/v1/nodes/{NODE}?fieldManager=kubectl-label", label, kind=MERGE)
    managed.wait_state("success")
    here.kubelet.wait("nvidia.com/mig-3g.40gb", capacity=1, allocatable=1)
    wait_until(lambda: "unschedulable" not in managed.object()["spec"], "it takes Pods again")
    offer(server, NODE, **OLD)
    run_train(server, here)

    session = Session()
    session.add("tranche layout show", on_the_node(here))
    cluster = f"--kubeconfig={server.kubeconfig()}"
    typed = f"tranche layout apply --node {NODE} -c all-1g.10gb"
    process = Process([TRANCHE, *typed.split()[1:], cluster], tmp_path / "person", clean_environment())
    wait_until(lambda: "udget" in process.output or not process.running(), "the budget is named")
    assert process.running(), process.output + process.log
    server.request("DELETE", f"{BUDGET}/train")
    wait_until(lambda: is_evicted(server, "train"), f"it is evicted: {controller.log}")
    wait_until(lambda: "it is ending" in process.output, "the Pod is named")
    offer(server, NODE, **{"nvidia.com/mig-3g.40gb": 0, "nvidia.com/mig-2g.20gb": 0, "nvidia.com/mig-1g.10gb": 7})
    end(server, here, "train")
    assert process.wait() == 0, process.log
    session.add(typed, process.output)
    session.add("tranche layout show", on_the_node(here))
    assert "draining, 5m00s left" in session.text or "draining, 4m" in session.text
    hold(session.text.rstrip() + "\n")
