"""The agent on a cluster when others fail."""

import json

import pytest
from pods import GPU, Applied, pod, wait_offer
from release import Release, condition, label

MAP = "node-configs"
NAMESPACE = "kube-system"


def sharing(replicas: int) -> str:
    entry = {"name": GPU, "replicas": replicas}
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": [entry]}}})


def config_map(**replicas: int) -> str:
    data = {name: sharing(count) for name, count in replicas.items()}
    metadata = {"name": MAP, "namespace": NAMESPACE}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


@pytest.fixture(scope="module")
def release(lab):
    lab.apply(config_map(default=2, four=4))
    with Release(lab, f"config.name={MAP}", "gfd.enabled=true", "gfd.labelOutput=node") as one:
        wait_offer(lab, "t4", 2)
        yield one
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)


def agents(lab, node: str) -> list[str]:
    """Process ids, including running probes."""
    return lab.node(node).run("pgrep", "-f", "^tranche agent", check=False).out.split()


def end_agent(lab, node: str) -> None:
    """SIGKILL for the agent's container; kubelet starts it again."""
    pids = lab.wait(lambda: agents(lab, node), f"an agent runs on {node}")
    lab.node(node).run("kill", "-9", *pids, check=False)


def status_of(lab, node: str) -> str:
    """The agent's answer to a probe in its container, with or without the API server."""
    answer = ""
    for pid in agents(lab, node):
        inside = ("nsenter", "--target", pid, "--mount", "--net", "--pid")
        done = lab.node(node).run(*inside, "tranche", "agent", "--check=live", check=False)
        answer += done.out + done.err
    return answer


def test_an_api_server_that_is_away(lab, release):
    """An agent that starts meanwhile serves the last configuration in force, and follows when it is
    back."""
    label(lab, "t4", "four")
    wait_offer(lab, "t4", 4)
    lab.client.stop("kube-apiserver")
    try:
        end_agent(lab, "t4")
        lab.wait(
            lambda: f"ready: ConfigMap {NAMESPACE}/{MAP}, key four" in status_of(lab, "t4"),
            lambda: status_of(lab, "t4"),
        )
    finally:
        lab.restart_api_server()
    lab.wait(lambda: lab.nodes_ready()["t4"], "t4 is Ready again", timeout=120)
    label(lab, "t4", "")
    wait_offer(lab, "t4", 2, timeout=120)


def test_a_map_that_vanishes_and_returns(lab, release):
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)
    lab.wait(lambda: "does not exist" in str(condition(lab, "t4")), lambda: f"{condition(lab, 't4')}")
    assert condition(lab, "t4")[:2] == ("False", "ConfigRefused")
    assert lab.allocatable("t4", GPU) == "2"
    lab.apply(config_map(default=3, four=4))
    wait_offer(lab, "t4", 3)
    lab.apply(config_map(default=2, four=4))
    wait_offer(lab, "t4", 2)
    lab.wait(lambda: condition(lab, "t4")[:1] == ("True",), "t4 is well again")


def test_a_node_that_is_deleted_and_comes_back(lab, release):
    labels = "nvidia.com/gpu.product"
    assert lab.get("node", "t4")["metadata"]["labels"][labels] == "Tesla-T4-SHARED"
    with Applied(lab, pod("holder", "sleep", "infinity", image="lab-glibc:1", gpus=1, node="l20")):
        lab.wait_pod("holder")
        lab.kubectl("delete", "node", "t4")
        lab.node("t4").restart_kubelet()
        lab.wait(lambda: lab.nodes_ready().get("t4"), "t4 is there again", timeout=120)
        lab.kubectl("label", "node", "t4", "feature.node.kubernetes.io/pci-10de.present=true")
        wait_offer(lab, "t4", 2, timeout=120)
        lab.wait(
            lambda: lab.get("node", "t4")["metadata"]["labels"].get(labels) == "Tesla-T4-SHARED",
            "its labels are there again",
        )
        lab.wait(lambda: condition(lab, "t4")[:1] == ("True",), "and its condition")
        assert lab.pod("holder")["status"]["phase"] == "Running"


def test_a_missing_right_is_named(lab, release):
    """Without the right to read the map the agent serves the last configuration in force and names
    the missing rule."""
    roles = lab.get("roles", "-n", NAMESPACE, "-l", "app.kubernetes.io/name=tranche")["items"]
    [role] = [one for one in roles if any("configmaps" in rule["resources"] for rule in one["rules"])]
    name = role["metadata"]["name"]
    without = {**role, "rules": [one for one in role["rules"] if "configmaps" not in one["resources"]]}
    without["metadata"] = {key: role["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
    lab.kubectl("delete", "role", name, "-n", NAMESPACE)
    lab.apply(json.dumps(without))
    try:
        end_agent(lab, "t4")
        lab.wait(
            lambda: "configmaps" in release.log("t4") and "grant" in release.log("t4"),
            lambda: release.log("t4")[-3000:],
        )
        lab.wait(lambda: "ready: " in status_of(lab, "t4"), lambda: status_of(lab, "t4"))
        wait_offer(lab, "t4", 2)
    finally:
        lab.kubectl("delete", "role", name, "-n", NAMESPACE)
        role["metadata"] = without["metadata"]
        lab.apply(json.dumps(role))
    label(lab, "t4", "four")
    wait_offer(lab, "t4", 4, timeout=90)
    label(lab, "t4", "")
    wait_offer(lab, "t4", 2)


def test_two_agents_on_one_node(lab, release):
    """The second waits for the first to end, and takes over then: it has takeOver, the first is not
    uninstalled."""
    options = ("cleanup.enabled=false", "admissionPolicy.enabled=false", "probes.readiness=null", "probes.startup=null")
    options += ("takeOver=true",)
    serves = f"release {NAMESPACE}/{release.name} serves this node"
    with Release(lab, f"config.name={MAP}", *options, name="second") as second:
        lab.wait(lambda: serves in second.log("t4"), lambda: second.log("t4")[-2000:])
        assert lab.allocatable("t4", GPU) == "2"
        end_first(lab, release)
        lab.wait(lambda: "registered nvidia.com/gpu" in second.log("t4"), lambda: second.log("t4")[-2000:])
        wait_offer(lab, "t4", 2)


def end_first(lab, release) -> None:
    """The first agent leaves the node, because its DaemonSet no longer wants it there."""
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}}}}
    lab.kubectl("-n", NAMESPACE, "patch", "daemonset", release.name, "-p", json.dumps(patch))
    lab.wait(lambda: "t4" not in release.agents(), "the first agent is gone")
