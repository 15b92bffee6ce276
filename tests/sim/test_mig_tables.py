"""The MIG tables in the library are those of tests/data/mig-profiles.yaml."""

import json
import sys

import simulated
import pytest
import yaml

DATA = yaml.safe_load((simulated.ROOT / "tests" / "data" / "mig-profiles.yaml").read_text())
# Figures that are missing there are invented here.
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


@pytest.mark.parametrize("model", MODELS, ids=[model["key"] for model in MODELS])
def test_profiles(machine, tmp_path, model):
    one = machine("none")
    one.file = tmp_path / "machine.yaml"
    one.file.write_text(MACHINE.format(key=model["key"]))
    one.env["TRANCHE_SIM"] = str(one.file)
    out = one.run(sys.executable, "-c", SCRIPT)
    found = json.loads(out)
    assert set(found) == {"MIG " + profile["name"] for profile in model["profiles"]}
    for profile in model["profiles"]:
        ours = found["MIG " + profile["name"]]
        for field, value in ours.items():
            if profile[field] is not None:
                assert value == profile[field], (profile["name"], field)
