"""Kubernetes' feature gates for shares, MIG instances for claims, taints and plain Pods are off, as
before 1.36: nodes in mode dra give whole GPUs to claims, fractions become replicas or are refused,
and this is reported."""

import json
import re
import subprocess

import pytest
from claims import (
    VALUES,
    InMode,
    claim_of,
    claiming,
    devices,
    memory_of,
    request,
    results,
    share,
    slices,
    template,
    wait_clean,
    wait_devices,
)
from halves import HALF, dry_run, waiting
from pods import GPU, Applied, pod, wait_offer
from release import Release, label

from lab.cluster import paths

OFF = [
    "DRAConsumableCapacity",
    "DRAPartitionableDevices",
    "DRAExtendedResource",
    "DRADeviceTaints",
    "DRADeviceBindingConditions",
    "ResourceHealthStatus",
]
MAP = "gates"
NAMESPACE = "kube-system"
SHARED = "nvidia.com/gpu.shared"


def minor_version() -> int:
    """26 of Kubernetes 1.26."""
    program = paths.programs_folder() / "kube-apiserver"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return int(re.fullmatch(r"Kubernetes v1\.(\d+)\..*\n", said)[1])


def gates() -> dict[str, bool]:
    # A gate of 1.36 needs another one of these.
    newer = ["ResourceHealthStatusMessage"] if minor_version() >= 36 else []
    return dict.fromkeys(OFF + newer, False)


def config_map() -> str:
    halves = {"renameByDefault": True, "resources": [{"name": GPU, "replicas": 2}]}
    limits = {"limits": {"enforcement": "strict"}}
    data = {
        "whole": json.dumps({"version": "v1"}),
        "halves": json.dumps({"version": "v1", "sharing": {"timeSlicing": halves}, "tranche": limits}),
    }
    metadata = {"name": MAP, "namespace": NAMESPACE}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


@pytest.fixture(scope="module")
def lab(labs):
    lab = labs.get(["l20", "h100", "t4"], runtime="cdi", gates=gates())
    lab.load_images(HALF)
    return lab


@pytest.fixture(scope="module")
def release(lab):
    values = (
        *VALUES,
        "dra.dynamicMig=true",
        "fractions.enabled=true",
        f"config.name={MAP}",
        "config.default=whole",
        "deviceListStrategy=cdi-cri",
        "gfd.enabled=true",
        "gfd.labelOutput=node",
        "healthRecovery=1s",
    )
    with Applied(lab, config_map()), Release(lab, *values) as release:
        yield release


def told(lab, node: str) -> str:
    """The notes of a Node's Events about gates that are off."""
    fields = f"reason=FeatureGatesOff,involvedObject.name={node}"
    events = lab.get("events", "-n", "default", "--field-selector", fields)["items"]
    return "\n".join(event["message"] for event in events)


def wait_told(lab, node: str, *words: str) -> None:
    lab.wait(lambda: all(word in told(lab, node) for word in words), lambda: f"told of {node}: {told(lab, node)}")


def gpus_healthy(lab, node: str) -> str:
    conditions = lab.get("node", node)["status"]["conditions"]
    return next((one["status"] for one in conditions if one["type"] == "TrancheGpuHealthy"), "")


def test_whole_gpus_are_published_and_what_is_missing_is_told(lab, release):
    with InMode(lab, "l20"), InMode(lab, "h100"):
        both = ("shares of GPUs (DRAConsumableCapacity)", "(DRAExtendedResource)", "--feature-gates")
        wait_told(lab, "l20", *both)
        wait_told(lab, "h100", *both, "MIG instances made for claims (DRAPartitionableDevices)")
        for node in ("l20", "h100"):
            wait_devices(lab, node, "gpu-0")
            pools = [one["pool"] for one in slices(lab, node)]
            assert [one["resourceSliceCount"] for one in pools] == [len(pools)] * len(pools)
            assert len({one["generation"] for one in pools}) == 1
            [gpu] = devices(lab, node).values()
            assert "allowMultipleAllocations" not in gpu and "consumesCounters" not in gpu
            assert set(gpu["capacity"]) - {"multiprocessors"} == {"memory", "compute"}
            assert all(set(one) == {"value"} for one in gpu["capacity"].values())
        assert "DRAPartitionableDevices" not in told(lab, "l20")
        lab.wait(lambda: "feature gates of Kubernetes are off" in release.log("h100"), "it is in the log")
        # A plain Pod gets none of these nodes' GPUs: DRAExtendedResource.
        wait_offer(lab, "l20", 0)
        with Applied(lab, pod("plain", "sleep", "infinity", gpus=1, node="l20")):
            lab.wait(
                lambda: f"Insufficient {GPU}" in lab.kubectl("describe", "pod", "plain"), "the scheduler says why"
            )


def test_claims_get_whole_gpus(lab, release):
    """Also one that asks for a share: the API server drops the amounts of the request."""
    with InMode(lab, "l20"), Applied(lab, template("whole", request()), template("half", share("22722Mi", 50))):
        wait_devices(lab, "l20", "gpu-0")
        for name in ("whole", "half"):
            with Applied(lab, claiming("claimer", name)):
                lab.wait_pod("claimer")
                assert memory_of(lab, "claimer") == 46068
                [given] = results(lab, claim_of(lab, "claimer"))
                assert given["device"] == "gpu-0" and "shareID" not in given
                lab.node("l20").restart_kubelet()
                wait_devices(lab, "l20", "gpu-0")
            wait_clean(lab, "l20")


def test_a_gpu_that_is_ill_is_taken_out_of_the_slices(lab, release):
    node = lab.node("l20")
    with InMode(lab, "l20"), Applied(lab, template("whole", request())):
        wait_devices(lab, "l20", "gpu-0")
        node.sim("fault", "lost", "--gpu", 0)
        try:
            wait_devices(lab, "l20")
            wait_told(lab, "l20", "taints (DRADeviceTaints;")
            with Applied(lab, claiming("late", "whole")):
                lab.wait(
                    lambda: "FailedScheduling" in lab.kubectl("describe", "pod", "late"), "no claim gets it"
                )
                node.sim("clear")
                node.sim("reset", "--gpu", 0)
                lab.wait_pod("late")
                # A holder keeps it, and its place in the slices.
                lab.wait(lambda: gpus_healthy(lab, "l20") == "True", "the agent knows that it healed")
                node.sim("fault", "lost", "--gpu", 0)
                lab.wait(lambda: gpus_healthy(lab, "l20") == "False", "the agent knows that it is ill again")
                wait_devices(lab, "l20", "gpu-0")
                assert lab.pod("late")["status"]["phase"] == "Running"
        finally:
            node.sim("clear")
            node.sim("reset", "--gpu", 0)
        wait_devices(lab, "l20", "gpu-0")
    wait_clean(lab, "l20")


def test_a_fraction_becomes_a_replica_or_is_refused(lab, release):
    """With the reason, and the commands that would change it. It is never Pending."""
    lab.wait(
        lambda: "no node gives parts of GPUs; put a node into mode dra" in dry_run(lab), lambda: dry_run(lab)
    )
    with InMode(lab, "l20"):
        wait_devices(lab, "l20", "gpu-0")
        reason = "and nodes in mode dra give whole GPUs alone; kubectl get events --field-selector reason=FeatureGatesOff"
        lab.wait(lambda: reason in dry_run(lab), lambda: dry_run(lab))
        assert "tranche.dev/mode=device-plugin nvidia.com/device-plugin.config=NAME" in dry_run(lab)
        label(lab, "t4", "halves")
        try:
            wait_offer(lab, "t4", 2, SHARED)
            lab.wait(lambda: "created" in dry_run(lab), lambda: dry_run(lab))
            with Applied(lab, waiting(HALF, "first"), waiting(HALF, "second")):
                for name in ("first", "second"):
                    made = lab.wait_pod(name)
                    assert made["spec"]["nodeName"] == "t4"
                    assert made["spec"]["containers"][0]["resources"]["limits"] == {SHARED: "1"}
                    assert memory_of(lab, name) == 7442
        finally:
            label(lab, "t4", "")
            wait_offer(lab, "t4", 1)
