"""The GPU that the tests of this folder run on, and containers on it that a real arbiter serves:
the simulated L20 (or another model), or this machine's own with TRANCHE_GPU=real. Everything else is
the same code for both.

On a real GPU: plain allocations of some GiB, some seconds of work; no mode, clock or partition is
changed, no MPS is started, no managed memory is taken, and processes of others are left alone."""

import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "limits"))
import arbiter as ours  # noqa: E402
from programs import BUILD, TRANCHE, Process, clean_environment, wait_until  # noqa: E402

REAL = os.environ.get("TRANCHE_GPU", "simulated") == "real"
MiB = ours.MiB
LIMITER = BUILD / "lib" / "libtranche-limit.so"
LOAD = BUILD / "bin" / "tranche-load"
# The memory of a real GPU for all tests together.
MEMORY_WANTED = 6 * 1024 * MiB
DRIVER_FOLDERS = ["/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib"]

# The container's view of /run: its own tenant, nothing else.
CONTAINER = """
mount -t tmpfs tmpfs /run && mkdir -p /run/tranche/mine && mount --bind "$TENANT" /run/tranche/mine || exit 99
unset TENANT
exec "$@"
"""


class Missing(Exception):
    """What this machine lacks for the tests; the text has the remedy."""


@dataclasses.dataclass
class Gpu:
    env: dict  # of every program that uses it
    uuid: str
    name: str
    driver: str
    total: int  # bytes
    free: int
    others: int  # compute processes on it that are not ours
    smi: str


def namespaces() -> list[str]:
    """The prefix for a command that needs its own /run."""
    reasons = []
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        try:
            tried = subprocess.run(
                [*command, "mount", "-t", "tmpfs", "tmpfs", "/run"], capture_output=True, text=True
            )
        except FileNotFoundError:
            raise Missing("unshare and mount (util-linux) are not installed") from None
        if tried.returncode == 0:
            return command
        reasons.append(f"{' '.join(command)}: {tried.stderr.strip()}")
    raise Missing(
        "each container needs a /run of its own: run as root (in a container: with CAP_SYS_ADMIN), or allow "
        "user namespaces; " + "; ".join(reasons)
    )


def query(smi: str, env: dict, what: str, *flags: str) -> list[list[str]]:
    command = [smi, f"--query-{what}", "--format=csv,noheader,nounits", *flags]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise Missing(f"{' '.join(command)}: {done.stdout}{done.stderr}".strip())
    return [[field.strip() for field in line.split(",")] for line in done.stdout.splitlines()]


def describe(smi: str, env: dict, wanted: str) -> Gpu:
    """The GPU of this index or UUID, or UUID prefix."""
    fields = "index,uuid,name,driver_version,memory.total,memory.free,mig.mode.current,compute_mode"
    gpus = query(smi, env, f"gpu={fields}")
    found = [gpu for gpu in gpus if wanted == gpu[0] or gpu[1].startswith(wanted)]
    if not found:
        raise Missing(f"no GPU {wanted} (CUDA_VISIBLE_DEVICES) among {[gpu[:3] for gpu in gpus]}")
    _, uuid, name, driver, total, free, mig, mode = found[0]
    if mig == "Enabled":
        raise Missing(f"{uuid} is in MIG mode: name a GPU that is not by CUDA_VISIBLE_DEVICES (none is changed here)")
    if mode != "Default":
        raise Missing(f"{uuid} has compute mode {mode}, in which processes cannot share it (it is not changed here)")
    try:
        others = len(query(smi, env, "compute-apps=pid", "-i", uuid))
    except Missing:
        others = 0  # a machine that does not tell of processes
    env = {**env, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": uuid}
    return Gpu(env, uuid, name, driver, int(total) * MiB, int(free) * MiB, others, smi)


def loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def real() -> Gpu:
    env = clean_environment()
    if not (loads("libcuda.so.1") and loads("libnvidia-ml.so.1")):
        folders = [f for f in DRIVER_FOLDERS if loads(f"{f}/libcuda.so.1") and loads(f"{f}/libnvidia-ml.so.1")]
        if not folders:
            where = ", ".join(DRIVER_FOLDERS)
            raise Missing(f"no NVIDIA driver: libcuda.so.1 and libnvidia-ml.so.1 do not load, nor from {where}")
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [folders[0], env.get("LD_LIBRARY_PATH")]))
    smi = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/local/nvidia/bin")
    if smi is None:
        raise Missing("nvidia-smi is not on PATH: in a container, the driver's capability 'utility' is needed")
    wanted = os.environ.get("CUDA_VISIBLE_DEVICES") or "0"
    gpu = describe(smi, env, wanted.split(",")[0])
    if gpu.free < MEMORY_WANTED:
        raise Missing(f"{gpu.uuid} has {gpu.free // MiB} MiB free, {MEMORY_WANTED // MiB} are needed")
    return gpu


def simulated(folder: pathlib.Path, model: str) -> Gpu:
    machine, uuid = ours.simulated(model, folder)
    env = clean_environment(LD_LIBRARY_PATH=BUILD / "sim", **machine)
    env.pop("CUDA_VISIBLE_DEVICES", None)
    return describe(str(BUILD / "sim" / "nvidia-smi"), env, uuid)


def open_gpu(folder: pathlib.Path, model: str = "l20") -> Gpu:
    """`model` (a machine of sim/machines) is that of the simulated GPU."""
    for program in (TRANCHE, LOAD, LIMITER):
        if not program.exists():
            raise Missing(f"{program} is not built: make, or tests/gpu/run")
    return real() if REAL else simulated(folder, model)


@dataclasses.dataclass
class Container:
    """What runs in it is limited, as in a container that was granted a part of the GPU."""

    gpu: Gpu
    folder: pathlib.Path  # the tenant's
    enter: list[str]

    def start(self, command: list, **env: object) -> subprocess.Popen:
        pipe = subprocess.PIPE
        settings = {**self.gpu.env, "LD_PRELOAD": str(LIMITER), "TENANT": str(self.folder)}
        return subprocess.Popen(
            [*self.enter, "sh", "-c", CONTAINER, "sh", *map(str, command)],
            env={**settings, **{name: str(value) for name, value in env.items()}},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def run(self, command: list) -> str:
        return finish(self.start(command))

    def load(self, *flags: object) -> dict:
        """A report of tranche-load."""
        return reported(self.start([LOAD, *flags, "-o", "json"]))


def ended(program: subprocess.Popen, deadline: float = 60.0) -> tuple[str, str]:
    """Its output. A program that does not end is ended."""
    try:
        return program.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        program.kill()
        out, err = program.communicate()
        raise AssertionError(f"{program.args} did not end in {deadline} s:\n{out}{err}") from None


def finish(program: subprocess.Popen) -> str:
    out, err = ended(program)
    assert program.returncode == 0, f"{program.args}: exit code {program.returncode}\n{out}{err}"
    return out


def reported(program: subprocess.Popen) -> dict:
    """The report of a tranche-load of one process; a refusal is no failure."""
    out, err = ended(program)
    assert program.returncode in (0, 1), out + err
    [report] = json.loads(out)["processes"]
    assert report["error"] == "", report
    return report


class Served:
    """An arbiter, and the tenants that it serves."""

    def __init__(self, gpu: Gpu, folder: pathlib.Path, enter: list[str]):
        self.gpu, self.enter = gpu, enter
        self.tenants = ours.Tenants(folder / "tenants")
        command = [TRANCHE, "arbiter", "--tenants", self.tenants.folder, "--state-dir", folder / "state"]
        self.arbiter = Process(command, folder / "arbiter", gpu.env)

    def container(self, name: str, *, memory: int | None = None, weight=1, permille=None, **fields) -> Container:
        device = {"uuid": self.gpu.uuid, "weight": weight, "memoryBytes": memory, "permille": permille}
        device = {key: value for key, value in device.items() if value is not None}
        self.tenants.promise(name, self.gpu.uuid, devices=[device], **fields)

        def is_served() -> bool:
            assert self.arbiter.running(), self.arbiter.log
            return self.tenants.socket(name).exists()

        wait_until(is_served, f"the arbiter serves {name}")
        return Container(self.gpu, self.tenants.folder / name, self.enter)


@contextlib.contextmanager
def served(gpu: Gpu, folder: pathlib.Path, enter: list[str]):
    out = Served(gpu, folder, enter)
    try:
        yield out
    except BaseException:
        out.arbiter.kill()
        raise
    code = out.arbiter.stop()
    assert code == 0, out.arbiter.log
