"""The manager of MIG layouts is killed at every phase and step, and more goes wrong with it: the disk is lost,
the machine is rebooted, the label changes. The node ends in the new layout or in the old one, and nothing stays
open. The whole matrix runs with --soak, a sample always."""

import json
import re
import shutil
import sys

import pytest

from programs import ROOT
from test_mig_manager import BALANCED, MERGE, SMALL, Managed

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

CHANGE = "tranche.dev/mig-change"
DRAIN = "tranche.dev/mig-drain"
BOOT = "proc/sys/kernel/random/boot_id"
CREATE = "nvmlDeviceCreateGpuInstanceWithPlacement"
TWOS = "2g.20gb 2g.20gb 2g.20gb"

POINTS = ["asking", "draining", *(f"step {n}" for n in range(1, 15)), "verifying", "undoing", "undoing step"]
FAULTS = ["killed", "disk lost", "rebooted", "another label", "label removed"]
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
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server


class Faulty(Managed):
    """A node whose controller is this test."""

    def __init__(self, server, here, name: str):
        here.sim("fault", "slow", "--function", CREATE, "--delay-ms", 40)
        (here.host / BOOT).parent.mkdir(parents=True, exist_ok=True)
        (here.host / BOOT).write_text("boot-1\n")
        super().__init__(server, here, name, "--mig-ask-controller=true", "--machine-interval=200ms")

    def answer(self, hold: str = "") -> None:
        """What a controller does; `hold`: the phase that it lets wait."""
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

    def come_to(self, point: str) -> None:
        """The change to all-1g.10gb is there, and the agent is killed."""
        start = self.agent.mark()
        if point.startswith("undoing"):
            self.here.sim("fault", "fail", "--function", CREATE, "--error", "UNKNOWN", "--after", 4, "--times", 3)
        self.wish("all-1g.10gb")
        wanted = f"MIG layout all-1g.10gb: {point}"
        if point.startswith("step"):
            wanted = f"MIG {point} of"
        if point == "undoing step":
            wanted = r"undoing(.|\n)*MIG step 2 of"
        self.until(lambda: re.search(wanted, self.agent.log[start:]), point, hold=point)
        self.agent.kill()

    def suffer(self, fault: str) -> None:
        if fault == "disk lost":
            shutil.rmtree(self.here.state / "mig")
        if fault == "rebooted":
            self.here.sim("reset", "--reboot")
            (self.here.host / BOOT).write_text("boot-2\n")
        if fault == "another label":
            self.wish("all-2g.20gb")
        if fault == "label removed":
            self.wish(None)

    def is_over(self) -> bool:
        return self.is_closed() and self.state() != "pending" and not (self.here.state / "mig/journal.json").exists()


def judge(faulty: Faulty, fault: str) -> None:
    if fault == "another label":
        faulty.until(lambda: faulty.is_over() and faulty.layouts() == [TWOS], "the other layout")
        assert faulty.state() == "success"
        return
    if fault == "label removed":
        faulty.until(lambda: faulty.is_over() and not faulty.state(), "nothing asked for")
        assert faulty.layouts() in ([SMALL], [BALANCED])
        return
    faulty.until(lambda: faulty.is_over() and faulty.state() in ("success", "failed"), "an end")
    assert faulty.layouts() == [SMALL if faulty.state() == "success" else BALANCED]


def run(server, node, point: str, fault: str) -> None:
    here = node("h100")
    faulty = Faulty(server, here, f"{point}-{fault}".replace(" ", "-"))
    faulty.wish("all-balanced")
    faulty.until(lambda: faulty.is_over() and faulty.state() == "success", "the first layout")
    faulty.come_to(point)
    here.kubelet.watched.remove(faulty.agent)
    faulty.suffer(fault)
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
