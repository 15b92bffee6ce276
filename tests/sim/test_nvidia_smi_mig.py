"""nvidia-smi mig and --gpu-reset on the simulated machine, as people type them."""

import subprocess
import sys

import simulated

# Holds NVML open until its input ends.
MONITOR = """
import ctypes, sys
nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
print("open", flush=True)
sys.stdin.read()
"""


class Monitor:
    def __init__(self, machine: simulated.Machine):
        self.process = subprocess.Popen(
            [sys.executable, "-c", MONITOR],
            env=machine.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout.readline() == "open\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=60)


def layout(machine: simulated.Machine, gpu: int = 0) -> list:
    return [device["profile"] for device in machine.show()["gpus"][gpu]["mig"]["devices"]]


def uuids(machine: simulated.Machine, gpu: int = 0) -> set:
    return {device["uuid"] for device in machine.show()["gpus"][gpu]["mig"]["devices"]}


def test_instances_are_made_by_number_name_and_place(machine):
    one = machine("a100-80gb-x4")
    one.smi("-mig", "ENABLED")
    said = one.smi("mig", "-cgi", "9:0,MIG 2g.20gb,19:6", "-C", "-i", "1").splitlines()
    assert said[0] == "Successfully created GPU instance ID  1 on GPU  1 using profile MIG 3g.40gb (ID  9)"
    assert said[1] == (
        "Successfully created compute instance ID  0 on GPU  1 GPU instance ID  1 using profile "
        "MIG 3g.40gb (ID  2)"
    )
    assert sorted(layout(one, 1)) == ["1g.10gb", "2g.20gb", "3g.40gb"]
    assert layout(one, 0) == []
    assert "0:4 " in one.smi("mig", "-lgi", "-i", "1")
    refused = one.smi("mig", "-cgi", "0", "-i", "1", ok=False)
    assert "using profile 0: Insufficient Resources" in refused
    assert "Failed to create GPU instances: Insufficient Resources" in refused
    assert "Invalid Argument" in one.smi("mig", "-cgi", "1g.5gb", "-i", "1", ok=False)


def test_instances_are_destroyed_by_number(machine):
    one = machine("a100-80gb-x4")
    one.smi("-i", "0", "-mig", "1")
    one.smi("mig", "-cgi", "9,9", "-C", "-i", "0")
    kept = uuids(one)
    assert "In use by another client" in one.smi("mig", "-dgi", "-gi", "1", ok=False)
    said = one.smi("mig", "-dci", "-ci", "0", "-gi", "1")
    assert said == "Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  1\n"
    assert one.smi("mig", "-dgi", "-gi", "1") == "Successfully destroyed GPU instance ID  1 from GPU  0\n"
    assert uuids(one) < kept, "the other one keeps its UUID"
    assert "No GPU instances found" in one.smi("mig", "-dgi", "-gi", "1", ok=False)
    one.smi("mig", "-cgi", "14")
    assert one.smi("mig", "-cci", "0,0", "-gi", "4").count("MIG 1c.2g.20gb") == 2
    one.smi("mig", "-dci")
    one.smi("mig", "-dgi")
    assert "No compute instances found" in one.smi("mig", "-lci", ok=False)


def test_an_instance_in_use_stays(machine):
    one = machine("h100")
    one.smi("-mig", "1")
    one.smi("mig", "-cgi", "19", "-C")
    one.occupy("--gpu", "0:0", "--memory", "10Mi")
    refused = one.smi("mig", "-dci", ok=False)
    assert "Failed to destroy compute instances: In use by another client" in refused
    assert layout(one) == ["1g.10gb"]


def test_who_has_nvml_open_keeps_an_ampere_gpu_from_changing_its_mode(machine):
    one = machine("a100-40gb")
    with Monitor(one):
        said = one.smi("-mig", "1")
        assert "pending enable state for GPU 00000000:" in said
        assert ":In use by another client\n" in said
        refused = one.smi("--gpu-reset", "-i", "0", ok=False)
        assert "The following GPUs could not be reset:\n  GPU 00000000:" in refused
        assert "1 device is currently being used" in refused
        assert one.show()["gpus"][0]["mig"]["current"] is False
    assert "was successfully reset.\nAll done.\n" in one.smi("-r", "-i", "0")
    assert one.show()["gpus"][0]["mig"]["current"] is True
    hopper = machine("h100")
    with Monitor(hopper):
        assert "Enabled MIG Mode" in hopper.smi("-mig", "1")


def test_a_gpu_passed_through_is_not_reset(machine):
    one = machine("a100-passthrough")
    assert "Reboot the system or try nvidia-smi --gpu-reset" in one.smi("-i", "0", "-mig", "1")
    assert "is not supported." in one.smi("-r", "-i", "0", ok=False)


def test_a_reset_takes_all_instances(machine):
    one = machine("a100-40gb-mig")
    assert layout(one)
    one.smi("-r", "-i", "0")
    mig = one.show()["gpus"][0]["mig"]
    assert (mig["current"], mig["devices"]) == (True, [])


def test_a_reboot_keeps_the_mode_of_ampere_alone(machine):
    for name, kept in (("a100-80gb-x4", True), ("h100", False), ("b200", False)):
        one = machine(name)
        one.smi("-mig", "1")
        one.smi("mig", "-cgi", "9", "-C")
        one.sim("reset", "--reboot")
        mig = one.show()["gpus"][0]["mig"]
        assert (mig["current"], mig["pending"], mig["devices"]) == (kept, kept, []), name


def test_engines_limit_instances(machine):
    one = machine("rtx-pro-6000")
    one.smi("-mig", "1")
    one.smi("mig", "-cgi", "1g.24gb+me.all,1g.24gb-me", "-C", "-i", "0")
    assert "Insufficient Resources" in one.smi("mig", "-cgi", "1g.24gb", "-i", "0", ok=False)
    one.smi("mig", "-cgi", "1g.24gb-me", "-C", "-i", "0")


def test_both_sizes_of_the_h20(machine):
    for name, half in (("h20", "3g.48gb"), ("h20-94gb", "3g.47gb")):
        one = machine(name)
        one.smi("-mig", "1")
        one.smi("mig", "-cgi", "9,19,19,19", "-C")
        assert sorted(layout(one)) == ["1g.12gb"] * 3 + [half], name


def test_a_fault_strikes_the_call_it_is_told_to(machine):
    one = machine("a100-80gb-x4")
    one.smi("-mig", "1")
    one.sim(
        *("fault", "fail", "--function", "nvmlDeviceCreateGpuInstance", "--error", "UNKNOWN"),
        *("--done", "--after", "1", "--times", "1"),
    )
    assert "Unknown Error" in one.smi("mig", "-cgi", "19,19", "-i", "0", ok=False)
    assert one.smi("mig", "-lgi", "-i", "0").count("1g.10gb") == 2, "it was made all the same"
    one.smi("mig", "-cgi", "19", "-i", "0")
    one.sim("fault", "fail", "--function", "gpu-reset", "--error", "UNKNOWN")
    assert "Unknown Error" in one.smi("-r", "-i", "0", ok=False)
