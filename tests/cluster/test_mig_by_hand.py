"""The rollout scenario's next card: an H20 is drained, partitioned by nvidia-smi and put back into
service, without a manager of layouts. Each instance is shared by two."""

import json

import pytest
from pods import GPU, Applied, pod, wait_offer
from release import Release

SHARED = "nvidia.com/mig-1g.12gb"
NAMESPACE = "kube-system"


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["h20"])


@pytest.fixture(scope="module")
def release(lab):
    sharing = {"timeSlicing": {"resources": [{"name": SHARED, "replicas": 2}]}}
    text = json.dumps({"version": "v1", "flags": {"migStrategy": "mixed"}, "sharing": sharing})
    metadata = {"name": "h20", "namespace": NAMESPACE}
    lab.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": text}}))
    with Release(lab, "config.name=h20", "config.default=default", "mig.monitor=true") as one:
        wait_offer(lab, "h20", 1)
        yield one


def test_drain_partition_uncordon(lab, release):
    before = release.agents()
    node = lab.node("h20")
    lab.apply(pod("train", "sleep", "infinity", gpus=1))
    lab.wait_pod("train")
    lab.kubectl("drain", "h20", "--ignore-daemonsets", "--force", "--delete-emptydir-data")
    assert node.run("nvidia-smi", "-mig", "1").code == 0
    done = node.run("nvidia-smi", "mig", "-cgi", ",".join(["19"] * 7), "-C")
    assert done.code == 0, done.out
    # Noticed within five seconds; the API server is updated a second later.
    wait_offer(lab, "h20", 14, resource=SHARED, timeout=7)
    lab.wait(lambda: lab.allocatable("h20", GPU) == "0", "the whole GPU is offered no more")
    lab.kubectl("uncordon", "h20")
    sleepers = [pod(f"two-{i}", "sleep", "infinity", gpus=1, resource=SHARED, image="lab-glibc:1") for i in (1, 2)]
    with Applied(lab, *sleepers):
        for name in ("two-1", "two-2"):
            lab.wait_pod(name)
            assert "MIG 1g.12gb" in lab.exec(name, "nvidia-smi", "-L")
    assert release.untouched(before)
