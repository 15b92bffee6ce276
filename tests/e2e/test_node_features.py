"""NodeFeature objects on a real API server, with only the rights that NVIDIA's chart gives its
feature discovery. Skipped where the lab's programs are not built (lab/build/build)."""

import sys

import pytest

from node import Node, sharing
from programs import ROOT, Process, wait_until

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import Refused, running_server  # noqa: E402
from node_features import NODE_FEATURES  # noqa: E402

NS = "gpu"
ACCOUNT = "nvidia-device-plugin-service-account"
NAME = "nvidia-features-for-n1"
PRODUCT = "nvidia.com/gpu.product"
OBJECT = {
    "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
    "kind": "NodeFeature",
    "metadata": {"name": NAME, "namespace": NS},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": NS,
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "of-d", "controller": True}
        ],
    },
    "spec": {"serviceAccountName": ACCOUNT, "containers": [{"name": "c", "image": "none"}]},
}


def rbac(kind: str, **more) -> dict:
    named = {"name": "nvidia-device-plugin"}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": named, **more}


# The rules of NVIDIA's chart v0.20 with gfd.enabled=true.
RULES = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    {
        "apiGroups": ["nfd.k8s-sigs.io"],
        "resources": ["nodefeatures"],
        "verbs": ["get", "list", "watch", "create", "update"],
    },
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
        account = {"name": ACCOUNT, "namespace": NS}
        server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "nvidia-device-plugin"}
        server.apply(rbac("ClusterRole", rules=RULES))
        server.apply(rbac("ClusterRoleBinding", roleRef=role, subjects=[{"kind": "ServiceAccount", **account}]))
        server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        server.apply(POD)
        server.apply(NODE_FEATURES)
        objects = f"/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/{NS}/nodefeatures"
        server.wait(lambda: server.request("GET", objects), "NodeFeatures are served")
        yield server


@pytest.fixture
def there(server, node):
    """A node whose programs speak to the server with the account's token."""
    here = node("l20")
    here.env["KUBECONFIG"] = str(server.kubeconfig(server.token(NS, ACCOUNT)))
    here.env.update({"NODE_NAME": "n1", "NAMESPACE": NS, "POD_NAME": "p"})
    yield here
    here.end_programs()
    if feature(server) is not None:
        server.request("DELETE", server.path(OBJECT))


def feature(server) -> dict | None:
    try:
        return server.request("GET", server.path(OBJECT))
    except Refused as refused:
        assert refused.status == 404, refused
        return None


def product(server) -> str | None:
    found = feature(server)
    return found and found["spec"]["labels"].get(PRODUCT)


def discovery(here: Node, config: str | None = None) -> Process:
    """One run of gpu-feature-discovery that ends well."""
    arguments = ["--oneshot", f"--host-root={here.host}"]
    if config is not None:
        here.write(config)
        arguments.append(f"--config-file={here.config}")
    run = here.start(*arguments, argv0="gpu-feature-discovery")
    assert run.wait() == 0, run.log
    return run


def owners(server) -> list:
    return [(one["kind"], one["name"]) for one in feature(server)["metadata"]["ownerReferences"]]


def test_feature_discovery_needs_no_more_than_nvidias_role(server, there):
    discovery(there)
    assert product(server) == "NVIDIA-L20"
    assert owners(server) == [("DaemonSet", "d"), ("Pod", "p")]
    discovery(there, sharing(4))
    assert product(server) == "NVIDIA-L20-SHARED"


def test_what_others_wrote_beside_the_labels_stays(server, there):
    """All labels of the object are the feature discovery's; the rest is not."""
    theirs = {"name": NAME, "namespace": NS, "annotations": {"example.com/a": "kept"}, "labels": {"team": "x"}}
    spec = {"labels": {"nvidia.com/stale": "true"}, "features": {"flags": {"f": {"elements": {"e": {}}}}}}
    server.apply({**OBJECT, "metadata": theirs, "spec": spec})
    discovery(there)
    made = feature(server)
    assert made["metadata"]["annotations"] == {"example.com/a": "kept"}
    assert made["metadata"]["labels"] == {"team": "x", "nfd.node.kubernetes.io/node-name": "n1"}
    assert made["spec"]["features"]["flags"] == spec["features"]["flags"]
    assert "nvidia.com/stale" not in made["spec"]["labels"]
    assert product(server) == "NVIDIA-L20"


def test_nothing_is_written_where_nothing_differs(server, there):
    flags = {"version": "v1", "flags": {"gfd": {"noTimestamp": True}}}
    discovery(there, flags)
    before = feature(server)["metadata"]["resourceVersion"]
    discovery(there, flags)
    assert feature(server)["metadata"]["resourceVersion"] == before


def test_an_agent_needs_no_more_than_nvidias_role(server, there):
    agent = there.agent("--label-output=nodefeature", labels="true", config=sharing(2))
    wait_until(lambda: product(server) == "NVIDIA-L20-SHARED", "the labels are written")
    there.write(sharing(2, renameByDefault=True))
    wait_until(lambda: product(server) == "NVIDIA-L20", "they follow the configuration")
    server.request("DELETE", server.path(OBJECT))
    wait_until(lambda: product(server) == "NVIDIA-L20", "they are put back")
    assert owners(server) == [("DaemonSet", "d"), ("Pod", "p")]
    assert "forbidden" not in agent.log, agent.log
