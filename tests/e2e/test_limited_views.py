"""What NVML shows in a limited container: its part of the GPU and its own processes' use, with an
arbiter or without."""

import json
import os
import subprocess

import pytest

from node import GPU, sharing
from programs import BUILD, ROOT, Process, wait_until
from test_limits import mounts, tenant

REPORT = ROOT / "tests" / "data" / "reports" / "08-whole-gpu-shown"
LIMITER = BUILD / "lib" / "libtranche-limit.so"
SMI = BUILD / "sim" / "nvidia-smi"
LOAD = BUILD / "bin" / "tranche-load"
QUERY = "--query-gpu=memory.total,memory.used,memory.free,utilization.gpu,utilization.memory"
PART = (15360 - 443 - 32) // 4  # MiB, a quarter of what programs can have of a T4 (decision 45)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes mount namespaces: needs root")

# The container's view of /run, as the grant mounts it: read-only.
CONTAINER = """
mount -t tmpfs tmpfs /run && mkdir -p "$POINT" && mount --bind "$TENANT" "$POINT" || exit 99
mount -o remount,bind,ro "$POINT" || exit 99
unset TENANT POINT
LD_PRELOAD=$LIMITER exec "$@"
"""


class Pods:
    """Pods on a node with one GPU, and programs in their containers."""

    def __init__(self, here, config):
        self.here = here
        self._count = 0
        here.agent(f"--limit-library={LIMITER}", config=config)
        here.kubelet.wait(GPU, allocatable=4)
        self.answers = {name: self._admit(name) for name in "ab"}

    def _admit(self, name: str) -> dict:
        return self.here.kubelet.admit(name, {GPU: 1})["containers"]["c"][GPU]["answer"]

    def _command(self, pod: str, command: tuple) -> tuple[list, dict]:
        answer = self.answers[pod]
        point = f"/run/tranche/{tenant(answer)}"
        env = {**self.here.env, **answer["envs"], "LIMITER": str(LIMITER)}
        env.update(POINT=point, TENANT=str(mounts(answer)[point]))
        return ["unshare", "--mount", "sh", "-c", CONTAINER, "sh", *map(str, command)], env

    def start(self, pod: str, *command) -> Process:
        wrapped, env = self._command(pod, command)
        self._count += 1
        process = Process(wrapped, self.here.dir / f"program-{self._count}", env)
        self.here._processes.append(process)
        return process

    def smi(self, pod: str, *arguments) -> str:
        wrapped, env = self._command(pod, (SMI, *arguments))
        done = subprocess.run(wrapped, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def shown(self, pod: str) -> list:
        """MiB in all, used, free; percent of the GPU, and of its memory."""
        line = self.smi(pod, QUERY, "--format=csv,noheader,nounits")
        return [int(word) for word in line.split(",")]

    def arbiter(self) -> Process:
        tenants = self.here.state / "tenants"
        process = self.here.start("arbiter", "--tenants", tenants, "--state-dir", self.here.dir / "as")
        sockets = [tenants / tenant(answer) / "arbiter.sock" for answer in self.answers.values()]
        wait_until(lambda: all(socket.exists() for socket in sockets), "the arbiter serves both")
        return process

    def end(self, process: Process) -> None:
        self.here.kubelet.watched.remove(process)
        assert process.stop() == 0, process.log

    def utilisation(self) -> int:
        """Of the GPU, as the node sees it."""
        return int(self.here.smi("--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"))


@pytest.fixture
def pods(node):
    return Pods(node("t4"), (REPORT / "config.yaml").read_text())


EMPTY = [PART, 0, PART, 0, 0]


def test_a_container_without_a_process_sees_its_part_and_nothing_used(pods):
    assert pods.shown("a") == EMPTY, "no arbiter yet"
    arbiter = pods.arbiter()
    assert pods.shown("a") == EMPTY, "nobody there"
    pods.start("b", LOAD, "compute", "--memory", "1Gi")
    wait_until(lambda: pods.utilisation() >= 10 and pods.shown("b")[1] >= 1024, "b computes")
    assert pods.shown("a") == EMPTY, "b computes"
    total, used, free, _, _ = pods.shown("b")
    assert (total, used + free) == (PART, PART) and used >= 1024

    def is_shown_its_own():
        *_, of_gpu, of_memory = pods.shown("b")
        return 0 < of_gpu <= pods.utilisation() + 10 and of_memory > 0

    # A figure is of one moment, in which b may be waiting for a processor.
    wait_until(is_shown_its_own, "b is shown its own")
    pods.end(arbiter)
    wait_until(lambda: pods.utilisation() >= 10, "b goes on")
    assert pods.shown("a") == EMPTY, "the arbiter is away"
    total, used, free, _, _ = pods.shown("b")
    assert (total, used + free) == (PART, PART) and used >= 1024
    wait_until(
        lambda: pods.shown("b")[3] > 0,
        "a program that begins without an arbiter sees what its container uses",
    )


def test_lists_of_processes_are_the_containers_own(pods):
    holding = pods.start("b", LOAD, "hold", "--memory", "1Gi")
    arbiter = pods.arbiter()

    def listed(pod):
        return pods.smi(pod, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")

    wait_until(lambda: holding.output or listed("b"), "b holds memory")
    wait_until(lambda: str(holding.pid) in listed("b") or len(listed("b").split()) > 1, "b's process")
    assert listed("a") == ""
    pods.end(arbiter)
    assert listed("a") == "", "the arbiter is away"
    assert listed("b") != ""


def test_a_changed_part_is_shown_before_an_arbiter_runs(pods):
    config = json.loads(sharing(4))
    config["tranche"] = {"limits": {"enforcement": "strict", "memory": "1Gi"}}
    pods.here.write(config)
    wait_until(lambda: pods.shown("a")[0] == 1024, "the lower part")
    config["tranche"]["limits"]["enforcement"] = "account"
    pods.here.write(config)
    wait_until(lambda: pods.shown("a")[0] == 15360, "what is only counted is shown as it is")


@pytest.mark.parametrize("error", ["NOT_SUPPORTED", "UNKNOWN"])
def test_a_gpu_that_does_not_tell_its_memory_shows_the_part(node, error):
    here = node("t4")
    for function in ("nvmlDeviceGetMemoryInfo", "nvmlDeviceGetMemoryInfo_v2"):
        here.sim("fault", "fail", "--function", function, "--error", error, "--gpu", "0")
    config = (REPORT / "config.yaml").read_text().replace("memory: equal", "memory: 8Gi\n    oversubscribe: true")
    pods = Pods(here, config)
    assert pods.shown("a")[:3] == [8192, 0, 8192], "no arbiter yet"
    pods.arbiter()
    assert pods.shown("a")[:3] == [8192, 0, 8192]
