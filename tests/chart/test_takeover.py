"""docs/takeover.md as written, on a real Kubernetes by a real Helm: from the GPU operator's plugin
and back, and from a release of NVIDIA's chart. This project's image called as nvidia-device-plugin
stands in for its plugin, the test for the operator. Runs with the tests of the lab
(TRANCHE_TEST_LAB)."""

import json
import os
import re
import subprocess

import pytest
from helm import ROOT
from test_lifecycle import GPU, VALUES, cluster, knows, user_pod  # noqa: F401 (cluster is a fixture)

pytestmark = pytest.mark.skipif(
    not knows("controller", "--leader-elect"), reason="no build of tranche with a controller here"
)

IMAGE = f"{VALUES['image']['repository']}:{VALUES['image']['tag']}"
# Unknown to a page: the image, and how this cluster runs containers with GPUs.
HERE = [f"image.repository={VALUES['image']['repository']}", f"image.tag={VALUES['image']['tag']}"]
HERE += ["runtimeClassName=nvidia"]
PLUGIN = "nvidia-device-plugin-daemonset"
NODES = ("l20", "t4")


def commands(page: str) -> list[str]:
    """The shell commands of a page, each on one line."""
    text = (ROOT / "docs" / page).read_text().replace("\\\n", " ")
    return [re.sub(r"\s+", " ", line.strip()) for line in text.splitlines() if re.match(r" {4,}(helm|kubectl) ", line)]


def command(page: str, *words: str) -> str:
    found = [one for one in commands(page) if all(word in one for word in words)]
    assert len(found) == 1, f"{words} in {page}: {found}"
    return found[0]


class Shell:
    """Runs the page's commands in this checkout, as a reader does."""

    def __init__(self, lab):
        programs = lab.program("helm").parent
        self._env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig), "PATH": f"{programs}:{os.environ['PATH']}"}

    def __call__(self, line: str) -> str:
        if line.startswith(("helm install", "helm upgrade")):
            line += "".join(f" --set {value}" for value in HERE)
        done = subprocess.run(
            line, shell=True, env=self._env, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        return done.stdout


def plugin(name: str, labels: dict, container: str) -> dict:
    """A DaemonSet of NVIDIA's plugin, as far as kubelet and a release see it."""
    sockets = "/var/lib/kubelet/device-plugins"
    pod = {
        "runtimeClassName": "nvidia",
        "nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"},
        "terminationGracePeriodSeconds": 2,
        "containers": [
            {
                "name": container,
                "image": IMAGE,
                "command": ["nvidia-device-plugin"],
                "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
                "volumeMounts": [{"name": "sockets", "mountPath": sockets}],
            }
        ],
        "volumes": [{"name": "sockets", "hostPath": {"path": sockets}}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}


def offered(cluster, count: int) -> None:  # noqa: F811
    for node in NODES:
        cluster.lab.wait(
            lambda node=node: int(cluster.lab.allocatable(node, GPU) or 0) == count, f"{node} offers {count}"
        )


@pytest.fixture
def running(cluster):  # noqa: F811
    """Makes a Pod with a GPU, which runs from before the takeover until after it."""
    made = []

    def start() -> str:
        cluster.lab.apply(user_pod("user", "l20"))
        cluster.lab.wait_pod("user")
        made.append("user")
        return cluster.container("user")

    yield start
    cluster.lab.kubectl("delete", "pod", *made, "--ignore-not-found", "--wait", timeout=120)


class Operator:
    """The participating part of the GPU operator: its definition, its policy, and a plugin while
    the policy wants one. With its plugin off it deletes what has its names, whoever made it."""

    def __init__(self, lab, definition: dict):
        self._lab = lab
        lab.kubectl("create", "namespace", "gpu-operator")
        definition["metadata"] = {"name": definition["metadata"]["name"]}
        lab.apply(json.dumps(definition))
        lab.kubectl("wait", "--for=condition=Established", "crd/clusterpolicies.nvidia.com", "--timeout=60s")
        policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}}
        lab.apply(json.dumps({**policy, "spec": {"devicePlugin": {"enabled": True}}}))

    def policy(self) -> dict:
        return self._lab.get("clusterpolicies.nvidia.com", "cluster-policy")

    def condition(self) -> tuple:
        for one in self.policy().get("status", {}).get("conditions", []):
            if one["type"] == "TrancheApplied":
                return one["status"], one["reason"]
        return ()

    def reconcile(self) -> None:
        policy = self.policy()
        where = ("-n", "gpu-operator")
        if not policy["spec"]["devicePlugin"]["enabled"]:
            self._lab.kubectl(*where, "delete", "daemonset", PLUGIN, "--ignore-not-found", "--wait", timeout=120)
            self._lab.kubectl(*where, "delete", "serviceaccount", "nvidia-device-plugin", "--ignore-not-found")
            return
        daemonset = plugin(PLUGIN, {"app": PLUGIN}, "nvidia-device-plugin")
        owner = {key: policy[key] for key in ("apiVersion", "kind")} | {
            key: policy["metadata"][key] for key in ("name", "uid")
        }
        daemonset["metadata"] |= {"namespace": "gpu-operator", "ownerReferences": [owner]}
        self._lab.apply(json.dumps(daemonset))

    def remove(self) -> None:
        self._lab.kubectl("delete", "crd", "clusterpolicies.nvidia.com", "--wait", timeout=120)
        self._lab.kubectl("delete", "namespace", "gpu-operator", "--wait", timeout=120)


@pytest.fixture
def operator(cluster, helm):  # noqa: F811
    values = {"compat": {"operatorNames": True}, "clusterPolicy": {"installCRD": True}}
    definition = helm.template(values, namespace="gpu-operator").one(
        "CustomResourceDefinition", "clusterpolicies.nvidia.com"
    )
    one = Operator(cluster.lab, definition)
    yield one
    cluster._helm.run("uninstall", "tranche", "-n", "gpu-operator", "--no-hooks", "--ignore-not-found",
                      "--kubeconfig", str(cluster.lab.kubeconfig))
    one.remove()


def test_from_the_operators_plugin_and_back(cluster, operator, running):  # noqa: F811
    lab, shell = cluster.lab, Shell(cluster.lab)
    operator.reconcile()
    offered(cluster, 1)
    container = running()

    shell(command("takeover.md", "helm install tranche", "gpu-operator"))
    lab.wait(lambda: operator.condition() == ("False", "OperatorServes"), lambda: f"{operator.condition()}")
    for words in (("describe clusterpolicy",), ("get events", "OperatorServes"), ("logs", "deployment/")):
        assert "to hand over: kubectl patch" in shell(command("takeover.md", *words))
    offered(cluster, 1)

    shell(command("takeover.md", "kubectl patch", '"enabled":false'))
    operator.reconcile()
    lab.wait(lambda: operator.condition() == ("True", "NoConfigNamed"), lambda: f"{operator.condition()}")
    rollout = ("-n", "gpu-operator", "rollout", "status", "daemonset/tranche")
    lab.kubectl(*rollout, "--timeout=120s", timeout=130)
    offered(cluster, 1)
    # The operator keeps reconciling: what serves does not have its names.
    operator.reconcile()
    lab.kubectl(*rollout, "--timeout=10s")
    assert cluster.container("user") == container

    shell(command("takeover.md", "helm uninstall tranche -n gpu-operator"))
    offered(cluster, 0)
    shell(command("takeover.md", "kubectl patch", '"enabled":true'))
    operator.reconcile()
    offered(cluster, 1)
    assert cluster.container("user") == container


def test_from_a_release_of_nvidias_chart(cluster, running, tmp_path):  # noqa: F811
    """Upgraded in place: commands that name its objects still work."""
    lab, shell = cluster.lab, Shell(cluster.lab)
    name = "nvdp-nvidia-device-plugin"
    labels = {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "nvdp"}
    chart = tmp_path / "nvidia-device-plugin"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: nvidia-device-plugin, version: 0.20.0}")
    (chart / "templates/plugin.yaml").write_text(json.dumps(plugin(name, labels, "nvidia-device-plugin-ctr")))
    where = "-n nvidia-device-plugin"
    shell(f"helm upgrade --install nvdp {chart} {where} --create-namespace")
    try:
        offered(cluster, 1)
        container = running()
        upgrade = command("takeover.md", "helm upgrade nvdp")
        assert "your-values.yaml" in upgrade
        shell(upgrade.replace("-f your-values.yaml", ""))
        shell(f"kubectl {where} rollout status ds/{name} --timeout=120s")
        offered(cluster, 1)
        shell(f"kubectl {where} rollout restart ds/{name}")
        shell(f"kubectl {where} rollout status ds/{name} --timeout=120s")
        assert "registered nvidia.com/gpu" in shell(f"kubectl {where} logs ds/{name} -c nvidia-device-plugin-ctr")
        pods = shell(f"kubectl {where} get pods -l app.kubernetes.io/name=nvidia-device-plugin -o name")
        assert pods.count("pod/") == len(NODES)
        offered(cluster, 1)
        assert cluster.container("user") == container
    finally:
        shell(f"helm uninstall nvdp {where} --wait --timeout 4m")
        lab.kubectl("delete", "namespace", "nvidia-device-plugin", "--wait", timeout=120)
