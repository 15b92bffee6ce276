"""A container's memory ends at its part, on any GPU."""

import re
import subprocess

import cuda_program
import machine
import pytest
from machine import LOAD, MiB
from programs import wait_until

PART = 2048 * MiB
# The most that a context may take on a real GPU; a simulated one takes CONTEXT.
CONTEXT_AT_MOST = 1536 * MiB
CONTEXT = 256 * MiB
SLACK = 8 * MiB  # pieces of 2 MiB, and what a family rounds up to
FAMILIES = ["alloc", "pitch", "async", "vmm", "array"]


def mib(size: int) -> str:
    return f"{size / MiB:.0f} MiB"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_ends_at_the_part(served, tell, family):
    container = served.container("mine", memory=PART)
    flags = ["--family", family, "--memory", "max", "--chunk", "64Mi", "--duration", "100ms"]
    got = container.load("hold", *flags)
    tell(f"`hold --family {family}` of {mib(PART)}, context beside it", mib(got["memory"]))
    assert "OUT_OF_MEMORY" in got["refused"]
    least = PART - (CONTEXT_AT_MOST if machine.REAL else CONTEXT + SLACK)
    assert least <= got["memory"] <= PART


@pytest.mark.skipif(machine.REAL, reason="managed memory is not taken on a real GPU")
def test_managed_memory_ends_at_the_part(served):
    """It can exceed what the device has, so a fixed size is asked for."""
    program = served.container("mine", memory=PART).start(
        [LOAD, "hold", "--family", "managed", "--memory", "4Gi", "--chunk", "2Mi", "--duration", "100ms"]
    )
    out, err = machine.ended(program)
    assert program.returncode == 1, out + err
    refused = re.search(r"2 MiB asked, (\d+) MiB held: cuMemAllocManaged: CUDA_ERROR_OUT_OF_MEMORY", out + err)
    assert refused, out + err
    assert PART - CONTEXT - SLACK <= int(refused[1]) * MiB <= PART


def test_the_context_counts(served, tell):
    """It is memory that no allocation of the program took: NVML reports it."""
    container = served.container("mine", memory=PART)
    out = container.run(
        cuda_program.command(f"""
import time
PART = {PART}
deadline = time.monotonic() + 30
while fits(PART):
    assert time.monotonic() < deadline, "what the context takes is not counted"
    time.sleep(0.05)
low, high = 0, PART
while high - low > MiB:
    middle = (low + high) // 2
    low, high = (middle, high) if fits(middle) else (low, middle)
print(PART - low)
""")
    )
    context = int(out)
    tell("a context, as it counts against the part", mib(context))
    most, least = (CONTEXT_AT_MOST, 16 * MiB) if machine.REAL else (CONTEXT + SLACK, CONTEXT)
    assert least <= context <= most


def test_views_show_the_part(served, gpu, tell):
    container = served.container("mine", memory=PART)
    out = container.run(
        cuda_program.command(f"""
free_before, total = memory_info()
code, address = allocate(512 * MiB)
ok(code)
free_after, _ = memory_info()
device_total = size_t()
ok(cuda.cuDeviceTotalMem_v2(ctypes.byref(device_total), 0))
print(total, device_total.value, free_before - free_after)
""")
    )
    total, device_total, fell = map(int, out.split())
    assert (total, device_total) == (PART, PART)
    # The context may have been counted in between.
    assert 512 * MiB <= fell <= 512 * MiB + CONTEXT_AT_MOST
    fields = "--query-gpu=uuid,memory.total,memory.used"
    smi = container.run([gpu.smi, fields, "--format=csv,noheader,nounits", "-i", gpu.uuid])
    _, shown, used = smi.split(",")
    views = f"{mib(total)}, {mib(device_total)}, {shown.strip()} MiB"
    tell("`cuMemGetInfo`, `cuDeviceTotalMem`, `nvidia-smi` in the container", views)
    assert int(shown) * MiB == PART
    assert int(used) * MiB <= PART


def hold(container, size: int) -> subprocess.Popen | None:
    """A program that holds this much until it is killed; None if refused."""
    body = f"""
code, address = allocate({size})
print("held" if code == 0 else code, flush=True)
if code == 0: sys.stdin.read()
"""
    program = container.start(cuda_program.command(body))
    said = program.stdout.readline()
    if said == "held\n":
        return program
    _, err = machine.ended(program)
    assert said == "2\n", said + err
    return None


def end(program) -> None:
    program.kill()
    machine.ended(program)


def test_a_killed_program_gives_back(served, tell):
    container = served.container("mine", memory=2 * PART)
    size = PART + 256 * MiB  # of which two are too many
    for _ in range(3):
        program = wait_until(lambda: hold(container, size), "what was killed has given back")
        assert hold(container, size) is None
        end(program)  # by SIGKILL
    tell("kill -9 with more than half of the part held, three times", "each time the next had as much")


def test_a_neighbour_has_its_part(served):
    """The refused one harms nobody."""
    greedy, other = served.container("greedy", memory=PART), served.container("other", memory=PART)
    held = hold(other, 256 * MiB)
    assert held is not None
    assert "OUT_OF_MEMORY" in greedy.load("hold", "--memory", "max", "--duration", "100ms")["refused"]
    assert hold(other, 4 * PART) is None
    also = hold(other, 256 * MiB)
    assert also is not None
    end(also)
    end(held)
