"""GPUs and drivers that fail, hang, vanish and return: only what is broken is lost."""

import pytest

from node import GPU, sharing
from programs import wait_until

OFTEN = "--machine-interval=50ms"


def test_a_gpu_lost_while_running(node):
    here = node("a100-40gb-x4")
    agent = here.agent(OFTEN, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    uuids = here.uuids()
    here.sim("fault", "lost", "--gpu", 2, "--quiet")
    here.kubelet.wait(GPU, allocatable=6, capacity=8)
    assert here.kubelet.ids(GPU, healthy=False) == [f"{uuids[2]}::{i}" for i in (0, 1)]
    agent.wait_log(f"{uuids[2]} is unhealthy: .*lost")
    assert here.kubelet.admit("a", {GPU: 2})["phase"] == "Running"
    here.sim("fault", "back", "--gpu", 2)
    here.sim("reset", "--gpu", 2)
    here.kubelet.wait(GPU, allocatable=8)
    assert here.kubelet.registered(GPU) == 1


def test_a_gpu_that_is_no_longer_counted(node):
    here = node("a100-40gb-x4")
    here.agent(OFTEN)
    here.kubelet.wait(GPU, allocatable=4)
    uuids = here.uuids()
    here.sim("fault", "gone", "--gpu", 1)
    here.kubelet.wait(GPU, allocatable=3, capacity=4)
    assert here.kubelet.ids(GPU, healthy=False) == [uuids[1]]


@pytest.mark.difference("devices-broken-gpu")
def test_a_gpu_lost_at_start(node):
    here = node("a100-40gb-x4")
    uuids = here.uuids()
    here.sim("fault", "lost", "--gpu", 0, "--quiet")
    agent = here.agent(OFTEN, "--device-id-strategy=index")
    here.kubelet.wait(GPU, allocatable=3)
    assert here.kubelet.ids(GPU, healthy=True) == sorted(uuids[1:])
    agent.wait_log("GPU 0 is left out")
    # The others keep their index.
    answer = here.kubelet.allocate(GPU, [uuids[2]])
    assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": "2"}
    here.sim("clear")
    here.sim("reset")
    here.kubelet.wait(GPU, allocatable=4)


def test_a_call_that_hangs(node):
    here = node("a100-40gb-x4")
    agent = here.agent(OFTEN)
    here.kubelet.wait(GPU, allocatable=4)
    uuids = here.uuids()
    here.sim("fault", "hang", "--function", "nvmlDeviceGetMemoryInfo", "--gpu", 1)
    # While the agent waits for NVML everything else continues: Allocate, a new configuration.
    assert here.kubelet.admit("a", {GPU: 1})["phase"] == "Running"
    here.kubelet.wait(GPU, allocatable=3)
    assert here.kubelet.ids(GPU, healthy=False) == [uuids[1]]
    agent.wait_log(f"{uuids[1]} is unhealthy: .*nvmlDeviceGetMemoryInfo has not returned")
    assert here.kubelet.admit("b", {GPU: 2})["phase"] == "Running"
    here.sim("clear")
    here.kubelet.wait(GPU, allocatable=4)
    assert agent.stop() == 0


def test_every_call_hangs_and_the_agent_still_ends(node):
    here = node("l20")
    agent = here.agent(OFTEN, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    here.sim("fault", "hang")
    here.write(sharing(4))
    here.kubelet.wait(GPU, capacity=4)
    here.kubelet.wait(GPU, allocatable=0)
    assert agent.stop() == 0


def test_a_driver_that_vanishes_and_returns(node):
    here = node("a100-40gb-x4")
    agent = here.agent(OFTEN, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    here.sim("fault", "no-driver")
    here.kubelet.wait(GPU, allocatable=0, capacity=8)
    seen = agent.mark()
    here.sim("fault", "driver-back")
    here.kubelet.wait(GPU, allocatable=8)
    agent.wait_log("the GPU driver answers again", seen)
    # Logged once, though tried many times.
    assert agent.log.count("its GPUs are unhealthy until it answers") == 1
    assert here.kubelet.registered(GPU) == 1


def test_start_without_a_driver_is_an_error(node):
    here = node("broken-driver")
    log = here.refused()
    assert "error starting plugins: " in log
    assert "nvmlInit_v2" in log
    # The flag takes precedence over the file.
    fail = {"flags": {"failOnInitError": True}}
    assert "nvmlInit_v2" in here.refused(config=fail)


@pytest.mark.difference("devices-driver-later")
def test_start_without_a_driver_can_wait_for_it(node):
    here = node("l20")
    here.sim("fault", "no-driver")
    agent = here.agent("--fail-on-init-error=false", OFTEN, config=sharing(3))
    agent.wait_log("nvmlInit_v2.*waiting for it")
    assert here.kubelet.node() == {}
    here.sim("fault", "driver-back")
    here.kubelet.wait(GPU, allocatable=3)
    assert agent.log.count("waiting for it") == 1


def test_labels_without_a_driver(node):
    """As NVIDIA's feature discovery with failOnInitError=false: no GPUs, and it says so."""
    here = node("l20")
    here.features.mkdir()
    here.sim("fault", "no-driver")
    here.agent("--fail-on-init-error=false", OFTEN, labels="true")
    wait_until(lambda: here.label_file.exists(), "labels")
    labels = here.labels()
    assert int(labels.pop("nvidia.com/gfd.timestamp")) > 0
    assert labels == {"nvidia.com/vgpu.present": "false"}
    here.sim("fault", "driver-back")
    wait_until(lambda: here.labels().get("nvidia.com/gpu.count") == "1", "labels of the GPU")


def test_no_library_at_all(node):
    here = node("l20")
    here.env["LD_LIBRARY_PATH"] = "/nonexistent"
    here.env["PATH"] = "/nonexistent"
    log = here.refused("--driver-root-ctr-path=/nonexistent")
    assert "libnvidia-ml.so.1" in log
    log = here.refused("--driver-root-ctr-path=/nonexistent", "--device-list-strategy=cdi-cri")
    assert "CDI --device-list-strategy options are only supported on NVML-based systems" in log


def test_no_gpu_at_all(node):
    here = node("none")
    agent = here.agent()
    agent.wait_log("No devices found. Waiting indefinitely.")
    assert here.kubelet.node() == {}
    assert agent.stop() == 0


def test_a_call_that_fails(node):
    here = node("a100-40gb-x4")
    here.sim("fault", "fail", "--function", "nvmlDeviceGetMemoryInfo", "--gpu", 0)
    here.sim("fault", "fail", "--function", "nvmlEventSetCreate")
    agent = here.agent(OFTEN)
    # A GPU that does not report its memory is still a GPU.
    here.kubelet.wait(GPU, allocatable=4)
    agent.wait_log("its memory is unknown")
    agent.wait_log("nvmlEventSetCreate")


def test_mig_layout_changes_under_the_agent(node):
    here = node("a100-40gb-mig")
    here.agent("--mig-strategy=mixed", OFTEN)
    one, seven = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-7g.40gb"
    here.kubelet.wait(one, allocatable=2)
    here.sim("mig", "destroy", "--all")
    here.sim("mig", "create", "--profile", "7g.40gb")
    here.kubelet.wait(seven, allocatable=1)
    wait_until(lambda: here.kubelet.node() == {seven: 1}, "each resource of the layout before is gone")
