"""tranche-load on the simulated driver. Figures are asserted only in virtual time, where they are
exact; in real time only what must always hold is asserted."""

import json
import signal
import subprocess

import pytest

from simulated import build_folder

LOAD = str(build_folder() / "bin" / "tranche-load")
CONTEXT = 256  # MiB of a context of most simulated machines ...
T4_CONTEXT = 255  # ... and of this one
MS = 1_000_000
# The machine's time, which passes only while everybody waits for the GPU.
VIRTUAL = {"TRANCHE_SIM_CLOCK": "virtual"}
EXACT = ("--time", "device")


def load(machine, *arguments: str, ok: bool = True, **env: str) -> dict:
    """A run's JSON output."""
    said = subprocess.run(
        [LOAD, *arguments, "-o", "json"], env={**machine.env, **env}, capture_output=True, text=True, timeout=60
    )
    assert (said.returncode == 0) == ok, said.stdout + said.stderr
    return json.loads(said.stdout)


class Running:
    """A load that runs until it is ended."""

    def __init__(self, machine, *arguments: str):
        self.process = subprocess.Popen(
            [LOAD, *arguments, "-o", "json"],
            env=machine.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def holders(self, count: int) -> list[int]:
        """Waits until this number of processes hold their memory; returns their pids."""
        assert self.process.stderr is not None
        lines = [self.process.stderr.readline() for _ in range(count)]
        assert all("holds" in line for line in lines), lines
        return [int(line.split("(pid ")[1].split(")")[0]) for line in lines]

    def end(self, by: signal.Signals) -> dict:
        self.process.send_signal(by)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        return json.loads(out)


def test_help_of_every_command(machine):
    out = machine("l20").run(LOAD, "--help-all")
    for word in ("hold", "compute", "graph", "latency", "storm", "compare", "--limit-library", "Exit codes"):
        assert word in out


@pytest.mark.parametrize("family", ["alloc", "pitch", "managed", "async", "vmm", "array"])
def test_memory_of_every_family_is_held_until_ended(machine, family):
    one = machine("t4")

    def used() -> int:
        return one.show()["gpus"][0]["memoryMiB"]["used"]

    before = used()
    with Running(one, "hold", "--memory", "316Mi", "--chunk", "100Mi", "--family", family) as run:
        [pid] = run.holders(1)
        [process] = one.show()["gpus"][0]["processes"]
        assert process["pid"] == pid
        # Managed memory counts for the GPU, and for no process.
        assert process["memoryMiB"] == T4_CONTEXT + (0 if family == "managed" else 316)
        assert used() == before + T4_CONTEXT + 316
        said = run.end(signal.SIGTERM)
    assert [report["memory"] >> 20 for report in said["processes"]] == [316]
    assert used() == before


def test_five_processes_of_one_gpu(machine):
    one = machine("t4")
    with Running(one, "hold", "--memory", "60Mi", "--processes", "5") as run:
        pids = run.holders(5)
        query = ("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
        listed = [line.split(", ") for line in one.smi(*query).splitlines()]
        assert sorted(int(pid) for pid, _ in listed) == sorted(pids)
        assert {memory for _, memory in listed} == {"315"}
        used = ("--query-gpu=memory.used,memory.total", "--format=csv,noheader")
        assert one.smi(*used) == "1577 MiB, 15360 MiB\n"
        assert len(run.end(signal.SIGINT)["processes"]) == 5


def test_workers_end_with_whoever_started_them(machine):
    one = machine("l20")
    with Running(one, "hold", "--memory", "1Gi") as run:
        run.holders(1)
        run.process.kill()
        run.process.wait()
        # Its last thread may end after it is seen as ended.
        for _ in range(1000):
            if not (processes := one.show()["gpus"][0]["processes"]):
                break
        assert processes == []


def test_as_much_as_there_is(machine):
    one = machine("l20")
    said = load(one, "hold", "--memory", "max", "--duration", "1ms")
    [report] = said["processes"]
    assert "OUT_OF_MEMORY" in report["refused"]
    # All except the context and less than the driver's granularity.
    assert 0 <= (said["device"]["memory"] - report["memory"] >> 20) - CONTEXT - 2 < 2


def test_what_does_not_fit_is_refused_by_name(machine):
    one = machine("l20")
    [report] = load(one, "hold", "--memory", "100Gi", ok=False)["processes"]
    assert "102400 MiB asked, 0 MiB held" in report["error"]
    assert "CUDA_ERROR_OUT_OF_MEMORY" in report["error"]
    # One of two fits; that one runs.
    reports = load(one, "compute", "--memory", "30Gi", "--processes", "2", "--count", "1", ok=False)["processes"]
    assert sorted(report["launches"] for report in reports) == [0, 1]
    assert sum("OUT_OF_MEMORY" in report["error"] for report in reports) == 1


def test_a_request_takes_what_its_kernel_takes(machine):
    run = ("latency", "--kernel", "2ms", "--every", "0s", "--count", "50", *EXACT)
    [report] = load(machine("l20"), *run, **VIRTUAL)["processes"]
    latency = report["latency"]
    assert latency["count"] == 50
    assert {latency[key] for key in ("mean", "p50", "p90", "p99", "max")} == {2 * MS}
    assert report["elapsed"] == 100 * MS
    assert report["launchesPerSecond"] == 500


def test_requests_by_the_clock_are_due_so_often(machine):
    run = ("latency", "--kernel", "1ms", "--every", "5ms", "--count", "40")
    [report] = load(machine("l20"), *run)["processes"]
    latency = report["latency"]
    assert latency["count"] == report["launches"] == 40
    assert MS <= latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["max"]
    assert report["elapsed"] >= 39 * 5 * MS
    # In a given time there are as many or, if a busy machine delays the last ones, fewer.
    run = ("latency", "--kernel", "1ms", "--every", "5ms", "--duration", "200ms")
    [report] = load(machine("l20"), *run)["processes"]
    assert 1 <= report["latency"]["count"] <= 40


def test_a_graph_takes_what_its_kernels_take(machine):
    run = ("graph", "--nodes", "7", "--kernel", "1ms", "--count", "3", *EXACT)
    [report] = load(machine("l20"), *run, **VIRTUAL)["processes"]
    assert (report["launches"], report["work"], report["elapsed"]) == (3, 21 * MS, 21 * MS)


def test_two_storms_share_the_gpu(machine):
    run = ("storm", "--duration", "400ms", "--processes", "2", *EXACT)
    reports = load(machine("l20"), *run, **VIRTUAL)["processes"]
    for report in reports:
        assert report["gpuPercent"] == pytest.approx(50, abs=5)


def test_a_duty_leaves_the_rest_of_the_time(machine):
    [report] = load(machine("l20"), "compute", "--kernel", "2ms", "--duty", "20", "--count", "10")["processes"]
    assert report["launches"] == 10
    # One begins every 10 ms at the earliest.
    assert report["elapsed"] >= 9 * 10 * MS


def test_what_is_beside_it_costs_a_request_its_time(mps):
    service = mps().start(**VIRTUAL)
    one = service.machine
    scenario = ("--every", "0s", "--duration", "200ms", "--trouble", "none", *EXACT)
    ways = ("--mechanisms", "time-slicing,mps,limits", "--mps-env", f"CUDA_MPS_PIPE_DIRECTORY={service.pipe}")
    said = load(one, "compare", *scenario, *ways, **VIRTUAL)
    assert said["alone"]["request"]["latency"]["p99"] == 2 * MS
    assert said["alone"]["neighbour"]["gpuPercent"] == pytest.approx(100)
    sliced, mps, limits = said["mechanisms"]
    # A turn of 2 ms for each of the two others comes first.
    assert sliced["request"]["latency"]["p50"] == 6 * MS
    # All three at once, each with a third of the GPU.
    assert mps["request"]["latency"]["p50"] == pytest.approx(6 * MS, rel=0.01)
    for way in (sliced, mps):
        assert [report["error"] for report in way["neighbours"]] == ["", ""]
        everybody = [way["request"], *way["neighbours"]]
        assert sum(report["gpuPercent"] for report in everybody) == pytest.approx(100, abs=10)
    assert limits == {
        "mechanism": "limits", "available": False,
        "reason": "no limiter library; --limit-library names libtranche-limit.so",
    }


def test_trouble_reaches_a_neighbour_as_far_as_the_mechanism_lets_it(machine):
    one = machine("l20")

    def troubles(duration: str, which: str) -> list:
        run = ("compare", "--duration", duration, "--mechanisms", "time-slicing", "--trouble", which)
        [sliced] = load(one, *run)["mechanisms"]
        return sliced["troubles"]

    memory, killed, fault = troubles("1s", "memory,kill,fault")
    # On a busy machine the victim may not have asked again after the offender has taken all.
    if memory["victim"]["error"] == "":
        [memory] = troubles("8s", "memory")
    # Time slices bound no memory: one takes all of it, and the other gets no more.
    assert memory["offender"]["memory"] >> 20 > 44_000
    assert "CUDA_ERROR_OUT_OF_MEMORY" in memory["victim"]["error"]
    assert "killed by signal 9" in killed["offender"]["error"]
    assert killed["victim"]["error"] == "" and killed["victim"]["launches"] > 0
    # Simulated kernels do not execute, so there is no wild write.
    assert (fault["offender"]["error"], fault["victim"]["error"]) == ("", "")


def test_mps_without_a_daemon_is_not_available(machine, tmp_path):
    one = machine("l20")
    run = ("compare", "--duration", "1ms", "--trouble", "none", "--mechanisms", "time-slicing,mps")
    reasons = {}
    (tmp_path / "none").mkdir()
    (tmp_path / "silent").mkdir()
    silent = tmp_path / "silent" / "nvidia-cuda-mps-control"
    silent.write_text("#!/bin/sh\nexit 1\n")
    silent.chmod(0o755)
    for name in ("none", "silent"):
        env = {"PATH": str(tmp_path / name), "CUDA_MPS_PIPE_DIRECTORY": "/nowhere"}
        sliced, mps = load(one, *run, **env)["mechanisms"]
        assert sliced["available"] and not mps["available"]
        reasons[name] = mps["reason"]
    assert reasons["none"] == "there is no nvidia-cuda-mps-control on PATH"
    assert reasons["silent"].startswith("no MPS control daemon answers in /nowhere; start one")


def test_the_users_mistakes(machine):
    one = machine("l20")
    for arguments, said in [
        (("compute", "--kernel", "2"), "'2' is no duration"),
        (("compute", "--memory", "lots"), "--memory"),
        (("hold", "--memory", "max", "--family", "managed"), "every family but managed"),
        (("latency", "--time", "device"), "device goes with --every 0s"),
        (("compare", "--mechanisms", "mig"), "there are time-slicing, mps and limits"),
        ((), "subcommand"),
    ]:
        done = subprocess.run([LOAD, *arguments], env=one.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2, arguments
        assert said in done.stderr + done.stdout, arguments


def test_no_driver_and_no_device_are_told_apart(machine):
    one = machine("l20")
    for arguments, said in [
        (("--driver", "/nowhere/libcuda.so.1"), "the CUDA driver is not there: /nowhere/libcuda.so.1"),
        (("--device", "7"), "cuDeviceGet: CUDA_ERROR_INVALID_DEVICE"),
    ]:
        for command in ("hold", "compute", "compare"):
            done = subprocess.run(
                [LOAD, command, *arguments], env=one.env, capture_output=True, text=True, timeout=60
            )
            assert (done.returncode, done.stdout) == (3, ""), command
            assert said in done.stderr
