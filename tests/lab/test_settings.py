"""The valid properties of a lab."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cluster import settings  # noqa: E402
from lab.cluster.errors import LabError  # noqa: E402


def test_gates_are_read_and_written_as_kubernetes_does():
    gates = settings.parse_gates("DRADeviceTaints=false,AllAlpha=true")
    assert gates == {"DRADeviceTaints": False, "AllAlpha": True}
    assert settings.Settings(gates=gates).feature_gates("kubelet") == "AllAlpha=true,DRADeviceTaints=false"
    assert settings.parse_gates("") == {}


def test_a_gate_of_one_program_is_that_programs():
    made = settings.Settings(gates=settings.parse_gates("A=true,kube-scheduler:A=false,kubelet:B=false"))
    assert made.gates_of("kube-apiserver") == {"A": True}
    assert made.gates_of("kube-scheduler") == {"A": False}
    assert made.gates_of("kubelet") == {"A": True, "B": False}
    assert settings.Settings().feature_gates("kubelet") == ""


@pytest.mark.parametrize("text", ["etcd:A=true", ":A=true", "DRADeviceTaints", "DRADeviceTaints=off", "=true", "a b=true"])
def test_what_is_no_gate_is_refused(text):
    with pytest.raises(LabError, match="no feature gate"):
        settings.parse_gates(text)
