"""A label changes the MIG layout of a node in use: the agent and the controller together, on a real
API server, with a kubelet stand-in and a simulated machine. The test stands in for kubelet at the
API server: it shows the node's resources there, and ends evicted Pods."""

import sys

import pytest

from node import GPU
from programs import ROOT, TRANCHE, Process, clean_environment, wait_until
from test_mig_manager import Managed

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

MERGE = "application/merge-patch+json"
SMALL = "nvidia.com/mig-1g.10gb"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def server(tmp_path):
    with running_server(tmp_path) as server:
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        server.apply({**account, "metadata": {"name": "default", "namespace": "default"}})
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tranche"}})
        yield server


@pytest.fixture
def controller(server, tmp_path):
    flags = ("--namespace=tranche", "--mig-changes", f"--kubeconfig={server.kubeconfig()}")
    process = Process([TRANCHE, "controller", *flags], tmp_path / "controller", clean_environment())
    yield process
    process.kill()


def show(server, name: str, **resources: int) -> None:
    """The Node's status as kubelet would write it."""
    path = f"/api/v1/nodes/{name}"
    server.request("PATCH", path, {"spec": {"taints": []}}, kind=MERGE)
    amounts = {key: str(amount) for key, amount in resources.items()} | {"pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    server.request("PATCH", path + "/status", {"status": status}, kind=MERGE)


def offer(server, name: str, **resources: int) -> None:
    """Kubelet's update of its devices at the API server, up to ten seconds after the hardware."""
    amounts = {key: str(amount) for key, amount in resources.items()}
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    server.request("PATCH", f"/api/v1/nodes/{name}/status", status, kind=MERGE)


def run(server, here, name: str) -> None:
    """A Pod that holds the GPU, for the API server and for kubelet."""
    here.kubelet.run_pod(name, GPU)
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: "1"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}}
    server.apply(pod | {"spec": {"nodeName": "used", "containers": [container]}})
    server.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running"}}, kind=MERGE)


def is_evicted(server, name: str) -> bool:
    return "deletionTimestamp" in server.request("GET", f"{PODS}/{name}")["metadata"]


def end(server, here, name: str) -> None:
    here.kubelet.ask("remove", pod=name)
    server.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")


def reasons(server) -> list[str]:
    events = server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    return [event["reason"] for event in events["items"]]


def test_a_node_in_use_gets_another_layout(server, node, controller):
    here = node("h100")
    managed = Managed(server, here, "used", "--mig-ask-controller=true")
    here.kubelet.wait(GPU, capacity=1, allocatable=1)
    show(server, "used", **{GPU: 1})
    run(server, here, "train")

    # It is the only node with a whole GPU: a person must accept that.
    managed.wish("all-1g.10gb")
    managed.wait_state("failed")
    assert "kubectl annotate node used" in managed.condition()["message"]
    assert not is_evicted(server, "train")
    accept = {"metadata": {"annotations": {"tranche.dev/mig-accept-outage": "all-1g.10gb"}}}
    server.request("PATCH", "/api/v1/nodes/used", accept, kind=MERGE)

    wait_until(lambda: is_evicted(server, "train"), f"it is evicted: {controller.log}")
    assert managed.object()["spec"]["unschedulable"] is True
    assert managed.layouts() == ["off"], "nothing is touched while the Pod holds the GPU"
    end(server, here, "train")
    managed.reported("MigChanged")
    here.kubelet.wait(SMALL, capacity=7)
    # The scheduler would bind Pods to the GPU that has left: the API server does not know yet.
    assert managed.object()["spec"]["unschedulable"] is True and managed.state() == "pending"
    offer(server, "used", **{GPU: 0, SMALL: 7})
    managed.wait_state("success")
    wait_until(lambda: "unschedulable" not in managed.object()["spec"], "it takes Pods again")
    told = ("mig-drain", "mig-cordoned", "mig-change")
    wait_until(
        lambda: not {f"tranche.dev/{one}" for one in told} & set(managed.object()["metadata"]["annotations"]),
        "nothing is left behind",
    )
    wanted = {"MigChangeRefused", "MigChangeAnnounced", "MigEviction", "MigUncordoned"}
    wait_until(lambda: wanted <= set(reasons(server)), "all of it was told")
