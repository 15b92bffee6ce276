"""The rights of the controller's token, tried on a real API server with a real token: whose Pods it
evicts, in whose name it records Events, what it reads."""

import pytest
from api_server import Refused
from helm import Helm, find_helm
from modes import EVICT, MODES

NAME = "gpu-tranche-controller"
NAMESPACE = "tranche"
NEW = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "uid-gone"}
EVERYWHERE = ("shop", "kube-system", NAMESPACE)


def pod(namespace: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": namespace},
        # Bound to a node, so that its eviction is not a mere deletion.
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    }


@pytest.fixture(scope="module")
def token(server, tmp_path_factory):
    """The chart's controller with all its possible rights, and a Pod `p` in each namespace."""
    if find_helm() is None:
        pytest.skip("no helm")
    helm = Helm(find_helm(), tmp_path_factory.mktemp("helm"))
    values = {"config": {"map": {"default": EVICT}}} | MODES["mig-pools"]
    evicts = helm.template(values, namespace=NAMESPACE)
    follows = helm.template({"clusterPolicy": {"enabled": True}}, namespace=NAMESPACE)
    evicts.one("ClusterRole", NAME)["rules"] += follows.one("ClusterRole", NAME)["rules"]
    kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")
    kinds += ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    made = [server.apply(o) for o in evicts.objects if o["kind"] in kinds and o["metadata"]["name"] == NAME]
    assert len(made) == len(kinds)
    for namespace in EVERYWHERE:
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        server.apply({**account, "metadata": {"name": "default", "namespace": namespace}})
        made.append(server.apply(pod(namespace)))
    token = server.token(NAMESPACE, NAME)

    def refused():
        try:
            evict(server, token, "kube-system", dry_run=True)
        except Refused as error:
            return "may not evict" in error.message
        return False

    server.wait(refused, "the policy is in force")
    # Not that of an earlier test, which knows no pools.
    probe = server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "probe"}})
    server.wait(lambda: patch(server, server.path(probe), annotations(mig_pool="{}"), token), "this one")
    made.append(probe)
    yield token
    for item in reversed(made):
        try:
            server.request("DELETE", server.path(item) + "?gracePeriodSeconds=0")
        except Refused as error:
            assert error.status == 404


def evict(server, token, namespace, dry_run=False, **options):
    live = server.request("GET", f"/api/v1/namespaces/{namespace}/pods/p")
    options = options or {"preconditions": {"uid": live["metadata"]["uid"]}}
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": namespace},
        "deleteOptions": options | ({"dryRun": ["All"]} if dry_run else {}),
    }
    query = "?dryRun=All" if dry_run else ""
    return server.request("POST", f"/api/v1/namespaces/{namespace}/pods/p/eviction{query}", body, token=token)


def test_it_evicts_a_pod_that_it_names(server, token):
    evict(server, token, "shop", dry_run=True)


@pytest.mark.parametrize("namespace", ["kube-system", NAMESPACE])
def test_it_spares_kubernetes_and_its_own(server, token, namespace):
    with pytest.raises(Refused, match=f"may not evict Pods of namespace {namespace}"):
        evict(server, token, namespace, dry_run=True)
    evict(server, "admin-of-a-test", namespace, dry_run=True)  # others are not held by it


@pytest.mark.parametrize(
    "options",
    [{"orphanDependents": False}, {"preconditions": {"uid": "u"}, "gracePeriodSeconds": 0}],
    ids=["whichever has that name", "at once"],
)
def test_it_evicts_no_other_way(server, token, options):
    with pytest.raises(Refused, match="names by uid, and with that Pod's own grace period"):
        evict(server, token, "shop", dry_run=True, **options)


EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


def event(controller="tranche.dev/controller", kind="Pod") -> dict:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "probe-", "namespace": "shop"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": controller,
        "reportingInstance": "c",
        "action": "Evict",
        "reason": "Probe",
        "regarding": {"apiVersion": "v1", "kind": kind, "namespace": "shop", "name": "p"},
        "note": "n",
        "type": "Normal",
    }


def test_its_events_are_in_its_own_name_and_about_what_it_does(server, token):
    path = f"{EVENTS}?dryRun=All"
    assert server.request("POST", path, event(), token=token)
    for other in (event(controller="kubelet"), event(kind="Secret")):
        with pytest.raises(Refused, match="about Pods, Nodes, ClusterPolicies and ConfigMaps only"):
            server.request("POST", path, other, token=token)


@pytest.fixture
def node(server):
    made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1", "labels": {"a": "b"}}}
    server.apply(made)
    yield "/api/v1/nodes/gpu-1"
    server.request("DELETE", "/api/v1/nodes/gpu-1")


def patch(server, path: str, change: dict, token: str) -> dict:
    kind = "application/merge-patch+json"
    return server.request("PATCH", path + "?dryRun=All", change, token=token, kind=kind)


def annotations(**of) -> dict:
    return {"metadata": {"annotations": {f"tranche.dev/{key.replace('_', '-')}": of[key] for key in of}}}


@pytest.mark.parametrize(
    "change",
    [
        annotations(mig_drain="{}"),
        annotations(mig_drain="{}", mig_cordoned="c-1") | {"spec": {"unschedulable": True}},
        {"spec": {"unschedulable": None}},
        annotations(mig_pool="{}", mig_accept_outage="l"),
        {"metadata": {"labels": {"nvidia.com/mig.config": "l"}}},
        {"metadata": {"labels": {"nvidia.com/mig.config.state": "pending"}}},
    ],
    ids=["its answer", "its cordon", "no cordon", "a pool's mark", "its layout", "its state"],
)
def test_it_cordons_and_answers(server, token, node, change):
    patch(server, node, change, token)


def tainted(effect: str) -> dict:
    """Next to the taint that a new Node has."""
    return {"spec": {"taints": [NEW, {"key": "node.kubernetes.io/unschedulable", "effect": effect}]}}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (annotations(mig_change="{}"), "may change the annotations"),
        ({"metadata": {"labels": {"a": "c"}}}, "may not change these labels of a Node: a"),
        ({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "its schedulability only"),
        (tainted("NoExecute"), "its schedulability only"),
        (tainted("NoSchedule"), "its schedulability only"),
        ({"spec": {"providerID": "x://1"}}, "its schedulability only"),
        ({"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}, "its schedulability only"),
        ({"metadata": {"finalizers": ["a.example/b"]}}, "may not change finalizers, owners"),
        ({"metadata": {"ownerReferences": [OWNER]}}, "may not change finalizers, owners"),
    ],
    ids=[
        *("the agent's text", "a label", "a taint", "a taint that evicts", "the taint of a cordon", "its machine"),
        *("its Pods' addresses", "a finalizer", "an owner"),
    ],
)
def test_it_changes_nothing_else_of_a_node(server, token, node, change, why):
    with pytest.raises(Refused, match=why):
        patch(server, node, change, token)


def test_it_reads_no_daemon_set_but_the_operators(server, token):
    path = "/apis/apps/v1/daemonsets"
    one = "?fieldSelector=metadata.name%3Dnvidia-device-plugin-daemonset"
    assert server.request("GET", path + one, token=token)["kind"] == "DaemonSetList"
    for other in (path, path + "?fieldSelector=metadata.name%3Dcni", path + "?labelSelector=a%3Db"):
        with pytest.raises(Refused) as refused:
            server.request("GET", other, token=token)
        assert refused.value.status == 403
