"""The arbiter with the simulated NVML: what processes hold of a GPU that they never charged."""

import json
import os
import pathlib
import sys

import pytest

from arbiter import CONTEXT, OUTSIDE, ROOT, MiB, Registered, Tenants, arbiter, simulated_l20
from programs import TRANCHE_SIM, Process, clean_environment, wait_until

# Registers, then continues as the following program: the same process, its connection open.
REGISTER_AND_RUN = """
import os, sys
sys.path.append({here!r})
from arbiter import Registered, CONTEXT
import pathlib
mine = Registered(pathlib.Path(sys.argv[1]))
mine.socket.set_inheritable(True)
os.execv(sys.argv[2], sys.argv[2:])
"""


class Node:
    """A simulated L20 and an arbiter on it with one tenant, 'a'."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.machine, self.gpu = simulated_l20(folder)
        self.env = clean_environment(**self.machine)
        self.tenants = Tenants(folder / "tenants")
        self.tenants.promise("a", self.gpu, memory=1000 * MiB)
        self.processes = [arbiter(folder, self.tenants.folder, **self.machine)]
        self.arbiter = self.processes[0]
        self.arbiter.wait_log("serving 1 tenants")

    def run(self, name: str, *command) -> Process:
        self.processes.append(Process([*command], self.folder / name, self.env))
        return self.processes[-1]

    def occupy(self, memory: str) -> list:
        return [TRANCHE_SIM, "occupy", "--memory", memory]

    def status(self) -> dict:
        file = self.folder / "state" / "status.json"
        return json.loads(file.read_text())["status"] if file.exists() else {"tenants": [], "findings": []}


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    for process in reversed(node.processes):
        process.kill()


def test_what_a_registered_process_does_not_charge_counts(node):
    watcher = Registered(node.tenants.socket("a"))
    assert watcher.policy(OUTSIDE) == 0
    script = REGISTER_AND_RUN.format(here=str(pathlib.Path(__file__).parent))
    worker = node.run("worker", sys.executable, "-c", script, node.tenants.socket("a"), *node.occupy("315Mi"))
    wait_until(lambda: watcher.policy(OUTSIDE) == 315 * MiB, "its memory on the page")
    tenant = wait_until(
        lambda: (found := node.status()["tenants"]) and found[0]["devices"][0]["outsideBytes"] and found[0],
        "its memory in the status",
    )
    assert tenant["processes"] == 2
    assert tenant["devices"][0] == {
        "uuid": node.gpu,
        "weight": 1,
        "memoryBytes": 1000 * MiB,
        "chargedBytes": 0,
        "outsideBytes": 315 * MiB,
        "gpuNs": 0,
        "askedNs": 0,
        "waitedNs": 0,
        "launches": 0,
    }
    worker.kill()
    wait_until(lambda: watcher.policy(OUTSIDE) == 0, "it is gone, and its memory too")
    assert node.status()["findings"] == []


def test_gpu_time_that_a_registered_process_does_not_tell_is_charged(node):
    script = REGISTER_AND_RUN.format(here=str(pathlib.Path(__file__).parent))
    worker = node.run(
        "worker", sys.executable, "-c", script, node.tenants.socket("a"), *node.occupy("100Mi"), "--util", "80"
    )
    finding = wait_until(lambda: node.status()["findings"], "the finding", deadline=60)[0]
    assert finding["kind"] == "under-reported"
    assert finding["tenant"] == "a"
    assert finding["pid"] == worker.pid
    assert finding["device"] == node.gpu
    node.arbiter.wait_log(f"process {worker.pid} .* tells less GPU time than NVML counts of its tenant a")
    tenant = node.status()["tenants"][0]
    assert tenant["devices"][0]["gpuNs"] >= 1_500_000_000
    assert tenant["processes"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts take root")
def test_a_process_of_a_tenants_container_that_never_registers_is_found(node):
    watcher = Registered(node.tenants.socket("a"))
    # As a container has it: the tenant's folder, in mounts of its own.
    mount = (
        "mount -t tmpfs tmpfs /run && mkdir -p /run/tranche/a && "
        f"mount --bind -o ro {node.tenants.folder}/a /run/tranche/a && exec \"$@\""
    )
    stray = node.run("stray", "unshare", "-m", "sh", "-ec", mount, "sh", *node.occupy("700Mi"))
    wait_until(lambda: watcher.policy(OUTSIDE) == 700 * MiB, f"its memory on the page: {stray.log}")
    finding = wait_until(lambda: node.status()["findings"], "the finding")[0]
    assert finding["kind"] == "unregistered"
    assert finding["tenant"] == "a"
    assert finding["pid"] == stray.pid
    assert finding["device"] == node.gpu
    assert finding["memoryBytes"] == 700 * MiB
    assert finding["name"] == "tranche-sim"
    stat = pathlib.Path(f"/proc/{stray.pid}/stat").read_text().rsplit(")", 1)[1].split()
    assert finding["startTime"] == int(stat[19])
    cgroup = pathlib.Path(f"/proc/{stray.pid}/cgroup").read_text()
    assert finding["cgroup"] in cgroup
    node.arbiter.wait_log(f"process {stray.pid} .* has not registered for tenant a")
    stray.kill()
    wait_until(lambda: not node.status()["findings"], "it is gone")
    # Two readings in a row must agree: the second follows soon.
    wait_until(lambda: watcher.policy(OUTSIDE) == 0, "its memory is nobody's")


def test_without_nvml_it_goes_on_and_says_so_once(tmp_path):
    tenants = Tenants(tmp_path / "tenants")
    tenants.promise("a", "GPU-00112233-4455-6677-8899-aabbccddeeff")
    process = arbiter(tmp_path, tenants.folder, TRANCHE_SIM=ROOT / "sim/machines/broken-driver.yaml")
    registered = wait_until(
        lambda: tenants.socket("a").exists() and Registered(tenants.socket("a")), "a tenant is served"
    )
    for _ in range(3):
        registered.notice(CONTEXT)
    process.wait_log("nvml init failed: .*; until then limits of memory hold by what processes charge alone")
    status = tmp_path / "state" / "status.json"
    wait_until(lambda: status.exists() and "nvmlFailure" in status.read_text(), "the failure in the status")
    degraded = json.loads(status.read_text())["status"]["tenants"][0]["degraded"]
    assert degraded == ["not-reconciled"]
    assert process.log.count("nvml init failed") == 1
    assert process.stop() == 0
