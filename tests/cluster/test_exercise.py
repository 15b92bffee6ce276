"""The platform exercise: one GPU, key timeslice-4 (tests/data/scenarios/platform)."""

import re

import pytest
import yaml
from pods import GPU, SCENARIOS, Applied, wait_offer
from release import Release, label

PLATFORM = SCENARIOS / "platform"
SHARED = "nvidia.com/gpu.shared"
NAMESPACE = "inference-test"
NODE = "l20"


def workers() -> tuple[str, str]:
    """The published manifest: its three Deployments, and its two Pods."""
    documents = list(yaml.safe_load_all((PLATFORM / "exercise-workers.yaml").read_text()))
    by_kind = {kind: [one for one in documents if one["kind"] == kind] for kind in ("Deployment", "Pod")}
    return tuple(yaml.safe_dump_all(by_kind[kind]) for kind in ("Deployment", "Pod"))


@pytest.mark.short
def test_the_exercise(lab):
    published = (PLATFORM / "exercise-workers.yaml").read_text()
    lab.load_images(published)
    deployments, pods = workers()
    lab.kubectl("create", "namespace", NAMESPACE)
    lab.kubectl("create", "namespace", "gpu-operator")
    lab.apply((PLATFORM / "device-plugin-config.yaml").read_text())
    label(lab, NODE, "timeslice-4")
    # Only this node: the exercise has one GPU.
    values = ("config.name=device-plugin-config", "config.default=training", "gfd.enabled=true")
    values += ("gfd.labelOutput=node", f"nodeSelector.kubernetes\\.io/hostname={NODE}")
    with Release(lab, *values, namespace="gpu-operator"):
        wait_offer(lab, NODE, 4, SHARED)
        assert lab.allocatable(NODE, GPU) in (None, "0")
        with Applied(lab, deployments):
            [uuid] = lab.node(NODE).uuids()
            lab.wait(lambda: all_say(lab, uuid), "three workers report the same UUID, and nvidia-smi does", timeout=120)
            the_fourth_runs_and_the_fifth_waits(lab, pods)
            capacity_shrinks_under_a_holder(lab)
            the_label_goes_under_four_holders(lab)
        lab.kubectl("-n", NAMESPACE, "delete", "pods", "--all", "--wait")
        # The last holder has ended: exclusive again.
        wait_offer(lab, NODE, 1)
        assert lab.allocatable(NODE, SHARED) in (None, "0")
        lab.wait(lambda: devices_free(lab)["status"] == "True", lambda: devices_free(lab))
        assert "DevicesFree" in reasons(lab)
        lab.wait(
            lambda: lab.get("node", NODE)["metadata"]["labels"].get("nvidia.com/gpu.replicas") == "1",
            "the labels follow",
        )
    lab.kubectl("delete", "namespace", NAMESPACE, "gpu-operator", "--wait", timeout=120)
    wait_offer(lab, NODE, 0)


def worker_pods(lab) -> list:
    found = lab.get("pods", "-n", NAMESPACE)["items"]
    return [pod for pod in found if pod["metadata"].get("ownerReferences")]


def all_say(lab, uuid: str) -> bool:
    names = [pod["metadata"]["name"] for pod in worker_pods(lab)]
    if len(names) != 3:
        return False
    for name in names:
        log = lab.kubectl("logs", "-n", NAMESPACE, name, check=False)
        if set(re.findall(r"UUID: (\S+)", log)) != {uuid}:
            return False
        smi = lab.exec(name, "nvidia-smi", "-L", namespace=NAMESPACE, check=False)
        if re.findall(r"UUID: (\S+?)\)", smi) != [uuid]:
            return False
    return True


def the_fourth_runs_and_the_fifth_waits(lab, pods: str) -> None:
    fourth, fifth = pods.split("\n---\n")
    lab.apply(fourth)
    lab.wait_pod("inference-worker-4", namespace=NAMESPACE)
    lab.apply(fifth)

    def why() -> str:
        for one in lab.pod("inference-worker-5", NAMESPACE)["status"].get("conditions", []):
            if one["type"] == "PodScheduled" and one["status"] == "False":
                return one["message"]
        return ""

    lab.wait(lambda: "Insufficient nvidia.com/gpu.shared" in why(), why)
    assert lab.pod("inference-worker-5", NAMESPACE)["status"]["phase"] == "Pending"


def capacity_shrinks_under_a_holder(lab) -> None:
    """4 replicas are held; the map now has 2: nobody is killed."""
    before = {pod["metadata"]["name"]: pod["status"]["startTime"] for pod in worker_pods(lab)}
    text = (PLATFORM / "device-plugin-config.yaml").read_text()
    head, rest = text.split("  timeslice-4: |", 1)
    lab.apply(head + "  timeslice-4: |" + rest.replace("replicas: 4", "replicas: 2", 1))
    wait_offer(lab, NODE, 2, SHARED)
    after = {pod["metadata"]["name"]: pod["status"]["startTime"] for pod in worker_pods(lab)}
    assert after == before
    assert all(pod["status"]["phase"] == "Running" for pod in worker_pods(lab))
    assert lab.pod("inference-worker-4", NAMESPACE)["status"]["phase"] == "Running"


def the_label_goes_under_four_holders(lab) -> None:
    """The GPU is not handed out while four Pods still use it, and the Node says so."""
    label(lab, NODE, "")
    lab.wait(lambda: capacity(lab) == "1", lambda: f"capacity {capacity(lab)}")
    lab.wait(lambda: devices_free(lab).get("status") == "False", lambda: devices_free(lab))
    assert lab.allocatable(NODE, GPU) == "0"
    assert f"{GPU} on GPU 0" in devices_free(lab)["message"]
    for pod in [*worker_pods(lab), lab.pod("inference-worker-4", NAMESPACE)]:
        assert f"{NAMESPACE}/{pod['metadata']['name']}" in devices_free(lab)["message"]
    lab.wait(lambda: "DevicesHeld" in reasons(lab), lambda: reasons(lab))


def devices_free(lab) -> dict:
    conditions = lab.get("node", NODE)["status"]["conditions"]
    return next((one for one in conditions if one["type"] == "TrancheDevicesFree"), {})


def reasons(lab) -> set:
    found = lab.get("events", "--field-selector", f"involvedObject.kind=Node,involvedObject.name={NODE}")
    return {one["reason"] for one in found["items"]}


def capacity(lab) -> str | None:
    return lab.get("node", NODE)["status"]["capacity"].get(GPU)
