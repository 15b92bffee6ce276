"""An agent's token is good only for its own node, and there only for what the agent owns: tried on
a real API server with real tokens."""

import re
import time

import pytest
from api_server import Refused, claims
from helm import ROOT

ACCOUNT = "gpu-tranche-agent"
CONDITION = {"type": "TrancheConfigured", "status": "True", "reason": "r", "message": "m"}
GPU = "nvidia.com/gpu"
DCGM = "nvidia.com/gpu.deploy.dcgm"
ADDRESS = {"type": "InternalIP", "address": "10.0.0.1"}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet"}
NOT_READY = {**READY, "status": "False"}


def node(name: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "first", "uid": "uid-first"}],
            "labels": {"kubernetes.io/hostname": name, "nvidia.com/gpu.present": "true", DCGM: "true"},
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {
            "capacity": {"nvidia.com/gpu": "1"},
            "allocatable": {"nvidia.com/gpu": "1"},
            "conditions": [READY],
        },
    }


def pod(node_name: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"agent-{node_name}", "namespace": "tranche"},
        "spec": {
            "nodeName": node_name,
            "serviceAccountName": ACCOUNT,
            "containers": [{"name": "agent", "image": "tranche"}],
        },
    }


@pytest.fixture(scope="module")
def tokens(server, tmp_path_factory):
    """The chart applied with every right that an agent can have, and tokens: a and b for Pods on
    these nodes, `none` for no Pod."""
    from helm import Helm, find_helm

    if find_helm() is None:
        pytest.skip("no helm")
    helm = Helm(find_helm(), tmp_path_factory.mktemp("helm"))
    made = []
    rendered = helm.template(
        {
            "gfd": {"enabled": True, "labelOutput": "node"},
            "config": {"name": "c"},
            "migManager": {"enabled": True},
            "dra": {"enabled": True},
        }
    )
    features = helm.template({"gfd": {"enabled": True, "labelOutput": "nodefeature"}})
    role = rendered.one("Role", ACCOUNT)
    role["rules"] += features.one("Role", ACCOUNT)["rules"]
    for item in rendered.objects:
        if item["kind"] not in ("DaemonSet",) and "helm.sh/hook" not in item["metadata"].get(
            "annotations", {}
        ):
            made.append(server.apply(item))
    # More than the agent has, to show that the policy refuses, not RBAC.
    everything = {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["*"]}
    more = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "more"},
        "rules": [everything],
    }
    bind = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "more"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "more"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "tranche"}],
    }
    made += [server.apply(more), server.apply(bind)]
    found = {"none": server.token("tranche", ACCOUNT)}
    for name in ("a", "b"):
        server.request("POST", "/api/v1/nodes", node(name))
        server.request("POST", "/api/v1/namespaces/tranche/pods", pod(name))
        live = server.request("GET", f"/api/v1/namespaces/tranche/pods/agent-{name}")
        found[name] = server.token("tranche", ACCOUNT, live)
        assert claims(found[name])["kubernetes.io"]["node"]["name"] == name
        features_of(server, name, "POST", token="admin-of-a-test")
    in_force(server, found["a"])
    yield found
    for name in ("a", "b"):
        server.request("DELETE", f"/api/v1/namespaces/tranche/pods/agent-{name}?gracePeriodSeconds=0")
        server.request("DELETE", f"/api/v1/nodes/{name}")
    for item in reversed(made):
        server.request("DELETE", server.path(item))


def in_force(server, token):
    """The API server takes some moments to follow a new policy, and new rules."""

    def refused():
        try:
            patch(
                server, token, "b", {"metadata": {"labels": {"nvidia.com/probe": str(time.monotonic())[:8]}}}
            )
        except Refused as error:
            return "own node only" in error.message
        return False

    server.wait(refused, "the policy is in force")
    server.request(
        "PATCH",
        "/api/v1/nodes/b",
        {"metadata": {"labels": {"nvidia.com/probe": None}}},
        kind="application/merge-patch+json",
    )


def patch(server, token, name, change, sub="", kind="application/merge-patch+json"):
    return server.request("PATCH", f"/api/v1/nodes/{name}{sub}", change, token=token, kind=kind)


def feature(name: str, labels: dict | None = None, of: str | None = None) -> dict:
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {
            "name": f"nvidia-features-for-{name}",
            "namespace": "tranche",
            "labels": {"nfd.node.kubernetes.io/node-name": of or name},
        },
        "spec": {"labels": labels or {"nvidia.com/gpu.count": "1"}},
    }


FEATURES = "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/tranche/nodefeatures"


def merged(into: dict, change: dict) -> dict:
    """RFC 7386, for objects."""
    result = {key: value for key, value in into.items() if change.get(key, value) is not None}
    for key, value in change.items():
        if isinstance(value, dict):
            result[key] = merged(into.get(key, {}), value)
        elif value is not None:
            result[key] = value
    return result


def features_of(server, name, method, token, body=None):
    """With PUT the body changes the present object."""
    path = FEATURES if method == "POST" else f"{FEATURES}/nvidia-features-for-{name}"
    if method == "PUT":
        body = merged(server.request("GET", path), body)
    body = body or (None if method == "DELETE" else feature(name))
    return server.request(method, path, body, token=token)


LABELS = {"metadata": {"labels": {"nvidia.com/gpu.product": "Tesla-T4", "tranche.dev/gpu.shared.limits": "strict"}}}
STATUS = "application/strategic-merge-patch+json"


def test_its_own_node(server, tokens):
    after = patch(server, tokens["a"], "a", LABELS)
    assert after["metadata"]["labels"]["nvidia.com/gpu.product"] == "Tesla-T4"
    asked = {"tranche.dev/evict-requests": "open"}
    ours = {"labels": asked, "annotations": {"tranche.dev/limits-status": "{}"}}
    patch(server, tokens["a"], "a", {"metadata": ours}, "/status")
    after = patch(server, tokens["a"], "a", {"metadata": {"labels": {"nvidia.com/gpu.product": None}}})
    assert "nvidia.com/gpu.product" not in after["metadata"]["labels"]
    after = patch(server, tokens["a"], "a", {"status": {"conditions": [CONDITION]}}, "/status", STATUS)
    assert [c["type"] for c in after["status"]["conditions"]].count("TrancheConfigured") == 1
    gone = {"status": {"conditions": [{"$patch": "delete", "type": "TrancheConfigured"}]}}
    after = patch(server, tokens["a"], "a", gone, "/status", STATUS)
    assert [c["type"] for c in after["status"]["conditions"]] == ["Ready"]


def test_its_own_node_by_server_side_apply(server, tokens):
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a", "labels": {"nvidia.com/gpu.count": "1"}},
    }
    path = "/api/v1/nodes/a?fieldManager=tranche"
    assert (
        server.request("PATCH", path, body, token=tokens["a"], kind="application/apply-patch+yaml")[
            "metadata"
        ]["labels"]["nvidia.com/gpu.count"]
        == "1"
    )
    del body["metadata"]["labels"]
    after = server.request("PATCH", path, body, token=tokens["a"], kind="application/apply-patch+yaml")
    assert "nvidia.com/gpu.count" not in after["metadata"]["labels"]
    body["metadata"]["name"] = "b"
    with pytest.raises(Refused, match="own node only"):
        server.request(
            "PATCH",
            "/api/v1/nodes/b?fieldManager=tranche",
            {**body, "metadata": {"name": "b", "labels": {"nvidia.com/x": "1"}}},
            token=tokens["a"],
            kind="application/apply-patch+yaml",
        )


SPEC = "may not change its Node's spec"
OTHERS_LABELS = "feature labels only, not "
OTHERS_STATUS = "conditions whose type begins with Tranche only"
NAME = "kubernetes.io/hostname"


def label(name: str, value: str | None = "x") -> dict:
    return {"metadata": {"labels": {name: value}}}


def owned(by: str) -> dict:
    return {"metadata": {"ownerReferences": [owner(by)]}}


def owner(name: str) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"uid-{name}"}


# (whose token, which node, change, subresource, words of the message)
REFUSALS = {
    "another node's labels": ("a", "b", LABELS, "", "own node only: this token is of a, and the Node is b"),
    "another node's status": ("a", "b", {"status": {"conditions": [CONDITION]}}, "/status", "own node only"),
    "the other way round": ("b", "a", LABELS, "", "own node only: this token is of b, and the Node is a"),
    "a token of no Pod": ("none", "a", LABELS, "", "names no node"),
    "a taint": ("a", "a", {"spec": {"taints": None}}, "", SPEC),
    "cordon": ("a", "a", {"spec": {"unschedulable": True}}, "", SPEC),
    "a label of Kubernetes": ("a", "a", label(NAME), "", OTHERS_LABELS + NAME),
    "removing one": ("a", "a", label(NAME, None), "", OTHERS_LABELS + NAME),
    "a label like ours": ("a", "a", label("nvidia.com.example.org/x"), "", OTHERS_LABELS),
    "the order device-plugin.config": ("a", "a", label("nvidia.com/device-plugin.config"), "", OTHERS_LABELS),
    "the order mig.config": ("a", "a", label("nvidia.com/mig.config"), "", OTHERS_LABELS),
    "the order tranche.dev/mode": ("a", "a", label("tranche.dev/mode", "dra"), "", OTHERS_LABELS),
    "an operator's switch": ("a", "a", label("nvidia.com/gpu.deploy.driver", "false"), "", OTHERS_LABELS),
    "where it runs": ("a", "a", label("nvidia.com/gpu.present", None), "", OTHERS_LABELS),
    "another's annotation": ("a", "a", {"metadata": {"annotations": {"x": "y"}}}, "", "only, not x"),
    "the order limits": (
        "a",
        "a",
        {"metadata": {"annotations": {"tranche.dev/limits": "{}"}}},
        "/status",
        "only, not tranche.dev/limits",
    ),
    "the order cc.mode": ("a", "a", label("nvidia.com/cc.mode", "off"), "", OTHERS_LABELS),
    "the order vgpu.config": ("a", "a", label("nvidia.com/vgpu.config"), "", OTHERS_LABELS),
    "the order gpu.workload.config": ("a", "a", label("nvidia.com/gpu.workload.config"), "", OTHERS_LABELS),
    "a driver's upgrade": (
        "a",
        "a",
        label("nvidia.com/gpu-driver-upgrade-state", "upgrade-required"),
        "",
        OTHERS_LABELS,
    ),
    "a client of the operator's turned off": ("a", "a", label(DCGM, "false"), "", OTHERS_LABELS),
    "one that it does not have": ("a", "a", label("nvidia.com/gpu.deploy.nvsm", "true"), "", OTHERS_LABELS),
    "the controller's answer": (
        "a",
        "a",
        {"metadata": {"annotations": {"tranche.dev/mig-drain": "{}"}}},
        "/status",
        "only, not tranche.dev/mig-drain",
    ),
    "a person's word": (
        "a",
        "a",
        {"metadata": {"annotations": {"tranche.dev/mig-accept-outage": "x"}}},
        "/status",
        "only, not tranche.dev/mig-accept-outage",
    ),
    "a label of ours that no agent writes": ("a", "a", label("tranche.dev/x"), "", OTHERS_LABELS),
    "an annotation like ours": ("a", "a", {"metadata": {"annotations": {"tranche.dev/x": "y"}}}, "", "only, not "),
    "another owner": ("a", "a", owned("second"), "", "owners"),
    "no owner": ("a", "a", {"metadata": {"ownerReferences": None}}, "", "owners"),
    "a finalizer": ("a", "a", {"metadata": {"finalizers": ["a.b/c"]}}, "", "finalizers"),
    "labels through status": ("a", "a", label(NAME), "/status", OTHERS_LABELS + NAME),
    "capacity": ("a", "a", {"status": {"capacity": {GPU: "9"}}}, "/status", OTHERS_STATUS),
    "allocatable": ("a", "a", {"status": {"allocatable": {GPU: "9"}}}, "/status", OTHERS_STATUS),
    "the condition Ready": ("a", "a", {"status": {"conditions": [NOT_READY]}}, "/status", OTHERS_STATUS),
    "an address": ("a", "a", {"status": {"addresses": [ADDRESS]}}, "/status", OTHERS_STATUS),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refused(server, tokens, case):
    token, name, change, sub, message = REFUSALS[case]
    with pytest.raises(Refused) as refused:
        patch(server, tokens[token], name, change, sub, STATUS if sub else "application/merge-patch+json")
    assert refused.value.status == 422 and message in refused.value.message, refused.value.message


def test_a_change_of_the_mig_layout_is_told(server, tokens):
    """As far as the manager needs it: the state, its text, the pause of the operator's clients and
    its end."""
    told = {
        "labels": {"nvidia.com/mig.config.state": "pending", "tranche.dev/mig-change": "open"},
        "annotations": {"tranche.dev/mig-change": "{}", "tranche.dev/mig-applied": "{}"},
    }
    paused = {"labels": {DCGM: "paused-for-mig-change"}}
    gone = {part: dict.fromkeys(told[part]) for part in told}
    for metadata in (told, paused, {"labels": {DCGM: "true"}}, gone):
        patch(server, tokens["a"], "a", {"metadata": metadata}, "/status", STATUS)


GPU_NODES = "/apis/tranche.dev/v1alpha1/gpunodes"


def apply_gpu_node(server, token, name: str, sub: str = "", **more):
    """As the agent does."""
    body = {"apiVersion": "tranche.dev/v1alpha1", "kind": "GPUNode", "metadata": {"name": name}, **more}
    path = f"{GPU_NODES}/{name}{sub}?fieldManager=tranche&force=true"
    return server.request("PATCH", path, body, token=token, kind="application/apply-patch+yaml")


def test_the_gpu_node_of_its_own_node(server, tokens):
    server.wait(lambda: server.request("GET", GPU_NODES), "GPUNodes are served")
    apply_gpu_node(server, tokens["a"], "a")
    dra = {"mode": "dra"}
    assert apply_gpu_node(server, tokens["a"], "a", "/status", status=dra)["status"] == dra
    body = {"apiVersion": "tranche.dev/v1alpha1", "kind": "GPUNode", "metadata": {"generateName": "a"}}
    refused = {
        "another node's": lambda: apply_gpu_node(server, tokens["b"], "a"),
        "another node's status": lambda: apply_gpu_node(server, tokens["b"], "a", "/status", status=dra),
        "one that is not there": lambda: apply_gpu_node(server, tokens["a"], "b"),
        "one that the server names": lambda: server.request("POST", GPU_NODES, body, token=tokens["a"]),
        "removing another node's": lambda: server.request("DELETE", f"{GPU_NODES}/a", token=tokens["b"]),
    }
    for case, write in refused.items():
        with pytest.raises(Refused, match="GPUNode of its own node only") as refusal:
            write()
        assert refusal.value.status == 422, case
    with pytest.raises(Refused, match="names no node"):
        apply_gpu_node(server, tokens["none"], "a")
    for verb, path in (("GET", GPU_NODES), ("DELETE", GPU_NODES)):  # all of them
        with pytest.raises(Refused, match="forbidden"):
            server.request(verb, path, token=tokens["a"])
    server.request("DELETE", f"{GPU_NODES}/a", token=tokens["a"])


def event(instance: str, controller: str = "tranche.dev/agent") -> dict:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": "probe-", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": controller,
        "reportingInstance": instance,
        "action": "Limit",
        "reason": "Probe",
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": instance},
        "note": "n",
        "type": "Normal",
    }


EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


def test_events_in_its_own_nodes_name(server, tokens):
    made = server.request("POST", EVENTS, event("a"), token=tokens["a"])
    server.request("DELETE", f"{EVENTS}/{made['metadata']['name']}")
    for other in (event("b"), event("a", controller="kubelet")):
        with pytest.raises(Refused, match="in its own node's name only"):
            server.request("POST", EVENTS, other, token=tokens["a"])


def about(kind: str, name: str, namespace: str | None = None) -> dict:
    made = event("a")
    made["regarding"] = {"apiVersion": "v1", "kind": kind, "name": name}
    if namespace:
        made["regarding"]["namespace"] = made["metadata"]["namespace"] = namespace
    return made


def test_events_about_its_own_node_and_pods(server, tokens):
    made = server.request("POST", EVENTS, about("Pod", "p", "default"), token=tokens["a"])
    server.request("DELETE", f"{EVENTS}/{made['metadata']['name']}")
    for other in (about("Node", "b"), about("Secret", "s", "default"), about("Namespace", "default")):
        with pytest.raises(Refused, match="about its own node"):
            server.request("POST", EVENTS, other, token=tokens["a"])


def test_nodes_are_neither_made_nor_removed(server, tokens):
    for method, path, body in [("POST", "/api/v1/nodes", node("c")), ("DELETE", "/api/v1/nodes/a", None)]:
        with pytest.raises(Refused, match="neither makes nor removes Nodes"):
            server.request(method, path, body, token=tokens["a"])


def test_its_own_features(server, tokens):
    changed = features_of(server, "a", "PUT", tokens["a"], {"spec": {"labels": {"nvidia.com/gpu.count": "2"}}})
    assert changed["spec"]["labels"] == {"nvidia.com/gpu.count": "2"}
    features_of(server, "a", "DELETE", tokens["a"])
    made = features_of(server, "a", "POST", tokens["a"])
    assert made["spec"]["labels"] == {"nvidia.com/gpu.count": "1"}


@pytest.mark.parametrize(
    ("method", "name", "body", "message"),
    [
        (
            "PUT",
            "b",
            {"spec": {"labels": {"nvidia.com/gpu.count": "9"}}},
            "nvidia-features-for-a, labelled",
        ),
        ("DELETE", "b", None, "of its own node only"),
        ("POST", "c", feature("c"), "of its own node only"),
        (
            "PUT",
            "a",
            {"metadata": {"labels": {"nfd.node.kubernetes.io/node-name": "b"}}},
            "labelled nfd.node.kubernetes.io/node-name=a",
        ),
        ("PUT", "a", {"metadata": {"labels": None}}, "labelled nfd.node.kubernetes.io/node-name=a"),
        (
            "PUT",
            "a",
            {"spec": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
            "the feature labels of",
        ),
        ("PUT", "a", {"spec": {"labels": {"nvidia.com/device-plugin.config": "x"}}}, "the feature labels of"),
    ],
)
def test_refused_features(server, tokens, method, name, body, message):
    with pytest.raises(Refused) as refused:
        features_of(server, name, method, tokens["a"], body)
    assert refused.value.status == 422 and message in refused.value.message, refused.value.message


def test_others_are_not_held_by_it(server, tokens):
    change = {"metadata": {"labels": {"kubernetes.io/role": "x"}}}
    assert patch(server, "admin-of-a-test", "a", change)
    patch(server, "admin-of-a-test", "a", {"metadata": {"labels": {"kubernetes.io/role": None}}})


def test_every_label_that_the_agent_writes_is_allowed(helm):
    """The list of the policy and docs/reference/labels.md, which is made from the program's own table."""
    policy = helm.template({"config": {"name": "c"}}).one("ValidatingAdmissionPolicy")
    [expression] = [v["expression"] for v in policy["spec"]["variables"] if v["name"] == "ours"]
    ours = re.compile("".join(re.findall(r'"([^"]*)"', expression)).replace("\\\\", "\\"))
    page = (ROOT / "docs" / "reference" / "labels.md").read_text()
    written = re.findall(r"^- `([^`]+)`:", page, re.MULTILINE)
    assert len(written) > 40
    for name in written:
        name = name.replace("<profile>", "1g.5gb.me").replace("<resource>", "gpu.shared")
        assert ours.match(name), name
    for order in ("nvidia.com/cc.mode", "nvidia.com/gpu.present", "nvidia.com/gpu.deploy.driver", "tranche.dev/mode"):
        assert not ours.match(order), order


SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def resource_slice(number: str, of_node: str, driver: str = "gpu.nvidia.com", **spec) -> dict:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{of_node}-{driver}-{number}"},
        "spec": {
            "driver": driver,
            "nodeName": of_node,
            "pool": {"name": f"gpu-{of_node}", "generation": 1, "resourceSliceCount": 1},
            "devices": [],
        }
        | spec,
    }


def test_the_slices_of_its_own_node_and_driver(server, tokens):
    made = server.request("POST", SLICES, resource_slice("00", "a"), token=tokens["a"])
    path = server.path(made)
    made["spec"]["pool"]["generation"] = 2
    server.request("PUT", path, made, token=tokens["a"])
    with pytest.raises(Refused, match="on its own node only, b"):
        server.request("DELETE", path, token=tokens["b"])
    for foreign in (resource_slice("00", "b"), resource_slice("01", "a", "other.example.com")):
        with pytest.raises(Refused, match="ResourceSlices of driver gpu.nvidia.com on its own node only, a"):
            server.request("POST", SLICES, foreign, token=tokens["a"])
    server.request("DELETE", path, token=tokens["a"])


def test_a_full_slice_is_not_too_much_for_the_policy(server, tokens):
    """As many devices as the API server takes, with as much of each."""
    attributes = {f"attribute{i}": {"string": "x" * 60} for i in range(24)}
    capacity = {f"capacity{i}": {"value": "1"} for i in range(8)}
    devices = [{"name": f"gpu-{i}", "attributes": attributes, "capacity": capacity} for i in range(128)]
    made = server.request("POST", SLICES, resource_slice("07", "a", devices=devices), token=tokens["a"])
    server.request("PUT", server.path(made), made, token=tokens["a"])
    server.request("DELETE", server.path(made), token=tokens["a"])


def test_a_full_node_is_not_too_much_for_the_policy(server, tokens):
    images = [{"names": ["n" * 200 + str(j) for j in range(5)], "sizeBytes": i} for i in range(50)]
    others = [{**READY, "type": f"Other{i}", "message": "m" * 1000} for i in range(50)]
    patch(server, "admin-of-a-test", "a", {"status": {"images": images, "conditions": others}}, "/status", STATUS)
    patch(server, tokens["a"], "a", {"status": {"conditions": [CONDITION]}}, "/status", STATUS)
    gone = [{"$patch": "delete", "type": one["type"]} for one in (*others, CONDITION)]
    patch(server, "admin-of-a-test", "a", {"status": {"images": None, "conditions": gone}}, "/status", STATUS)


def pool(name: str) -> dict:
    return {"pool": {"name": name, "generation": 9, "resourceSliceCount": 1}}


TAINT = {"key": "a.example/b", "effect": "NoExecute"}
CONDITIONS = {"bindingConditions": ["a.example/b"], "bindingFailureConditions": ["a.example/c"]}
IN_ANOTHERS_POOL = {
    "taints": pool("gpu-b") | {"devices": [{"name": "gpu-0", "taints": [TAINT]}]},
    "counters": pool("gpu-b")
    | {"devices": None, "sharedCounters": [{"name": "gpu-0-counter-set", "counters": {"memory": {"value": "1"}}}]},
    "a name that begins like its own": pool("gpu-a-b"),
    "a name that is its own's beginning": pool("gpu"),
    "no prefix": pool("a"),
}


@pytest.mark.parametrize("case", IN_ANOTHERS_POOL)
def test_no_slice_in_another_nodes_pool(server, tokens, case):
    """A taint there would evict Pods of that node."""
    with pytest.raises(Refused, match="may write the pool of its own node only, gpu-a, not "):
        server.request("POST", SLICES, resource_slice("00", "a", **IN_ANOTHERS_POOL[case]), token=tokens["a"])


@pytest.mark.parametrize("name", ["b-gpu.nvidia.com-00", "a-gpu.nvidia.com-0x", "a-gpu.nvidia.com-00.b", "x"])
def test_no_slice_has_the_name_of_another_nodes(server, tokens, name):
    """That agent could not write it."""
    made = resource_slice("00", "a") | {"metadata": {"name": name}}
    with pytest.raises(Refused, match="names the ResourceSlices of its own node only: a-gpu.nvidia.com-00, not"):
        server.request("POST", SLICES, made, token=tokens["a"])


@pytest.mark.parametrize("more", [CONDITIONS, {"bindsToNode": True}], ids=["conditions", "binding"])
def test_no_device_holds_up_the_scheduler(server, tokens, more):
    made = resource_slice("00", "a", devices=[{"name": "gpu-0", **more}])
    with pytest.raises(Refused, match="and their devices a name, attributes, capacity"):
        server.request("POST", SLICES, made, token=tokens["a"])
