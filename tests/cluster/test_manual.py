"""The time-slicing manual's test (tests/data/scenarios/time-slicing-manual), on a T4, a T4 with a
vGPU host driver, and an A100 passed through."""

import json

import pytest
import yaml
from pods import GPU, SCENARIOS, Applied, pod, wait_offer
from release import Release, label

MANUAL = SCENARIOS / "time-slicing-manual"
SLEEP = ("sleep", "infinity")


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["t4", "t4-vgpu", "a100-passthrough=a100"])


def sharing(replicas: int, **more: object) -> str:
    entry = {"name": GPU, "replicas": replicas}
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {**more, "resources": [entry]}}})


@pytest.fixture(scope="module")
def release(lab):
    """The manual's ConfigMap, with additional keys of enough replicas."""
    lab.kubectl("create", "namespace", "gpu-operator")
    config = yaml.safe_load((MANUAL / "time-slicing-config.yaml").read_text())
    config["data"] |= {
        "five": sharing(5),
        "renamed": sharing(4, renameByDefault=True),
        "strict": sharing(4, failRequestsGreaterThanOne=True),
    }
    lab.apply(json.dumps(config))
    # Helm as in the manual: --set devicePlugin.config.name=time-slicing-config.
    values = ("devicePlugin.config.name=time-slicing-config", "config.default=tesla-t4", "gfd.enabled=true")
    with Release(lab, *values, "gfd.labelOutput=node", namespace="gpu-operator") as one:
        yield one


@pytest.mark.parametrize("node", ["t4", "t4-vgpu", "a100"])
def test_five_replicas_on_one_gpu(lab, release, node):
    published = (MANUAL / "plugin-test.yaml").read_text()
    lab.load_images(published)
    gpus = lab.node(node).gpus()
    label(lab, node, "five")
    wait_offer(lab, node, 5 * len(gpus))
    others = [one.name for one in lab.nodes if one.name != node]
    lab.kubectl("cordon", *others)
    with Applied(lab, published):

        def running() -> list:
            pods = lab.get("pods", "-l", "app=nvidia-plugin-test")["items"]
            return [one for one in pods if one["status"]["phase"] == "Running" and one["spec"]["nodeName"] == node]

        lab.wait(lambda: len(running()) == 5, "all five run", timeout=120)
        names = [one["metadata"]["name"] for one in running()]
        on_first = lab.wait(lambda: on_gpu(lab, names, gpus[0]["uuid"]), "a Pod sees the first GPU")
        assert len(on_first) == 5 if len(gpus) == 1 else on_first
        # Each runs the manual's load, for which lab-glibc has tranche-load: 315 MiB by the CUDA driver.
        lab.kubectl("uncordon", *others)
        memory = gpus[0]["memoryMiB"]
        count = len(on_first)
        wanted = (f"{count * 315 + memory['used']}, {memory['total']}, 100", ["315"] * count)
        if node == "t4":
            assert wanted[0] == "1577, 15360, 100"
        lab.wait(lambda: seen(lab, on_first[0])[0] == wanted[0], lambda: f"{seen(lab, on_first[0])}")
        # Processes are shown to those that see their pids: its own to each Pod ...
        assert seen(lab, on_first[0])[1] == ["315"]
        # ... and all of them, as on hardware, to a Pod with the host's pids.
        see = {"NVIDIA_VISIBLE_DEVICES": gpus[0]["uuid"]}
        with Applied(lab, pod("look", *SLEEP, image="lab-glibc:1", node=node, hostPID=True, env=see)):
            lab.wait_pod("look")
            lab.wait(lambda: seen(lab, "look") == wanted, lambda: f"{seen(lab, 'look')}")
    label(lab, node, "")
    wait_offer(lab, node, 4 * len(gpus))


def on_gpu(lab, pods: list, uuid: str) -> list:
    return [name for name in pods if uuid in lab.exec(name, "nvidia-smi", "-L", check=False)]


def seen(lab, name: str) -> tuple:
    """Used and total memory, utilisation and the processes' memory, by nvidia-smi in a Pod."""
    query = "memory.used,memory.total,utilization.gpu"
    line = lab.exec(name, "nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", check=False)
    apps = lab.exec(
        name, "nvidia-smi", "--query-compute-apps=used_memory", "--format=csv,noheader,nounits", check=False
    )
    return line.strip(), sorted(apps.split())


def test_labels_with_and_without_shared(lab, release):
    def labels() -> tuple:
        found = lab.get("node", "t4")["metadata"]["labels"]
        return found.get("nvidia.com/gpu.replicas"), found.get("nvidia.com/gpu.product")

    lab.wait(lambda: labels() == ("4", "Tesla-T4-SHARED"), lambda: f"{labels()}")
    label(lab, "t4", "renamed")
    lab.wait(lambda: labels() == ("4", "Tesla-T4"), lambda: f"{labels()}")
    wait_offer(lab, "t4", 4, "nvidia.com/gpu.shared")
    label(lab, "t4", "")
    wait_offer(lab, "t4", 4)


def test_a_request_for_two(lab, release):
    label(lab, "t4", "strict")
    lab.wait(lambda: "strict" in release.log("t4"), "the configuration is in force")
    wait_offer(lab, "t4", 4)
    with Applied(lab, pod("two", *SLEEP, image="lab-glibc:1", gpus=2, node="t4")):
        refused = lab.wait_pod("two", "Failed")["status"]
        assert refused["reason"] == "UnexpectedAdmissionError"
        assert "maximum request size for shared resources is 1; found 2" in refused["message"]
    label(lab, "t4", "")
    lab.wait(lambda: runs_with_two(lab), "two shared GPUs of one card are granted", timeout=60)


def runs_with_two(lab) -> bool:
    """Retried until the configuration that allows it is in force."""
    with Applied(lab, pod("two", *SLEEP, image="lab-glibc:1", gpus=2, node="t4")):
        lab.wait(
            lambda: lab.pod("two")["status"].get("phase") in ("Running", "Failed"), "the Pod is placed"
        )
        if lab.pod("two")["status"]["phase"] == "Failed":
            return False
        lab.wait_pod("two")
        listed = lab.exec("two", "nvidia-smi", "-L")
        return listed.count("UUID:") == 1
