"""MPS v3 and static SM partitions, from the configuration to CUDA programs in their containers: on the
simulated driver r615 and its nvidia-cuda-mps-control."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from mps import ROOT_ON_HOST, Mps, entry, mps
from node import GPU
from programs import BUILD, DEADLINE, ROOT, TRANCHE, wait_until

CONTROL = BUILD / "sim" / "nvidia-cuda-mps-control"
CLIENT = ROOT / "tests" / "sim" / "mps_client.py"
OUT_OF_MEMORY, DEVICE_UNAVAILABLE, NO_PARTITION = 2, 46, 915
H100 = 81559 - 527 - 32  # MiB for programs
CHUNKS = 16  # of an H100, of 8 multiprocessors

# To remove a protocol, remove its line from this list (src/sharing/mps/protocols.def).
PROTOCOLS = (ROOT / "src" / "sharing" / "mps" / "protocols.def").read_text().splitlines()
needs_protocol_3 = pytest.mark.skipif(
    "PROTOCOL(protocol3)" not in PROTOCOLS, reason="tranche has no protocol 3"
)

pytestmark = pytest.mark.skipif(
    not (CONTROL.exists() and CLIENT.exists()), reason="no simulated nvidia-cuda-mps-control is built"
)


class Client:
    """A CUDA program in a container with this answer of Allocate: it has the mounted folder."""

    def __init__(self, one: Mps, answer: dict, user: int | None = None, **env):
        pipe = answer["envs"]["CUDA_MPS_PIPE_DIRECTORY"]
        # /mps there is the daemons' folder here.
        envs = {**answer["envs"], "CUDA_MPS_PIPE_DIRECTORY": str(one.dir) + pipe.removeprefix("/mps")}
        self.process = subprocess.Popen(
            [sys.executable, CLIENT, *([] if user is None else [str(user)])],
            env={**one.node.env, **envs, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: object):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        numbers = [int(word) for word in self.process.stdout.readline().split()]
        assert numbers, f"the program ended: {self.process.wait()}"
        return numbers[0] if len(numbers) == 1 else tuple(numbers)

    def joined(self) -> "Client":
        assert (self("init"), self("context"), self("mps")) == (0, 0, (0, 1))
        return self

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def open_node(node):
    opened = []

    def make(machine: str = "h100-r615") -> Mps:
        one = Mps(node(machine), CONTROL)
        one.clients = []
        opened.append(one)
        return one

    yield make
    for one in opened:
        for program in one.clients:
            program.end()
        one.node.end_programs()
        one.kill_daemons()


def client(one: Mps, answer: dict, user: int | None = None, **env) -> Client:
    one.clients.append(Client(one, answer, user, **env))
    return one.clients[-1]


def allocate(one: Mps, count: int = 1) -> dict:
    uuid = one.node.uuids()[0]
    return one.node.kubelet.allocate(GPU, [f"{uuid}::{number}" for number in range(count)])


def configured(replicas: int, limits: dict | None = None, several: bool = False, **rules) -> str:
    ours = {"mps": rules, **({"limits": limits} if limits else {})}
    return mps(entry("gpu", replicas), failRequestsGreaterThanOne=not several, tranche=ours)


def control(one: Mps, *arguments: str) -> str:
    done = subprocess.run(
        [CONTROL, *arguments],
        env={**one.node.env, "CUDA_MPS_PIPE_DIRECTORY": str(one.pipe(GPU))},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(one: Mps) -> str:
    done = subprocess.run(
        [TRANCHE, "mps-control-daemon", "check", f"--mps-dir={one.dir}"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    return done.stdout + done.stderr


@needs_protocol_3
def test_protocol_3_is_told_granted_and_changed_live(open_node):
    here = open_node()
    agent = here.agent("--grants-interval=500ms", "--machine-interval=200ms", config=configured(4, protocol=3))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    supervisor.wait_log("nvidia-cuda-mps-control of CUDA 13.4: protocols 2 and 3, static SM partitions")
    supervisor.wait_log("serves: 25% .*, protocol 3, 1 namespaces")
    assert check(here) == f"ready\n{GPU}: protocol 3, 0 static SM partitions\n"

    answer = here.node.kubelet.admit("first", {GPU: 1})["containers"]["c"][GPU]["answer"]
    folder = f"{GPU}/pipe/shared/default"
    assert answer["envs"]["CUDA_MPS_PIPE_DIRECTORY"] == f"/mps/{folder}"
    assert answer["mounts"][0] == {
        "container_path": f"/mps/{folder}",
        "host_path": f"{ROOT_ON_HOST}/{folder}",
        "read_only": False,
    }
    quarter = H100 // 4
    first = client(here, answer).joined()
    assert first("allocate", quarter) == OUT_OF_MEMORY, "the context counts"
    assert first("allocate", quarter - 1000) == 0
    # Without MPS the GPU is taken.
    stranger = client(here, answer, CUDA_MPS_PIPE_DIRECTORY="/nowhere")
    assert (stranger("init"), stranger("context")) == (0, DEVICE_UNAVAILABLE)

    daemon = here.pid(GPU)
    here.node.write(configured(2, protocol=3))
    supervisor.wait_log("has new limits")
    here.node.kubelet.wait(GPU, allocatable=2)
    assert here.pid(GPU) == daemon
    assert client(here, answer).joined()("allocate", 2 * quarter - 1000) == 0
    assert first("synchronize") == 0

    # Another protocol is another daemon, and other grants.
    for program in here.clients:
        program.end()
    here.node.write(configured(2))
    wait_until(lambda: here.is_ready() and here.pid(GPU) != daemon, "a daemon of protocol 2")
    agent.wait_log("1 grant given out for MPS as it is no longer served .*delete the Pods")
    wait_until(
        lambda: allocate(here)["envs"]["CUDA_MPS_PIPE_DIRECTORY"] == f"/mps/{GPU}/pipe", "its grants"
    )
    assert supervisor.stop() == 0
    assert here.modes() == {"Default"}


@needs_protocol_3
@pytest.mark.skipif(os.geteuid() != 0, reason="other users need root")
def test_with_protocol_3_users_do_not_wait_for_each_other(open_node):
    here = open_node()
    here.agent(config=configured(4, protocol=3))
    here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    here.node.dir.chmod(0o755)
    for parent in here.node.dir.parents[:-2]:
        parent.chmod(parent.stat().st_mode | 0o055)
    state = pathlib.Path(here.node.env["TRANCHE_SIM_STATE"])
    for file in state.parent.glob(state.name + "*"):
        file.chmod(0o666)
    answer = allocate(here)
    client(here, answer).joined()
    other = client(here, answer, user=65534)
    assert (other("init"), other("context"), other("mps")) == (0, 0, (0, 1))


@needs_protocol_3
def test_a_container_of_several_tranches_cannot_raise_what_its_namespace_has(open_node):
    """With protocol 2 the daemon leaves the GPU open, and the container's own environment lowers
    it."""
    limits = {"enforcement": "strict", "memory": "8Gi", "compute": "20%"}
    here = open_node()
    library = here.node.dir / "libtranche-limit.so"
    library.write_bytes(b"any")
    here.agent(f"--limit-library={library}", config=configured(4, limits, several=True, protocol=3))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    supervisor.wait_log("5 namespaces")
    for tranches in (1, 2):
        answer = allocate(here, tranches)
        assert answer["envs"]["CUDA_MPS_PIPE_DIRECTORY"].endswith(f"/shared/tranches_{tranches}")
        assert not any("LIMIT" in name or "PERCENT" in name for name in answer["envs"])
        part = 8192 * tranches
        wish = {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=60G", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "100"}
        program = client(here, answer, **wish).joined()
        assert program("allocate", part) == OUT_OF_MEMORY
        assert program("allocate", part - 1000) == 0

    # One replica more: one more namespace, while nobody runs work.
    here.node.write(configured(5, limits, several=True, protocol=3))
    supervisor.wait_log("has new limits")
    here.node.kubelet.wait(GPU, allocatable=5)
    assert "tranches_5,shared,Ready,40G" in control(here, "namespace", "list", "--server=shared")
    assert here.clients[0]("synchronize") == 0


@needs_protocol_3
def test_a_server_that_dies_is_noticed(open_node):
    here = open_node()
    here.agent(config=configured(4, protocol=3))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    [row] = control(here, "server", "list", "--format=csv,noheader").splitlines()
    first = here.pid(GPU)
    os.kill(int(row.split(",")[2]), signal.SIGKILL)
    supervisor.wait_log("has ended or does not answer, and is started anew: .*the server")
    wait_until(lambda: here.is_ready() and here.pid(GPU) != first, "another daemon")
    here.node.kubelet.wait(GPU, capacity=4, allocatable=4)
    assert client(here, allocate(here)).joined()("allocate", 1000) == 0


@needs_protocol_3
def test_what_a_killed_supervisor_left_is_ended_and_served_anew(open_node):
    here = open_node()
    here.agent(config=configured(4, protocol=3, smPartitions=2))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    answer, left = allocate(here), here.pid(GPU)
    here.node.kubelet.watched.remove(supervisor)
    supervisor.kill()
    here.node.kubelet.wait(GPU, capacity=4, allocatable=0)

    again = here.supervisor()
    again.wait_log("left by a supervisor that was killed; it is ended")
    again.wait_log("protocol 3, 1 namespaces, 4 static SM partitions")
    here.node.kubelet.wait(GPU, capacity=4, allocatable=4)
    assert here.pid(GPU) != left
    # What kubelet replays leads to the new daemon: the same folder, the same partition.
    assert client(here, answer).joined()("allocate", 1000) == 0
    assert again.stop() == 0
    assert here.modes() == {"Default"}


@needs_protocol_3
def test_each_resource_has_its_own_gpus(open_node):
    here = open_node("h200-r615")
    uuids = here.node.uuids()
    small, large = "nvidia.com/gpu.small", "nvidia.com/gpu.large"
    config = mps(
        entry("gpu", 4, rename="gpu.small", devices=["0"]),
        entry("gpu", 2, rename="gpu.large", devices=["1"]),
        tranche={"honorIgnoredFields": True, "mps": {"protocol": 3, "smPartitions": "equal"}},
    )
    here.agent(config=config)
    here.supervisor()
    here.node.kubelet.wait(small, allocatable=4)
    here.node.kubelet.wait(large, allocatable=2)
    for resource, gpu in ((small, 0), (large, 1)):
        answer = here.node.kubelet.allocate(resource, [f"{uuids[gpu]}::1"])
        assert answer["envs"]["CUDA_MPS_SM_PARTITION"].startswith(f"{uuids[gpu]}/")
        container = {"NVIDIA_VISIBLE_DEVICES": uuids[gpu]}
        program = client(here, answer, **container).joined()
        assert program("count") == (0, 1)
        assert program("allocate", 1000) == 0
        # Its server has only the resource's GPUs.
        everything = client(here, answer, NVIDIA_VISIBLE_DEVICES="all")
        assert (everything("init"), everything("count")) == (0, (0, 1))


def test_what_the_driver_lacks_is_fallen_back_from(open_node):
    here = open_node("l20")  # driver r570
    here.agent(config=configured(4, protocol=3, smPartitions="equal"))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    supervisor.wait_log("CUDA 12.8: protocol 2")
    supervisor.wait_log("has no protocol 3.*; protocol 2 is used")
    supervisor.wait_log("has no static SM partitions .*; clients are limited by percentages")
    answer = allocate(here)
    assert answer["envs"]["CUDA_MPS_PIPE_DIRECTORY"] == f"/mps/{GPU}/pipe"
    assert "CUDA_MPS_SM_PARTITION" not in answer["envs"]
    assert client(here, answer).joined()("allocate", 46068 // 4 - 1000) == 0
    assert check(here) == f"ready\n{GPU}: protocol 2, 0 static SM partitions\n"


@pytest.mark.parametrize("protocol", [2, pytest.param(3, marks=needs_protocol_3)])
@pytest.mark.parametrize("chunks", ["equal", 3])
def test_each_tranche_has_an_sm_partition(open_node, protocol, chunks):
    here = open_node()
    agent = here.agent(config=configured(4, protocol=protocol, smPartitions=chunks))
    supervisor = here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    supervisor.wait_log("4 static SM partitions")
    [uuid] = here.node.uuids()
    answers = [here.node.kubelet.allocate(GPU, [f"{uuid}::{number}"]) for number in range(4)]
    partitions = {answer["envs"]["CUDA_MPS_SM_PARTITION"] for answer in answers}
    assert len(partitions) == 4 and all(one.startswith(f"{uuid}/") for one in partitions)
    each = CHUNKS // 4 if chunks == "equal" else chunks
    if protocol == 3:
        rows = control(here, "sm-partition", "list", "--server=shared").splitlines()
        assert [row.split(",")[2:5] for row in rows] == [
            [f"tranche_{number}", str(each), str(8 * each)] for number in range(4)
        ]
    for answer in answers:
        program = client(here, answer).joined()
        # Memory is limited as before.
        assert program("allocate", H100 // 4) == OUT_OF_MEMORY
    # Without the variable, or with an invented one, a process has no multiprocessors.
    for said in ("", f"{uuid}/made-up"):
        outside = client(here, answers[0], CUDA_MPS_SM_PARTITION=said)
        assert (outside("init"), outside("context")) == (0, NO_PARTITION)
    # A later agent learns them.
    assert agent.stop() == 0
    here.agent()
    here.node.kubelet.wait(GPU, allocatable=4)
    assert allocate(here)["envs"] == answers[0]["envs"]


def test_partitions_that_the_gpu_does_not_have_are_refused(open_node):
    here = open_node()
    agent = here.agent(config=configured(4, smPartitions=5))
    supervisor = here.supervisor()
    supervisor.wait_log(
        "cannot be started: tranche.mps.smPartitions: GPU-.* has 16 chunks of multiprocessors, and 4 "
        "replicas with 5 need 20; lower smPartitions or `replicas`, or write equal"
    )
    agent.wait_log(f"not advertising {GPU}")
    assert here.modes() == {"Default"}
    here.node.write(configured(4, smPartitions=4))
    here.node.kubelet.wait(GPU, allocatable=4)
