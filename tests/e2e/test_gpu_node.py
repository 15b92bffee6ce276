"""GPUNode on a real API server, with the rights and under the admission policy that the chart gives. Skipped where the
lab's programs are not built (lab/build/build)."""

import json
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from claims import DRIVER, Claims
from node import GPU, Node, sharing
from programs import DEADLINE, ROOT, TRANCHE, Process, clean_environment, wait_until
from test_health import first_xid
from test_schemas import closed

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import Refused, running_server  # noqa: E402
from helm import Helm, find_helm  # noqa: E402
from kubectl import Kubectl  # noqa: E402

NS, ACCOUNT = "tranche", "gpu-tranche-agent"
OBJECTS = "/apis/tranche.dev/v1alpha1/gpunodes"
KINDS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ValidatingAdmissionPolicy")
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "gpu-node-v1alpha1.schema.json").read_text())
# As long as names of clouds' nodes.
LONG = "gke-training-a100-80gb-pool-1a2b3c4d-x7f2"


def pod(node: str) -> dict:
    spec = {"nodeName": node, "serviceAccountName": ACCOUNT, "containers": [{"name": "agent", "image": "none"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"agent-{node}", "namespace": NS}, "spec": spec}


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm: lab/build/build makes one")
    return Helm(find_helm(), tmp_path_factory.mktemp("helm")).template({}, namespace=NS)


@pytest.fixture(scope="module")
def server(tmp_path_factory, rendered):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
        server.apply(rendered.one("CustomResourceDefinition"))
        for item in rendered.objects:
            own = item["metadata"]["name"] != "gpu-tranche-cleanup"
            if own and item["kind"].startswith(KINDS):
                server.apply(item)
        server.wait(lambda: server.request("GET", OBJECTS)["kind"] == "GPUNodeList", "GPUNodes are served")
        for name in ("n1", "n2", LONG):
            server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
            server.apply(pod(name))
        token = server.token(NS, ACCOUNT, server.request("GET", server.path(pod("n1"))))
        stranger = {"apiVersion": "tranche.dev/v1alpha1", "kind": "GPUNode", "metadata": {"name": "stranger"}}

        def in_force() -> bool:
            try:
                server.request("POST", f"{OBJECTS}?dryRun=All", stranger, token=token)
            except Refused as refused:
                return "own node only" in refused.message
            return False

        server.wait(in_force, "the policy is in force")
        yield server


class Place:
    """A node of the cluster. Its programs have the token that kubelet would mount into the agent's Pod."""

    def __init__(self, server, here: Node, name: str):
        self.server, self.here, self.name = server, here, name
        self.token = server.token(NS, ACCOUNT, server.request("GET", server.path(pod(name))))
        self.environment = {"KUBECONFIG": server.kubeconfig(self.token), "NODE_NAME": name}

    def agent(self, *arguments: object, **more) -> Process:
        env = {**self.environment, **more.pop("env", {})}
        return self.here.agent("--gpu-node", "--machine-interval=100ms", *arguments, env=env, **more)

    def object(self) -> dict | None:
        try:
            return self.server.request("GET", f"{OBJECTS}/{self.name}")
        except Refused as refused:
            assert refused.status == 404, refused
            return None

    def status(self) -> dict:
        return (self.object() or {}).get("status", {})

    def wait(self, condition, what: str):
        return wait_until(lambda: condition(self.status()), what)


@pytest.fixture
def place(server, node):
    places = []

    def make(name: str = "n1", machine: str = "l20") -> Place:
        places.append(Place(server, node(machine), name))
        return places[-1]

    yield make
    for one in places:
        one.here.end_programs()
        if one.object() is not None:
            server.request("DELETE", f"{OBJECTS}/{one.name}")


def test_what_a_node_has_offers_and_who_holds_it(server, place):
    there = place()
    there.agent(config=sharing(4))
    status = there.wait(lambda now: now, "the status")
    made = there.object()
    Draft202012Validator(closed(SCHEMA["properties"]["status"]) | {"$defs": SCHEMA["$defs"]}).validate(status)
    node = server.request("GET", "/api/v1/nodes/n1")
    assert [(one["kind"], one["uid"]) for one in made["metadata"]["ownerReferences"]] == [
        ("Node", node["metadata"]["uid"])
    ]
    assert [gpu["uuid"] for gpu in status["gpus"]] == there.here.uuids()
    assert status["mode"] == "device-plugin"
    [offered] = status["resources"]
    assert (offered["name"], offered["sharing"], offered["healthy"]) == (GPU, "time-slicing", 4)
    assert status["holdings"] == []

    there.here.kubelet.wait(GPU, allocatable=4)
    there.here.kubelet.admit("a", {GPU: 1})
    [held] = there.wait(lambda now: now["holdings"], "the holding")
    assert held["device"] == there.here.uuids()[0]
    assert (held["wire"], held["use"], held["pod"]) == ("device-plugin", "time-sliced", "a")
    assert there.status()["summary"]["use"] == "1/4"


def test_nothing_is_written_while_nothing_changes(place):
    there = place()
    agent = there.agent()
    there.wait(lambda now: now, "the status")
    before = there.object()["metadata"]["resourceVersion"]
    assert agent.stop() == 0
    assert there.object(), "what containers hold does not end with the agent"
    there.agent()
    there.here.kubelet.wait(GPU, allocatable=1)
    # The next change is the next write.
    first_xid(there.here, 0, 79, allocatable=0)
    versions = []

    def is_written() -> bool:
        made = there.object()
        versions.append(made["metadata"]["resourceVersion"])
        return "unhealthy" in made["status"]["gpus"][0]

    wait_until(is_written, "the GPU is unhealthy")
    assert set(versions) <= {before, versions[-1]}


def test_a_broken_gpu_is_told(place):
    there = place()
    there.agent()
    there.wait(lambda now: now, "the status")
    there.here.kubelet.wait(GPU, allocatable=1)
    first_xid(there.here, 0, 79, allocatable=0)
    there.wait(lambda now: "79" in now["gpus"][0].get("unhealthy", ""), "the GPU is unhealthy")
    assert there.status()["summary"]["health"] == "0/1"
    assert there.status()["resources"][0]["unhealthy"] == 1


def test_in_mode_dra_it_tells_the_claims(server, node):
    """As the administrator of the cluster, who is not bound by the policy."""
    claims = Claims(server, node("l20"), "of-claims")
    claims.agent("--gpu-node", config={"version": "v1"})
    claims.wait_taints()
    claim = claims.allocate_whole("whole")
    claims.prepare(claim)

    def status() -> dict:
        items = server.request("GET", OBJECTS)["items"]
        [found] = [one["status"] for one in items if one["metadata"]["name"] == "of-claims"] or [{}]
        return found

    server.wait(lambda: status().get("holdings"), "the holding")
    now = status()
    assert now["mode"] == "dra"
    [offered] = now["resources"]
    assert (offered["name"], offered["sharing"], offered["tranches"]) == (DRIVER, "claims", 1)
    [held] = now["holdings"]
    assert (held["wire"], held["namespace"], held["claim"], held["request"]) == ("claim", "default", "whole", "gpu")
    assert held["device"] == now["gpus"][0]["uuid"]
    claims.unprepare(claim)
    server.wait(lambda: not status()["holdings"], "nobody holds it")
    claims.forget(claim)
    server.request("DELETE", f"{OBJECTS}/of-claims")


def test_an_agent_writes_its_own_nodes_only(server, place):
    there, other = place("n1"), place("n2", "t4")
    there.agent()
    there.wait(lambda now: now, "the status")
    for subresource in ("", "/status"):
        with pytest.raises(Refused, match="own node only.*token is of n2.*GPUNode is n1"):
            server.request(
                "PATCH",
                f"{OBJECTS}/n1{subresource}",
                {"metadata": {"labels": {"a": "b"}}, "status": {"mode": "dra"}},
                token=other.token,
                kind="application/merge-patch+json",
            )
    with pytest.raises(Refused, match="own node only"):
        server.request("DELETE", f"{OBJECTS}/n1", token=other.token)
    made = {"apiVersion": "tranche.dev/v1alpha1", "kind": "GPUNode", "metadata": {"name": "n3"}}
    with pytest.raises(Refused, match="own node only"):
        server.request("POST", OBJECTS, made, token=other.token)
    # The agent keeps running when its API server says so.
    liar = other.agent(env={"NODE_NAME": "n1"})
    liar.wait_log("GPUNode n1 is not written: .*own node only")
    other.here.kubelet.wait(GPU, allocatable=1)


def test_the_list_fits_a_terminal(server, place):
    there = place(LONG, "a100-80gb-x8")
    there.agent()
    there.wait(lambda now: now, "the status")
    kubectl = Kubectl(server, "default")
    done = kubectl("get", "gn")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["NAME", "MODE", "GPUS", "MODEL", "HEALTHY", "HELD", "AGE"], done.stderr
    assert lines[1].split()[:6] == [LONG, "device-plugin", "8", "A100-SXM4-80GB", "8/8", "0/8"]
    assert max(map(len, lines)) <= 120, done.stdout
    wide = kubectl("get", "gpunodes", "-o", "wide").stdout
    assert wide.splitlines()[0].split()[7:] == ["DRIVER", "CUDA", "WITHHELD", "REASON"]


def test_the_cleanup_removes_it(place):
    there = place()
    agent = there.agent()
    there.wait(lambda now: now, "the status")
    assert agent.stop() == 0
    done = subprocess.run(
        [TRANCHE, "cleanup", "--gpu-node", *there.here.places()[:2], f"--cdi-root={there.here.cdi}"],
        env=clean_environment(**there.environment),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    assert "removed GPUNode n1" in done.stderr
    assert there.object() is None


# Last: it removes the kind.
def test_without_the_kind_the_agent_does_the_rest(server, rendered, place):
    there = place()
    server.request("DELETE", server.path(rendered.one("CustomResourceDefinition")))

    def gone() -> bool:
        try:
            server.request("GET", OBJECTS)
        except Refused as refused:
            return refused.status == 404
        return False

    server.wait(gone, "the kind is gone")
    agent = there.agent()
    agent.wait_log("GPUNode n1 is not written: the cluster has no kind gpunodes.tranche.dev")
    there.here.kubelet.wait(GPU, allocatable=1)
    assert agent.log.count("is not written") == 1
