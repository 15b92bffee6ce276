"""An independent program that loads NVML (nvidia-ml-py) sees the simulated machine."""

import subprocess
import sys

import pytest


def ask(machine, script: str, **env: str) -> str:
    """Runs `script` with pynvml initialised as `n`; the loader finds our library by its name."""
    text = "import pynvml as n\nn.nvmlInit()\n" + script
    done = subprocess.run(
        [sys.executable, "-c", text], env={**machine.env, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "name, model, mib, capability",
    [
        ("l20", "NVIDIA L20", 46068, (8, 9)),
        ("t4", "Tesla T4", 15360, (7, 5)),
        ("a100-40gb", "NVIDIA A100-SXM4-40GB", 40960, (8, 0)),
        ("a30", "NVIDIA A30", 24576, (8, 0)),
        ("h100", "NVIDIA H100 80GB HBM3", 81559, (9, 0)),
        ("h20", "NVIDIA H20", 97871, (9, 0)),
    ],
)
def test_models(machine, name, model, mib, capability):
    out = ask(
        machine(name),
        "h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "print(n.nvmlDeviceGetName(h), n.nvmlDeviceGetMemoryInfo(h).total >> 20,"
        " n.nvmlDeviceGetCudaComputeCapability(h), n.nvmlSystemGetDriverVersion(), sep='|')",
    )
    assert out == f"{model}|{mib}|{capability}|570.158.01"


@pytest.mark.parametrize(
    "name, count", [("none", 0), ("a100-80gb-x8", 8), ("a100-40gb-x4", 4), ("gpus-16", 16), ("h200", 8)]
)
def test_counts(machine, name, count):
    assert ask(machine(name), "print(n.nvmlDeviceGetCount())") == str(count)


def test_broken_driver(machine):
    script = "import pynvml as n\ntry:\n  n.nvmlInit()\nexcept n.NVMLError as e:\n  print(e.value)\n"
    out = subprocess.run(
        [sys.executable, "-c", script], env=machine("broken-driver").env, capture_output=True, text=True
    )
    assert out.stdout.strip() == "18"


def test_mig_devices(machine):
    out = ask(
        machine("a100-40gb-mig"),
        "h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "print(n.nvmlDeviceGetMigMode(h))\n"
        "for i in range(4):\n"
        "  m = n.nvmlDeviceGetMigDeviceHandleByIndex(h, i)\n"
        "  print(n.nvmlDeviceGetName(m), n.nvmlDeviceGetMemoryInfo(m).total >> 20)\n"
        "  print(n.nvmlDeviceGetUUID(m).startswith('MIG-'), n.nvmlDeviceGetGpuInstanceId(m))\n",
    ).splitlines()
    assert out[0] == "[1, 1]"
    assert out[1] == "NVIDIA A100-SXM4-40GB MIG 3g.20gb 20096"
    assert out[2] == "True 2"


def test_processes_and_utilisation(machine):
    one = machine("t4")
    holder = one.occupy("--memory", "315Mi", "--util", "40", "--name", "trainer")
    out = ask(
        one,
        "import time\n"
        "h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "p = n.nvmlDeviceGetComputeRunningProcesses(h)[0]\n"
        "print(p.pid, p.usedGpuMemory >> 20, n.nvmlSystemGetProcessName(p.pid))\n"
        "print(n.nvmlDeviceGetMemoryInfo(h, version=n.nvmlMemory_v2).used >> 20)\n"
        "end = time.monotonic() + 20\n"
        "while n.nvmlDeviceGetUtilizationRates(h).gpu != 40 and time.monotonic() < end: pass\n"
        "print(n.nvmlDeviceGetUtilizationRates(h).gpu)\n"
        "s = n.nvmlDeviceGetProcessUtilization(h, 0)\n"
        "print(s[-1].pid, s[-1].smUtil)\n",
    ).splitlines()
    assert out == [f"{holder.pid} 315 trainer", "317", "40", f"{holder.pid} 40"]


def test_activity_and_energy(machine):
    """As a monitor reads GPM: two samples, means between them."""
    one = machine("h200")
    one.occupy("--util", "100")
    out = ask(
        one,
        "import time\n"
        "h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "print(n.nvmlGpmQueryDeviceSupport(h).isSupportedDevice)\n"
        "a, b = n.nvmlGpmSampleAlloc(), n.nvmlGpmSampleAlloc()\n"
        "before = n.nvmlDeviceGetTotalEnergyConsumption(h)\n"
        "n.nvmlGpmSampleGet(h, a)\n"
        "while n.nvmlDeviceGetTotalEnergyConsumption(h) < before + 50000: time.sleep(0.01)\n"
        "n.nvmlGpmSampleGet(h, b)\n"
        "g = n.c_nvmlGpmMetricsGet_t()\n"
        "g.version, g.numMetrics, g.sample1, g.sample2 = n.NVML_GPM_METRICS_GET_VERSION, 1, a, b\n"
        "g.metrics[0].metricId = n.NVML_GPM_METRIC_GRAPHICS_UTIL\n"
        "n.nvmlGpmMetricsGet(g)\n"
        "print(g.metrics[0].nvmlReturn, round(g.metrics[0].value))\n"
        "n.nvmlGpmSampleFree(a)\n"
        "n.nvmlGpmSampleFree(b)\n",
    )
    assert out.splitlines() == ["1", "0 100"]


def test_worn_memory_and_a_bad_link(machine):
    one = machine("l20")
    ask_both = (
        "h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "print(n.nvmlDeviceGetRemappedRows(h), n.nvmlDeviceGetPcieReplayCounter(h))"
    )
    one.sim("fault", "rows", "--gpu", "0", "--correctable", "1", "--uncorrectable", "2", "--failed")
    one.sim("fault", "replays", "--gpu", "0", "--count", "5")
    one.sim("fault", "replays", "--gpu", "0", "--count", "2")
    assert ask(one, ask_both) == "(1, 2, 0, 1) 7"
    one.sim("clear")
    assert ask(one, ask_both) == "(0, 0, 0, 0) 0"


def test_xid_event(machine):
    one = machine("l20")
    sim = one.sim
    sim("show")
    out = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import pynvml as n\n"
            "n.nvmlInit()\n"
            "s = n.nvmlEventSetCreate()\n"
            "n.nvmlDeviceRegisterEvents(n.nvmlDeviceGetHandleByIndex(0), n.nvmlEventTypeXidCriticalError, s)\n"
            "print('ready', flush=True)\n"
            "e = n.nvmlEventSetWait_v2(s, 20000)\n"
            "print(e.eventData, hex(e.gpuInstanceId))\n",
        ],
        env=one.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert out.stdout is not None
    assert out.stdout.readline() == "ready\n"
    sim("xid", "--gpu", "0", "--xid", "79")
    assert out.communicate(timeout=30)[0] == "79 0xffffffff\n"


def test_recovery_action(machine):
    one = machine("l20")
    one.sim("fault", "recovery", "--gpu", "0", "gpu-reset")
    out = ask(
        one,
        "h = n.nvmlDeviceGetHandleByIndex(0)\n"
        "print(n.nvmlDeviceGetFieldValues(h, [230])[0].value.uiVal)",
    )
    assert out == "1"


def test_visible_devices(machine):
    one = machine("a100-80gb-x8")
    uuid = one.show()["gpus"][5]["uuid"]
    script = "print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetUUID(n.nvmlDeviceGetHandleByIndex(0)))"
    assert ask(one, script, NVIDIA_VISIBLE_DEVICES=uuid) == f"1 {uuid}"
