"""A node with the simulated driver r615, control groups that are folders, a /proc that the test
writes, and programs without the limiter."""

import json
import pathlib
import subprocess
import sys

from arbiter import ROOT, MiB, Tenants, arbiter
from programs import LIBRARY, TRANCHE_SIM, clean_environment

CONTAINER = "kubepods/burstable/podx/" + "a" * 64
OUT_OF_MEMORY = 2

# Takes and frees device memory on request: a line "1000" takes that many MiB more, "free" frees the
# last ones. Answers with CUDA's error code.
PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
held = []
for line in sys.stdin:
    if line == "start\\n":
        error = cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        error = error or cuda.cuCtxSetCurrent(context)
    elif line == "free\\n":
        error = cuda.cuMemFree_v2(held.pop())
    elif line == "view\\n":
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        error = cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) or total.value >> 20
    else:
        address = ctypes.c_uint64()
        error = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(line) << 20))
        if error == 0: held.append(address)
    print(error, flush=True)
"""


class Program:
    """Without the limiter, as a statically linked program."""

    def __init__(self, machine: dict):
        self._popen = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=clean_environment(LD_LIBRARY_PATH=LIBRARY.parent, **machine),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._popen.pid

    def say(self, line: object) -> int:
        print(line, file=self._popen.stdin, flush=True)
        return int(self._popen.stdout.readline())

    def kill(self) -> None:
        self._popen.kill()
        self._popen.communicate()


class Node:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.machine = {"TRANCHE_SIM": ROOT / "sim/machines/h200-r615.yaml", "TRANCHE_SIM_STATE": folder / "gpu"}
        self.gpu = json.loads(self.sim("show", "-o", "json"))["gpus"][0]["uuid"]
        self.tenants = Tenants(folder / "tenants")
        self.processes = []
        self.group = folder / "cgroup" / CONTAINER
        self.group.mkdir(parents=True)
        (self.group / "cgroup.procs").write_text("")
        (folder / "cgroup" / "cgroup.controllers").write_text("dmem\n")
        own = self.proc("self")
        (own / "mountinfo").write_text(
            "20 1 0:55 / / rw - overlay overlay rw\n"
            f"21 20 259:2 /var/lib/tranche/tenants {self.tenants.folder} rw - ext4 /dev/nvme0n1p2 rw\n"
        )

    def sim(self, *command) -> str:
        done = subprocess.run(
            [TRANCHE_SIM, *command], env=clean_environment(**self.machine), check=True, capture_output=True, text=True
        )
        return done.stdout

    def smi(self, *command) -> str:
        env = clean_environment(LD_LIBRARY_PATH=LIBRARY.parent, **self.machine)
        program = LIBRARY.parent / "nvidia-smi"
        return subprocess.run([program, *command], env=env, check=True, capture_output=True, text=True).stdout

    def proc(self, pid) -> pathlib.Path:
        folder = self.folder / "host" / "proc" / str(pid)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def contain(self, pid: int, mounts: str = "") -> None:
        """The process is in the container from now on."""
        folder = self.proc(pid)
        (folder / "stat").write_text(pathlib.Path(f"/proc/{pid}/stat").read_text())
        (folder / "cgroup").write_text(f"0::/../../{CONTAINER.partition('/')[2]}\n")
        (folder / "mountinfo").write_text("30 1 0:98 / / rw - overlay overlay rw\n" + mounts)
        with (self.group / "cgroup.procs").open("a") as file:
            file.write(f"{pid}\n")

    def program(self) -> Program:
        self.processes.append(Program(self.machine))
        assert self.processes[-1].say("start") == 0
        return self.processes[-1]

    def promise(self, mib: int, by: str = "kernel") -> None:
        device = {"uuid": self.gpu, "weight": 1, "memoryBytes": mib * MiB, "memoryBy": by}
        self.tenants.promise("a", self.gpu, devices=[device])

    def serve(self, *flags):
        flags = flags or ("--host-root", self.folder / "host", "--cgroup-root", self.folder / "cgroup")
        self.processes.append(arbiter(self.folder, self.tenants.folder, *flags, **self.machine))
        self.processes[-1].wait_log("serving 1 tenants")
        return self.processes[-1]

    def status(self) -> dict:
        file = self.folder / "state" / "status.json"
        return json.loads(file.read_text())["status"] if file.exists() else {"tenants": [], "findings": []}

    def tenant(self) -> dict | None:
        tenants = self.status()["tenants"]
        return tenants[0] if tenants else None

    def findings(self) -> list[dict]:
        return self.status()["findings"]
