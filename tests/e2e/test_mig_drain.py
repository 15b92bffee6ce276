"""The controller's part of a change of a MIG layout, on a real API server: its answer, the cordon,
a PodDisruptionBudget that blocks and is relaxed, a Pod that ends, the uncordon; and pools of nodes
that get a layout, fail and roll back. The test stands in for the agent
(src/kubernetes/cluster/formats/mig_change.h)."""

import datetime
import json
import sys

import pytest

from programs import ROOT, TRANCHE, Process, clean_environment, wait_until

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import ApiServer, running_server  # noqa: E402

NODE = "/api/v1/nodes/gpu-1"
PODS = "/api/v1/namespaces/shop/pods"
BUDGETS = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
MERGE = "application/merge-patch+json"
CHANGE, DRAIN = "tranche.dev/mig-change", "tranche.dev/mig-drain"


def time(later: float = 0) -> str:
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=later)
    return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Cluster:
    """gpu-1, whose four GPUs become 28 instances, and gpu-2 with four GPUs."""

    def __init__(self, server: ApiServer):
        self.server = server
        for name in ("tranche", "shop"):
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        server.apply({**account, "metadata": {"name": "default", "namespace": "shop"}})
        for name in ("gpu-1", "gpu-2"):
            server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
            path = f"/api/v1/nodes/{name}"
            # The API server's taint on a new Node until a controller has seen it Ready.
            self.patch(path, {"spec": {"taints": []}})
            amounts = {"nvidia.com/gpu": "4", "pods": "110"}
            ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
            status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
            self.patch(path + "/status", {"status": status})

    def patch(self, path: str, change: dict) -> dict:
        return self.server.request("PATCH", path, change, kind=MERGE)

    def node(self) -> dict:
        return self.server.request("GET", NODE)

    def run(self, name: str) -> None:
        """A running Pod of gpu-1, as kubelet would report it."""
        container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        labels = {"app": name}
        self.server.apply(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "shop", "labels": labels},
                "spec": {"nodeName": "gpu-1", "containers": [container]},
            }
        )
        ready = {"type": "Ready", "status": "True"}
        self.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": [ready]}})

    def pod(self, name: str) -> dict:
        return self.server.request("GET", f"{PODS}/{name}")

    def ended(self, name: str) -> None:
        """What kubelet does when the containers have stopped."""
        self.server.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")

    def budget(self, allowed: int) -> None:
        """A PodDisruptionBudget as its controller would have counted it."""
        spec = {"maxUnavailable": allowed, "selector": {"matchLabels": {"app": "web"}}}
        made = self.server.apply(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": spec,
            }
        )
        status = {
            "observedGeneration": made["metadata"]["generation"],
            "disruptionsAllowed": allowed,
            "currentHealthy": 1,
            "desiredHealthy": 1 - allowed,
            "expectedPods": 1,
        }
        self.patch(f"{BUDGETS}/web/status", {"status": status})

    def say(self, phase: str, pods: tuple = (), **more) -> None:
        """As the agent: label and annotation in one write, through the Node's status."""
        change = {
            "version": "mig-change/v1",
            "id": "c-1",
            "layout": "all-1g.10gb",
            "phase": phase,
            "writtenAt": time(),
            "deadline": time(300),
            "failed": False,
            "before": {"nvidia.com/gpu": 4},
            "after": {"nvidia.com/mig-1g.10gb": 28},
            "pods": [{"namespace": "shop", "name": name} for name in pods],
            "journal": "",
        } | more
        metadata = {"labels": {CHANGE: "open"}, "annotations": {CHANGE: json.dumps(change)}}
        self.patch(NODE + "/status", {"metadata": metadata})

    def offer(self, **amounts: str) -> None:
        """Kubelet's update of gpu-1 at the API server, up to ten seconds after the hardware."""
        allocatable = {f"nvidia.com/{name.replace('_', '.')}": amount for name, amount in amounts.items()}
        self.patch(NODE + "/status", {"status": {"capacity": allocatable, "allocatable": allocatable}})

    def answer(self) -> dict:
        return json.loads(self.node()["metadata"].get("annotations", {}).get(DRAIN, "{}"))

    def events(self, namespace: str) -> list[dict]:
        return self.server.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")["items"]

    def reasons(self, namespace: str) -> list[str]:
        return [event["reason"] for event in self.events(namespace)]


@pytest.fixture
def cluster(tmp_path):
    with running_server(tmp_path) as server:
        yield Cluster(server)


@pytest.fixture
def controller(cluster, tmp_path):
    kubeconfig = cluster.server.kubeconfig()
    flags = ("--namespace=tranche", "--leader-elect", f"--kubeconfig={kubeconfig}")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    cluster.server.apply({**lease, "metadata": {"name": "tranche-controller", "namespace": "tranche"}})

    def start(*work: str) -> Process:
        log = tmp_path / f"controller-{len(started)}.log"
        started.append(Process([TRANCHE, "controller", *flags, *work], log, clean_environment()))
        return started[-1]

    started = []
    yield start
    for process in started:
        process.kill()


def test_a_change_is_drained_past_a_budget_and_uncordoned(cluster, controller):
    cluster.run("web")
    cluster.run("neighbour")
    cluster.budget(0)
    first = controller("--mig-changes")
    cluster.say("asking", ("web",))
    wait_until(lambda: cluster.answer().get("answer") == "accepted", "the controller answers")
    assert "unschedulable" not in cluster.node()["spec"]

    cluster.say("draining", ("web",))
    wait_until(lambda: cluster.answer()["blocked"], "the budget blocks")
    assert cluster.node()["spec"]["unschedulable"] is True
    assert cluster.node()["metadata"]["annotations"]["tranche.dev/mig-cordoned"] == "c-1"
    (blocked,) = cluster.answer()["blocked"]
    assert (blocked["namespace"], blocked["name"]) == ("shop", "web")
    assert blocked["why"].startswith("PodDisruptionBudget shop/web allows no eviction now: it ")
    assert blocked["since"]
    assert cluster.reasons("shop").count("MigEvictionBlocked") == 1

    notes = [event["note"] for event in cluster.events("shop") if event["reason"] == "MigEvictionBlocked"]
    assert "PodDisruptionBudget shop/web" in notes[0] and "it is tried again until " in notes[0]

    # Another controller continues where this one ends.
    assert first.stop() == 0, first.log
    controller("--mig-changes")
    cluster.budget(1)
    wait_until(lambda: cluster.pod("web")["metadata"].get("deletionTimestamp"), "it is evicted")
    wait_until(lambda: cluster.answer()["blocked"][0]["why"] == "it is ending", "and it is said")
    cluster.ended("web")
    cluster.say("draining")
    wait_until(lambda: not cluster.answer()["blocked"], "nobody is left")
    assert "deletionTimestamp" not in cluster.pod("neighbour")["metadata"]

    cluster.say("changing")
    cluster.say("finished")
    # The scheduler goes by what the Node offers: Pods would be bound to GPUs that are gone.
    wait_until(lambda: cluster.answer()["cordoned"], "the controller has looked")
    assert cluster.node()["spec"]["unschedulable"] is True
    cluster.offer(gpu="0", **{"mig-1g_10gb": "28"})
    wait_until(lambda: cluster.answer()["uncordoned"], "it is uncordoned")
    assert "unschedulable" not in cluster.node()["spec"]
    assert "tranche.dev/mig-cordoned" not in cluster.node()["metadata"]["annotations"]

    gone = {"labels": {CHANGE: None}, "annotations": {CHANGE: None}}
    cluster.patch(NODE + "/status", {"metadata": gone})
    wait_until(lambda: not cluster.answer(), "nothing is left behind")
    assert {"MigChangeAnnounced", "MigUncordoned"} <= set(cluster.reasons("default"))
    assert "MigEviction" in cluster.reasons("shop")
    assert cluster.reasons("shop").count("MigEvictionBlocked") == 1


def test_an_outage_waits_for_a_person(cluster, controller):
    cluster.patch("/api/v1/nodes/gpu-2", {"spec": {"unschedulable": True}})
    controller("--mig-changes")
    cluster.say("asking")
    wait_until(lambda: cluster.answer().get("answer") == "refused", "the outage is refused")
    assert cluster.answer()["outages"] == ["nvidia.com/gpu"]
    # The reason has the command that accepts it.
    key, value = cluster.answer()["reason"].split(" --overwrite")[0].split(" ")[-1].split("=")
    cluster.patch(NODE, {"metadata": {"annotations": {key: value}}})
    wait_until(lambda: cluster.answer()["answer"] == "accepted", "it is accepted")
    assert "MigChangeRefused" in cluster.reasons("default")


LABEL, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
POOLS = """\
pools:
- name: a100
  nodeSelector: {pool: a100}
  layout: LAYOUT
  onFailure: rollBack
"""


def fnv(text: str) -> str:
    """The checksum of our stored texts (base/checksum.h)."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % (1 << 64)
    return f"{value:016x}"


def config_map(name: str, **data: str) -> dict:
    metadata = {"name": name, "namespace": "tranche"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


class Nodes:
    """gpu-1 and gpu-2 as a pool, gpu-3 in it with a label that a person set."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster
        cluster.server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-3"}})
        ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
        cluster.patch("/api/v1/nodes/gpu-3/status", {"status": {"conditions": [ready]}})
        for name in ("gpu-1", "gpu-2", "gpu-3"):
            self.label(name, pool="a100", **({LABEL: "theirs"} if name == "gpu-3" else {}))
        cluster.server.apply(config_map("pools-status"))

    def label(self, name: str, **labels: str) -> None:
        self.cluster.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}})

    def say(self, name: str, state: str) -> None:
        """As the agent: state and annotation in one write."""
        node = self.cluster.server.request("GET", f"/api/v1/nodes/{name}")
        outcome = {
            "label": node["metadata"]["labels"].get(LABEL, ""),
            "wish": "w",
            "trouble": "" if state == "success" else "NVML: in use",
            "boot": "b",
            "told": True,
            "accepted": False,
        }
        content = json.dumps(outcome, sort_keys=True, separators=(",", ":"))
        text = json.dumps({"checksum": fnv(content), "outcome": outcome, "version": "mig-applied/v1"})
        metadata = {"labels": {STATE: state}, "annotations": {"tranche.dev/mig-applied": text}}
        self.cluster.patch(f"/api/v1/nodes/{name}", {"metadata": metadata})

    def has(self, name: str, layout: str | None):
        node = self.cluster.server.request("GET", f"/api/v1/nodes/{name}")
        return node["metadata"]["labels"].get(LABEL) == layout

    def want(self, layout: str) -> None:
        text = POOLS.replace("LAYOUT", layout)
        self.cluster.server.apply(config_map("pools", **{"pools.yaml": text}))

    def status(self) -> str:
        path = "/api/v1/namespaces/tranche/configmaps/pools-status"
        return self.cluster.server.request("GET", path).get("data", {}).get("a100", "")


def test_a_pool_gets_its_layout_and_rolls_back(cluster, controller):
    nodes = Nodes(cluster)
    nodes.want("one")
    controller("--mig-pools=pools")
    for number, name in enumerate(("gpu-1", "gpu-2")):
        wait_until(lambda: nodes.has(name, "one"), f"{name} gets the layout")
        wait_until(lambda: f"{number} of 3 nodes have one; now {name}" in nodes.status(), "it is said")
        # The state alone may be an earlier layout's.
        nodes.label(name, **{STATE: "success"})
        nodes.say(name, "success")
    wait_until(lambda: nodes.status().startswith("done: 2 of 3"), "the pool is done")
    assert "left alone: gpu-3" in nodes.status()

    nodes.want("two")
    wait_until(lambda: nodes.has("gpu-1", "two"), "another layout begins")
    nodes.say("gpu-1", "success")
    wait_until(lambda: nodes.has("gpu-2", "two"), "the next node")
    nodes.say("gpu-2", "failed")
    for name in ("gpu-1", "gpu-2"):
        wait_until(lambda: nodes.has(name, "one"), f"{name} goes back")
        nodes.say(name, "success")
    wait_until(lambda: nodes.status().startswith("rolled back"), "all are back")
    assert nodes.has("gpu-3", "theirs")
    wait_until(lambda: "MigPoolRolledBack" in cluster.reasons("tranche"), "it is told")
