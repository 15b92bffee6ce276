"""The manager of MIG layouts is killed at every phase and step, with other failures: the disk is
lost, the machine is rebooted, the label changes. The node ends in the new layout or in the old one,
and nothing stays open. The whole matrix runs with --soak, a sample always."""

import json
import os
import re
import shutil
import sys

import pytest

from node import GPU
from programs import ROOT, wait_until
from test_full_disk import SmallDisk
from test_mig_manager import BALANCED, MERGE, SMALL, Managed

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

CHANGE = "tranche.dev/mig-change"
DRAIN = "tranche.dev/mig-drain"
BOOT = "proc/sys/kernel/random/boot_id"
CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
TWOS = "2g.20gb 2g.20gb 2g.20gb"

STEPS = [f"step {n}" for n in range(1, 15)]
POINTS = ["asking", "draining", *STEPS, "verifying", "finished", "undoing", "undoing step"]
FAULTS = [
    "killed",
    "disk lost",
    "rebooted",
    "rebooted, disk lost",
    "API server lost",
    "another label",
    "label removed",
]
MATRIX = [(point, fault) for point in POINTS for fault in FAULTS]
SAMPLE = [
    ("asking", "killed"),
    ("draining", "disk lost"),
    ("step 1", "another label"),
    ("step 3", "killed"),
    ("step 7", "rebooted"),
    ("step 12", "disk lost"),
    ("verifying", "killed"),
    ("undoing", "killed"),
    ("draining", "API server lost"),
    ("step 5", "API server lost"),
    ("step 9", "rebooted, disk lost"),
    ("finished", "rebooted"),
]
# For an Ampere, whose mode needs a GPU reset: each direction, and what is interrupted at which
# step.
MODES = [("all-disabled", "all-balanced"), ("all-balanced", "all-disabled")]
AMPERE = [
    (*way, point, fault)
    for way in MODES
    for point in ("asking", "step 1", "step 2", "step 3", "step 9", "verifying", "undoing")
    for fault in ("killed", "disk lost", "rebooted", "rebooted, disk lost", "API server lost")
]
AMPERE_SAMPLE = [(*MODES[0], "step 2", "killed"), (*MODES[1], "step 9", "rebooted")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server


class Faulty(Managed):
    """A node with this test as controller."""

    def __init__(self, server, here, name: str):
        here.sim("fault", "slow", "--function", CREATE, "--delay-ms", 40)
        (here.host / BOOT).parent.mkdir(parents=True, exist_ok=True)
        (here.host / BOOT).write_text("boot-1\n")
        super().__init__(server, here, name, "--mig-ask-controller=true", "--machine-interval=200ms")

    def answer(self, hold: str = "") -> None:
        """A controller's actions; `hold`: the phase in which it waits."""
        text = self.object()["metadata"].get("annotations", {}).get(CHANGE)
        if text is None:
            return
        change = json.loads(text)
        if hold == change["phase"] == "asking":
            return
        phase = change["phase"]
        drain = {
            "version": "mig-drain/v1",
            "id": change["id"],
            "writtenAt": change["writtenAt"],
            "answer": "accepted",
            "cordoned": phase in ("draining", "changing") and phase != hold,
            "uncordoned": phase == "finished",
        }
        self.annotate(json.dumps({**drain, "reason": "", "outages": [], "pending": [], "blocked": []}))

    def annotate(self, text: str) -> None:
        patch = {"metadata": {"annotations": {DRAIN: text}}}
        self.server.request("PATCH", f"/api/v1/nodes/{self.name}", patch, kind=MERGE)

    def until(self, condition, what: str, hold: str = "") -> None:
        def turn():
            self.answer(hold)
            return condition()

        self.server.wait(turn, f"{what}: {self.agent.log}")

    def come_to(self, point: str, layout: str = "all-1g.10gb", failing: str = CREATE) -> None:
        """The change to the layout is there, and the agent is killed. It is undone if `failing`
        fails."""
        start = self.agent.mark()
        if point.startswith("undoing"):
            after = 2 if failing == CREATE else 0
            self.here.sim(
                "fault", "fail", "--function", failing, "--error", "UNKNOWN", "--after", after, "--times", 3
            )
        self.wish(layout)
        wanted = f"MIG layout {layout}: {point}"
        if point.startswith("step"):
            wanted = f"MIG {point} of"
        if point == "undoing step":
            wanted = r"undoing(.|\n)*MIG step 2 of"
        self.until(lambda: re.search(wanted, self.agent.log[start:]), point, hold=point)
        self.agent.kill()

    def suffer(self, fault: str) -> None:
        if "disk lost" in fault:
            shutil.rmtree(self.here.state / "mig")
        if "rebooted" in fault:
            self.here.sim("reset", "--reboot")
            (self.here.host / BOOT).write_text("boot-2\n")
        if fault == "another label":
            self.wish("all-2g.20gb")
        if fault == "label removed":
            self.wish(None)

    def is_over(self) -> bool:
        return self.is_closed() and self.state() != "pending" and not (self.here.state / "mig/journal.json").exists()


def start_again(faulty: Faulty, point: str, ends: list) -> None:
    """While the API server is lost a change on the hardware is finished, or undone; none begins."""
    before = faulty.layouts()
    with faulty.server.frozen_store():
        faulty.start()
        faulty.agent.wait_log("serving|advertis")
        if point in ("asking", "draining"):
            assert faulty.layouts() == before
            return
        wait_until(lambda: faulty.layouts() in ends, "one of the two layouts")


def judge(faulty: Faulty, fault: str, before: str = BALANCED, after: str = SMALL) -> None:
    if fault == "another label":
        faulty.until(lambda: faulty.is_over() and faulty.layouts() == [TWOS], "the other layout")
        assert faulty.state() == "success"
        return
    if fault == "label removed":
        faulty.until(lambda: faulty.is_over() and not faulty.state(), "nothing asked for")
        assert faulty.layouts() in ([SMALL], [BALANCED])
        return
    faulty.until(lambda: faulty.is_over() and faulty.state() in ("success", "failed"), "an end")
    assert faulty.layouts() == [after if faulty.state() == "success" else before]


def run(server, node, point: str, fault: str) -> None:
    here = node("h100")
    faulty = Faulty(server, here, f"{point}-{fault}".replace(" ", "-").replace(",", "").lower())
    faulty.wish("all-balanced")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the first layout")
    faulty.come_to(point)
    here.kubelet.watched.remove(faulty.agent)
    faulty.suffer(fault)
    if fault == "API server lost":
        start_again(faulty, point, [[SMALL], [BALANCED]])
    else:
        faulty.start()
    judge(faulty, fault)
    profiles = {"nvidia.com/mig-1g.10gb", "nvidia.com/mig-2g.20gb", "nvidia.com/mig-3g.40gb"}
    for profile in profiles:
        count = faulty.layouts()[0].split().count(profile.split("-", 1)[1])
        if count:
            here.kubelet.wait(profile, allocatable=count)


@pytest.mark.parametrize("point, fault", SAMPLE)
def test_a_change_ends_in_one_of_the_two_layouts(server, node, point, fault):
    run(server, node, point, fault)


@pytest.mark.parametrize("fault", ["rebooted", "rebooted, disk lost"])
def test_what_was_there_before_a_failed_change_is_there_after_a_reboot(server, node, fault):
    here = node("h100")
    faulty = Faulty(server, here, f"failed-{fault}".replace(" ", "-").replace(",", ""))
    faulty.wish("all-balanced")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the first layout")
    here.sim("fault", "fail", "--function", CREATE, "--error", "UNKNOWN", "--after", 2, "--times", 3)
    faulty.wish("all-1g.10gb")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "failed", "the failure")
    assert faulty.layouts() == [BALANCED]
    message = faulty.reported("MigChangeFailed")
    here.kubelet.watched.remove(faulty.agent)
    faulty.agent.kill()
    here.sim("clear")
    faulty.suffer(fault)
    assert faulty.layouts() == ["off"]
    faulty.start()
    faulty.until(lambda: faulty.layouts() == [BALANCED] and faulty.is_over(), "the layout before")
    assert faulty.state() == "failed" and faulty.reported("MigChangeFailed") == message
    here.kubelet.wait("nvidia.com/mig-3g.40gb", allocatable=1)


class Single(Faulty):
    strategy = "single"


def test_strategy_single_makes_the_layout_again_that_a_reboot_took(server, node):
    """tests/data/reports/05-single-after-reboot: MIG mode stays on, and the instances are gone."""
    here = node("a100-40gb")
    faulty = Single(server, here, "single-rebooted")
    faulty.wish("all-1g.5gb")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the layout")
    here.kubelet.wait(GPU, capacity=7, allocatable=7)
    here.kubelet.watched.remove(faulty.agent)
    faulty.agent.kill()
    faulty.suffer("rebooted")
    assert faulty.layouts() == [""]
    faulty.start()
    faulty.until(lambda: faulty.layouts() == [" ".join(["1g.5gb"] * 7)] and faulty.is_over(), "the layout again")
    assert faulty.state() == "success"
    here.kubelet.wait(GPU, capacity=7, allocatable=7)


A100 = {"all-disabled": "off", "all-balanced": "3g.20gb 2g.10gb 1g.5gb 1g.5gb"}


def run_ampere(server, node, old: str, new: str, point: str, fault: str) -> None:
    here = node("a100-40gb")
    faulty = Faulty(server, here, f"ampere-{new}-{point}-{fault}".replace(" ", "-").replace(",", "").lower())
    faulty.wish(old)
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the first layout")
    assert faulty.layouts() == [A100[old]]
    failing = CREATE if new == "all-balanced" else "nvmlDeviceSetMigMode"
    faulty.come_to(point, new, failing)
    here.kubelet.watched.remove(faulty.agent)
    faulty.suffer(fault)
    if fault == "API server lost":
        start_again(faulty, point, [[A100[old]], [A100[new]]])
    else:
        faulty.start()
    judge(faulty, fault, A100[old], A100[new])


@pytest.mark.parametrize("old, new, point, fault", AMPERE_SAMPLE)
def test_a_mode_that_needs_a_reset(server, node, old, new, point, fault):
    run_ampere(server, node, old, new, point, fault)


@pytest.mark.soak
@pytest.mark.parametrize("old, new, point, fault", [case for case in AMPERE if case not in AMPERE_SAMPLE])
def test_every_case_of_a_mode_that_needs_a_reset(server, node, old, new, point, fault):
    run_ampere(server, node, old, new, point, fault)


def test_a_reset_that_is_forbidden_changes_nothing(server, node):
    here = node("a100-passthrough")
    faulty = Faulty(server, here, "passthrough")
    faulty.wish("all-balanced")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "failed", "a refusal")
    message = faulty.reported("MigChangeFailed")
    assert "passed through" in message and "reboot this machine" in message, message
    assert "the change was undone" in message
    assert faulty.layouts() == ["off", "off"]
    pending = here.smi("--query-gpu=mig.mode.pending", "--format=csv,noheader").split()
    assert pending == ["Disabled", "Disabled"], "nothing waits for a reboot"
    here.kubelet.wait("nvidia.com/gpu", allocatable=2)


def test_a_mode_that_waits_for_a_reboot_is_waited_for(server, node):
    """The advice of a refusal, followed: tests/data/reports/07-vm-mode-taken-back, with the
    manager."""
    here = node("a100-passthrough")
    faulty = Faulty(server, here, "waits-for-reboot")
    here.smi("-mig", "1")
    faulty.wish("all-1g.10gb")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "failed", "that it waits")
    message = faulty.reported("MigNotChanged")
    assert "MIG mode on of GPU 0, 1 is already waiting for a reboot" in message, message
    pending = here.smi("--query-gpu=mig.mode.pending", "--format=csv,noheader").split()
    assert pending == ["Enabled", "Enabled"]
    here.kubelet.wait("nvidia.com/gpu", allocatable=2)
    faulty.agent.kill()
    faulty.suffer("rebooted")
    faulty.start()
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the layout after the reboot")
    assert faulty.layouts() == [" ".join(["1g.10gb"] * 7)] * 2


class WithoutRoom(Faulty):
    """Its state folder is a separate disk, which goes with the agent."""

    full = False

    def start(self) -> None:
        environment = {"KUBECONFIG": self.server.kubeconfig(), "NODE_NAME": self.name}
        self.disk = SmallDisk(self.here, *self.arguments, full=self.full, config="version: v1", env=environment)
        self.agent = self.disk.agent


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
@pytest.mark.parametrize("point", ["at the beginning", "draining", "step 3"])
def test_a_full_disk_stops_no_change(server, node, point):
    here = node("h100")
    faulty = WithoutRoom(server, here, f"full-{point}".replace(" ", "-"))
    faulty.wish("all-balanced")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the first layout")
    if point == "at the beginning":
        faulty.disk.fill()
        point = "finished"
    faulty.wish("all-1g.10gb")
    wanted = f"MIG {point} of" if point.startswith("step") else f"all-1g.10gb: {point}"
    faulty.until(lambda: re.search(wanted, faulty.agent.log), point)
    faulty.disk.fill()
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the new layout")
    assert faulty.layouts() == [SMALL]
    assert "is not on disk" in faulty.agent.log
    # The disk goes with the agent; the Node knows what is in force.
    faulty.agent.kill()
    here.kubelet.watched.remove(faulty.agent)
    faulty.start()
    here.kubelet.wait("nvidia.com/mig-1g.10gb", allocatable=7)
    assert faulty.layouts() == [SMALL] and faulty.state() == "success"


@pytest.mark.parametrize("then", ["changed by hand", "rebooted"])
def test_after_a_lost_disk_a_layout_in_force_is_no_new_wish(server, node, then):
    here = node("h100")
    faulty = Faulty(server, here, f"lost-then-{then}".replace(" ", "-"))
    faulty.wish("all-balanced")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the first layout")
    faulty.agent.kill()
    here.kubelet.watched.remove(faulty.agent)
    faulty.suffer("disk lost")
    if then == "rebooted":
        faulty.suffer("rebooted")
        faulty.start()
        # Nobody answers: no container holds the GPU, so nobody is asked.
        server.wait(lambda: faulty.layouts() == [BALANCED], faulty.agent.log)
        faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the layout again")
        assert "asking" not in faulty.agent.log
        return
    here.sim("mig", "destroy", "--gpu-instance", here.gpus()[0]["mig"]["devices"][0]["gpuInstance"])
    by_hand = faulty.layouts()
    faulty.start()
    faulty.reported("MigLayoutDrift")
    assert faulty.layouts() == by_hand and faulty.state() == "success"


@pytest.mark.soak
@pytest.mark.parametrize("point, fault", [case for case in MATRIX if case not in SAMPLE])
def test_every_case_of_the_matrix(server, node, point, fault):
    run(server, node, point, fault)
