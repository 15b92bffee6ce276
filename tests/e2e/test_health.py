"""Health: which tranches an error makes unhealthy, and how they come back."""

import signal
import subprocess

import pytest

from node import GPU, sharing
from programs import TRANCHE, KubeletError, wait_until

OFTEN = "--machine-interval=50ms"
MIXED = "--mig-strategy=mixed"


def first_xid(here, gpu: int, xid: int, resource: str = GPU, *more: object, **wanted) -> None:
    """Raises an XID until the node is as wanted: the agent starts to listen at the time of its
    first device list, and earlier XIDs are not received."""

    def received() -> bool:
        here.sim("xid", "--gpu", gpu, "--xid", xid, *more)
        try:
            here.kubelet.ask("wait", resource=resource, timeout_s=0.2, **wanted)
        except KubeletError:
            return False
        return True

    wait_until(received, f"XID {xid} of GPU {gpu} received: {wanted}")


@pytest.mark.difference("health-siblings")
def test_an_xid_marks_every_tranche_of_its_gpu_and_only_those(node):
    here = node("a100-40gb-x4")
    agent = here.agent(config=sharing(3))
    here.kubelet.wait(GPU, allocatable=12)
    uuids = here.uuids()
    first_xid(here, 1, 94, allocatable=9, capacity=12)
    sick = [one for one in here.kubelet.ids(GPU, healthy=False)]
    assert sick == [f"{uuids[1]}::{i}" for i in range(3)]
    agent.wait_log(f"{uuids[1]} is unhealthy: XID 94")
    # A second GPU; then one that nobody is affected by.
    here.sim("xid", "--gpu", 3, "--xid", 94)
    here.kubelet.wait(GPU, allocatable=6)
    here.sim("xid", "--gpu", 0, "--xid", 31)
    here.sim("xid", "--gpu", 2, "--xid", 94)
    here.kubelet.wait(GPU, allocatable=3)
    healthy = here.kubelet.ids(GPU, healthy=True)
    assert healthy == [f"{uuids[0]}::{i}" for i in range(3)]


@pytest.mark.difference("health-siblings")
def test_an_xid_of_an_instance_marks_only_that_instance(node):
    here = node("a100-40gb-mig")
    entries = [{"name": f"mig-{p}", "replicas": 2} for p in ("1g.5gb", "2g.10gb", "3g.20gb")]
    here.agent(MIXED, config={"sharing": {"timeSlicing": {"resources": entries}}})
    one, two, three = (f"nvidia.com/mig-{p}" for p in ("1g.5gb", "2g.10gb", "3g.20gb"))
    for resource, total in ((one, 4), (two, 2), (three, 2)):
        here.kubelet.wait(resource, allocatable=total)
    instances = here.gpus()[0]["mig"]["devices"]
    [small, other] = [i for i in instances if i["profile"] == "1g.5gb"]
    first_xid(here, 0, 94, one, "--gpu-instance", small["gpuInstance"], allocatable=2)
    assert here.kubelet.ids(one, healthy=True) == [f"{other['uuid']}::{i}" for i in (0, 1)]
    assert here.kubelet.node() == {one: 2, two: 2, three: 2}
    # One without an instance affects all.
    here.sim("xid", "--gpu", 0, "--xid", 94)
    for resource in (one, two, three):
        here.kubelet.wait(resource, allocatable=0)


@pytest.mark.difference("health-recovery")
def test_recovery_after_a_quiet_time(node):
    here = node("a100-40gb-x4")
    agent = here.agent("--health-recovery=1s", OFTEN, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    first_xid(here, 2, 94, allocatable=6)
    here.kubelet.wait(GPU, allocatable=8)
    agent.wait_log(f"{here.uuids()[2]} is healthy again")
    # One that needs a reset stays for any time, until the driver asks for nothing more.
    here.sim("fault", "recovery", "--gpu", 2, "gpu-reset")
    here.sim("xid", "--gpu", 2, "--xid", 95)
    here.kubelet.wait(GPU, allocatable=6)
    agent.wait_log("reset")
    here.sim("fault", "recovery", "--gpu", 2, "none")
    here.kubelet.wait(GPU, allocatable=8)


def test_an_unhealthy_gpu_leaves_the_agent_ready_and_is_told(node):
    here = node("a100-40gb-x4")
    here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    first_xid(here, 2, 94, allocatable=6)

    def says() -> str:
        ask = [TRANCHE, "agent", "--check=ready", f"--state-dir={here.state}"]
        return subprocess.run(ask, env=here.env, capture_output=True, text=True).stdout

    said = wait_until(lambda: "unhealthy" in (text := says()) and text, "the probe tells it")
    assert said.startswith("ready: ")
    assert f"1 of 4 GPUs unhealthy: GPU 2 ({here.uuids()[2]}): XID 94" in said


def test_sighup_forgets(node):
    here = node("l20")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    first_xid(here, 0, 94, allocatable=0)
    agent.signal(signal.SIGHUP)
    here.kubelet.wait(GPU, allocatable=2)


@pytest.mark.difference("health-all-but-some")
def test_which_xids_count(node):
    def healthy_after(xid: int, env: dict, then: int | None = None) -> list:
        """The healthy GPUs after `xid` on GPU 0, with one that counts (`then`) on GPUs 1 and 3."""
        here = node("a100-40gb-x4")
        agent = here.agent(env=env)
        here.kubelet.wait(GPU, allocatable=4)
        if then is None:
            first_xid(here, 0, xid, allocatable=3)
        else:
            first_xid(here, 1, then, allocatable=3)
            here.sim("xid", "--gpu", 0, "--xid", xid)
            first_xid(here, 3, then, allocatable=2)
        uuids = here.uuids()
        healthy = sorted(uuids.index(one) for one in here.kubelet.ids(GPU, healthy=True))
        assert agent.stop() == 0
        return healthy

    assert healthy_after(94, {"DP_DISABLE_HEALTHCHECKS": "94"}, then=79) == [0, 2]
    both = {"DP_DISABLE_HEALTHCHECKS": "all", "DP_ENABLE_HEALTHCHECKS": "79"}
    assert healthy_after(94, both, then=79) == [0, 2]
    assert healthy_after(31, {"DP_ENABLE_HEALTHCHECKS": "31"}) == [1, 2, 3]
    assert healthy_after(13, {"DP_ENABLE_HEALTHCHECKS": "all"}) == [1, 2, 3]


def test_disabled_checks_report_nothing(node):
    here = node("l20")
    agent = here.agent(OFTEN, env={"DP_DISABLE_HEALTHCHECKS": "all"}, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    # An agent starts to listen at the time of its first device list: it may miss the first XID, not
    # all of them.
    for replicas in range(3, 8):
        here.sim("xid", "--gpu", 0, "--xid", 79)
        here.write(sharing(replicas))
        here.kubelet.wait(GPU, allocatable=replicas)
    assert agent.stop() == 0
    assert "unhealthy" not in agent.log


def test_a_malformed_list_of_xids_is_told(node):
    here = node("l20")
    agent = here.agent(env={"DP_DISABLE_HEALTHCHECKS": "94,x"})
    here.kubelet.wait(GPU, allocatable=1)
    agent.wait_log("DP_DISABLE_HEALTHCHECKS: 'x' is no XID")


def test_labels_and_preferences_with_an_unhealthy_gpu(node):
    here = node("a100-40gb-x4")
    here.features.mkdir()
    agent = here.agent(labels="true")
    here.kubelet.wait(GPU, allocatable=4)
    agent.wait_log("wrote .* labels")
    first_xid(here, 0, 94, allocatable=3)
    # kubelet takes an unhealthy one from nobody, and gives it to nobody.
    assert here.kubelet.admit("a", {GPU: 3})["phase"] == "Running"
    assert here.kubelet.admit("b", {GPU: 1})["phase"] == "Failed"
    assert here.labels()["nvidia.com/gpu.count"] == "4"
