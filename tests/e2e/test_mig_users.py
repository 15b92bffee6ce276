"""Our own users of the GPUs release them while the manager of MIG layouts has one reset: on Ampere
the mode changes only by a reset, and the arbiter has NVML open all the time."""

import pathlib
import signal
import subprocess

import pytest

from client import LIMITER
from programs import TRANCHE, wait_until
from test_mig_manager import PLATFORM, SMALL, Managed, server  # noqa: F401  (a fixture)

pytestmark = pytest.mark.skipif(not LIMITER.exists(), reason="no libtranche-limit.so is built")

SHARED = "nvidia.com/gpu.shared"
CONFIG = {
    "flags": {"migStrategy": "mixed"},
    "sharing": {"timeSlicing": {"renameByDefault": True, "resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}},
    "tranche": {"limits": {"resources": [{"name": SHARED, "enforcement": "strict"}]}},
}
LAYOUTS = """
version: v1
mig-configs:
  first-small:
    - devices: [0]
      mig-enabled: true
      mig-devices: {"1g.10gb": 7}
    - devices: [1, 2, 3]
      mig-enabled: false
  first-whole:
    - devices: all
      mig-enabled: false
"""


class Limited(Managed):
    """A manager, and an arbiter that reads what processes hold on the last GPU, which a container
    has."""

    def __init__(self, server, here, name: str):  # noqa: F811
        file = here.dir / "layouts.yaml"
        file.write_text(LAYOUTS)
        self.config = CONFIG
        super().__init__(server, here, name, f"--limit-library={LIMITER}", f"--mig-config-file={file}")
        gpus = len(here.gpus())
        here.kubelet.wait(SHARED, allocatable=2 * gpus)
        answer = here.kubelet.allocate(SHARED, [f"{here.uuids()[-1]}::0"])
        mounted = [one["host_path"] for one in answer["mounts"] if one["container_path"].startswith("/run/tranche/")]
        self.tenants = pathlib.Path(mounted[0]).parent
        self.start_arbiter()

    def start(self) -> None:
        environment = {"KUBECONFIG": self.server.kubeconfig(), "NODE_NAME": self.name}
        self.agent = self.here.agent(*self.arguments, config=self.config, env=environment)

    def start_arbiter(self, reads: bool = True):
        state = self.here.dir / "arbiter"
        self.arbiter = self.here.start("arbiter", f"--tenants={self.tenants}", f"--state-dir={state}")
        if reads:
            wait_until(self.reads, "the arbiter has the driver open")
        return self.arbiter

    def reads(self) -> bool:
        """Whether the arbiter has a GPU's node open."""
        folder = pathlib.Path(f"/proc/{self.arbiter.pid}/fd")
        return any("/dev/nvidia" in str(one.readlink()) for one in folder.iterdir() if one.is_symlink())


@pytest.fixture
def limited(server, node):  # noqa: F811
    return lambda name: Limited(server, node(PLATFORM), name)


def test_the_arbiter_lets_go_while_a_gpu_is_reset(limited):
    one = limited("arbiter-lets-go")
    whole = ["off"] * (len(one.here.gpus()) - 1)
    one.wish("first-small")
    one.wait_state("success")
    assert one.layouts() == [SMALL, *whole], one.agent.log
    wait_until(one.reads, "the arbiter reads NVML again")
    one.wish("first-whole")
    one.server.wait(lambda: one.layouts() == ["off", *whole], one.agent.log)
    one.wait_state("success")


def test_an_arbiter_that_does_not_let_go_is_named_and_nothing_is_changed(limited):
    one = limited("arbiter-hangs")
    one.arbiter.signal(signal.SIGSTOP)
    one.wish("first-small")
    one.wait_state("failed")
    one.arbiter.signal(signal.SIGCONT)
    assert "the arbiter does not let go of the driver" in one.reported("MigChangeFailed")
    assert one.layouts() == ["off"] * len(one.here.gpus())
    one.wish("first-whole")
    one.wait_state("success")
    one.wish("first-small")
    one.wait_state("success")


def test_an_agent_that_is_killed_during_a_reset_leaves_no_arbiter_blind(limited):
    one = limited("agent-killed")
    one.here.sim("fault", "slow", "--function", "nvmlDeviceCreateGpuInstanceWithPlacement", "--delay-ms", 1000)
    one.wish("first-small")
    one.agent.wait_log("MIG step 5 of 16")
    assert not one.reads()
    one.agent.kill()
    wait_until(one.reads, "the arbiter reads NVML again")
    one.here.sim("clear")
    one.start()
    one.wait_state("success")
    assert one.layouts()[0] == SMALL


def test_an_arbiter_that_starts_during_a_reset_waits_with_nvml(limited):
    one = limited("arbiter-restarts")
    one.here.sim("fault", "slow", "--function", "nvmlDeviceCreateGpuInstanceWithPlacement", "--delay-ms", 1000)
    one.arbiter.kill()
    one.wish("first-small")
    one.agent.wait_log("MIG step 3 of 16")
    begun = one.start_arbiter(reads=False)
    begun.wait_log("to be reset: NVML is let go of")
    assert not one.reads()
    one.here.sim("clear")
    one.wait_state("success")
    wait_until(one.reads, "the arbiter reads NVML")


def test_layout_apply_has_the_arbiter_let_go(limited):
    one = limited("by-hand-beside")
    one.agent.stop()
    file = one.here.dir / "layouts.yaml"
    words = ["-f", file, "-c", "first-small", "--state-dir", one.here.state, "--yes"]
    done = subprocess.run(
        [TRANCHE, "layout", "apply", *words], env=one.here.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert one.layouts()[0] == SMALL
    wait_until(one.reads, "the arbiter reads NVML again")
