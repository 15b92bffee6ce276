"""Which build folder and which programs a lab uses."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cluster import paths  # noqa: E402
from lab.cluster.errors import LabError  # noqa: E402

PROGRAMS = (*paths._BUILT, *paths._USE_STATE)


@pytest.fixture
def build(tmp_path, monkeypatch):
    for program in PROGRAMS:
        (tmp_path / program).parent.mkdir(exist_ok=True)
        (tmp_path / program).touch()
    monkeypatch.setenv("TRANCHE_BUILD", str(tmp_path))
    return tmp_path


def test_a_build_folder_that_is_whole_is_taken(build):
    assert paths.build_folder() == build.resolve()


def test_a_program_that_lacks_is_named(build):
    (build / "bin/tranche-sim").unlink()
    with pytest.raises(LabError, match="tranche-sim is not there"):
        paths.build_folder()


def test_a_program_that_does_not_know_the_machines_state_is_named(build):
    long_ago = paths._STATE.stat().st_mtime - 1
    os.utime(build / "bin/tranche-lab-runtime", (long_ago, long_ago))
    os.utime(build / "bin/tranche-load", (long_ago, long_ago))  # it does not map the state
    with pytest.raises(LabError, match=r"was changed: bin/tranche-lab-runtime \(in ") as refused:
        paths.build_folder()
    assert "run `make`" in refused.value.hint


def test_the_programs_that_are_named_are_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANCHE_LAB_PROGRAMS", str(tmp_path))
    with pytest.raises(LabError, match="TRANCHE_LAB_PROGRAMS has no etcd, kube-apiserver, .*, helm") as refused:
        paths.programs_folder()
    assert "--where" in refused.value.hint
    names = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"]
    for name in (*names, "containerd", "containerd-shim-runc-v2", "ctr", "kwok", "helm"):
        (tmp_path / name).touch()
    assert paths.programs_folder() == tmp_path
