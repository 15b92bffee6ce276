"""What NVML shows a container whose part was promised, with an arbiter and before one answers:
nothing of others. And what the limiter needs of a thread's stack. On a driver that takes next to
none (stub_driver.cpp)."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

ours = pytest.importorskip("arbiter")
from container import SOURCES, Container, MiB, build, finish  # noqa: E402
from programs import wait_until  # noqa: E402

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")

UUID = "GPU-00112233-4455-6677-8899-aabbccddeeff"
PART = 1024  # MiB


@pytest.fixture(scope="module")
def stub():
    """A folder with the driver, readable by every user; builds programs that are linked with it."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stub-"))
    folder.chmod(0o755)
    for name in ("libcuda.so", "libnvidia-ml.so"):
        flags = ["-shared", "-fPIC", f"-Wl,-soname,{name}.1", "-o", folder / f"{name}.1"]
        subprocess.run(["g++", "-std=c++17", "-O1", SOURCES / "stub_driver.cpp", *flags], check=True, timeout=120)
        (folder / name).symlink_to(f"{name}.1")

    def program(name: str):
        made = folder / name
        if not made.exists():
            build(folder, f"{name}.cpp", "-L", str(folder))
        return made

    program.folder = folder
    yield program
    shutil.rmtree(folder)


class Tenant:
    """A container with a part of the stub's device."""

    def __init__(self, folder, library):
        self.folder = folder
        machine, _ = ours.simulated_l20(folder)
        self.tenants = ours.Tenants(folder / "tenants")
        self.tenants.promise("mine", UUID, memory=PART * MiB)
        self.part = self.tenants.folder / "mine" / "part"
        self.container = Container(machine, self.tenants, "mine", folder / "state" / "status.json")
        self.container.env["LD_LIBRARY_PATH"] = str(library)
        self._machine = machine
        self._arbiters = []

    def write_part(self, text: str = f"tranche-part/v1\n{UUID} {PART * MiB}\n") -> None:
        self.part.write_text(text)

    def serve(self) -> None:
        self._arbiters.append(ours.arbiter(self.folder, self.tenants.folder, **self._machine))
        wait_until(lambda: self.tenants.socket("mine").exists(), "the arbiter serves")

    def close(self) -> None:
        for arbiter in self._arbiters:
            assert arbiter.stop() == 0, arbiter.log

    def lines(self, *command) -> dict:
        words = [line.split() for line in self.container.run(*command).splitlines()]
        return {name: [int(word) for word in numbers] for name, *numbers in words}


@pytest.fixture
def tenant(tmp_path, stub):
    made = Tenant(tmp_path, stub.folder)
    yield made
    made.close()


# Of the device: the caller and a neighbour use 10 % and 100 MiB each.
WHOLE = {
    "nvmlDeviceGetMemoryInfo": [0, 8192, 7000, 1192],
    "nvmlDeviceGetBAR1MemoryInfo": [0, 8192, 8000, 192],
    "nvmlDeviceGetConfComputeProtectedMemoryUsage": [0, 8192, 7000, 1192],
    "nvmlDeviceGetUtilizationRates": [0, 20, 20],
    "nvmlDeviceGetDynamicPstatesInfo": [0, 1, 20, 1, 20, 1, 1],
    "nvmlDeviceGetFBCStats": [0, 2, 60, 7],
    "nvmlGpmQueryDeviceSupport": [0, 1],
    "nvmlGpmSampleGet": [0, 0],
    "nvmlDeviceGetEncoderUtilization": [0, 20],
    "nvmlDeviceGetDecoderUtilization": [0, 20],
    "nvmlDeviceGetJpgUtilization": [0, 20],
    "nvmlDeviceGetOfaUtilization": [0, 20],
    "nvmlDeviceGetComputeRunningProcesses_v3": [0, 2],
    "nvmlDeviceGetGraphicsRunningProcesses_v3": [0, 2],
    "nvmlDeviceGetEncoderSessions": [0, 2],
    "nvmlDeviceGetFBCSessions": [0, 2],
    "nvmlDeviceGetProcessUtilization": [0, 2],
    "nvmlDeviceGetEncoderStats": [0, 2, 30, 5],
    "samples-0": [0, 20, 20, 20],
    "samples-1": [0, 20, 20, 20],
    "samples-4": [0, 20, 20, 20],
    "samples-8": [0, 20, 20, 20],
}
NOT_SUPPORTED = [3]
OWN = {
    "nvmlDeviceGetMemoryInfo": [0, PART, PART - 100, 100],
    "nvmlDeviceGetBAR1MemoryInfo": [0, PART, PART, 0],
    "nvmlDeviceGetConfComputeProtectedMemoryUsage": [0, PART, PART - 100, 100],
    "nvmlDeviceGetUtilizationRates": [0, 10, 10],
    "nvmlDeviceGetDynamicPstatesInfo": [0, 1, 10, 1, 10, 0, 0],
    "nvmlDeviceGetFBCStats": [0, 1, 60, 7],
    "nvmlGpmQueryDeviceSupport": [0, 0],
    "nvmlGpmSampleGet": [3, 0],
    "nvmlDeviceGetEncoderUtilization": [0, 10],
    "nvmlDeviceGetDecoderUtilization": [0, 10],
    "nvmlDeviceGetJpgUtilization": NOT_SUPPORTED,
    "nvmlDeviceGetOfaUtilization": NOT_SUPPORTED,
    "nvmlDeviceGetComputeRunningProcesses_v3": [0, 1],
    "nvmlDeviceGetGraphicsRunningProcesses_v3": [0, 1],
    "nvmlDeviceGetEncoderSessions": [0, 1],
    "nvmlDeviceGetFBCSessions": [0, 1],
    "nvmlDeviceGetProcessUtilization": [0, 1],
    "nvmlDeviceGetEncoderStats": [0, 1, 30, 5],
    "samples-0": [0, 20, 20, 20],  # power
    "samples-1": [0, 0, 10, 0],
    "samples-4": [0, 0, 10, 0],
    "samples-8": NOT_SUPPORTED,
}
# With an arbiter the used memory is what is charged, or what NVML counts on the node, which lacks
# this device.
REGISTERED = OWN | {
    "nvmlDeviceGetMemoryInfo": [0, PART, PART, 0],
    "nvmlDeviceGetConfComputeProtectedMemoryUsage": [0, PART, PART, 0],
}


@pytest.fixture
def neighbour(tenant):
    """A process of another container: the same process ids, its own mounts."""
    process = subprocess.Popen(["unshare", "--mount", "sleep", "1000"])
    tenant.container.env["STUB_NEIGHBOUR"] = str(process.pid)
    yield process
    process.kill()
    process.wait()


def test_before_an_arbiter_answers_nothing_of_others_is_told(tenant, stub, neighbour):
    tenant.write_part()
    assert tenant.lines(stub("every_view")) == OWN
    assert tenant.lines(stub("every_view"), "cuda") == {"cuDeviceTotalMem": [0, PART]} | OWN


def test_nor_with_one(tenant, stub, neighbour):
    tenant.serve()
    assert tenant.lines(stub("every_view")) == REGISTERED
    assert tenant.lines(stub("every_view"), "cuda") == {"cuDeviceTotalMem": [0, PART]} | REGISTERED


def test_a_neighbour_of_another_user_is_told_by_its_control_group(tenant, stub, neighbour):
    """/proc does not show its mounts: in doubt it is foreign, and here it has the caller's
    group."""
    tenant.write_part()
    other = "setpriv --reuid=1234 --clear-groups --inh-caps=-all"
    tenant.container.env["PREPARE"] = f'exec {other} env LD_PRELOAD=$PRELOAD "$@"'
    shared = tenant.lines(stub("every_view"))
    assert shared["nvmlDeviceGetMemoryInfo"] == [0, PART, PART - 200, 200]


# Time is limited, and memory is not.
UNLIMITED = OWN | {
    "nvmlDeviceGetMemoryInfo": WHOLE["nvmlDeviceGetMemoryInfo"],
    "nvmlDeviceGetBAR1MemoryInfo": [0, 8192, 8192, 0],
    "nvmlDeviceGetConfComputeProtectedMemoryUsage": WHOLE["nvmlDeviceGetMemoryInfo"],
}
PARTS = {
    "no file": (None, WHOLE),
    "empty": ("", WHOLE),
    "another release's": ("tranche-part/v2\n", WHOLE),
    "garbage": ("\0" * 5000, WHOLE),
    "without a line: counted only": ("tranche-part/v1\n", WHOLE),
    "another device's": (f"tranche-part/v1\nGPU-99{UUID[6:]} 4096\n", WHOLE),
    "no number": (f"tranche-part/v1\n{UUID} 12x\n", WHOLE),
    "a number that wraps": (f"tranche-part/v1\n{UUID} 99999999999999999999999\n", WHOLE),
    "not whole": (f"tranche-part/v1\n{UUID} 104857", WHOLE),
    "lines of a later release": (f"tranche-part/v1\n{'x' * 500}\nsome thing\n{UUID} {PART * MiB}\n", OWN),
    "memory without a limit": (f"tranche-part/v1\n{UUID} all\n", UNLIMITED),
}


@pytest.mark.parametrize("name", PARTS)
def test_the_file_as_it_may_be(tenant, stub, neighbour, name):
    text, expected = PARTS[name]
    if text is not None:
        tenant.write_part(text)
    assert tenant.lines(stub("every_view")) == expected


def test_a_pipe_in_its_place_holds_nobody_up(tenant, stub):
    os.mkfifo(tenant.part)
    assert tenant.lines(stub("every_view"))["nvmlDeviceGetMemoryInfo"] == WHOLE["nvmlDeviceGetMemoryInfo"]


# ---- stacks

LEAST = 6 << 10  # what the limiter takes of a thread's stack, at most (docs/internals/limits.md)


@pytest.fixture
def bound(tenant):
    """Without the loader's lookups, which save every register of the processor."""
    tenant.container.env["LD_BIND_NOW"] = "1"
    return tenant


# Without an arbiter memory is refused, so there is no "cuda".
@pytest.mark.parametrize(
    ("arbiter", "what"),
    [(True, what) for what in ("init", "cuda", "kernel", "nvml", "lists")]
    + [(False, what) for what in ("init", "nvml", "lists")],
)
def test_a_thread_with_little_stack_left_does_its_work(bound, stub, what, arbiter):
    bound.write_part()
    if arbiter:
        bound.serve()
    bound.container.grant()
    assert finish(bound.container.start([stub("small_stack"), what, str(LEAST)])) == ""


def test_a_program_whose_threads_have_small_stacks_by_default_gets_a_thread_of_ours(bound, stub):
    """The limiter's own thread calls the driver, and has enough stack for it."""
    bound.serve()
    bound.container.env["PREPARE"] = "ulimit -s 64"
    assert finish(bound.container.start([stub("small_stack"), "cuda", str(LEAST)])) == ""


def test_every_frame_has_a_bound():
    """The compiler refuses a larger one: with both kinds of bound for GCC, with Clang's for
    Clang."""
    text = (ours.ROOT / "src" / "container" / "interpose" / "CMakeLists.txt").read_text()
    assert re.findall(r"-W([a-z-]+)=(\d+)", text) == [("frame-larger-than", "1024"), ("stack-usage", "1024")]
