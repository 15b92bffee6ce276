"""Allocate over kubelet's socket: what a container receives under every strategy, and refusals.

One agent for the whole table: the strategies are settings of the configuration file, and every row
also changes the replicas, so that the device list shows when it is in force."""

import itertools
import json
import re

import pytest

from node import GPU, Node, sharing

MOUNTS = "/var/run/nvidia-container-devices"
VENDOR = "k8s.device-plugin.nvidia.com"
CONTROL = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"]
CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"


def make_node(path: str, here: Node) -> None:
    """A character device, if `path` exists on the host, with or without the right to mknod."""
    for root in (here.host, here.host / here.driver_root.lstrip("/")):
        node = root / path.lstrip("/")
        node.parent.mkdir(parents=True, exist_ok=True)
        if not node.is_char_device():
            node.unlink(missing_ok=True)
            node.symlink_to("/dev/null")


def mount(name: str) -> dict:
    return {"container_path": f"{MOUNTS}/{name}", "host_path": "/dev/null", "read_only": False}


def spec(path: str, root: str = "") -> dict:
    return {"container_path": path, "host_path": root + path, "permissions": "rw"}


class Served:
    """A node whose agent's configuration follows the rows of a table."""

    def __init__(self, machine: str, *arguments: str):
        self.node = Node(machine)
        for path in (*CONTROL, CHANNEL):
            make_node(path, self.node)
        driver = self.node.driver_root
        self.node.write({})
        self.agent = self.node.agent(
            f"--config-file={self.node.config}",
            f"--driver-root={driver}",
            f"--driver-root-ctr-path={self.node.host}{driver}",
            *arguments,
        )
        self._replicas = itertools.count(2)
        self.uuids = self.node.uuids()

    def configure(self, plugin: dict, flags: dict = {}, **top) -> None:
        config = json.loads(sharing(next(self._replicas)))
        [entry] = config["sharing"]["timeSlicing"]["resources"]
        config["flags"] = {**flags, "plugin": plugin}
        self.node.write({**config, **top})
        total = entry["replicas"] * len(self.uuids)
        self.node.kubelet.wait(GPU, allocatable=total)

    def allocate(self, *devices: str) -> dict:
        """devices: "3::1" is the second tranche of GPU 3."""
        ids = []
        for device in devices:
            gpu, replica = device.split("::")
            ids.append(f"{self.uuids[int(gpu)]}::{replica}")
        return self.node.kubelet.allocate(GPU, ids)


@pytest.fixture(scope="module")
def served():
    one = Served("a100-40gb-x4")
    try:
        yield one
    finally:
        one.node.close()


def cdi(*names: str) -> list:
    return [f"{VENDOR}/{name}" for name in names]


# What the container gets for tranches of GPU 3, again 3, and 1; {3} is the UUID of GPU 3.
ROWS = [
    ("envvar", {"deviceListStrategy": "envvar"}, {"envs": "{3},{1}"}),
    ("a-list-of-one", {"deviceListStrategy": ["envvar"]}, {"envs": "{3},{1}"}),
    ("by-index", {"deviceIDStrategy": "index"}, {"envs": "3,1"}),
    (
        "volume-mounts",
        {"deviceListStrategy": ["volume-mounts"]},
        {"envs": MOUNTS, "mounts": ["{3}", "{1}"]},
    ),
    (
        "volume-mounts-by-index",
        {"deviceListStrategy": ["volume-mounts"], "deviceIDStrategy": "index"},
        {"envs": MOUNTS, "mounts": ["3", "1"]},
    ),
    (
        "envvar-and-volume-mounts",
        {"deviceListStrategy": ["envvar", "volume-mounts"]},
        {"envs": MOUNTS, "mounts": ["{3}", "{1}"]},
    ),
    (
        "volume-mounts-and-envvar",
        {"deviceListStrategy": ["volume-mounts", "envvar"]},
        {"envs": MOUNTS, "mounts": ["{3}", "{1}"]},
    ),
    (
        "cdi-annotations",
        {"deviceListStrategy": ["cdi-annotations"]},
        {"annotation": "cdi.k8s.io/", "names": ["gpu={3}", "gpu={1}"]},
    ),
    (
        "cdi-annotations-own-prefix",
        {"deviceListStrategy": ["cdi-annotations"], "cdiAnnotationPrefix": "my.io/"},
        {"annotation": "my.io/", "names": ["gpu={3}", "gpu={1}"]},
    ),
    (
        "cdi-cri",
        {"deviceListStrategy": ["cdi-cri"]},
        {"cdi": ["gpu={3}", "gpu={1}"]},
    ),
    (
        "cdi-cri-by-index",
        {"deviceListStrategy": ["cdi-cri"], "deviceIDStrategy": "index"},
        {"cdi": ["gpu=3", "gpu=1"]},
    ),
    (
        "both-cdi",
        {"deviceListStrategy": ["cdi-annotations", "cdi-cri"]},
        {"annotation": "cdi.k8s.io/", "names": ["gpu={3}", "gpu={1}"], "cdi": ["gpu={3}", "gpu={1}"]},
    ),
    (
        "all-four",
        {"deviceListStrategy": ["envvar", "volume-mounts", "cdi-annotations", "cdi-cri"]},
        {
            "envs": MOUNTS,
            "mounts": ["{3}", "{1}"],
            "annotation": "cdi.k8s.io/",
            "names": ["gpu={3}", "gpu={1}"],
            "cdi": ["gpu={3}", "gpu={1}"],
        },
    ),
    (
        "device-specs",
        {"passDeviceSpecs": True},
        {"envs": "{3},{1}", "devices": [*CONTROL, "/dev/nvidia3", "/dev/nvidia1"]},
    ),
    (
        "device-specs-and-envvar-and-cdi",
        {"passDeviceSpecs": True, "deviceListStrategy": ["envvar", "cdi-cri"]},
        {
            "envs": "{3},{1}",
            "cdi": ["gpu={3}", "gpu={1}"],
            "devices": [*CONTROL, "/dev/nvidia3", "/dev/nvidia1"],
        },
    ),
    (
        "device-specs-mean-nothing-to-cdi-alone",
        {"passDeviceSpecs": True, "deviceListStrategy": ["cdi-cri"]},
        {"cdi": ["gpu={3}", "gpu={1}"]},
    ),
]


@pytest.mark.parametrize("plugin, expected", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
@pytest.mark.difference("devices-nodes-once")
def test_strategies(served, plugin, expected):
    served.configure(plugin)
    answer = served.allocate("3::1", "3::0", "1::0")

    def fill(text: str) -> str:
        return text.format(*served.uuids)

    envs = {"NVIDIA_VISIBLE_DEVICES": fill(expected["envs"])} if "envs" in expected else {}
    assert answer["envs"] == envs
    assert answer["mounts"] == [mount(fill(name)) for name in expected.get("mounts", [])]
    root = served.node.driver_root
    assert answer["devices"] == [spec(path, root) for path in expected.get("devices", [])]
    assert answer["cdi_devices"] == cdi(*map(fill, expected.get("cdi", [])))
    if "annotation" not in expected:
        assert answer["annotations"] == {}
        return
    [(key, value)] = answer["annotations"].items()
    uuid4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(re.escape(expected["annotation"]) + "nvidia-device-plugin_" + uuid4, key)
    assert value.split(",") == cdi(*map(fill, expected["names"]))
    [again] = served.allocate("3::1")["annotations"]
    assert again != key


def test_imex_channel_under_every_strategy(served):
    every = ["envvar", "volume-mounts", "cdi-cri"]
    served.configure({"deviceListStrategy": every, "passDeviceSpecs": True}, imex={"channelIDs": [0]})
    answer = served.allocate("2::0")
    [uuid] = served.uuids[2:3]
    assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": MOUNTS, "NVIDIA_IMEX_CHANNELS": "0"}
    assert answer["mounts"] == [mount(uuid), mount("imex/0")]
    assert answer["cdi_devices"] == cdi(f"gpu={uuid}", "imex-channel=0")
    assert answer["devices"][-1]["container_path"] == CHANNEL
    served.configure({})
    assert served.allocate("2::0")["envs"] == {"NVIDIA_VISIBLE_DEVICES": uuid}


@pytest.mark.parametrize("strategy", ["envvar", "cdi-cri"])
def test_gds_gdrcopy_mofed_set_their_variables(served, strategy):
    on = {"gdsEnabled": True, "gdrcopyEnabled": True, "mofedEnabled": True}
    served.configure({"deviceListStrategy": strategy}, on)
    answer = served.allocate("0::0")
    enabled = {"NVIDIA_GDS", "NVIDIA_GDRCOPY", "NVIDIA_MOFED"}
    assert {k for k, v in answer["envs"].items() if v == "enabled"} == enabled
    # None of their devices exists, so their CDI classes are not named.
    names = cdi(f"gpu={served.uuids[0]}") if strategy == "cdi-cri" else []
    assert answer["cdi_devices"] == names


@pytest.mark.difference("devices-odd-requests")
def test_refusals(served):
    served.configure({})
    uuid = served.uuids[0]
    prefix = 'invalid allocation request for "nvidia.com/gpu": invalid request: '
    for ids, why in (
        (["GPU-0"], "unknown device: GPU-0"),
        ([uuid], f"unknown device: {uuid}"),
        ([f"{uuid}::999"], f"unknown device: {uuid}::999"),
        ([f"{uuid}::0", f"{uuid}::0"], f"duplicate device: {uuid}::0"),
        ([f"{uuid}::0", "x\n"], "unknown device: x\n"),
        ([], "no device"),
    ):
        assert prefix + why in served.node.kubelet.refusal(GPU, ids)
    assert served.allocate("0::0")["envs"]["NVIDIA_VISIBLE_DEVICES"] == uuid


def test_more_than_one_shared_gpu_is_refused_when_told_so(node):
    here = node("a100-40gb-x4")
    here.agent(config=sharing(2, failRequestsGreaterThanOne=True))
    here.kubelet.wait(GPU, allocatable=8)
    ids = here.kubelet.ids(GPU)
    assert here.kubelet.refusal(GPU, ids[:3]).endswith(
        'invalid allocation request for "nvidia.com/gpu": invalid request: '
        "maximum request size for shared resources is 1; found 3"
    )
    assert here.kubelet.allocate(GPU, ids[:1])
    # It applies to shared ones: any number of whole GPUs may be asked for.
    here.write(sharing(1, failRequestsGreaterThanOne=True))
    here.kubelet.wait(GPU, allocatable=4)
    assert here.kubelet.admit("four", {GPU: 4})["phase"] == "Running"


def test_mig_instances_bring_their_nodes(node):
    here = node("a100-40gb-mig")
    for path in CONTROL:
        make_node(path, here)
    here.agent("--mig-strategy=mixed", "--pass-device-specs", "--device-id-strategy=index")
    resource = "nvidia.com/mig-3g.20gb"
    here.kubelet.wait(resource, allocatable=1)
    [instance] = [
        (slot, one)
        for slot, one in enumerate(here.gpus()[0]["mig"]["devices"])
        if one["profile"] == "3g.20gb"
    ]
    slot, one = instance
    answer = here.kubelet.allocate(resource, [one["uuid"]])
    assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": f"0:{slot}"}
    minors = dict(
        line.split() for line in (here.host / "proc/driver/nvidia-caps/mig-minors").open()
    )
    gi = minors[f"gpu0/gi{one['gpuInstance']}/access"]
    ci = minors[f"gpu0/gi{one['gpuInstance']}/ci{one['computeInstance']}/access"]
    assert [device["container_path"] for device in answer["devices"]] == [
        *CONTROL,
        "/dev/nvidia0",
        f"/dev/nvidia-caps/nvidia-cap{gi}",
        f"/dev/nvidia-caps/nvidia-cap{ci}",
    ]


def test_single_strategy_gives_instances_as_gpus(node):
    here = node("a100-40gb")
    here.sim("mig", "enable")
    here.sim("reset")
    for _ in range(3):
        here.sim("mig", "create", "--profile", "2g.10gb")
    here.agent(config={"flags": {"migStrategy": "single"}, **json.loads(sharing(2))})
    here.kubelet.wait(GPU, allocatable=6)
    instances = [one["uuid"] for one in here.gpus()[0]["mig"]["devices"]]
    assert here.kubelet.ids(GPU) == sorted(f"{uuid}::{i}" for uuid in instances for i in (0, 1))
    answer = here.kubelet.allocate(GPU, [f"{instances[1]}::1"])
    assert answer["envs"] == {"NVIDIA_VISIBLE_DEVICES": instances[1]}


def test_settings_by_environment_and_by_flag(node):
    here = node("l20")
    [uuid] = here.uuids()
    here.agent(
        "--device-id-strategy=uuid",
        env={"DEVICE_LIST_STRATEGY": "volume-mounts", "DEVICE_ID_STRATEGY": "index"},
        config={"flags": {"plugin": {"deviceListStrategy": "envvar"}}},
    )
    here.kubelet.wait(GPU, allocatable=1)
    assert here.kubelet.allocate(GPU, [uuid])["mounts"] == [mount(uuid)]


def test_a_missing_imex_channel(node):
    here = node("l20")
    log = here.refused("--imex-channel-ids=0", "--imex-required")
    chain = "error getting plugins: error querying IMEX channels: requested IMEX channel channel0 does not exist: "
    assert f"error starting plugins: {chain}IMEX channel 0 is missing" in log
    agent = here.agent("--imex-channel-ids=0")
    here.kubelet.wait(GPU, allocatable=1)
    agent.wait_log("IMEX channel 0 is missing.*; containers get none")
    answer = here.kubelet.allocate(GPU, here.uuids())
    assert "NVIDIA_IMEX_CHANNELS" not in answer["envs"]


def test_an_imex_channel_under_the_drivers_root_of_the_container(node):
    """NVIDIA's DaemonSet has the host's /dev only there."""
    here = node("l20")
    inside = here.host / here.driver_root.lstrip("/")
    file = inside / CHANNEL.lstrip("/")
    file.parent.mkdir(parents=True)
    file.symlink_to("/dev/null")
    here.agent("--imex-channel-ids=0", "--imex-required", f"--driver-root-ctr-path={inside}")
    here.kubelet.wait(GPU, allocatable=1)
    assert here.kubelet.allocate(GPU, here.uuids())["envs"]["NVIDIA_IMEX_CHANNELS"] == "0"
