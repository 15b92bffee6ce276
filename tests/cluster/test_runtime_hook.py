"""The container runtime's hook if the kernel is to limit memory, with a real kubelet, containerd
and runc. Nodes here have no control groups of version 2, so the driver cannot limit anybody: a lab
can only show that a container then does not start. The rest is tested by
tests/limits/test_runtime_hook_runc.py."""

import json

import pytest
from pods import GPU, Applied, pod, wait_offer
from release import Release

NODE = "h200"
# Where the agent looks for the node's control groups: there they appear to be of version 2.
SEEMING = "/var/lib/tranche/host"


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get([f"h200-r615={NODE}"])


def config(kernel: bool) -> str:
    limits = {"enforcement": "strict", "kernelLimits": kernel, "runtimeHook": True}
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": 4}]}}
    text = json.dumps({"version": "v1", "sharing": sharing, "tranche": {"limits": limits}})
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "limited", "namespace": "kube-system"},
            "data": {"default": text},
        }
    )


def messages(lab, name: str) -> list[str]:
    about = f"involvedObject.kind=Pod,involvedObject.name={name}"
    return [one["message"] for one in lab.get("events", "-n", "default", "--field-selector", about)["items"]]


def test_a_container_that_cannot_be_limited_does_not_start(lab):
    node = next(node for node in lab.nodes if node.name == NODE)
    node.run("mkdir", "-p", f"{SEEMING}/sys/fs/cgroup")
    node.run("touch", f"{SEEMING}/sys/fs/cgroup/cgroup.controllers")
    for link in ("proc", "dev", "sys/bus"):
        node.run("ln", "-sfn", f"/{link}", f"{SEEMING}/{link}")
    values = ("config.name=limited", "limits.enabled=true", "limits.kernelLimits=true", "limits.runtimeHook=true")
    seeming = ("extraEnv[0].name=TRANCHE_HOST_ROOT", f"extraEnv[0].value={SEEMING}")
    with Applied(lab, config(kernel=True)), Release(lab, *values, *seeming):
        wait_offer(lab, NODE, 8)
        held = pod("held", "sleep", "infinity", image="lab-glibc:1", gpus=1, node=NODE)
        with Applied(lab, held):
            said = "tranche: the driver is to limit this container's GPU memory before it starts"
            lab.wait(
                lambda: [one for one in messages(lab, "held") if said in one and "is no tree of cgroup v2" in one],
                lambda: f"the Pod's Events do not say why it does not start: {messages(lab, 'held')}",
            )
            assert "running" not in lab.pod("held")["status"]["containerStatuses"][0]["state"]
            # Another enforcer limits its memory now: kubelet's next attempt succeeds.
            lab.apply(config(kernel=False))
            lab.wait_pod("held")
            assert lab.exec("held", "cat", "/etc/ld.so.preload").strip().endswith("libtranche-limit.so")
