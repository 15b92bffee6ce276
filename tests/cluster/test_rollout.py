"""The published rollout, from 2 to 11 tranches, with one DaemonSet (tests/data/scenarios/rollout)."""

import json
import re

import pytest
from pods import GPU, SCENARIOS, Applied, wait_offer
from release import Release, condition, label

ROLLOUT = SCENARIOS / "rollout"
NODES = ("l20", "t4")


@pytest.fixture(scope="module")
def lab(two_gpu_lab):
    return two_gpu_lab


def managed(image: str) -> str:
    """The cloud's own DaemonSet with another image, and nothing else changed."""
    text = (ROLLOUT / "managed-daemonset.yaml").read_text()
    [published] = re.findall(r"image: (\S+)", text)
    return text.replace(published, image)


def deployment(version: str, replicas: int) -> str:
    """Rolls without going below `replicas`: a new Pod must find a GPU before an old one ends."""
    container = {
        "name": "main",
        "image": "lab-glibc:1",
        "command": ["sleep", "infinity"],
        "env": [{"name": "VERSION", "value": version}],
        "resources": {"limits": {GPU: 1}},
    }
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "app"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "app"}},
                "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "template": {
                    "metadata": {"labels": {"app": "app"}},
                    "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
                },
            },
        }
    )


def pods(lab) -> list:
    return lab.get("pods", "-l", "app=app")["items"]


def phases(lab) -> list:
    return sorted(pod["status"]["phase"] for pod in pods(lab))


def unschedulable(lab) -> str:
    for pod in pods(lab):
        for one in pod["status"].get("conditions", []):
            if one["type"] == "PodScheduled" and one["status"] == "False":
                return one["message"]
    return ""


def rolled_out(lab) -> bool:
    status = lab.get("deployment", "app")["status"]
    return status.get("updatedReplicas") == status.get("availableReplicas") == status.get("replicas") == 2


@pytest.mark.short
def test_from_2_to_11(lab):
    for node in NODES:
        lab.kubectl("label", "--overwrite", "node", node, "nvidia-device-enable=enable")
    lab.apply((ROLLOUT / "time-slicing-config.yaml").read_text())

    # Before: one GPU a node, both taken, and the rolling update hangs.
    with Applied(lab, managed("tranche:lab")):
        for node in NODES:
            wait_offer(lab, node, 1)
        lab.apply(deployment("one", 2))
        lab.wait(lambda: phases(lab) == ["Running"] * 2, "both run")
        lab.apply(deployment("two", 2))
        lab.wait(lambda: "Insufficient" in unschedulable(lab), "the new Pod is Pending")
        assert unschedulable(lab).startswith("0/8 nodes are available: 8 Insufficient nvidia.com/gpu.")
        assert phases(lab) == ["Pending", "Running", "Running"]

    # The chart in its place, key `any` everywhere: the update completes.
    values = ("config.name=time-slicing-config", "config.default=any")
    with Release(lab, *values) as release:
        for node in NODES:
            wait_offer(lab, node, 2)
        lab.wait(lambda: rolled_out(lab), "the rolling update completes")
        assert not unschedulable(lab)
        agents = release.agents()
        assert set(agents) == set(NODES)
        daemonsets = lab.get("daemonsets", "-n", "kube-system")["items"]
        # The arbiter's is for nodes with the label tranche.dev/mode.
        with_pods = [one["metadata"]["name"] for one in daemonsets if one["status"]["desiredNumberScheduled"]]
        assert with_pods == [release.name]

        # Sized by model, node by node: 8 + 3, without any restart.
        label(lab, "l20", "l20")
        label(lab, "t4", "t4")
        wait_offer(lab, "l20", 8)
        wait_offer(lab, "t4", 3)
        lab.apply(deployment("two", 11))
        lab.wait(lambda: phases(lab) == ["Running"] * 11, "11 Pods run, none is Pending", timeout=120)
        assert condition(lab, "l20")[:2] == ("True", "ConfigApplied")
        assert "key l20 (label nvidia.com/device-plugin.config=l20)" in condition(lab, "l20")[2]

        the_content_of_the_map_changes(lab)
        a_bad_key_among_good_ones(lab)
        the_cloud_puts_its_daemonset_back(lab, release)
        assert release.untouched(agents)
        assert phases(lab) == ["Running"] * 11, "no Pod was lost in all this"
    lab.kubectl("delete", "deployment", "app", "--wait")
    for node in NODES:
        label(lab, node, "")
        wait_offer(lab, node, 0)


def the_content_of_the_map_changes(lab) -> None:
    """Noticed without a restart; running Pods are left alone."""
    changed = (ROLLOUT / "time-slicing-config.yaml").read_text().replace("replicas: 3", "replicas: 4")
    lab.apply(changed)
    wait_offer(lab, "t4", 4)
    wait_offer(lab, "l20", 8)
    lab.apply((ROLLOUT / "time-slicing-config.yaml").read_text())
    wait_offer(lab, "t4", 3)


def a_bad_key_among_good_ones(lab) -> None:
    """A label that names it, or names nothing, changes nothing and is reported."""
    patch = {"data": {"broken": "version: v1\nsharing: 7\n"}}
    lab.kubectl("-n", "kube-system", "patch", "configmap", "time-slicing-config", "-p", json.dumps(patch))
    for value, word in (("broken", "time-slicing-config:broken:2"), ("nope", "specified config nope does not exist")):
        label(lab, "t4", value)
        lab.wait(lambda word=word: word in str(condition(lab, "t4")), lambda: f"{condition(lab, 't4')}")
        assert condition(lab, "t4")[:2] == ("False", "ConfigRefused")
    events = lab.get("events", "--field-selector", "reason=ConfigRefused,involvedObject.name=t4")["items"]
    assert any("specified config nope does not exist" in one["message"] for one in events)
    assert lab.allocatable("t4", GPU) == "3"
    label(lab, "t4", "t4")
    lab.wait(lambda: condition(lab, "t4")[:1] == ("True",), "t4 is well again")


def the_cloud_puts_its_daemonset_back(lab, release) -> None:
    """Two plugins on a node: the serving one keeps its resources, and the other says so."""
    with Applied(lab, managed("tranche:lab")):

        def refused() -> bool:
            found = lab.get("pods", "-n", "kube-system", "-l", "name=nvidia-device-plugin-ds")["items"]
            names = [pod["metadata"]["name"] for pod in found]
            logs = [lab.kubectl("logs", "-n", "kube-system", name, check=False) for name in names]
            return len(logs) == 2 and all("kube-system/tranche serves this node" in log for log in logs)

        lab.wait(refused, "both foreign plugins say that someone else serves")
        assert lab.allocatable("l20", GPU) == "8"
        assert lab.allocatable("t4", GPU) == "3"
