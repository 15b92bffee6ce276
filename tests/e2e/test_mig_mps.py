"""A change of a MIG layout on a node that shares GPUs by MPS: one control daemon serves all GPUs of
a resource, so all of them leave service for it, the daemon ends, and one starts for those that stay
shared. Daemons of other resources continue."""

import contextlib
import json
import re
import signal
import sys

import pytest

from mps import Mps, entry
from node import SHARED
from programs import BUILD, ROOT, wait_until
from test_mig_change import PODS, controller, end, is_evicted, show  # noqa: F401  (a fixture)
from test_mig_manager import MERGE, PLATFORM, Managed

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

CONTROL = BUILD / "sim" / "nvidia-cuda-mps-control"
OTHER = "nvidia.com/gpu.other"
HOPPER = "h200"
# The first two GPUs, and the third, have a daemon each.
CONFIG = {
    "version": "v1",
    "flags": {"migStrategy": "none"},
    "tranche": {"honorIgnoredFields": True},
    "sharing": {
        "mps": {
            "resources": [
                entry("nvidia.com/gpu", 4, rename=SHARED, devices=[0, 1]),
                entry("nvidia.com/gpu", 2, rename=OTHER, devices=[2]),
            ]
        }
    },
}
LAYOUTS = """
version: v1
mig-configs:
  first-small:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"%s": 7}
  first-whole:
    - devices: all
      mig-enabled: false
"""
PROFILES = {PLATFORM: "1g.10gb", HOPPER: "1g.18gb"}

pytestmark = pytest.mark.skipif(not CONTROL.exists(), reason="no simulated nvidia-cuda-mps-control is built")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        server.apply({**account, "metadata": {"name": "default", "namespace": "default"}})
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tranche"}})
        yield server


class SharedByMps(Managed):
    """A manager of MIG layouts, and a supervisor of the MPS control daemons."""

    def __init__(self, mps: Mps, server, machine: str, name: str, *arguments: object):
        self.mps, here = mps, mps.node
        self.small = " ".join([PROFILES[machine]] * 7)
        file = here.dir / "layouts.yaml"
        file.write_text(LAYOUTS % PROFILES[machine])
        here.write(json.dumps(CONFIG))
        super().__init__(server, here, name, f"--mig-config-file={file}", *arguments)
        self.start_supervisor()
        here.kubelet.wait(SHARED, allocatable=8)
        here.kubelet.wait(OTHER, allocatable=2)
        self.uuids = here.uuids()
        self.mps.wait_ready()

    def start(self) -> None:
        environment = {"KUBECONFIG": self.server.kubeconfig(), "NODE_NAME": self.name}
        flags = [one for one in self.arguments if not str(one).startswith("--mig-strategy")]
        self.agent = self.mps.agent(*flags, env=environment)

    def start_supervisor(self):
        self.supervisor = self.mps.supervisor()
        return self.supervisor

    def gpus_of(self, resource: str) -> list:
        """The GPUs that the resource's daemon serves, according to its supervisor."""
        file = self.mps.dir / resource / ".started"
        lines = file.read_text().splitlines()[1:] if file.exists() else []
        return sorted((self.uuids.index(line) for line in lines if " " not in line))

    def exclusive(self) -> list:
        text = self.here.smi("--query-gpu=compute_mode", "--format=csv,noheader")
        return [i for i, mode in enumerate(text.split()) if mode == "Exclusive_Process"]

    def go_back(self) -> None:
        self.wish("first-whole")
        self.server.wait(lambda: self.layouts()[0] == "off", self.agent.log)
        self.wait_state("success")

    @contextlib.contextmanager
    def held_on_the_hardware(self):
        """Instances are made slowly, so a change stays in this phase."""
        self.here.sim("fault", "slow", "--function", "nvmlDeviceCreateGpuInstanceWithPlacement", "--delay-ms", 1000)
        yield
        self.here.sim("clear")

    def events(self) -> list:
        events = self.server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [one for one in events if one["regarding"]["name"] == self.name]

    def reasons(self) -> set:
        return {one["reason"] for one in self.events()}

    def notes(self, reason: str) -> list:
        return [one["note"] for one in self.events() if one["reason"] == reason]

    def run(self, pod: str, resource: str) -> int:
        """A Pod that holds one of `resource`, for the API server and for kubelet. Returns its
        GPU."""
        held = self.here.kubelet.admit(pod, {resource: 1})["containers"]["c"][resource]
        container = {"name": "c", "image": "i", "resources": {"limits": {resource: "1"}}}
        described = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "namespace": "default"}}
        self.server.apply(described | {"spec": {"nodeName": self.name, "containers": [container]}})
        self.server.request("PATCH", f"{PODS}/{pod}/status", {"status": {"phase": "Running"}}, kind=MERGE)
        return self.uuids.index(held["ids"][0].split("::")[0])

    def health(self, resource: str) -> list:
        return [one["healthy"] for one in self.here.kubelet.devices(resource).values()]

    def is_changed(self) -> bool:
        return self.layouts()[0] == self.small


@pytest.fixture
def shared(server, node):
    opened = []

    def open_node(machine: str, name: str, *arguments: object) -> SharedByMps:
        opened.append(Mps(node(machine), CONTROL))
        return SharedByMps(opened[-1], server, machine, name, *arguments)

    yield open_node
    for one in opened:
        one.node.end_programs()
        one.kill_daemons()


@pytest.mark.parametrize("machine", [PLATFORM, HOPPER])
def test_the_gpus_of_a_daemon_leave_service_for_the_change_and_come_back(shared, machine):
    one = shared(machine, f"mps-{machine}")
    others = one.mps.pid(OTHER)
    one.wish("first-small")
    one.wait_state("success")
    assert one.is_changed()
    assert (one.gpus_of(SHARED), one.gpus_of(OTHER)) == ([1], [2]), one.supervisor.log
    one.here.kubelet.wait(SHARED, allocatable=4)
    assert one.exclusive() == [1, 2]

    one.go_back()
    assert (one.gpus_of(SHARED), one.gpus_of(OTHER)) == ([0, 1], [2]), one.supervisor.log
    one.here.kubelet.wait(SHARED, allocatable=8)
    assert one.exclusive() == [0, 1, 2]
    assert one.mps.pid(OTHER) == others, "its clients were not disturbed"
    assert "MpsDaemonGone" not in one.reasons(), "it was announced"


def test_pods_beside_the_gpu_that_changes_are_announced_with_the_reason_and_evicted(shared, controller):  # noqa: F811
    one = shared(PLATFORM, "mps-pods", "--mig-ask-controller=true")
    show(one.server, one.name, **{SHARED: 8, OTHER: 2})
    other = one.run("other", OTHER)
    gpus = {f"p{i}": one.run(f"p{i}", SHARED) for i in range(2)}
    assert sorted(gpus.values()) == [0, 1] and other == 2
    daemon = one.mps.pid(SHARED)
    one.wish("first-small")
    for pod in gpus:
        wait_until(lambda: is_evicted(one.server, pod), f"{pod} is evicted: {controller.log}")  # noqa: B023
    assert one.mps.pid(SHARED) == daemon, "it serves while somebody holds a GPU of it"
    assert not any(healthy for healthy in one.health(SHARED))

    [note] = one.notes("MigChangeAnnounced")
    [first, beside] = sorted(gpus, key=gpus.get)
    why = f"shares the MPS control daemon of {SHARED} with GPU 0"
    assert re.search(rf"default/{beside} \([^()]*; {why}\)", note), note
    assert note.count(why) == 1, note
    for pod in gpus:
        end(one.server, one.here, pod)
    one.wait_state("success")
    assert one.is_changed()
    one.here.kubelet.wait(SHARED, allocatable=4)
    assert not is_evicted(one.server, "other")


def test_a_supervisor_that_hangs_is_named_and_nothing_is_changed(shared):
    one = shared(PLATFORM, "mps-hangs")
    one.supervisor.signal(signal.SIGSTOP)
    one.wish("first-small")
    message = one.reported("MigChangeFailed")
    one.supervisor.signal(signal.SIGCONT)
    assert "the supervisor of the MPS control daemons (mps-control-daemon) does not let go" in message
    one.wait_state("failed")
    assert not one.is_changed()
    wait_until(lambda: one.gpus_of(SHARED) == [0, 1], "the daemon serves as before")
    one.here.kubelet.wait(SHARED, allocatable=8)
    one.wish("first-whole")
    one.wait_state("success")
    one.wish("first-small")
    one.server.wait(one.is_changed, one.agent.log)
    one.wait_state("success")


def test_a_supervisor_that_is_killed_while_daemons_are_ended_begins_behind_the_change(shared):
    one = shared(PLATFORM, "mps-killed")
    with one.held_on_the_hardware():
        one.wish("first-small")
        one.agent.wait_log("MIG step 4 of 16")
        assert one.gpus_of(SHARED) == []
        one.supervisor.kill()
        one.start_supervisor().wait_log("NVML is let go of")
        assert one.gpus_of(SHARED) == []
    one.wait_state("success")
    assert one.is_changed()
    assert (one.gpus_of(SHARED), one.gpus_of(OTHER)) == ([1], [2]), one.supervisor.log
    assert one.exclusive() == [1, 2]


def test_a_daemon_that_a_killed_supervisor_left_is_waited_for(shared):
    one = shared(PLATFORM, "mps-left")
    one.supervisor.kill()
    one.wish("first-small")
    one.agent.wait_log("MIG layout first-small: changing")
    assert not one.is_changed()
    one.start_supervisor()
    one.wait_state("success")
    assert one.is_changed()
    assert (one.gpus_of(SHARED), one.gpus_of(OTHER)) == ([1], [2]), one.supervisor.log


def test_a_daemon_that_nobody_ends_is_named_and_nothing_is_changed(shared):
    one = shared(HOPPER, "mps-alone")
    one.supervisor.kill()
    one.wish("first-small")
    message = one.reported("MigChangeFailed")
    assert f"the MPS control daemon of {SHARED} holds the GPU, and its supervisor" in message
    one.wait_state("failed")
    assert not one.is_changed()
    one.start_supervisor()
    one.here.kubelet.wait(SHARED, allocatable=8)


def test_an_agent_that_is_killed_leaves_no_gpu_without_its_daemon(shared):
    one = shared(PLATFORM, "mps-agent")
    with one.held_on_the_hardware():
        one.wish("first-small")
        one.agent.wait_log("MIG step 4 of 16")
        assert one.gpus_of(SHARED) == []
        one.agent.kill()
        wait_until(lambda: one.gpus_of(SHARED) == [1], one.supervisor.log)
    one.start()
    one.wait_state("success")
    assert one.is_changed()
    one.here.kubelet.wait(SHARED, allocatable=4)
    assert one.exclusive() == [1, 2]


def test_a_change_that_fails_gives_mps_its_gpus_back(shared):
    one = shared(PLATFORM, "mps-undone")
    one.here.sim("fault", "fail", "--function", "nvmlDeviceCreateGpuInstanceWithPlacement", "--error", "UNKNOWN")
    one.wish("first-small")
    one.server.wait(lambda: "undoing" in one.agent.log, one.agent.log)
    one.here.sim("clear")
    one.wait_state("failed")
    assert one.layouts()[0] == "off"
    one.here.kubelet.wait(SHARED, allocatable=8)
    assert (one.gpus_of(SHARED), one.exclusive()) == ([0, 1], [0, 1, 2]), one.supervisor.log
