"""Feature labels by a real node feature discovery: the agent writes a NodeFeature, and its master
labels the Node."""

import json

import nfd
import pytest
from pods import Applied, wait_offer
from release import Release, label
from test_faults import sharing

MAP = "feature-configs"
NAMESPACE = "kube-system"
PRODUCT = "nvidia.com/gpu.product"
REPLICAS = "nvidia.com/gpu.replicas"
# From somebody else: one of them looks like ours.
THEIRS = {"example.com/theirs": "kept", "nvidia.com/theirs": "kept"}


@pytest.fixture(scope="module")
def lab(two_gpu_lab):
    return two_gpu_lab


@pytest.fixture
def master(lab, tmp_path):
    """Not running yet."""
    folder = nfd.built()
    if folder is None:
        pytest.skip("node feature discovery is not built: run lab/build/optional/build")
    return nfd.Master(lab, "l20", folder, tmp_path)


@pytest.fixture
def config(lab):
    """Name of a ConfigMap with the keys default (shared by two), four and whole; `default` asks for
    NodeFeature objects, as for NVIDIA's feature discovery."""
    default = {**json.loads(sharing(2)), "flags": {"useNodeFeatureAPI": True}}
    data = {"default": json.dumps(default), "four": sharing(4), "whole": json.dumps({"version": "v1"})}
    metadata = {"name": MAP, "namespace": NAMESPACE}
    lab.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
    yield MAP
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)


def feature(lab, node: str) -> dict | None:
    name = f"nvidia-features-for-{node}"
    options = ("--ignore-not-found", "--show-managed-fields", "-o", "json")
    text = lab.kubectl("get", "nodefeature", name, "-n", NAMESPACE, *options)
    return json.loads(text) if text else None


def labels(lab, node: str) -> dict:
    return lab.get("node", node)["metadata"]["labels"]


def kept_by_nfd(lab, node: str) -> dict:
    """The Node's labels that node feature discovery claims as its own."""
    metadata = lab.get("node", node)["metadata"]
    names = metadata.get("annotations", {}).get(nfd.KEPT, "").split(",")
    return {name: metadata["labels"].get(name) for name in names if name}


def follows(lab, node: str) -> bool:
    """The Node has the NodeFeature's labels, and no others from node feature discovery."""
    found = feature(lab, node)
    return found is not None and kept_by_nfd(lab, node) == found["spec"]["labels"]


def wait_labels(lab, node: str, **wanted: str) -> None:
    names = {"product": PRODUCT, "replicas": REPLICAS}

    def arrived() -> bool:
        now = labels(lab, node)
        return all(now.get(names[key]) == value for key, value in wanted.items()) and follows(lab, node)

    lab.wait(arrived, lambda: f"not {wanted}: {labels(lab, node)}, {feature(lab, node)}")


def wait_gone(lab, node: str) -> None:
    lab.wait(
        lambda: feature(lab, node) is None and not kept_by_nfd(lab, node),
        lambda: f"left: {feature(lab, node)}, {kept_by_nfd(lab, node)}",
    )
    assert PRODUCT not in labels(lab, node)


def test_labels_follow_the_node_feature(lab, master, config):
    lab.kubectl("label", "node", "t4", *(f"{name}={value}" for name, value in THEIRS.items()))
    with master:
        with Release(lab, f"config.name={config}", "gfd.enabled=true") as release:
            wait_labels(lab, "t4", product="Tesla-T4-SHARED", replicas="2")
            wait_labels(lab, "l20", product="NVIDIA-L20-SHARED", replicas="2")
            it_is_as_nvidias(lab, release)
            the_configuration_changes(lab)
            somebody_meddles(lab, product="Tesla-T4-SHARED", replicas="2")
            the_agent_is_replaced(lab, release)
            assert "ignoring label" not in master.log(), master.log()
        # Uninstalled without its hooks: the objects go with the DaemonSet that owns them.
        for node in ("l20", "t4"):
            wait_gone(lab, node)
            wait_offer(lab, node, 0)
        assert THEIRS.items() <= labels(lab, "t4").items()
    lab.kubectl("label", "node", "t4", *(f"{name}-" for name in THEIRS))


def it_is_as_nvidias(lab, release) -> None:
    """Metadata and place as NVIDIA's feature discovery writes them."""
    made = feature(lab, "t4")
    assert made["metadata"]["labels"] == {"nfd.node.kubernetes.io/node-name": "t4"}
    assert [one["manager"] for one in made["metadata"]["managedFields"]] == ["tranche-labels"]
    daemonset = lab.get("daemonset", release.name, "-n", NAMESPACE)
    pod = release.agents()["t4"]
    owners = {one["kind"]: one for one in made["metadata"]["ownerReferences"]}
    assert {kind: one["uid"] for kind, one in owners.items()} == {
        "DaemonSet": daemonset["metadata"]["uid"],
        "Pod": pod["metadata"]["uid"],
    }
    assert owners["DaemonSet"]["controller"] is True
    assert THEIRS.items() <= labels(lab, "t4").items()
    assert not THEIRS.keys() & kept_by_nfd(lab, "t4").keys()


def the_configuration_changes(lab) -> None:
    before = labels(lab, "l20")
    label(lab, "t4", "four")
    wait_labels(lab, "t4", product="Tesla-T4-SHARED", replicas="4")
    label(lab, "t4", "whole")
    wait_labels(lab, "t4", product="Tesla-T4", replicas="1")
    assert THEIRS.items() <= labels(lab, "t4").items()
    assert labels(lab, "l20") == before, "another node's are left alone"
    label(lab, "t4", "")
    wait_labels(lab, "t4", product="Tesla-T4-SHARED", replicas="2")


def somebody_meddles(lab, **wanted: str) -> None:
    """By changing the object or removing it: it is restored, and the Node follows."""
    name = "nvidia-features-for-t4"
    before = feature(lab, "t4")["metadata"]["uid"]
    patch = {"spec": {"labels": {REPLICAS: "77"}}}
    lab.kubectl("-n", NAMESPACE, "patch", "nodefeature", name, "--type=merge", "-p", json.dumps(patch))
    wait_labels(lab, "t4", **wanted)
    assert feature(lab, "t4")["metadata"]["uid"] == before
    lab.kubectl("-n", NAMESPACE, "delete", "nodefeature", name)
    wait_labels(lab, "t4", **wanted)
    assert feature(lab, "t4")["metadata"]["uid"] != before


def the_agent_is_replaced(lab, release) -> None:
    """As at an upgrade: the object stays, and belongs to the new Pod."""
    before = feature(lab, "t4")["metadata"]["uid"]
    lab.kubectl("-n", NAMESPACE, "delete", "pod", release.agents()["t4"]["metadata"]["name"], "--wait")

    def owner() -> list:
        uids = [one["uid"] for one in feature(lab, "t4")["metadata"]["ownerReferences"] if one["kind"] == "Pod"]
        return uids

    lab.wait(
        lambda: "t4" in release.agents() and owner() == [release.agents()["t4"]["metadata"]["uid"]],
        lambda: f"{owner()}, {release.log('t4')[-2000:]}",
    )
    assert feature(lab, "t4")["metadata"]["uid"] == before
    wait_labels(lab, "t4", product="Tesla-T4-SHARED", replicas="2")


def test_node_feature_discovery_that_comes_after_the_agent(lab, master, config):
    """`auto`, with the wish for NodeFeature objects in the configuration; uninstalled with its hooks."""
    values = ("gfd.enabled=true", "gfd.labelOutput=nodefeature")
    values += ("extraEnv[0].name=LABEL_OUTPUT", "extraEnv[0].value=auto")
    with Release(lab, f"config.name={config}", *values) as release:
        wait_offer(lab, "t4", 2)
        lab.wait(
            lambda: "install node feature discovery" in release.log("t4"), lambda: release.log("t4")[-2000:]
        )
        with master:
            wait_labels(lab, "t4", product="Tesla-T4-SHARED", replicas="2")
            release.uninstall()
            for node in ("l20", "t4"):
                wait_gone(lab, node)
    for node in ("l20", "t4"):
        wait_offer(lab, node, 0)


def feature_discovery() -> str:
    """gpu-feature-discovery as NVIDIA's chart runs it, with that chart's role: nothing may be
    patched."""
    name = "gpu-feature-discovery"
    rbac = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["nfd.k8s-sigs.io"],
            "resources": ["nodefeatures"],
            "verbs": ["get", "list", "watch", "create", "update"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]
    fields = {"NODE_NAME": "spec.nodeName", "NAMESPACE": "metadata.namespace", "POD_NAME": "metadata.name"}
    env = [
        {"name": one, "valueFrom": {"fieldRef": {"fieldPath": path}}} for one, path in fields.items()
    ]
    container = {
        "name": name,
        "image": "tranche:lab",
        "command": [name],
        "env": [*env, {"name": "GFD_SLEEP_INTERVAL", "value": "1s"}],
    }
    spec = {
        "serviceAccountName": name,
        "nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"},
        "containers": [container],
    }
    here = {"name": name, "namespace": NAMESPACE}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    items = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", **here}],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": here,
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        },
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_feature_discovery_under_nvidias_own_role(lab, master):
    with master:
        with Applied(lab, feature_discovery()):
            wait_labels(lab, "l20", product="NVIDIA-L20", replicas="1")
            wait_labels(lab, "t4", product="Tesla-T4", replicas="1")
            owners = [one["kind"] for one in feature(lab, "t4")["metadata"]["ownerReferences"]]
            assert owners == ["DaemonSet", "Pod"]
            somebody_meddles(lab, product="Tesla-T4", replicas="1")
        for node in ("l20", "t4"):
            wait_gone(lab, node)
