"""MIG strategies beyond the plain ones: compute instances smaller than their GPU instance."""

import json

import pytest
import yaml

from node import GPU, Node, config_map
from test_cdi import cdi_agent, spec_file
from test_health import MIXED, first_xid
from test_labels import once as feature_labels

ENGINES = {  # of an RTX PRO 6000: what the driver calls the profile, and the resource
    "1g.24gb+me.all": "mig-1g.24gb.me.all",
    "1g.24gb+gfx": "mig-1g.24gb.gfx",
    "1g.24gb-me": "mig-1g.24gb-me",
    "1g.24gb+me": "mig-1g.24gb.me",
    "2g.48gb-me": "mig-2g.48gb-me",
    "2g.48gb+gfx": "mig-2g.48gb.gfx",
}
ONE, TWO, WHOLE = "nvidia.com/mig-1c.3g.20gb", "nvidia.com/mig-2c.3g.20gb", "nvidia.com/mig-1g.5gb"
GI_MIB = 20096  # of 3g.20gb


def cut(here: Node, gpu: int, *profiles: str) -> None:
    here.sim("mig", "enable", "--gpu", gpu)
    here.sim("reset", "--gpu", gpu)
    for profile in profiles:
        here.sim("mig", "create", "--gpu", gpu, "--profile", profile)


def a100(node, *instances: list) -> Node:
    """An A100-40GB in MIG mode: each a GPU instance, by its profile and the sizes of its compute
    instances."""
    here = node("a100-40gb")
    here.sim("mig", "enable")
    here.sim("reset")
    for profile, *compute in instances:
        sizes = [word for size in compute for word in ("--compute", size)]
        here.sim("mig", "create", "--profile", profile, *sizes)
    here.sim("root", here.host, "--driver-root", here.driver_root)
    return here


def device(here: Node, profile: str) -> dict:
    [one] = [one for one in here.gpus()[0]["mig"]["devices"] if one["profile"] == profile]
    return one


def capabilities(here: Node, one: dict) -> list:
    """Of its GPU instance, then its own."""
    lines = (line.split() for line in (here.host / "proc/driver/nvidia-caps/mig-minors").open())
    minors = dict(lines)
    gi = f"gpu0/gi{one['gpuInstance']}"
    keys = (f"{gi}/access", f"{gi}/ci{one['computeInstance']}/access")
    return [f"/dev/nvidia-caps/nvidia-cap{minors[key]}" for key in keys]


def limits_of(here: Node, answer: dict) -> dict:
    [tenant] = [one["container_path"] for one in answer["mounts"] if one["container_path"].startswith("/run/tranche/")]
    [promise] = here.promises()[tenant.removeprefix("/run/tranche/")]["devices"]
    return promise


@pytest.mark.difference("devices-small-compute-instance")
def test_compute_instances_of_one_gpu_instance_are_served(node):
    here = a100(node, ["3g.20gb", 1, 2], ["1g.5gb"])
    here.agent(MIXED, "--pass-device-specs")
    for resource in (ONE, TWO, WHOLE):
        here.kubelet.wait(resource, capacity=1, allocatable=1)
    assert GPU not in here.kubelet.node()
    one, two = device(here, "1c.3g.20gb"), device(here, "2c.3g.20gb")
    assert one["gpuInstance"] == two["gpuInstance"]
    for resource, instance in ((ONE, one), (TWO, two)):
        answer = here.kubelet.allocate(resource, [instance["uuid"]])
        assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": instance["uuid"]}
        paths = [node["container_path"] for node in answer["devices"]]
        assert paths[-3:] == ["/dev/nvidia0", *capabilities(here, instance)]


def test_compute_instances_have_cdi_names_with_both_capability_nodes(node):
    here = a100(node, ["3g.20gb", 1, 2])
    cdi_agent(here, MIXED)
    here.kubelet.wait(ONE, allocatable=1)
    devices = {one["name"]: one["containerEdits"] for one in json.loads(spec_file(here).read_text())["devices"]}
    for profile in ("1c.3g.20gb", "2c.3g.20gb"):
        instance = device(here, profile)
        paths = [node["path"] for node in devices[instance["uuid"]]["deviceNodes"]]
        assert "/dev/nvidia0" in paths
        assert paths[-2:] == capabilities(here, instance)


def test_an_xid_of_a_gpu_instance_is_all_its_compute_instances(node):
    here = a100(node, ["3g.20gb", 1, 2], ["1g.5gb"])
    here.agent(MIXED)
    for resource in (TWO, WHOLE):
        here.kubelet.wait(resource, allocatable=1)
    one = device(here, "1c.3g.20gb")
    of_it = ("--gpu-instance", one["gpuInstance"])
    first_xid(here, 0, 94, ONE, *of_it, "--compute-instance", one["computeInstance"], allocatable=0)
    assert here.kubelet.node() == {ONE: 0, TWO: 1, WHOLE: 1}
    here.sim("xid", "--gpu", 0, "--xid", 94, *of_it)
    here.kubelet.wait(TWO, allocatable=0)
    assert here.kubelet.node() == {ONE: 0, TWO: 0, WHOLE: 1}


def test_single_takes_compute_instances_of_one_kind(node):
    here = a100(node, ["3g.20gb", 1, 1, 1])
    agent = here.agent("--mig-strategy=single", "--machine-interval=50ms")
    here.kubelet.wait(GPU, allocatable=3)
    # With another kind, strategy single does not fit: nothing more is given out.
    here.sim("mig", "create", "--profile", "3g.20gb", "--compute", 2)
    agent.wait_log(r"more than one MIG device type present on node \(.c.3g.20gb and .c.3g.20gb\)")
    here.kubelet.wait(GPU, allocatable=0)


def test_a_compute_instance_is_held_to_its_slices_of_the_memory(node, tmp_path):
    library = tmp_path / "libtranche-limit.so"
    library.write_bytes(b"\x7fELF of this release")
    here = a100(node, ["3g.20gb", 1, 2], ["1g.5gb"])
    here.agent(f"--limit-library={library}", MIXED, config={"tranche": {"limits": {"enforcement": "strict"}}})
    promised = {}
    for resource, profile in ((ONE, "1c.3g.20gb"), (TWO, "2c.3g.20gb"), (WHOLE, "1g.5gb")):
        here.kubelet.wait(resource, allocatable=1)
        answer = here.kubelet.allocate(resource, [device(here, profile)["uuid"]])
        promised[resource] = limits_of(here, answer)
    assert promised[ONE]["memoryBytes"] == GI_MIB // 3 << 20
    assert promised[TWO]["memoryBytes"] == GI_MIB * 2 // 3 << 20
    assert "memoryBy" not in promised[ONE]
    # The hardware separates a GPU instance from others.
    assert "memoryBytes" not in promised[WHOLE]
    assert promised[WHOLE]["memoryBy"] == "mig"


@pytest.mark.difference("devices-mig-beside")
def test_a_gpu_in_mig_mode_is_told_of_where_no_strategy_serves_it(node):
    here = a100(node, ["3g.20gb"])
    agent = here.agent(config={"flags": {"migStrategy": "none"}})
    agent.wait_log("GPU 0 in MIG mode, advertised whole by migStrategy none: .*; set migStrategy to mixed")
    here.kubelet.wait(GPU, allocatable=1)
    here.write({"flags": {"migStrategy": "mixed"}})
    here.kubelet.wait("nvidia.com/mig-3g.20gb", allocatable=1)
    assert agent.log.count("in MIG mode, advertised whole") == 1


def test_names_of_profiles_by_their_engines(node):
    here = node("rtx-pro-6000")
    cut(here, 0, "1g.24gb+me.all", "1g.24gb-me", "2g.48gb-me")
    cut(here, 1, "1g.24gb+gfx", "1g.24gb+me", "2g.48gb+gfx")
    # One that is cut further has both.
    here.sim("mig", "destroy", "--gpu", 0, "--gpu-instance", device(here, "2g.48gb-me")["gpuInstance"])
    here.sim("mig", "create", "--gpu", 0, "--profile", "2g.48gb-me", "--compute", 1, "--compute", 1)
    here.sim("root", here.host, "--driver-root", here.driver_root)
    agent = here.agent(MIXED)
    wanted = {f"nvidia.com/{name}": 1 for profile, name in ENGINES.items() if profile != "2g.48gb-me"}
    wanted["nvidia.com/mig-1c.2g.48gb-me"] = 2
    for resource, count in wanted.items():
        here.kubelet.wait(resource, allocatable=count)
    assert here.kubelet.node() == wanted
    labels = feature_labels(here, MIXED)
    model = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"
    for resource, count in wanted.items():
        assert labels[f"{resource}.product"] == f"{model}-MIG-{resource.removeprefix('nvidia.com/mig-')}"
        assert labels[f"{resource}.count"] == str(count)
    assert "left out" not in agent.log


@pytest.mark.parametrize("layout", ["all-1g.10gb", "all-balanced", "mixed-workload"])
def test_layouts_of_the_platform(node, layout):
    """As in tests/data/scenarios/platform/mig-parted-config.yaml, on four A100-80GB."""
    here = node("a100-80gb-x4")
    text = config_map("platform/mig-parted-config.yaml")["config.yaml"]
    wanted: dict = {}
    for entry in yaml.safe_load(text)["mig-configs"][layout]:
        for gpu in range(4) if entry["devices"] == "all" else entry["devices"]:
            devices = entry.get("mig-devices", {})
            if entry["mig-enabled"]:
                cut(here, gpu, *(name for name, count in devices.items() for _ in range(count)))
            for name, count in devices.items() or [(None, 1)]:
                resource = f"nvidia.com/mig-{name}" if name else GPU
                wanted[resource] = wanted.get(resource, 0) + count
    here.sim("root", here.host, "--driver-root", here.driver_root)
    here.agent(MIXED)
    for resource, count in wanted.items():
        here.kubelet.wait(resource, capacity=count, allocatable=count)
    assert here.kubelet.node() == wanted
    labels = feature_labels(here, MIXED)
    counts = {name: count for name, count in wanted.items() if name != GPU}
    assert {name: int(labels[f"{name}.count"]) for name in counts} == counts
    assert labels["nvidia.com/gpu.replicas"] == ("1" if GPU in wanted else "0")


@pytest.mark.parametrize("machine", ["h20", "h20-94gb"])
@pytest.mark.parametrize("renamed", [False, True], ids=["same-name", "renamed"])
def test_an_h20_in_instances_that_are_shared(node, machine, renamed):
    """The rollout's next card: MIG first, then time-slicing on a profile."""
    here = node(machine)
    cut(here, 0, *["1g.12gb"] * 7)
    entry = {"name": "nvidia.com/mig-1g.12gb", "replicas": 2}
    slicing = {"renameByDefault": renamed, "failRequestsGreaterThanOne": True, "resources": [entry]}
    here.write({"version": "v1", "flags": {"migStrategy": "mixed"}, "sharing": {"timeSlicing": slicing}})
    here.agent(f"--config-file={here.config}")
    resource = "nvidia.com/mig-1g.12gb" + (".shared" if renamed else "")
    here.kubelet.wait(resource, capacity=14, allocatable=14)
    assert here.kubelet.node() == {resource: 14}
    instances = here.gpus()[0]["mig"]["devices"]
    ids = here.kubelet.ids(resource)
    assert sorted(ids) == sorted(f"{one['uuid']}::{number}" for one in instances for number in (0, 1))
    answer = here.kubelet.allocate(resource, [ids[3]])
    assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": ids[3].split("::")[0]}
    assert "maximum request size for shared resources is 1; found 2" in here.kubelet.refusal(resource, ids[:2])
    labels = feature_labels(here, f"--config-file={here.config}")
    prefix = "nvidia.com/mig-1g.12gb"
    told = {key: labels[f"{prefix}.{key}"] for key in ("product", "count", "replicas", "sharing-strategy")}
    assert told == {
        "product": "NVIDIA-H20-MIG-1g.12gb" + ("" if renamed else "-SHARED"),
        "count": "7",
        "replicas": "2",
        "sharing-strategy": "time-slicing",
    }
    # A fault of one instance does not affect its neighbours.
    sick = instances[2]
    first_xid(here, 0, 94, resource, "--gpu-instance", sick["gpuInstance"], allocatable=12)
    assert set(here.kubelet.ids(resource, healthy=False)) == {f"{sick['uuid']}::{number}" for number in (0, 1)}


def test_time_slicing_for_a_name_of_another_driver_is_told(node):
    """3g.47gb and 3g.48gb are the same profile; resources have the name by the present driver."""
    here = node("h20")
    cut(here, 0, "3g.48gb")
    entry = {"name": "nvidia.com/mig-3g.47gb", "replicas": 2}
    agent = here.agent(MIXED, config={"sharing": {"timeSlicing": {"resources": [entry]}}})
    here.kubelet.wait("nvidia.com/mig-3g.48gb", allocatable=1)
    agent.wait_log("sharing of nvidia.com/mig-3g.47gb .*nvidia.com/mig-3g.48gb")


def test_a_gh200_is_an_h100_with_its_own_profiles(node):
    """The H100 next to a Grace processor: its name, its memory and its places in the tables."""
    here = node("gh200")
    labels = feature_labels(here)
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-GH200-480GB"
    assert labels["nvidia.com/gpu.memory"] == "97871"
    assert labels["nvidia.com/mig.capable"] == "true"
    cut(here, 0, "3g.48gb", "2g.24gb", "1g.24gb")
    here.sim("root", here.host, "--driver-root", here.driver_root)
    here.agent("--mig-strategy=mixed")
    for profile in ("3g.48gb", "2g.24gb", "1g.24gb"):
        here.kubelet.wait(f"nvidia.com/mig-{profile}", allocatable=1)
        [one] = here.kubelet.devices(f"nvidia.com/mig-{profile}").values()
        assert one["numa_nodes"] == [0]
