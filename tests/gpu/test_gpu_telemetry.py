"""What NVML's calls for a GPU's figures cost (reported, not asserted), and whether the figures that
the agent reads are those of nvidia-smi."""

import subprocess

import machine
import pytest
from machine import BUILD, LOAD, MiB
from programs import wait_until

CALLS = BUILD / "tests" / "nvml_calls"

# Our figure, nvidia-smi's, its unit in ours, and how far they may be apart: they are read one after
# the other, from a GPU that works.
FIGURES = [
    ("memory_total_mib", "memory.total", 1, 1),
    ("memory_used_mib", "memory.used", 1, 64),
    ("gpu_percent", "utilization.gpu", 1, 30),
    ("memory_percent", "utilization.memory", 1, 30),
    ("sm_clock_mhz", "clocks.sm", 1, 600),
    ("memory_clock_mhz", "clocks.mem", 1, 100),
    ("temperature_c", "temperature.gpu", 1, 10),
    ("memory_temperature_c", "temperature.memory", 1, 10),
    ("power_mw", "power.draw", 1000, 150_000),
]


@pytest.fixture(params=["this machine's"] if machine.REAL else ["l20", "h200"])
def gpu(request, tmp_path):
    try:
        return machine.open_gpu(tmp_path, request.param)
    except machine.Missing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture
def busy(gpu):
    """A program that computes on the GPU all the while; on a simulated one with a load that is exact."""
    command = [BUILD / "bin" / "tranche-sim", "occupy", "--die-with-parent", "--memory", "512Mi", "--util", "60"]
    if machine.REAL:
        command = [LOAD, "compute", "--memory", "512Mi", "--kernel", "1ms", "--duration", "60s", "-o", "json"]
    program = subprocess.Popen(command, env=gpu.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield program
    program.kill()
    program.wait()


def nvml_calls(gpu) -> tuple[dict, dict]:
    """Call -> (median us, longest us, result), and figure -> number or None."""
    assert CALLS.exists(), f"{CALLS} is not built: cmake --build build --target nvml_calls"
    done = subprocess.run([CALLS, gpu.uuid], env=gpu.env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    calls, figures = {}, {}
    for line in done.stdout.splitlines():
        kind, name, *rest = line.split()
        if kind == "call":
            calls[name] = (float(rest[0]), float(rest[1]), int(rest[2]))
        else:
            figures[name] = None if rest[0] == "-" else float(rest[0])
    return calls, figures


def by_nvidia_smi(gpu) -> dict:
    names = [name for _, name, _, _ in FIGURES]
    command = [gpu.smi, f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "-i", gpu.uuid]
    done = subprocess.run(command, env=gpu.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    values = [value.strip() for value in done.stdout.splitlines()[0].split(",")]
    return {n: None if "N/A" in v else float(v) for n, v in zip(names, values, strict=True)}


def test_figures_are_those_of_nvidia_smi(gpu, busy, tell):
    wait_until(lambda: by_nvidia_smi(gpu)["utilization.gpu"] not in (None, 0), "the GPU computes")
    before = by_nvidia_smi(gpu)
    calls, figures = nvml_calls(gpu)
    after = by_nvidia_smi(gpu)
    assert busy.poll() is None, "the program that computes has ended"
    for name, (median, longest, result) in calls.items():
        told = "" if result == 0 else f"; not told ({result})"
        tell(f"`{name}`, µs: median; longest of 30", f"{median:.1f}; {longest:.1f}{told}")
    for ours, theirs, unit, apart in FIGURES:
        tell(f"{ours}: the agent; nvidia-smi before and after", f"{figures[ours]}; {before[theirs]}, {after[theirs]}")
        assert (figures[ours] is None) == (before[theirs] is None), (ours, figures[ours], before[theirs])
        if figures[ours] is None:
            continue
        low, high = sorted((before[theirs] * unit, after[theirs] * unit))
        assert low - apart <= figures[ours] <= high + apart, (ours, figures[ours], low, high)
    assert figures["memory_total_mib"] * MiB == gpu.total


def test_energy_is_the_integral_of_power(gpu, busy, tell):
    wait_until(lambda: by_nvidia_smi(gpu)["utilization.gpu"] not in (None, 0), "the GPU computes")
    calls, figures = nvml_calls(gpu)
    if figures["energy_mj"] is None:
        pytest.skip("the GPU tells no energy")
    assert calls["nvmlDeviceGetTotalEnergyConsumption"][2] == 0
    watts, at_the_end = figures["watts_by_energy"], figures["power_mw"] / 1000
    tell("watts by energy over a second; power at its end", f"{watts:.0f}; {at_the_end:.0f}")
    assert at_the_end / 2 <= watts <= at_the_end * 2


def test_activity_where_there_is_gpm(gpu, busy, tell):
    wait_until(lambda: by_nvidia_smi(gpu)["utilization.gpu"] not in (None, 0), "the GPU computes")
    calls, figures = nvml_calls(gpu)
    parts = ["graphics", "sm", "sm_occupancy", "tensor", "dram", "pcie_sent", "pcie_received"]
    for part in parts:
        tell(f"activity: {part}", figures[part])
    if "nvmlGpmSampleGet" not in calls:
        assert all(figures[part] is None for part in parts)
        pytest.skip("the GPU has no GPM")
    assert figures["graphics"] > 0.3  # 0.6 where it is simulated
    assert 0 <= figures["sm"] <= 1
