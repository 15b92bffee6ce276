"""Exclusive Pods, restarts, reboots and killed agents, under load: no admitted Pod loses its
device, and no device is held twice."""

import collections
import json
import random
import time

import pytest
from pods import GPU, SCENARIOS, Applied, wait_offer
from release import Release
from test_faults import config_map, end_agent

NODE = "a100"
MAP = "kill-configs"
CHECKPOINT = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"


def deployment(replicas: int) -> str:
    container = {"name": "main", "image": "lab-glibc:1", "command": ["sleep", "infinity"]}
    container["resources"] = {"limits": {GPU: 1}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    spec["nodeSelector"] = {"kubernetes.io/hostname": NODE}
    template = {"metadata": {"labels": {"app": "load"}}, "spec": spec}
    selector = {"matchLabels": {"app": "load"}}
    body = {"replicas": replicas, "selector": selector, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "load"}, "spec": body})


def pods(lab) -> list:
    return lab.get("pods", "-l", "app=load")["items"]


def running(lab) -> list:
    return [
        pod
        for pod in pods(lab)
        if pod["status"]["phase"] == "Running"
        and not pod["metadata"].get("deletionTimestamp")
        and all(one["ready"] for one in pod["status"].get("containerStatuses", []))
    ]


def held(lab) -> dict:
    """Pod uid -> ids of devices, of running Pods, as kubelet has stored it."""
    entries = json.loads(lab.node(NODE).run("cat", CHECKPOINT).out)["Data"]["PodDeviceEntries"] or []
    alive = {pod["metadata"]["uid"] for pod in running(lab)}
    found = collections.defaultdict(list)
    for entry in entries:
        if entry["PodUID"] in alive and entry["ResourceName"] == GPU:
            found[entry["PodUID"]] += [one for ids in entry["DeviceIDs"].values() for one in ids]
    return dict(found)


def check_devices(lab) -> None:
    """Each running Pod holds one device of its own, and sees its GPU."""
    ids = held(lab)
    counts = collections.Counter(one for ones in ids.values() for one in ones)
    assert all(count == 1 for count in counts.values()), counts
    for pod in running(lab):
        [one] = ids[pod["metadata"]["uid"]]
        # A restarted kubelet takes a moment to know its Pods.
        name = pod["metadata"]["name"]
        listed = lab.wait(lambda name=name: gpus_seen(lab, name), f"nvidia-smi answers in {name}")
        assert one.split("::")[0] in listed and listed.count("UUID:") == 1, listed


def gpus_seen(lab, name: str) -> str:
    listed = lab.exec(name, "nvidia-smi", "-L", check=False)
    return listed if "UUID:" in listed else ""


@pytest.fixture(scope="module")
def release(lab):
    lab.apply(config_map(default=5).replace("node-configs", MAP))
    with Release(lab, f"config.name={MAP}", f"nodeSelector.kubernetes\\.io/hostname={NODE}") as one:
        wait_offer(lab, NODE, 20)
        yield one
    lab.kubectl("delete", "configmap", MAP, "-n", "kube-system")


def test_exclusive_pods(lab):
    """The published exclusive Pod, once for each GPU and once more."""
    published = (SCENARIOS / "fractions" / "exclusive-pod.yaml").read_text()
    lab.load_images(published)
    lab.apply(config_map(default=1).replace("node-configs", MAP))
    with Release(lab, f"config.name={MAP}", f"nodeSelector.kubernetes\\.io/hostname={NODE}"):
        wait_offer(lab, NODE, 4)
        stay = "    image: my-gpu-image\n    command: [sleep, infinity]\n"
        text = published.replace("    image: my-gpu-image\n", stay)
        names = [f"gpu-pod-{number}" for number in range(5)]
        with Applied(lab, "\n---\n".join(text.replace("gpu-pod", name) for name in names)):

            def uuids() -> list:
                alive = [name for name in names if lab.pod(name)["status"]["phase"] == "Running"]
                listed = [lab.exec(name, "nvidia-smi", "-L", check=False) for name in alive]
                return [line for text in listed for line in text.splitlines() if "UUID" in line]

            lab.wait(lambda: len(uuids()) == 4, "four of five run")
            assert len(set(uuids())) == 4, "each on a GPU of its own"
            phases = [lab.pod(name)["status"]["phase"] for name in names]
            assert sorted(phases) == ["Pending"] + ["Running"] * 4
    wait_offer(lab, NODE, 0)


def test_restarts_and_a_reboot_under_load(lab, release):
    node = lab.node(NODE)
    with Applied(lab, deployment(12)):
        lab.wait(lambda: len(running(lab)) == 12, "12 Pods run", timeout=120)
        check_devices(lab)
        before = held(lab)
        node.restart_kubelet()
        node.restart_containerd()
        wait_offer(lab, NODE, 20)
        lab.wait(lambda: held(lab) == before, "everyone keeps what it had", timeout=60)
        check_devices(lab)
        lab.reboot(NODE)
        lab.wait(lambda: len(running(lab)) == 12 and serves(lab), "all run again", timeout=240)
        wait_offer(lab, NODE, 20, timeout=120)
        check_devices(lab)


def serves(lab) -> bool:
    return all(lab.exec(pod["metadata"]["name"], "true", check=False) == "" for pod in running(lab))


@pytest.mark.parametrize(
    ("kills", "starts"), [(4, 40), pytest.param(20, 200, marks=pytest.mark.soak)], ids=["short", "long"]
)
def test_agents_killed_during_pod_starts(lab, release, kills, starts):
    dice = random.Random(1)
    size = starts // kills
    refused = set()
    with Applied(lab, deployment(size)):
        for _ in range(kills):
            lab.kubectl("delete", "pods", "-l", "app=load", "--wait=false", "--grace-period=0", "--force")
            time.sleep(dice.uniform(0, 1.5))  # the agent dies at some moment of the starts
            end_agent(lab, NODE)
            last = time.monotonic()
            lab.wait(lambda: len(running(lab)) >= size // 2, "Pods start", timeout=60)
            refused |= {pod["metadata"]["uid"] for pod in pods(lab) if pod["status"]["phase"] == "Failed"}
        lab.wait(lambda: len(running(lab)) == size, "all replicas run", timeout=60)
        print(f"all {size} replicas Running {time.monotonic() - last:.1f} s after the last kill; ", end="")
        print(f"{len(refused)} Pods were refused in {kills} kills and {starts} starts")
        check_devices(lab)
