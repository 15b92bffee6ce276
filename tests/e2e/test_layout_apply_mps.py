"""`tranche layout apply` on a machine that shares GPUs by MPS: also by hand the control daemons of
the GPUs whose mode changes make way, and serve the others again after it."""

import json
import signal

import pytest
import yaml

from client import CLIENT, Client
from mps import Mps
from node import SHARED
from programs import wait_until
from test_layout_apply import Machine
from test_mig_mps import CONFIG, CONTROL, HOPPER, OTHER, PLATFORM

FIRST = {"all-disabled": [{"devices": "all", "mig-enabled": False}]} | {
    "first": [{"devices": [0], "mig-enabled": True, "mig-devices": {}}]
}

pytestmark = pytest.mark.skipif(not CONTROL.exists(), reason="no simulated nvidia-cuda-mps-control is built")


class Shared(Machine):
    """A machine whose first two GPUs have a common daemon, and the third one its own. No agent
    runs."""

    def __init__(self, machine: str):
        super().__init__(machine)
        self.layouts.write_text(yaml.safe_dump({"version": "v1", "mig-configs": FIRST}))
        self.write(json.dumps(CONFIG))
        self.mps = Mps(self, CONTROL)
        self.supervisor = self.mps.supervisor()
        self.mps.wait_ready()

    def first(self, *words: object, **more):
        return self.apply("first", f"--mps-dir={self.mps.dir}", *words, **more)

    def served(self, resource: str = SHARED) -> list:
        file = self.mps.dir / resource / ".started"
        lines = file.read_text().splitlines()[1:] if file.exists() else []
        return sorted(self.uuids().index(line) for line in lines if " " not in line)

    def close(self) -> None:
        self.end_programs()
        self.mps.kill_daemons()
        super().close()


@pytest.fixture(params=[PLATFORM, HOPPER])
def shared(request):
    one = Shared(request.param)
    yield one
    one.close()


def test_the_daemon_makes_way_and_serves_the_other_gpu_again(shared):
    other = shared.mps.pid(OTHER)
    assert shared.served() == [0, 1]
    done = shared.first()
    assert f"the MPS control daemon of {SHARED} ends for the change" in done.stdout
    assert shared.has()[:2] == [{}, None]
    wait_until(lambda: shared.served() == [1], f"it serves the GPU that stays: {shared.supervisor.log}")
    assert shared.mps.pid(OTHER) == other, "its clients were not disturbed"
    shared.apply("all-disabled", f"--mps-dir={shared.mps.dir}")
    wait_until(lambda: shared.served() == [0, 1], shared.supervisor.log)


def test_a_dry_run_tells_which_daemon_ends_and_asks_nobody(shared):
    daemon = shared.mps.pid()
    assert f"daemon of {SHARED} ends" in shared.first("--dry-run").stdout
    assert (shared.mps.pid(), shared.served()) == (daemon, [0, 1])


def test_a_supervisor_that_hangs_is_named_and_nothing_is_changed(shared):
    shared.supervisor.signal(signal.SIGSTOP)
    refused = shared.first(rc=1).stderr
    shared.supervisor.signal(signal.SIGCONT)
    assert "the supervisor of the MPS control daemons (mps-control-daemon) does not let go" in refused
    assert "what they had before" in refused
    assert shared.has()[:2] == [None, None]
    wait_until(lambda: shared.served() == [0, 1], "the daemon serves as before")


@pytest.mark.skipif(not CLIENT.exists(), reason="no client is built")
def test_clients_that_would_end_with_the_daemon_are_named(shared):
    daemon = shared.mps.pid()
    for gpu, why in ((0, "processes use what goes"), (1, "would end with it: GPU 1")):
        pipe = {"CUDA_MPS_PIPE_DIRECTORY": shared.mps.pipe(), "CUDA_VISIBLE_DEVICES": shared.uuids()[gpu]}
        client = Client({**shared.env, **pipe}).joined()
        refused = shared.first(rc=1).stderr
        assert why in refused and f"pid {client.process.pid}" in refused, refused
        assert "nothing was changed" in refused and "nvidia-cuda-mps" not in refused
        assert shared.mps.pid() == daemon
        client.end()
    assert shared.has()[:2] == [None, None]
    shared.first()
    assert shared.has()[:2] == [{}, None], "the daemon's own server is in nobody's way"
