"""MPS with CUDA programs as clients, on the simulated driver and its nvidia-cuda-mps-control."""

import os
import pathlib
import signal

import pytest

from client import CLIENT, LIMITER, Client
from mps import Mps, entry, mps
from node import GPU
from programs import BUILD, wait_until

CONTROL = BUILD / "sim" / "nvidia-cuda-mps-control"
OUT_OF_MEMORY, DEVICE_UNAVAILABLE = 2, 46

pytestmark = pytest.mark.skipif(
    not (CONTROL.exists() and CLIENT.exists()), reason="no simulated nvidia-cuda-mps-control is built"
)


@pytest.fixture
def here(node):
    one = Mps(node("l20"), CONTROL)
    one.clients = []

    def client(envs: dict, tenant: pathlib.Path | None = None) -> Client:
        pipe = {"CUDA_MPS_PIPE_DIRECTORY": one.pipe(GPU)} if envs else {}
        one.clients.append(Client({**one.node.env, **envs, **pipe}, tenant))
        return one.clients[-1]

    one.client = client
    yield one
    for program in one.clients:
        program.end()
    one.node.end_programs()
    one.kill_daemons()


def granted(one: Mps, ids: list) -> dict:
    return one.node.kubelet.allocate(GPU, ids)["envs"]


def test_limits_reach_clients_live_and_a_dead_daemon_comes_back(here):
    agent = here.agent(config=mps(entry("gpu", 4)))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    [uuid] = here.node.uuids()
    envs = granted(here, [f"{uuid}::0"])

    # A quarter of what programs can have (45444 MiB) for each process; without MPS the GPU is
    # taken.
    first = here.client(envs).joined()
    assert first("allocate", 12000) == OUT_OF_MEMORY
    assert first("allocate", 8000) == 0
    stranger = here.client({})
    assert (stranger("init"), stranger("context")) == (0, DEVICE_UNAVAILABLE)

    # Half of it each from now on; running processes keep what they began with.
    daemon = here.pid(GPU)
    here.node.write(mps(entry("gpu", 2)))
    supervisor.wait_log("has new limits")
    here.node.kubelet.wait(GPU, allocatable=2)
    assert here.pid(GPU) == daemon
    second = here.client(envs).joined()
    assert second("allocate", 20000) == 0
    assert first("synchronize") == 0

    # Their memory is theirs until they end, whoever serves.
    for program in here.clients:
        program.end()
    os.kill(daemon, signal.SIGKILL)
    supervisor.wait_log("is started anew")
    agent.wait_log("advertising")
    here.node.kubelet.wait(GPU, capacity=2, allocatable=2)
    wait_until(lambda: here.is_ready() and here.pid(GPU) != daemon, "another daemon")
    assert here.client(envs).joined()("allocate", 20000) == 0

    for program in here.clients:
        program.end()
    assert supervisor.stop() == 0
    assert here.modes() == {"Default"}


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")
@pytest.mark.parametrize("tranches", [1, 2])
@pytest.mark.difference("mps-processes")
def test_the_container_has_its_part_however_many_processes_it_has(here, tranches):
    """MPS limits each process, the limiter all of a container's together. For two tranches the
    grant's own environment limits a process: the daemon's default is all of the GPU."""
    config = mps(
        entry("gpu", 4),
        failRequestsGreaterThanOne=False,
        tranche={"limits": {"enforcement": "strict", "memory": "8Gi", "compute": "20%"}},
    )
    here.agent(f"--limit-library={LIMITER}", config=config)
    here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    [uuid] = here.node.uuids()
    answer = here.node.kubelet.allocate(GPU, [f"{uuid}::{number}" for number in range(tranches)])
    [tenant] = [
        pathlib.Path(mount["host_path"])
        for mount in answer["mounts"]
        if mount["container_path"].startswith("/run/tranche/")
    ]
    arbiter = here.node.start(
        "arbiter", f"--tenants={tenant.parent}", f"--state-dir={here.node.dir / 'arbiter'}"
    )
    wait_until((tenant / "arbiter.sock").exists, "the arbiter serves")

    part = 8192 * tranches
    first, second = (here.client(answer["envs"], tenant).joined() for _ in range(2))
    assert first("mps") == second("mps") == (0, 1)
    assert first("allocate", part) == OUT_OF_MEMORY, "contexts count too"
    assert first("allocate", part - 3000) == 0
    # A process may have that much by MPS; the container may not.
    assert second("allocate", part - 3000) == OUT_OF_MEMORY
    assert second("allocate", 1000) == 0
    assert first("spin", 1_000_000) == second("spin", 1_000_000) == 0
    first.end()
    wait_until(lambda: second("allocate", part - 3000) == 0, "what the first had is free")
    assert arbiter.stop() == 0
    # Without the limiter MPS holds each process.
    alone = here.client(answer["envs"]).joined()
    assert alone("allocate", part + 1000) == OUT_OF_MEMORY


def descends(pid: int) -> list:
    """The process and its ancestors."""
    line = [pid]
    while line[-1] > 1:
        stat = pathlib.Path(f"/proc/{line[-1]}/stat").read_text()
        line.append(int(stat[stat.rindex(")") + 2 :].split()[1]))
    return line


def test_the_kernel_tells_whose_the_daemons_and_servers_are(here):
    """By this the arbiter recognises MPS servers (decision 48)."""
    here.agent(config=mps(entry("gpu", 4)))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    [uuid] = here.node.uuids()
    here.client(granted(here, [f"{uuid}::0"])).joined()("allocate", 100)

    inode = (here.dir / ".supervisor.lock").stat().st_ino
    locks = [line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines()]
    [holder] = [int(lock[4]) for lock in locks if lock[1] == "FLOCK" and lock[5].endswith(f":{inode}")]
    assert holder == supervisor.pid
    assert holder in descends(here.pid(GPU))
    pipe = f"CUDA_MPS_PIPE_DIRECTORY={here.pipe(GPU)}".encode()

    def is_server(process: pathlib.Path) -> bool:
        try:
            name = (process / "comm").read_text()
            return name.startswith("nvidia-cuda-mps") and pipe in (process / "environ").read_bytes()
        except OSError:  # one of other tests, which has ended
            return False

    servers = [int(one.name) for one in pathlib.Path("/proc").iterdir() if one.name.isdigit() and is_server(one)]
    assert servers and all(holder in descends(pid) for pid in servers), servers
