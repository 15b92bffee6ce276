"""The published configurations, from the published files mounted as a ConfigMap is, on the machines
they were written for: resources, ids, admission and labels as each EXPECT.md says."""

import dataclasses
import os

import pytest
import yaml

from node import GPU, SCENARIOS, SHARED, Node, Volume, config_map
from programs import TRANCHE, Process

ROLLOUT = "rollout/time-slicing-config.yaml"
MANUAL = "time-slicing-manual/time-slicing-config.yaml"
PLATFORM = "platform/device-plugin-config.yaml"
A100 = "NVIDIA-A100-SXM4-40GB"


@dataclasses.dataclass
class Case:
    file: str
    key: str
    machine: str
    product: str
    gpus: int
    replicas: int
    resource: str = GPU
    one_only: bool = False  # failRequestsGreaterThanOne

    def __str__(self):
        return f"{self.key}-on-{self.machine}"


CASES = [
    Case(ROLLOUT, "any", "l20", "NVIDIA-L20-SHARED", 1, 2, one_only=True),
    Case(ROLLOUT, "any", "t4", "Tesla-T4-SHARED", 1, 2, one_only=True),
    Case(ROLLOUT, "l20", "l20", "NVIDIA-L20-SHARED", 1, 8, one_only=True),
    Case(ROLLOUT, "t4", "t4", "Tesla-T4-SHARED", 1, 3, one_only=True),
    Case(MANUAL, "a100-40gb", "a100-40gb", f"{A100}-SHARED", 1, 8),
    Case(MANUAL, "tesla-t4", "t4", "Tesla-T4-SHARED", 1, 4),
    Case(PLATFORM, "timeslice-4", "t4", "Tesla-T4", 1, 4, SHARED, one_only=True),
    Case(PLATFORM, "default", "a100-40gb-x4", A100, 4, 4, SHARED, one_only=True),
    Case(PLATFORM, "training", "a100-40gb-x4", A100, 4, 1),
    Case(PLATFORM, "inference", "a100-40gb-x4", A100, 4, 4, SHARED),
    Case(PLATFORM, "development", "a100-40gb-x4", A100, 4, 8, SHARED, one_only=True),
]


def run(node: Node, file: str, key: str, *arguments: str) -> Process:
    """An agent with the ConfigMap of `file` mounted, configured to use `key`."""
    node.features.mkdir()
    volume = Volume(node.dir / "configs", config_map(file))
    return node.agent(
        f"--config-file={volume.path}", f"--config-name={key}", *arguments, labels="true"
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_published_configuration(node, case):
    here = node(case.machine)
    agent = run(here, case.file, case.key)
    total = case.gpus * case.replicas
    status = here.kubelet.wait(case.resource, capacity=total, allocatable=total)
    assert {name for name, one in status.items() if one["capacity"]} == {case.resource}

    uuids = here.uuids()
    expected = uuids
    if case.replicas > 1:
        expected = [f"{uuid}::{i}" for uuid in uuids for i in range(case.replicas)]
    assert here.kubelet.ids(case.resource) == sorted(expected)

    one = here.kubelet.admit("one", {case.resource: 1})
    assert one["phase"] == "Running", one
    [held] = one["containers"]["c"].values()
    assert held["answer"]["envs"] == {
        "NVIDIA_VISIBLE_DEVICES": held["ids"][0].split("::")[0]
    }
    if total > 2:
        two = here.kubelet.admit("two", {case.resource: 2})
        if case.one_only:
            assert (two["phase"], two["reason"]) == ("Failed", "UnexpectedAdmissionError")
            assert (
                f'invalid allocation request for "{case.resource}": invalid request: '
                "maximum request size for shared resources is 1; found 2" in two["message"]
            )
        else:
            assert two["phase"] == "Running", two

    agent.wait_log("wrote .* labels")
    labels = here.labels()
    assert labels["nvidia.com/gpu.product"] == case.product
    assert labels["nvidia.com/gpu.count"] == str(case.gpus)
    assert labels["nvidia.com/gpu.replicas"] == str(case.replicas)
    assert labels["nvidia.com/gpu.sharing-strategy"] == (
        "time-slicing" if case.replicas > 1 else "none"
    )
    assert labels["nvidia.com/mps.capable"] == "false"
    assert not any(".shared" in key for key in labels)
    # What the machine lacks (mig-* on a GPU without MIG) is a remark, not a failure.
    for line in config_map(case.file)[case.key].splitlines():
        if "mig-" in line:
            name = line.split()[-1]
            assert f"sharing of {name} " in agent.log
    assert agent.stop() == 0


def test_a100_40gb_on_a_gpu_cut_into_instances(node):
    here = node("a100-40gb-mig")
    agent = run(here, MANUAL, "a100-40gb", "--mig-strategy=mixed")
    for profile, total in (("1g.5gb", 4), ("2g.10gb", 2), ("3g.20gb", 3)):
        here.kubelet.wait(f"nvidia.com/mig-{profile}", capacity=total, allocatable=total)
    assert here.kubelet.node() == {
        "nvidia.com/mig-1g.5gb": 4,
        "nvidia.com/mig-2g.10gb": 2,
        "nvidia.com/mig-3g.20gb": 3,
    }
    instances = {one["profile"]: one["uuid"] for one in here.gpus()[0]["mig"]["devices"]}
    assert here.kubelet.ids("nvidia.com/mig-3g.20gb") == [
        f"{instances['3g.20gb']}::{i}" for i in range(3)
    ]
    agent.wait_log("wrote .* labels")
    labels = here.labels()
    for profile, count, replicas in (("1g.5gb", 2, 2), ("2g.10gb", 1, 2), ("3g.20gb", 1, 3)):
        prefix = f"nvidia.com/mig-{profile}"
        assert labels[f"{prefix}.product"] == f"{A100}-MIG-{profile}-SHARED"
        assert labels[f"{prefix}.count"] == str(count)
        assert labels[f"{prefix}.replicas"] == str(replicas)
        assert labels[f"{prefix}.sharing-strategy"] == "time-slicing"
    # Nothing of the GPU is whole.
    assert labels["nvidia.com/gpu.replicas"] == "0"
    assert labels["nvidia.com/mig.strategy"] == "mixed"
    assert labels["nvidia.com/mig.capable"] == "true"


def test_mps_is_labelled_before_its_control_daemon_serves(node):
    """The label brings the daemon (continued in tests/e2e/test_mps.py)."""
    here = node("a100-40gb-x4")
    # The chart always passes the folder.
    agent = run(
        here, PLATFORM, "mps-config", "--mps-root=/run/nvidia/mps", f"--mps-dir={here.dir / 'mps'}"
    )
    agent.wait_log(r"not advertising nvidia.com/gpu.shared: sharing.mps: .*mps-control-daemon")
    agent.wait_log("wrote .* labels")
    labels = here.labels()
    assert labels["nvidia.com/gpu.sharing-strategy"] == "mps"
    assert labels["nvidia.com/gpu.replicas"] == "8"
    assert labels["nvidia.com/mps.capable"] == "true"
    assert here.kubelet.node() == {}
    assert here.sockets() == set()


def test_rollout_from_two_to_eleven(node):
    """Two machines, one configuration each by its key, starting with whole GPUs."""
    data = config_map(ROLLOUT)
    nodes = {"l20": node("l20"), "t4": node("t4")}
    for here in nodes.values():
        here.agent(config="")
    capacity = []
    for step in (lambda key: None, lambda key: data["any"], lambda key: data[key]):
        total = 0
        for key, here in nodes.items():
            text = step(key)
            if text is not None:
                here.write(text)
            wanted = 1 if text is None else yaml.safe_load(text)["sharing"]["timeSlicing"][
                "resources"
            ][0]["replicas"]
            total += here.kubelet.wait(GPU, allocatable=wanted)[GPU]["capacity"]
        capacity.append(total)
    assert capacity == [2, 4, 11]


def test_the_clouds_daemonset_as_it_stands(node):
    here = node("l20")
    spec = yaml.safe_load((SCENARIOS / "rollout/managed-daemonset.yaml").read_text())
    [container] = spec["spec"]["template"]["spec"]["containers"]
    [command] = container["command"]
    program = here.dir / command
    os.symlink(TRANCHE, program)
    agent = Process(
        [program, *container["args"]],
        here.dir / "cloud",
        {
            **here.env,
            **{one["name"]: one["value"] for one in container["env"]},
            # This test's kubelet and files; a cluster's manifest needs none of it.
            "TRANCHE_KUBELET_ROOT": str(here.dir / "k"),
            "TRANCHE_STATE_DIR": str(here.state),
            "TRANCHE_HOST_ROOT": str(here.host),
            "TRANCHE_CDI_ROOT": str(here.cdi),
            "GFD_OUTPUT_FILE": str(here.label_file),
        },
    )
    try:
        here.kubelet.wait(GPU, allocatable=1)
        [uuid] = here.uuids()
        answer = here.kubelet.allocate(GPU, [uuid])
        assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": uuid}
        assert "/dev/nvidia0" in [one["container_path"] for one in answer["devices"]]
        assert agent.stop() == 0
    finally:
        agent.kill()
