"""Releases as Helm makes, changes and removes them on a real API server: what is kept, what is
removed, what is never overwritten. No kubelet and no controllers here; test_lifecycle.py has
those."""

import json

import pytest
from api_server import Refused
from chart_server import chart_server
from helm import CHART

NAMESPACE = "gpu-operator"
POLICY = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterpolicies.nvidia.com"
MERGE = "application/merge-patch+json"
OPERATOR = {
    "compat": {"operatorNames": True},
    "clusterPolicy": {"installCRD": True, "create": True},
    # The job would wait for Pods, which nothing runs here.
    "cleanup": {"enabled": False},
}


class Releases:
    def __init__(self, helm, server, folder):
        self._helm = helm
        self._server = server
        self._folder = folder

    def run(self, *arguments: str, check=True, namespace=NAMESPACE) -> str:
        where = ("--kubeconfig", str(self._server.kubeconfig()), "--namespace", namespace)
        done = self._helm.run(*arguments, *where)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def put(self, values: dict, check=True, **options) -> str:
        file = self._folder / "release.yaml"
        file.write_text(json.dumps(values))
        return self.run(
            "upgrade", "--install", "gpu", str(CHART), "--values", str(file), check=check, **options
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Of its own: Helm takes over nothing that other tests have left."""
    with chart_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def releases(helm, server, tmp_path):
    """Removed afterwards, with the definition of ClusterPolicy, which outlives releases."""
    made = Releases(helm, server, tmp_path)
    delete(server, DEFINITION)
    yield made
    for namespace in (NAMESPACE, "tranche"):
        made.run("uninstall", "gpu", "--no-hooks", "--ignore-not-found", namespace=namespace)
    delete(server, DEFINITION)


def delete(server, path):
    try:
        server.request("DELETE", path)
    except Refused as error:
        assert error.status == 404
        return

    wait_gone(server, path)


def wait_gone(server, path):
    def gone():
        try:
            server.request("GET", path)
        except Refused as error:
            return error.status == 404

    server.wait(gone, f"{path} is gone")


def remove(server, path):
    """Also what another file's tests left."""
    try:
        server.request("DELETE", path)
    except Refused as error:
        assert error.status == 404
    wait_gone(server, path)


def choose(server, name: str) -> None:
    change = {"spec": {"devicePlugin": {"config": {"name": name}}}}
    server.request("PATCH", POLICY, change, kind=MERGE)


def chosen(server) -> str:
    return server.request("GET", POLICY)["spec"]["devicePlugin"]["config"]["name"]


def test_a_policy_is_made_once_and_then_the_users(releases, server):
    releases.put(OPERATOR)
    server.wait(lambda: server.request("GET", POLICY), "the policy is there")
    choose(server, "time-slicing-config")
    releases.put({**OPERATOR, "logLevel": "debug"})
    assert chosen(server) == "time-slicing-config"
    releases.run("rollback", "gpu", "1")
    assert chosen(server) == "time-slicing-config"
    releases.run("uninstall", "gpu")
    assert chosen(server) == "time-slicing-config"
    releases.put(OPERATOR)
    assert chosen(server) == "time-slicing-config"


def test_the_operators_own_definition_is_never_replaced(releases, server, helm):
    theirs = helm.template(OPERATOR, namespace=NAMESPACE).one("CustomResourceDefinition", "clusterpolicies.nvidia.com")
    theirs["metadata"] = {
        "name": theirs["metadata"]["name"],
        "labels": {"app.kubernetes.io/name": "gpu-operator"},
    }
    server.request("POST", DEFINITION.rsplit("/", 1)[0], theirs)
    refusal = releases.put(OPERATOR, check=False)
    assert (
        "clusterpolicies.nvidia.com" in refusal and "cannot be imported into the current release" in refusal
    )
    server.wait(lambda: server.request("GET", "/apis/nvidia.com/v1"), "ClusterPolicies are served")
    releases.run("uninstall", "gpu", "--ignore-not-found")
    releases.put({**OPERATOR, "clusterPolicy": {"create": True}})
    assert server.request("GET", DEFINITION)["metadata"]["labels"] == {
        "app.kubernetes.io/name": "gpu-operator"
    }
    assert server.request("GET", POLICY)["spec"] == {}


GPU_NODES = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gpunodes.tranche.dev"


def test_the_definition_of_gpunodes_is_the_first_releases(releases, server):
    """Another one leaves it alone, also when it is removed, and makes it when the first is gone."""
    plain = {"cleanup": {"enabled": False}}
    other = {**plain, "fullnameOverride": "other"}

    def owner() -> str:
        annotations = server.request("GET", GPU_NODES)["metadata"]["annotations"]
        return annotations["meta.helm.sh/release-namespace"]

    remove(server, GPU_NODES)
    releases.put(plain)
    releases.put(other, namespace="tranche")
    assert owner() == NAMESPACE
    releases.put(plain)
    assert owner() == NAMESPACE, "an upgrade keeps it"
    releases.run("uninstall", "gpu", namespace="tranche")
    assert owner() == NAMESPACE
    releases.put(other, namespace="tranche")
    releases.run("uninstall", "gpu")
    wait_gone(server, GPU_NODES)
    releases.put(other, namespace="tranche")
    assert owner() == "tranche"
    # An API server may take a minute to remove a kind that it does not serve yet.
    server.wait(lambda: server.request("GET", "/apis/tranche.dev/v1alpha1/gpunodes"), "GPUNodes are served")
    releases.put({**other, "gpuNode": {"installCRD": False}}, namespace="tranche")
    wait_gone(server, GPU_NODES)


def test_what_the_controller_writes_survives_an_upgrade_and_goes_at_uninstall(releases, server):
    releases.put(OPERATOR)
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/gpu-tranche-policy"
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/tranche-controller"
    written = {
        "metadata": {"annotations": {"tranche.dev/default-config": "any"}},
        "data": {"any": "version: v1"},
    }
    server.request("PATCH", path, written, kind=MERGE)
    server.request("PATCH", lease, {"spec": {"holderIdentity": "a-pod"}}, kind=MERGE)
    releases.put({**OPERATOR, "logLevel": "debug"})
    after = server.request("GET", path)
    assert after["data"] == written["data"]
    assert after["metadata"]["annotations"]["tranche.dev/default-config"] == "any"
    assert server.request("GET", lease)["spec"]["holderIdentity"] == "a-pod"
    releases.run("uninstall", "gpu")
    for gone in (path, lease):
        with pytest.raises(Refused, match="not found"):
            server.request("GET", gone)


KINDS = [
    "/api/v1/serviceaccounts",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
    "/apis/batch/v1/jobs",
    "/apis/coordination.k8s.io/v1/leases",
    "/apis/networking.k8s.io/v1/networkpolicies",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/rbac.authorization.k8s.io/v1/roles",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
]


def ours(server) -> list[str]:
    found = []
    for path in KINDS:
        items = server.request("GET", f"{path}?labelSelector=app.kubernetes.io/instance=gpu")["items"]
        found += [f"{path}/{item['metadata']['name']}" for item in items]
    return found


@pytest.mark.parametrize(
    "values", [{"config": {"map": {"default": "version: v1"}}, "gfd": {"enabled": True}}, OPERATOR]
)
def test_uninstall_leaves_no_object(releases, server, values):
    releases.put({**values, "cleanup": {"enabled": False}})
    assert len(ours(server)) > 8
    releases.run("uninstall", "gpu")
    assert ours(server) == []


def test_a_release_may_change_its_mind(releases, server):
    """From one container without rights to the operator's names, and back."""
    plain = {"cleanup": {"enabled": False}}
    releases.put(plain)
    before = ours(server)
    releases.put(OPERATOR)
    assert "/apis/apps/v1/daemonsets/nvidia-device-plugin-daemonset" in ours(server)
    assert "/apis/apps/v1/daemonsets/gpu-tranche" not in ours(server)
    releases.put(plain)
    assert ours(server) == before


@pytest.mark.parametrize("rolling", [{}, {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}])
def test_cleaners_become_agents_again(releases, server, helm, rolling):
    """A failed cleanup is undone by an upgrade with the same values."""
    values = {
        "config": {"map": {"default": "version: v1"}},
        "updateStrategy": {"type": "RollingUpdate", **rolling},
        "runtimeClassName": "nvidia",
        "priorityClassName": "mine",
    }
    releases.put(values, namespace="tranche")
    path = "/apis/apps/v1/namespaces/tranche/daemonsets/gpu-tranche"
    before = server.request("GET", path)["spec"]
    (container,) = helm.template(values).one("Job", "gpu-tranche-cleanup")["spec"]["template"]["spec"]["containers"]
    patch = json.loads(container["args"][1].removeprefix("--patch="))
    server.request("PATCH", path, patch, kind="application/strategic-merge-patch+json")
    assert server.request("GET", path)["spec"] != before
    releases.put(values, namespace="tranche")
    assert server.request("GET", path)["spec"] == before


# A chart with only the names and the selector of NVIDIA's DaemonSet.
OTHERS = """\
{{- range $name := list "%s" "%s-mps-control-daemon" }}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: {{ $name }}, namespace: {{ $.Release.Namespace }}}
spec:
  selector: &selector
    matchLabels: {app.kubernetes.io/name: nvidia-device-plugin, app.kubernetes.io/instance: {{ $.Release.Name }}}
  template:
    metadata: {labels: {app.kubernetes.io/name: nvidia-device-plugin, app.kubernetes.io/instance: {{ $.Release.Name }}}}
    spec:
      initContainers: [{name: nvidia-device-plugin-init, image: x}]
      containers: [{name: nvidia-device-plugin-sidecar, image: x}, {name: nvidia-device-plugin-ctr, image: x}]
{{- end }}
"""


def nvidias_chart(folder, name: str):
    chart = folder / "nvidia-device-plugin"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: nvidia-device-plugin, version: 0.20.0}")
    (chart / "templates/all.yaml").write_text(OTHERS % (name, name))
    return str(chart)


def test_a_release_of_nvidias_chart_is_upgraded_in_place(releases, server, tmp_path):
    name = "gpu-nvidia-device-plugin"
    releases.run("install", "gpu", nvidias_chart(tmp_path, name), namespace="tranche")
    path = f"/apis/apps/v1/namespaces/tranche/daemonsets/{name}"
    before = server.request("GET", path)["metadata"]["uid"]
    releases.put({"compat": {"nvidiaNames": True}}, namespace="tranche")
    after = server.request("GET", path)
    assert after["metadata"]["uid"] == before
    pod = after["spec"]["template"]["spec"]
    assert [c["name"] for c in pod["containers"]] == ["nvidia-device-plugin-ctr"]
    assert "initContainers" not in pod
    with pytest.raises(Refused, match="not found"):
        server.request("GET", f"{path}-mps-control-daemon")


def test_nvidias_daemons_of_mps_are_not_upgraded_in_place(releases, server, tmp_path):
    """Its two DaemonSets select the same Pods, ours do not."""
    releases.run("install", "gpu", nvidias_chart(tmp_path, "gpu-nvidia-device-plugin"), namespace="tranche")
    before = ours(server)
    refusal = releases.put(
        {"compat": {"nvidiaNames": True}, "mps": {"enabled": True}}, check=False, namespace="tranche"
    )
    assert "DaemonSet tranche/gpu-nvidia-device-plugin-mps-control-daemon exists" in refusal
    assert "Uninstall that release first" in refusal
    assert ours(server) == before


def put_object(server, path: str, item: dict) -> None:
    server.request("POST", path.rsplit("/", 1)[0], {**item, "metadata": {"name": path.rsplit("/", 1)[1]}})


PLUGIN = f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/nvidia-device-plugin-daemonset"
OPERATORS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/gpu-operator"


def workload(kind: str) -> dict:
    labels = {"app": "nvidia-device-plugin-daemonset"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "x", "image": "x"}]}}
    return {"apiVersion": "apps/v1", "kind": kind, "spec": {"selector": {"matchLabels": labels}, "template": pod}}


@pytest.mark.parametrize(
    ("kind", "path", "texts"),
    [
        ("DaemonSet", PLUGIN, ["exists and is not of this release", "docs/takeover.md"]),
        ("Deployment", OPERATORS, ["beside a GPU operator", "deletes every DaemonSet", "docs/takeover.md"]),
    ],
)
def test_the_operators_names_are_refused_beside_the_operator(releases, server, kind, path, texts):
    put_object(server, path, workload(kind))
    try:
        refusal = releases.put({"compat": {"operatorNames": True}}, check=False)
        for text in texts:
            assert text in refusal
        assert ours(server) == []
        # With our own names it is installed.
        releases.put({"clusterPolicy": {"enabled": True}, "cleanup": {"enabled": False}})
    finally:
        delete(server, path)


# A ConfigMap of the user's that needs every part of the chart, and one with what the agent will refuse.
EVERY_PART = """\
version: v1
flags:
  migStrategy: mixed
  plugin: {deviceListStrategy: [envvar, cdi-cri]}
sharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
tranche: {limits: {enforcement: strict}}
"""
CONFIGS = {"every": EVERY_PART, "wrong": "sharing: 4\nflags: [x]\ntranche: x\n", "torn": "a: [b", "empty": ""}


@pytest.fixture
def users_map(server):
    path = "/api/v1/namespaces/tranche/configmaps/of-the-user"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-the-user"}, "data": CONFIGS}
    server.request("POST", path.rsplit("/", 1)[0], body)
    yield "of-the-user"
    server.request("DELETE", path)


def parts(server) -> set[str]:
    """The release's parts in addition to the agent without rights."""
    path = "/apis/apps/v1/namespaces/tranche/daemonsets"
    agent = server.request("GET", f"{path}/gpu-tranche")["spec"]["template"]["spec"]
    (container,) = agent["containers"]
    found = {item["metadata"]["name"].removeprefix("gpu-tranche") for item in server.request("GET", path)["items"]}
    found |= {volume["name"] for volume in agent["volumes"] if volume["name"] in ("driver-root", "mps-root")}
    return found | set(container["securityContext"]["capabilities"].get("add", [])) - {""}


def test_what_a_config_map_of_the_users_needs_is_there(releases, server, users_map):
    plain = {"config": {"name": users_map}, "cleanup": {"enabled": False}}
    said = releases.put(plain, namespace="tranche")
    every = {"", "-arbiter", "-mps-control-daemon", "driver-root", "mps-root", "SYS_ADMIN"}
    assert parts(server) == every
    assert "Helm has looked into it: parts for MIG, CDI, limits, MPS are there" in said
    # Explicit values apply, and nothing is made from what cannot be read.
    releases.put({**plain, "mps": {"enabled": False}, "mig": {"monitor": False}}, namespace="tranche")
    assert parts(server) == {"", "-arbiter", "driver-root"}
    releases.put({**plain, "config": {"name": "not-there-yet"}}, namespace="tranche")
    assert parts(server) == {"", "-arbiter"}, "for earlier claims alone"


def test_what_a_policy_names_is_there_too(releases, server):
    """It names the ConfigMap, and the MIG strategy in addition."""
    releases.put(OPERATOR)
    server.wait(lambda: server.request("GET", POLICY), "the policy is there")
    server.request("PATCH", POLICY, {"spec": {"mig": {"strategy": "single"}}}, kind=MERGE)
    releases.put(OPERATOR)
    pod = server.request("GET", PLUGIN)["spec"]["template"]["spec"]
    assert pod["containers"][0]["securityContext"]["capabilities"]["add"] == ["SYS_ADMIN"]
