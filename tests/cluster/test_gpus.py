"""Pods get GPUs on a real node: by the wrapper that stands in for NVIDIA's runtime."""

import pathlib
import re

import pytest
from pods import GPU, Applied, Serving, agent, pod, wait_offer

from lab.cluster.lab import Lab

SCENARIOS = pathlib.Path(__file__).resolve().parents[1] / "data" / "scenarios"
LIST = ("bash", "-c", "nvidia-smi -L; ls -1 /dev | grep nvidia; env | grep ^NVIDIA; exec sleep infinity")
CONTROL = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}


def seen(lab: Lab, name: str) -> tuple[list[str], set[str], str]:
    """UUIDs in nvidia-smi -L, device nodes, and NVIDIA's variables of a LIST Pod."""
    lab.wait_pod(name)
    text = lab.wait(lambda: "NVIDIA_" in lab.logs(name) and lab.logs(name), f"{name} says its variables")
    nodes = {line for line in text.splitlines() if line.startswith("nvidia")}
    return re.findall(r"UUID: (\S+?)\)", text), nodes, text


def test_the_managed_daemonset_with_another_image(lab):
    """The cloud's own DaemonSet, with only its image changed, serves both GPU nodes of eight."""
    text = (SCENARIOS / "rollout" / "managed-daemonset.yaml").read_text()
    [image] = re.findall(r"image: (\S+)", text)
    for node in ("l20", "t4"):
        lab.kubectl("label", "--overwrite", "node", node, "nvidia-device-enable=enable")
    with Applied(lab, text.replace(image, "tranche:lab")):
        for node in ("l20", "t4"):
            wait_offer(lab, node, 1)
        names = ["-n", "kube-system", "-l", "name=nvidia-device-plugin-ds"]
        pods = lab.get("pods", *names)["items"]
        assert {one["spec"]["nodeName"] for one in pods} == {"l20", "t4"}
        with Applied(lab, pod("one", *LIST, image="lab-glibc:1", gpus=1, node="t4")):
            uuids, _, text = seen(lab, "one")
            assert uuids == lab.node("t4").uuids(), text
    for node in ("l20", "t4"):
        wait_offer(lab, node, 0)
        lab.kubectl("label", "node", node, "nvidia-device-enable-")


def test_a_pod_sees_exactly_its_gpu(lab):
    with Serving(lab, agent()):
        wait_offer(lab, "a100", 4)
        minors = {gpu["uuid"]: gpu["minor"] for gpu in lab.node("a100").gpus()}
        one = pod("one", *LIST, image="lab-glibc:1", gpus=1, node="a100")
        three = pod("three", *LIST, image="lab-glibc:1", gpus=3, node="a100")
        with Applied(lab, one, three):
            held = []
            for name, count in (("one", 1), ("three", 3)):
                uuids, nodes, text = seen(lab, name)
                assert len(uuids) == count, text
                assert nodes == CONTROL | {f"nvidia{minors[uuid]}" for uuid in uuids}, text
                [value] = re.findall(r"^NVIDIA_VISIBLE_DEVICES=(.*)$", text, re.MULTILINE)
                assert set(value.split(",")) == set(uuids)
                held += uuids
            assert sorted(held) == sorted(minors)


@pytest.mark.parametrize("strategy", ["volume-mounts", "cdi-cri", "cdi-annotations"])
def test_other_ways_to_name_a_gpu_to_the_runtime(lab, strategy):
    """All other tests use `envvar`. With CDI the wrapper, though the default, adds no GPU
    itself."""
    arguments = [f"--device-list-strategy={strategy}", "--driver-root-ctr-path=/driver-root"]
    with Serving(lab, agent(*arguments, driver_root=True)):
        wait_offer(lab, "a100", 4)
        with Applied(lab, pod("one", *LIST, image="lab-glibc:1", gpus=1, node="a100")):
            uuids, nodes, text = seen(lab, "one")
            minors = {gpu["uuid"]: gpu["minor"] for gpu in lab.node("a100").gpus()}
            assert len(uuids) == 1, text
            assert nodes - {"nvidia-modeset"} == CONTROL | {f"nvidia{minors[uuids[0]]}"}, text
            value = "/var/run/nvidia-container-devices" if strategy == "volume-mounts" else "void"
            assert f"NVIDIA_VISIBLE_DEVICES={value}\n" in text


def test_a_privileged_pod_without_a_gpu_sees_every_device(lab):
    """The rollout's fault: it saw the device files but the device cgroup blocked them."""
    asks = pod("bold", *LIST, image="lab-glibc:1", node="l20", security={"privileged": True})
    with Applied(lab, asks):
        lab.wait_pod("bold")
        assert "nvidia0" in lab.exec("bold", "ls", "/dev").split()
        # NVIDIA's runtime adds neither driver nor limits: the node's device rules allow all.
        rules = lab.exec("bold", "cat", "/sys/fs/cgroup/devices/devices.list", check=False)
        assert rules.startswith("a *:* rwm") or "No such file" in rules


def test_a_pod_sees_exactly_its_mig_device(lab):
    node = lab.node("mig")
    resource = "nvidia.com/mig-1g.5gb"

    def devices() -> dict:
        return {one["uuid"]: one["profile"] for one in node.gpus()[0]["mig"]["devices"]}

    asks = {"image": "lab-glibc:1", "resource": resource, "node": "mig"}
    with Serving(lab, agent("--mig-strategy=mixed")):
        wait_offer(lab, "mig", 2, resource)
        with Applied(lab, pod("small", *LIST, gpus=1, **asks)):
            lab.wait_pod("small")
            text = lab.wait(lambda: "NVIDIA_" in lab.logs("small") and lab.logs("small"), "it lists")
            [uuid] = re.findall(r"\(UUID: (MIG-\S+)\)", text)
            assert devices()[uuid] == "1g.5gb"
            caps = lab.exec("small", "ls", "/dev/nvidia-caps").split()
            assert len(caps) == 2  # the GPU instance's and the compute instance's
        # An instance made while the node runs, as by an administrator.
        node.sim("mig", "destroy", "--all")
        for _ in range(3):
            node.sim("mig", "create", "--profile", "1g.5gb")
        assert list(devices().values()) == ["1g.5gb"] * 3
        wait_offer(lab, "mig", 3, resource)
        with Applied(lab, pod("small", *LIST, gpus=3, **asks)):
            lab.wait_pod("small")
            text = lab.wait(lambda: "NVIDIA_" in lab.logs("small") and lab.logs("small"), "it lists")
            assert set(re.findall(r"\(UUID: (MIG-\S+)\)", text)) == set(devices())


def test_gpus_of_one_numa_node_or_none(lab):
    """kubelet's topology manager, `restricted`, on a machine with two GPUs on each of two NUMA
    nodes."""
    node = lab.node("a100")
    numa = {gpu["uuid"]: number // 2 for number, gpu in enumerate(node.gpus())}
    with Serving(lab, agent()):
        wait_offer(lab, "a100", 4)
        with Applied(lab, pod("two", *LIST, image="lab-glibc:1", gpus=2, node="a100")):
            uuids, _, text = seen(lab, "two")
            assert len({numa[uuid] for uuid in uuids}) == 1, text
        # One on each NUMA node is left: two on one node are impossible.
        for gpu in (1, 3):
            node.sim("fault", "lost", "--gpu", gpu)
        wait_offer(lab, "a100", 2)
        with Applied(lab, pod("two", *LIST, image="lab-glibc:1", gpus=2, node="a100")):
            refused = lab.wait_pod("two", "Failed")
            assert refused["status"]["reason"] == "TopologyAffinityError", refused["status"]
        node.sim("clear")
        for gpu in (1, 3):
            node.sim("reset", "--gpu", gpu)


def test_a_pod_that_asks_for_a_gpu_that_is_not_there_is_told(lab):
    asks = pod("lost", "nvidia-smi", image="lab-glibc:1", node="l20", env={"NVIDIA_VISIBLE_DEVICES": "GPU-x"})
    with Applied(lab, asks):
        lab.wait(
            lambda: "device error: GPU-x: unknown device" in lab.kubectl("describe", "pod", "lost"),
            lambda: lab.kubectl("describe", "pod", "lost"),
        )


def test_a_fault_of_the_simulated_gpu_reaches_the_node(lab):
    node = lab.node("l20")
    with Serving(lab, agent()):
        wait_offer(lab, "l20", 1)
        node.sim("fault", "lost", "--gpu", 0)
        wait_offer(lab, "l20", 0)
        assert lab.get("node", "l20")["status"]["capacity"][GPU] == "1"
        node.sim("clear")
        node.sim("reset", "--gpu", 0)


def test_published_manifests_run_as_they_stand(lab):
    """Image names are the manifest's; the images behind them are the lab's."""
    text = (SCENARIOS / "fractions" / "exclusive-pod.yaml").read_text()
    assert lab.load_images(text) == ["my-gpu-image:latest"]
    device_query = (SCENARIOS / "platform" / "exercise-workers.yaml").read_text()
    names = lab.load_images(device_query)
    query = "/usr/local/cuda-12.5/extras/demo_suite/deviceQuery; exec sleep infinity"
    with Serving(lab, agent()):
        wait_offer(lab, "t4", 1)
        with Applied(lab, pod("query", "bash", "-c", query, image=names[0], gpus=1, node="t4")):
            lab.wait_pod("query")
            text = lab.wait(lambda: "Result" in lab.logs("query") and lab.logs("query"), "deviceQuery ends")
            [uuid] = lab.node("t4").uuids()
            assert f"UUID: {uuid}" in text and "Result = PASS" in text
