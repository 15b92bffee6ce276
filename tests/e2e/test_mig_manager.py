"""The manager of MIG layouts: a label of the Node changes what the GPUs are cut into. A real API
server, a kubelet stand-in and a simulated machine; skipped where the lab's programs are not built
(lab/build/build)."""

import re
import subprocess
import sys

import pytest

from node import GPU, config_map
from programs import ROOT, TRANCHE, clean_environment

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

STATE = "nvidia.com/mig.config.state"
CONFIG = "nvidia.com/mig.config"
MERGE = "application/merge-patch+json"
PLATFORM = "a100-80gb-x4"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server


class Managed:
    """An agent that manages the MIG layout of a Node of this name."""

    strategy = "mixed"

    def __init__(self, server, here, name: str, *arguments: object):
        self.server, self.here, self.name = server, here, name
        server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self.arguments = ("--mig-manager", "--mig-ask-controller=false", f"--mig-strategy={self.strategy}", *arguments)
        self.start()

    def start(self) -> None:
        environment = {"KUBECONFIG": self.server.kubeconfig(), "NODE_NAME": self.name}
        self.agent = self.here.agent(*self.arguments, env=environment)

    def object(self) -> dict:
        return self.server.request("GET", f"/api/v1/nodes/{self.name}")

    def wish(self, layout: str | None, **labels) -> None:
        patch = {"metadata": {"labels": {CONFIG: layout, **labels}}}
        self.server.request("PATCH", f"/api/v1/nodes/{self.name}", patch, kind=MERGE)

    def state(self) -> str:
        return self.object()["metadata"].get("labels", {}).get(STATE, "")

    def is_closed(self) -> bool:
        return "tranche.dev/mig-change" not in self.object()["metadata"].get("annotations", {})

    def wait_state(self, wanted: str) -> None:
        self.server.wait(lambda: self.state() == wanted and self.is_closed(), f"{wanted}: {self.agent.log}")

    def layouts(self) -> list:
        """What each GPU is cut into, "3g.40gb 1g.10gb 1g.10gb" by place; "off" without MIG."""
        return [self.layout(gpu["mig"]) for gpu in self.here.gpus()]

    @staticmethod
    def layout(mig: dict) -> str:
        if not mig["current"]:
            return "off"
        return " ".join(sorted((one["profile"] for one in mig["devices"]), reverse=True))

    def condition(self) -> dict:
        conditions = self.object().get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == "TrancheMigLayout"), {})

    def reported(self, reason: str) -> str:
        """The message of the condition, once it has this reason."""
        self.server.wait(lambda: self.condition().get("reason") == reason, f"{reason}: {self.agent.log}")
        return self.condition()["message"]


def times_of(log: str) -> list:
    """For each change, by the agent's log: milliseconds from drained to the first step, and from
    the last step to the end, when kubelet offers the new layout. The time in between is the
    driver's."""

    def times(pattern: str) -> list:
        found = re.findall(rf"^\S+T(\d+):(\d+):([\d.]+)Z I {pattern}", log, re.M)
        return [round(1000 * (3600 * int(h) + 60 * int(m) + float(s))) for h, m, s in found]

    changes = zip(times(r"MIG layout \S+: changing"), times(r"MIG layout \S+: finished"), strict=True)
    steps = times("MIG step ")
    within = [(begin, end, [at for at in steps if begin <= at <= end]) for begin, end in changes]
    return [(taken[0] - begin, end - taken[-1]) for begin, end, taken in within]


SMALL = " ".join(["1g.10gb"] * 7)
BALANCED = "3g.40gb 2g.20gb 1g.10gb 1g.10gb"
TWOS = "2g.20gb 2g.20gb 2g.20gb 1g.10gb"


@pytest.fixture
def layouts(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(config_map("platform/mig-parted-config.yaml")["config.yaml"])
    return file


def test_a_label_changes_the_layout_and_kubelet_offers_it(server, node):
    here = node("h100")
    managed = Managed(server, here, "h100")
    managed.wish("all-1g.10gb")
    managed.wait_state("success")
    assert managed.layouts() == [SMALL]
    here.kubelet.wait("nvidia.com/mig-1g.10gb", capacity=7, allocatable=7)
    managed.wish("all-disabled")
    managed.server.wait(lambda: managed.layouts() == ["off"], managed.agent.log)
    managed.wait_state("success")
    here.kubelet.wait(GPU, capacity=1, allocatable=1)


def test_the_layouts_of_the_platform_scenario(server, node, layouts):
    here = node(PLATFORM)
    managed = Managed(server, here, "platform", f"--mig-config-file={layouts}")
    gpus = len(here.gpus())
    for layout, wanted in (
        ("all-1g.10gb", [SMALL] * gpus),
        ("all-balanced", [BALANCED] * gpus),
        ("mixed-workload", ["off"] + [TWOS] * 3 + [BALANCED] * (gpus - 4)),
    ):
        managed.wish(layout)
        managed.server.wait(lambda: managed.layouts() == wanted, f"{layout}: {managed.agent.log}")  # noqa: B023
        managed.wait_state("success")
    here.kubelet.wait(GPU, capacity=1, allocatable=1)
    here.kubelet.wait("nvidia.com/mig-2g.20gb", capacity=9 + gpus - 4, allocatable=9 + gpus - 4)
    print("before the first step, behind the last (ms):", times_of(managed.agent.log))


class Single(Managed):
    strategy = "single"


def test_strategy_single_obeys_the_label_on_a_layout_that_it_cannot_offer(server, node):
    here = node("a100-40gb-mig")
    managed = Single(server, here, "single", "--machine-interval=100ms", "--labels=true")
    managed.agent.wait_log("not advertising nvidia.com/gpu: migStrategy single: more than one MIG device type")
    assert "no layout is asked for" in managed.reported("MigUnmanaged")
    managed.wish("all-1g.5gb")
    managed.wait_state("success")
    here.kubelet.wait(GPU, capacity=7, allocatable=7)


def test_a_gpu_without_mig_is_refused_before_anything_is_touched(server, node):
    managed = Managed(server, node("t4"), "t4")
    managed.wish("all-1g.10gb")
    managed.wait_state("failed")
    assert "no GPU of this node has MIG (Tesla T4)" in managed.reported("MigNotChanged")
    assert "time-slicing" in managed.condition()["message"]


def test_a_layout_changed_by_hand_is_reported_and_left(server, node):
    here = node("h100")
    managed = Managed(server, here, "by-hand", "--machine-interval=100ms")
    managed.wish("all-balanced")
    managed.wait_state("success")
    instance = here.gpus()[0]["mig"]["devices"][0]["gpuInstance"]
    here.sim("mig", "destroy", "--gpu-instance", instance)
    managed.reported("MigLayoutDrift")
    assert managed.state() == "success"
    assert managed.layouts() != [BALANCED]


def test_an_edited_layout_waits_for_a_person(server, node, layouts):
    """One edit of the ConfigMap would drain every node of that layout at once."""
    here = node("h100")
    managed = Managed(server, here, "edited", f"--mig-config-file={layouts}")
    managed.wish("all-balanced")
    managed.wait_state("success")
    text = layouts.read_text()
    layouts.write_text("version: v1\nmig-configs:\n  all-balanced:\n  - devices: all\n    mig-enabled: true\n"
                       '    mig-devices: {"1g.10gb": 7}\n')
    assert "the text of the layout all-balanced is another one" in managed.reported("MigLayoutDrift")
    assert (managed.layouts(), managed.state()) == ([BALANCED], "success")
    layouts.write_text(text)
    managed.reported("MigChanged")
    layouts.write_text(text.replace("all-balanced:", "all-even:").replace("all-1g.10gb:", "all-balanced:"))
    managed.reported("MigLayoutDrift")
    person = [TRANCHE, "layout", "apply", f"--node={managed.name}", f"--kubeconfig={server.kubeconfig()}",
              "--selected-config=all-balanced"]
    done = subprocess.run(person, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert managed.layouts() == [SMALL]
    managed.reported("MigChanged")


def test_a_failing_call_of_the_driver_is_undone(server, node):
    here = node("h100")
    managed = Managed(server, here, "fault")
    managed.wish("all-balanced")
    managed.wait_state("success")
    here.sim("fault", "fail", "--function", "nvmlDeviceCreateGpuInstanceWithPlacement", "--error", "UNKNOWN")
    managed.wish("all-1g.10gb")
    managed.server.wait(lambda: "undoing" in managed.agent.log, managed.agent.log)
    here.sim("clear")
    managed.wait_state("failed")
    managed.reported("MigChangeFailed")
    assert managed.layouts() == [BALANCED]
    here.kubelet.wait("nvidia.com/mig-3g.40gb", capacity=1, allocatable=1)
