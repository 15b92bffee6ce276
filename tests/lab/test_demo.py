"""tranche-demo as a newcomer runs it: what it prints at the end, and that it leaves nothing
behind."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve() / "bin/tranche-demo"


@pytest.fixture
def folder():
    # Not tmp_path: unix sockets are below, and their paths must be short.
    path = pathlib.Path(tempfile.mkdtemp(prefix="td-"))
    yield path
    shutil.rmtree(path)


def start(folder, *arguments, **options):
    # Settings of the user's that must not reach the agents.
    env = {**os.environ, "TMPDIR": str(folder), "CONFIG_FILE": "/nowhere", "MIG_STRATEGY": "wrong"}
    return subprocess.Popen(
        [options.pop("program", DEMO), *arguments],
        env=env,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def run(folder, *arguments, **options):
    process = start(folder, *arguments, **options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def processes_of(folder):
    """Processes that were started with a path below `folder`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in line:
                found.append(line)
    return found


def table(out):
    """Rows of the last table, by their first words: the numbers at the end of the line."""
    lines = out[out.index("\nBefore and after") :].splitlines()
    rows = {}
    for line in lines:
        numbers = re.search(r"(?:\s+\d+)+$", line)
        if numbers:
            rows[re.split(r"\s{2,}", line.strip())[0]] = [int(n) for n in numbers[0].split()]
    return rows


def test_from_two_to_eleven(folder):
    code, out, err = run(folder, "--plain")
    assert (code, err) == (0, ""), out
    assert table(out) == {
        "gpu-l20": [1, 2, 8],
        "gpu-t4": [1, 2, 3],
        "total": [2, 4, 11],
        "Pods running": [2, 11],
        "Pods Pending": [1, 0],
    }
    flat = " ".join(out.split())
    assert "Pod detector-2 Pending: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu." in flat
    assert "UnexpectedAdmissionError" in flat
    assert "maximum request size for shared resources is 1; found 2" in flat
    assert "nvidia.com/gpu.product NVIDIA-L20-SHARED Tesla-T4-SHARED" in flat
    assert "nvidia.com/gpu.replicas 8 3" in flat
    assert list(folder.iterdir()) == []
    assert processes_of(folder) == []


def test_plain_text_when_no_terminal(folder):
    code, out, _ = run(folder)
    assert code == 0
    assert out.isascii()
    assert "\033" not in out and "\r" not in out


def test_what_is_not_real_is_called_so(folder):
    _, out, _ = run(folder)
    head = out[: out.index(" 1  ")]
    assert re.search(r"simulated\s.*L20.*T4", head)
    assert re.search(r"stand-ins\s.*kubelet.*scheduler", head)


def test_kept_files_start_an_agent_again(folder):
    code, out, _ = run(folder, "--keep")
    assert code == 0
    kept = pathlib.Path(re.search(r"Files kept in (\S+)", out)[1])
    assert kept.parent == folder
    assert (kept / "gpu-l20/config/l20").read_text().count("replicas: 8") == 1
    assert os.readlink(kept / "gpu-t4/config/t4") == "..data/t4"
    assert "nvidia.com/gpu" in (kept / "gpu-l20/agent.log").read_text()
    again = subprocess.Popen([kept / "gpu-l20/agent.sh"], stderr=subprocess.PIPE, text=True)
    try:
        said = ""
        for line in again.stderr:
            said += line
            if "labels to" in line:
                break
        assert "labels to" in said
        assert "nvidia.com/gpu.replicas=8" in (kept / "gpu-l20/features.d/gfd").read_text()
    finally:
        again.terminate()
        again.communicate(timeout=30)
    assert again.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_cleans_up(folder, number):
    # Paused after the first step: both agents run.
    process = start(folder, "--pause", stdin=subprocess.PIPE)
    try:
        for line in process.stdout:
            if "gpu-t4" in line:
                break
        assert len(processes_of(folder)) == 2
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert "interrupted" in err
    assert processes_of(folder) == []
    assert list(folder.iterdir()) == []


def test_enter_goes_on_and_the_end_of_input_too(folder):
    code, out, err = run(folder, "--pause", stdin=subprocess.DEVNULL)
    assert (code, err) == (0, "")
    assert out.count("Enter for the next step") == 6


def test_an_unknown_flag(folder):
    code, out, err = run(folder, "--plian")
    assert (code, out) == (2, "")
    assert "unknown argument '--plian'" in err and "--help" in err


def test_help(folder):
    code, out, _ = run(folder, "--help")
    assert code == 0
    for flag in ("--plain", "--pause", "--keep"):
        assert flag in out


def copied_build(folder):
    """A separate build folder of the demo, whose programs can be damaged."""
    build = folder / "build"
    (build / "bin").mkdir(parents=True)
    (build / "sim").mkdir()
    for name in ("bin/tranche-demo", "bin/tranche", "bin/tranche-sim", "sim/libnvidia-ml.so.1"):
        shutil.copy(DEMO.parents[1] / name, build / name)
    return build


def test_a_missing_program_is_named_with_the_remedy(folder):
    build = copied_build(folder)
    (build / "bin/tranche").unlink()
    code, out, err = run(folder, program=build / "bin/tranche-demo")
    assert (code, out) == (1, "")
    assert f"{build}/bin/tranche has not been built; run make first" in err


def test_an_agent_that_dies_is_reported_with_its_log(folder):
    build = copied_build(folder)
    agent = build / "bin/tranche"
    agent.unlink()
    agent.write_text("#!/bin/sh\necho 'no kubelet here' >&2\nexit 3\n")
    agent.chmod(0o755)
    code, _, err = run(folder, program=build / "bin/tranche-demo")
    assert code == 1
    assert "gpu-l20: the agent ended with exit code 3" in err
    assert "no kubelet here" in err
    assert [entry.name for entry in folder.iterdir()] == ["build"]
