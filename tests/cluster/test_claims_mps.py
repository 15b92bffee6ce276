"""Claims on a GPU that MPS shares, on a real Kubernetes: their Pods are its clients, run at once, and each is held to
its memory."""

import json

import pytest
from claims import VALUES, InMode, claiming, devices, memory_of, share, template, wait_clean
from limited import can_hold
from pods import Applied
from release import Release

from lab.cluster import paths

NODE = "l20"
CONTROL = "app.kubernetes.io/component=mps-control-daemon"
HOLD = "tranche-load hold --memory 8Gi --duration 0s & exec sleep infinity"


@pytest.fixture(scope="module")
def lab(labs):
    if not (paths.build_folder() / "sim/nvidia-cuda-mps-control").exists():
        pytest.skip("the simulated nvidia-cuda-mps-control is not built")
    return labs.get([NODE], runtime="cdi")


def config() -> str:
    sharing = {"mps": {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}
    data = {"default": json.dumps({"version": "v1", "sharing": sharing})}
    metadata = {"name": "mps", "namespace": "kube-system"}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def taints(lab) -> list[str] | None:
    gpu = devices(lab, NODE).get("gpu-0")
    return None if gpu is None else [one["key"] for one in gpu.get("taints", [])]


def wait_taints(lab, *keys: str) -> None:
    lab.wait(lambda: taints(lab) == list(keys), lambda: f"gpu-0 has {taints(lab)}, not {keys}")


def env_of(lab, name: str) -> dict[str, str]:
    """The container's MPS variables."""
    lines = lab.exec(name, "bash", "-c", "env | grep ^CUDA_MPS").splitlines()
    return dict(line.split("=", 1) for line in lines)


def runs_again(lab, name: str) -> bool:
    [status] = lab.pod(name)["status"]["containerStatuses"]
    return status["restartCount"] > 0 and status["ready"]


def test_two_claims_run_at_once_and_each_is_held_to_its_memory(lab):
    values = (*VALUES, "config.name=mps", "mps.enabled=true", "gfd.enabled=true", "gfd.labelOutput=node")
    small, large = template("small", share("10Gi", 25)), template("large", share("20Gi", 50))
    with Applied(lab, config(), small, large), Release(lab, *values), InMode(lab, NODE):
        wait_taints(lab)
        users = [claiming(name, name, "bash", "-c", HOLD) for name in ("small", "large")]
        with Applied(lab, *users):
            for name in ("small", "large"):
                lab.wait_pod(name)
            told = {name: env_of(lab, name) for name in ("small", "large")}
            for name, mib, percent in (("small", 10 << 10, "25"), ("large", 20 << 10, "50")):
                assert told[name]["CUDA_MPS_PIPE_DIRECTORY"] == "/mps/nvidia.com/gpu/pipe"
                assert told[name]["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"].endswith(f"={mib}M")
                assert told[name]["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == percent
                assert memory_of(lab, name) == mib
            # Both hold 8 GiB now, and can have the rest of their shares.
            lab.wait(lambda: not can_hold(lab, "small", "4Gi"), "the small one's memory is taken")
            assert can_hold(lab, "small", "1Gi")
            lab.wait(lambda: not can_hold(lab, "large", "14Gi"), "the large one's memory is taken")
            assert can_hold(lab, "large", "10Gi")

            # Without its daemon the GPU takes no claim; the next one waits for it.
            [daemon] = lab.get("pods", "-n", "kube-system", "-l", CONTROL)["items"]
            lab.kubectl("-n", "kube-system", "delete", "pod", daemon["metadata"]["name"], timeout=120)
        with Applied(lab, claiming("next", "small")):
            lab.wait_pod("next")
            assert can_hold(lab, "next", "9Gi")
            # After a reboot the container waits for the daemon, and is its client as before.
            lab.reboot(NODE)
            lab.wait(
                lambda: runs_again(lab, "next"),
                lambda: lab.kubectl("describe", "pod", "next")[-3000:],
                timeout=180,
            )
            assert env_of(lab, "next") == told["small"]
            assert memory_of(lab, "next") == 10 << 10 and can_hold(lab, "next", "9Gi")
        wait_taints(lab)
        wait_clean(lab, NODE)
