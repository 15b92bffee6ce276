"""lab/fault: arguments in tranche-sim's words, which the real tranche-sim accepts."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()
sys.path.insert(0, str(ROOT))

from lab.cluster import faults  # noqa: E402


def parse(*arguments: str) -> argparse.Namespace:
    return faults.parse(argparse.ArgumentParser(prog="lab/fault"), list(arguments))


@pytest.fixture
def sim(tmp_path):
    env = {**os.environ, "TRANCHE_SIM": str(ROOT / "sim/machines/a100-40gb-x4.yaml")}
    env |= {"TRANCHE_SIM_STATE": str(tmp_path / "state"), "LD_LIBRARY_PATH": str(BUILD / "sim")}

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [BUILD / "bin" / "tranche-sim", *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    "typed",
    [
        "xid 79",
        "xid 48 --gpu 3",
        "lost",
        "gone --gpu 1",
        "back",
        "nvlink --gpu 1",
        "recovery gpu-reset",
        "hang --gpu 2",
        "no-driver",
        "driver-back",
        "clear",
        "show",
        "reset --gpu 1",
    ],
)
def test_every_fault_is_one_that_the_simulated_machine_takes(sim, typed):
    done = sim(*faults.command(parse("l20", *typed.split())))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_lost_gpu_is_the_one_that_was_named(sim):
    sim(*faults.command(parse("l20", "lost", "--gpu", "2")))
    gpus = json.loads(sim("show", "-o", "json").stdout)["gpus"]
    assert [gpu["state"] for gpu in gpus] == ["present", "present", "lost", "present"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("l20 xid", "xid needs N"),
        ("l20 xid many", "xid needs a number, not 'many'"),
        ("l20 recovery", "recovery needs ACTION"),
        ("l20 lost 79", "lost takes no '79'"),
        ("l20 clear --gpu 1", "clear concerns the whole node: leave --gpu out"),
        ("l20 broken", "invalid choice: 'broken'"),
        ("l20", "the following arguments are required: FAULT"),
    ],
)
def test_what_makes_no_sense_is_said(capsys, typed, said):
    with pytest.raises(SystemExit) as ended:
        parse(*typed.split())
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
