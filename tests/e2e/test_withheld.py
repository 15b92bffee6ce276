"""What cannot be offered is withheld, each with its reason, and the rest is served."""

import re

import pytest

from node import GPU, Node
from programs import ROOT, wait_until
from test_health import MIXED
from test_mig_strategies import cut

REPORTS = ROOT / "tests" / "data" / "reports"
LIBRARY = f"--limit-library={ROOT / 'build' / 'lib' / 'libtranche-limit.so'}"


def tell_no_memory(here: Node, gpu: int) -> None:
    for function in ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2"):
        here.sim("fault", "fail", "--function", function, "--error", "UNKNOWN", "--gpu", gpu)


def ready(here: Node) -> tuple:
    probe = here.start("agent", *here.places(), "--check=ready")
    return probe.wait(), probe.output


def test_a_gpu_whose_memory_is_not_told_leaves_the_others(node):
    here = node("a100-80gb-x4")
    tell_no_memory(here, 1)
    agent = here.agent(LIBRARY, config=(REPORTS / "10-memory-not-told" / "config.yaml").read_text())
    here.kubelet.wait(GPU, capacity=12, allocatable=12)
    lost = here.uuids()[1]
    agent.wait_log(
        rf"not advertising GPU 1 \({lost}\) of nvidia.com/gpu: its limits \(line 8\) cannot be kept: the driver "
        "does not tell how much memory GPU 1"
    )
    assert not any(id.startswith(lost) for id in here.kubelet.ids(GPU))
    code, text = ready(here)
    assert code == 0 and "not advertising GPU 1" in text


def test_one_gpu_whose_memory_is_not_told_is_not_ready(node):
    here = node("t4")
    tell_no_memory(here, 0)
    agent = here.agent(LIBRARY, config=(REPORTS / "10-memory-not-told" / "config.yaml").read_text())
    agent.wait_log("not advertising nvidia.com/gpu: .* write a quantity or none")
    wait_until(lambda: ready(here)[0] == 1, "it is not ready")
    assert here.kubelet.node() == {}


@pytest.mark.parametrize("machine, replicas", [("a100-80gb-x4", 16384), ("gpus-16", 6250), ("t4", 65536)])
def test_more_than_kubelet_can_be_told_of_is_withheld(node, machine, replicas):
    """As many as fit do arrive, also while all of them are unhealthy, which takes more bytes."""
    here = node(machine)
    text = (REPORTS / "11-together-too-many-bytes" / "config.yaml").read_text()
    agent = here.agent("--machine-interval=100ms", config=text.replace("16384", str(replicas)))
    withheld = r"not advertising nvidia.com/gpu: .* more than kubelet can be told of in one message .*to (\d+) at most"
    agent.wait_log(withheld)
    most = int(re.search(withheld, agent.log)[1])
    count = most * len(here.gpus())
    here.write(text.replace("16384", str(most)))
    here.kubelet.wait(GPU, capacity=count, allocatable=count)
    here.sim("fault", "no-driver")
    here.kubelet.wait(GPU, capacity=count, allocatable=0)
    start = agent.mark()
    here.write(text.replace("16384", str(most + 1)))
    agent.wait_log(withheld, after=start)


@pytest.mark.parametrize("profiles", [(), ("1g.5gb", "2g.10gb")], ids=["gone", "mixed"])
def test_instances_of_a_layout_that_single_cannot_offer_are_not_handed_out(node, profiles):
    here = node("a100-40gb")
    here.sim("mig", "enable")
    here.sim("reset")
    for _ in range(2):
        here.sim("mig", "create", "--profile", "3g.20gb")
    here.features.mkdir()
    agent = here.agent("--mig-strategy=single", "--machine-interval=50ms", labels="true")
    here.kubelet.wait(GPU, allocatable=2)
    here.sim("mig", "destroy", "--all")
    for profile in profiles:
        here.sim("mig", "create", "--profile", profile)
    # In between there may be only one of the first profile, which is offered.
    agent.wait_log("more than one MIG device type" if profiles else "no MIG devices configured")
    here.kubelet.wait(GPU, allocatable=0)
    wanted = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-INVALID", "nvidia.com/mig.capable": "true"}
    wait_until(lambda: wanted.items() <= here.labels().items(), f"the labels say so: {here.labels()}")
    wait_until(lambda: ready(here)[0] == 1, "it is not ready")


@pytest.mark.parametrize("function", ["nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount"])
@pytest.mark.parametrize("strategy, resource", [("single", GPU), ("mixed", "nvidia.com/mig-3g.20gb")])
def test_a_gpu_whose_layout_is_not_told_leaves_the_others(node, function, strategy, resource):
    here = node("a100-40gb-x4")
    for gpu in range(4):
        cut(here, gpu, "3g.20gb", "3g.20gb")
    here.sim("fault", "fail", "--function", function, "--error", "UNKNOWN", "--gpu", 1)
    here.features.mkdir()
    agent = here.agent(f"--mig-strategy={strategy}", "--machine-interval=50ms", labels="true")
    here.kubelet.wait(resource, capacity=6, allocatable=6)
    agent.wait_log(f"not advertising .*the driver does not tell the MIG layout of GPU 1 .*{function}")
    wait_until(lambda: here.labels().get(f"{resource}.count") == "6", f"the labels say so: {here.labels()}")
    assert len(here.kubelet.node()) == 1
    here.sim("clear")
    here.kubelet.wait(resource, capacity=8, allocatable=8)


def test_files_that_cannot_be_written_leave_the_labels(node):
    """CDI files delay only what names them."""
    here = node("a100-40gb-mig")
    here.cdi.write_text("no folder")
    here.features.mkdir()
    here.agent(
        MIXED,
        "--device-list-strategy=cdi-cri",
        f"--driver-root={here.driver_root}",
        f"--driver-root-ctr-path={here.host}{here.driver_root}",
        "--nvidia-cdi-hook-path=/usr/local/nvidia/toolkit/nvidia-cdi-hook",
        "--machine-interval=50ms",
        labels="true",
    )
    wait_until(lambda: here.labels().get("nvidia.com/mig-3g.20gb.count") == "1", "the labels")
    assert here.kubelet.node() == {}
    here.cdi.unlink()
    here.kubelet.wait("nvidia.com/mig-3g.20gb", allocatable=1)
