"""The platform scenario's MIG part as written: node labels change layouts on two nodes with four
A100-80GB each, with running Pods."""

import json

import pytest
import yaml
from pods import GPU, SCENARIOS, Applied, pod, wait_offer
from release import Release

CONFIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"
PLATFORM = SCENARIOS / "platform"
SMALL, TWO, THREE = (f"nvidia.com/mig-{one}" for one in ("1g.10gb", "2g.20gb", "3g.40gb"))
DRAIN = 20  # seconds
# Annotations that exist without a change.
STAY = ("tranche.dev/mig-accept-outage", "tranche.dev/mig-applied")


@pytest.fixture(scope="module")
def lab(labs):
    # As long as kubelet's own, because the end of a change waits for it.
    return labs.get(["a100-80gb-x4=gpu-1", "a100-80gb-x4=gpu-2"], node_status="10s")


@pytest.fixture(scope="module")
def release(lab):
    lab.kubectl("create", "namespace", "gpu-operator")
    lab.apply((PLATFORM / "mig-parted-config.yaml").read_text())
    values = (
        "migStrategy=mixed",
        "migManager.enabled=true",
        "migManager.config.name=mig-parted-config",
        f"migManager.drainTimeout={DRAIN}s",
    )
    with Release(lab, *values, namespace="gpu-operator") as one:
        for node in ("gpu-1", "gpu-2"):
            wait_offer(lab, node, 4)
        yield one


def labels(lab, node: str) -> dict:
    return lab.get("node", node)["metadata"]["labels"]


def wish(lab, node: str, layout: str) -> None:
    lab.kubectl("label", "--overwrite", "node", node, f"{CONFIG}={layout}")


def offers(lab, node: str) -> dict:
    """The resources of which the node offers some."""
    allocatable = lab.get("node", node)["status"]["allocatable"]
    return {name: int(n) for name, n in allocatable.items() if name.startswith("nvidia.com/") and n != "0"}


def wait_offers(lab, node: str, **wanted: int) -> None:
    """Kubelet updates the API server every ten seconds."""
    names = {"gpu": GPU, "small": SMALL, "two": TWO, "three": THREE}
    all_of = {names[key]: count for key, count in wanted.items()}
    lab.wait(lambda: offers(lab, node) == all_of, lambda: f"{offers(lab, node)}\n{story(lab, node)}", 15)


def story(lab, node: str) -> str:
    """For messages: what a person would look at."""
    described = lab.kubectl("describe", "node", node, check=False)
    return described + lab.kubectl("get", "events.events.k8s.io", "-A", check=False)[-6000:]


def closed(lab, node: str, state: str) -> bool:
    """The change is over: this is the state, and nothing of the change is left on the Node."""
    one = lab.get("node", node)
    left = [key for key in one["metadata"].get("annotations", {}) if key.startswith("tranche.dev/mig-")]
    left = [key for key in left if key not in STAY]
    return one["metadata"]["labels"].get(STATE) == state and not left and not one["spec"].get("unschedulable")


def wait_closed(lab, node: str, state: str, timeout: float = 90) -> None:
    lab.wait(lambda: closed(lab, node, state), lambda: f"{node} is not {state}:\n{story(lab, node)}", timeout)


def reasons(lab, kind: str, name: str) -> dict:
    """The notes of an object's Events by reason."""
    found = lab.get("events.events.k8s.io", "-A")["items"]
    about = [one for one in found if one["regarding"]["kind"] == kind and one["regarding"]["name"] == name]
    return {one["reason"]: one["note"] for one in about}


def deployment(name: str, resource: str, node: str = "") -> str:
    """`node`: the only one on which its Pods run."""
    inner = json.loads(pod(name, "sleep", "infinity", gpus=1, resource=resource, node=node))
    template = {"metadata": {"labels": {"app": name}}, "spec": inner["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec})


def budget(name: str) -> str:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}
    metadata = {"name": name}
    return json.dumps({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})


def pods_of(lab, app: str) -> list:
    return [
        one
        for one in lab.get("pods", "-l", f"app={app}")["items"]
        if one["status"]["phase"] == "Running" and not one["metadata"].get("deletionTimestamp")
    ]


def inference() -> str:
    """The Pod inference-small as published, with another image, and `sleep` in place of its
    server."""
    pods = yaml.safe_load_all((PLATFORM / "pods.yaml").read_text())
    small = next(one for one in pods if one["metadata"]["name"] == "inference-small")
    small["spec"]["containers"][0]["command"] = ["sleep", "infinity"]
    return yaml.safe_dump(small)


def training() -> str:
    """The Pod multi-gpu-training as published."""
    pods = yaml.safe_load_all((PLATFORM / "pods.yaml").read_text())
    return yaml.safe_dump(next(one for one in pods if one["metadata"]["name"] == "multi-gpu-training"))


def accept(lab, node: str, layout: str) -> None:
    key = "tranche.dev/mig-accept-outage"
    lab.kubectl("annotate", "--overwrite", "node", node, f"{key}={layout}" if layout else f"{key}-")


# Kubelet updates what it offers at the API server every ten seconds. A Pod that waits for what has
# left must not be bound to the node before that: kubelet would refuse it, its Deployment make
# another, and so on.
def test_no_pod_is_bound_to_what_has_left(lab, release):
    lab.kubectl("cordon", "gpu-2")
    with Applied(lab, deployment("waits", GPU, "gpu-1")):
        lab.wait(lambda: pods_of(lab, "waits"), "the Pod runs on gpu-1")
        lab.kubectl("uncordon", "gpu-2")
        wish(lab, "gpu-1", "all-1g.10gb")
        wait_closed(lab, "gpu-1", "success")
        assert offers(lab, "gpu-1") == {SMALL: 28}
        pods = lab.get("pods", "-l", "app=waits")["items"]
        assert [one["status"].get("reason") for one in pods] == [None], pods
        assert pods[0]["status"]["phase"] == "Pending"
        accept(lab, "gpu-1", "all-disabled")
        wish(lab, "gpu-1", "all-disabled")
        wait_closed(lab, "gpu-1", "success")
    accept(lab, "gpu-1", "")
    wait_offers(lab, "gpu-1", gpu=4)


def test_a_pod_without_a_grant_that_has_a_gpu_open_is_named(lab, release):
    """It uses the GPU without kubelet, as monitors do. On an A100 the mode changes only by a
    reset."""
    hold = ("tranche-load", "hold", "--memory", "1Gi", "--duration", "1h")
    env = {"NVIDIA_VISIBLE_DEVICES": "all"}
    with Applied(lab, pod("watcher", *hold, image="lab-glibc:1", env=env, node="gpu-2")):
        lab.wait_pod("watcher")
        lab.wait(lambda: lab.node("gpu-2").gpus()[0]["processes"], "it has the GPU open")
        accept(lab, "gpu-2", "all-1g.10gb")
        wish(lab, "gpu-2", "all-1g.10gb")
        wait_closed(lab, "gpu-2", "failed")
        note = reasons(lab, "Node", "gpu-2")["MigChangeFailed"]
        assert "Pod default/watcher)" in note, note
        assert "seen" not in note and "looked at" not in note, note
        wait_offers(lab, "gpu-2", gpu=4)
    accept(lab, "gpu-2", "")
    lab.kubectl("label", "node", "gpu-2", f"{CONFIG}-")
    lab.wait(lambda: STATE not in labels(lab, "gpu-2"), "the state goes with the label")


def test_all_balanced_by_a_label_beside_a_pod_and_its_budget(lab, release):
    lab.kubectl("cordon", "gpu-2")
    with Applied(lab, deployment("train", GPU), budget("train")):
        lab.wait(lambda: pods_of(lab, "train"), "the Pod runs on gpu-1")
        lab.kubectl("uncordon", "gpu-2")
        first = pods_of(lab, "train")[0]["metadata"]["name"]
        wish(lab, "gpu-1", "all-balanced")
        # The budget blocks: the Pod gets an Event, the Node is cordoned, nothing is changed.
        lab.wait(lambda: "MigEvictionBlocked" in reasons(lab, "Pod", first), lambda: story(lab, "gpu-1"))
        announced = reasons(lab, "Node", "gpu-1")["MigChangeAnnounced"]
        assert "nvidia.com/gpu 4 -> 0" in announced and f"default/{first} (gpu-2 has place)" in announced
        assert lab.get("node", "gpu-1")["spec"]["unschedulable"]
        assert labels(lab, "gpu-1")[STATE] == "pending"
        assert [one["metadata"]["name"] for one in pods_of(lab, "train")] == [first]
        lab.kubectl("delete", "pdb", "train")
        wait_closed(lab, "gpu-1", "success")
        wait_offers(lab, "gpu-1", three=4, two=4, small=8)
        moved = lab.wait(lambda: pods_of(lab, "train"), "the Pod runs again")[0]
        assert moved["spec"]["nodeName"] == "gpu-2"
    wait_offers(lab, "gpu-2", gpu=4)


def test_an_outage_is_accepted_by_a_person_and_a_pod_on_an_instance_that_stays_runs_on(lab, release):
    published = inference()
    lab.load_images(published)
    with Applied(lab, published):
        before = lab.wait_pod("inference-small")
        devices = lab.exec("inference-small", "nvidia-smi", "-L")
        assert "MIG 1g.10gb" in devices
        # No other node offers 3g.40gb.
        wish(lab, "gpu-1", "all-1g.10gb")
        wait_closed(lab, "gpu-1", "failed")
        refused = reasons(lab, "Node", "gpu-1")["MigChangeRefused"]
        assert "no other node that takes Pods offers" in refused and THREE in refused and SMALL not in refused
        wait_offers(lab, "gpu-1", three=4, two=4, small=8)
        accept(lab, "gpu-1", "all-1g.10gb")
        wait_closed(lab, "gpu-1", "success")
        wait_offers(lab, "gpu-1", small=28)
        after = lab.pod("inference-small")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert [one["restartCount"] for one in after["status"]["containerStatuses"]] == [0]
        assert lab.exec("inference-small", "nvidia-smi", "-L") == devices
    accept(lab, "gpu-1", "")


def test_a_full_gpu_pod_that_stays_pending_is_told_why(lab, release):
    """Next to one of an absurd amount, which the API server accepts."""
    absurd = pod("absurd", "sleep", "1", gpus="1e30", node="gpu-1")
    lab.kubectl("cordon", "gpu-2")
    pinned = yaml.safe_load(training())
    pinned["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "gpu-1"}
    with Applied(lab, yaml.safe_dump(pinned), absurd):
        told = lab.wait(lambda: reasons(lab, "Pod", "multi-gpu-training").get("MigLayoutLacks"), lambda: story(lab, "gpu-1"))
        assert "has nvidia.com/gpu: 4" in told
        assert "gpu-1 (MIG layout all-1g.10gb) offers nvidia.com/mig-1g.10gb: 28" in told
    lab.kubectl("uncordon", "gpu-2")


def test_mixed_workload_has_a_whole_gpu_beside_instances(lab, release):
    wish(lab, "gpu-1", "mixed-workload")
    wait_closed(lab, "gpu-1", "success")
    wait_offers(lab, "gpu-1", gpu=1, two=9, small=3)


def test_a_pod_that_does_not_stop_ends_the_change_and_not_the_node(lab, release):
    stubborn = pod("stubborn", "sh", "-c", "trap '' TERM; sleep infinity & wait; wait", gpus=1, node="gpu-2")
    stubborn = json.loads(stubborn)
    stubborn["spec"]["terminationGracePeriodSeconds"] = 600
    with Applied(lab, json.dumps(stubborn)):
        lab.wait_pod("stubborn")
        wish(lab, "gpu-2", "all-balanced")
        wait_closed(lab, "gpu-2", "failed", timeout=DRAIN + 60)
        assert "default/stubborn" in reasons(lab, "Node", "gpu-2")["MigNotChanged"]
        wait_offers(lab, "gpu-2", gpu=4)
        lab.kubectl("delete", "pod", "stubborn", "--force", "--grace-period=0")
    # The Pod has gone: a person asks again.
    lab.kubectl("label", "node", "gpu-2", f"{STATE}-")
    wait_closed(lab, "gpu-2", "success")
    wait_offers(lab, "gpu-2", three=4, two=4, small=8)


def test_an_agent_that_is_killed_and_a_node_that_is_rebooted_end_in_the_layout(lab, release):
    accept(lab, "gpu-2", "all-1g.10gb")
    wish(lab, "gpu-2", "all-1g.10gb")
    lab.wait(lambda: labels(lab, "gpu-2").get(STATE) == "pending", "the change has begun")
    agent = release.agents()["gpu-2"]["metadata"]["name"]
    lab.kubectl("delete", "pod", "-n", "gpu-operator", agent, "--force", "--grace-period=0")
    wait_closed(lab, "gpu-2", "success")
    wait_offers(lab, "gpu-2", small=28)
    # A reboot destroys instances; the layout in force is made again.
    lab.reboot("gpu-2")
    lab.wait(lambda: offers(lab, "gpu-2") == {SMALL: 28}, lambda: story(lab, "gpu-2"), timeout=120)
    wait_closed(lab, "gpu-2", "success")
