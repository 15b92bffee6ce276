"""The MIG tables in the library are those of tests/data/mig-profiles.yaml, and those that
`tranche layout` plans with."""

import json
import subprocess
import sys

import simulated
import pytest
import yaml

DATA = yaml.safe_load((simulated.ROOT / "tests" / "data" / "mig-profiles.yaml").read_text())
# Figures missing there are invented here.
MODELS = DATA["models"]

MACHINE = """
machine: {key}
models:
  m: {{name: Model, compute_capability: "8.0", memory: 400Gi, sm: 100, pci_device: 1, mig: {key}}}
gpus: [{{model: m}}]
"""

SCRIPT = """
import ctypes, json, pynvml as n
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
found = {}
for constant in range(18):
    try:
        p = n.nvmlDeviceGetGpuInstanceProfileInfo(h, constant, version=2)
    except n.NVMLError:
        continue
    count = ctypes.c_uint(32)
    places = (n.c_nvmlGpuInstancePlacement_t * 32)()
    n.nvmlDeviceGetGpuInstancePossiblePlacements(h, p.id, places, ctypes.byref(count))
    found[p.name.decode() if isinstance(p.name, bytes) else p.name] = dict(
        id=p.id, compute_slices=p.sliceCount, memory_mib=p.memorySizeMB, sm=p.multiprocessorCount,
        copy_engines=p.copyEngineCount, decoders=p.decoderCount, encoders=p.encoderCount,
        jpeg=p.jpegCount, ofa=p.ofaCount, max_instances=p.instanceCount,
        placements=[dict(start=q.start, size=q.size) for q in places[:count.value]])
print(json.dumps(found))
"""


# The same figures in the words of `tranche layout list -o json`.
PLANNED = {
    "id": "id", "compute_slices": "computeSlices", "memory_mib": "memoryMiB",
    "sm": "multiprocessors", "copy_engines": "copyEngines", "decoders": "decoders",
    "encoders": "encoders", "jpeg": "jpegEngines", "ofa": "ofaEngines", "max_instances": "atMost",
}


@pytest.fixture(scope="module")
def planned():
    """The models that `tranche layout` knows, by key."""
    program = simulated.build_folder() / "bin" / "tranche"
    done = subprocess.run(
        [program, "layout", "list", "-o", "json"], capture_output=True, text=True, check=True
    )
    return {model["key"]: model for model in json.loads(done.stdout)["models"]}


@pytest.fixture
def profiles_of(machine, tmp_path):
    """The profiles that the simulated library has of a model, by the driver's names."""

    def read(key: str) -> dict:
        one = machine("none")
        one.file = tmp_path / "machine.yaml"
        one.file.write_text(MACHINE.format(key=key))
        one.env["TRANCHE_SIM"] = str(one.file)
        return json.loads(one.run(sys.executable, "-c", SCRIPT))

    return read


@pytest.mark.parametrize("model", MODELS, ids=[model["key"] for model in MODELS])
def test_profiles(profiles_of, planned, model):
    found = profiles_of(model["key"])
    assert set(found) == {"MIG " + profile["name"] for profile in model["profiles"]}
    for profile in model["profiles"]:
        ours = found["MIG " + profile["name"]]
        for field, value in ours.items():
            if profile[field] is not None:
                assert value == profile[field], (profile["name"], field)
    ours = {"MIG " + profile["name"]: profile for profile in planned[model["key"]]["profiles"]}
    assert set(ours) == set(found)
    for name, profile in found.items():
        plan = ours[name]
        for field, word in PLANNED.items():
            # For a profile with an unknown figure the plan has none; the simulated one is invented.
            if word in plan:
                assert profile[field] == plan[word], (name, field)
        starts = [place["start"] for place in profile["placements"]]
        assert starts == plan["starts"], name
        assert {place["size"] for place in profile["placements"]} == {plan["memorySlices"]}, name


def test_every_model_that_is_planned_with_is_simulated(planned):
    assert set(planned) == {model["key"] for model in MODELS}
