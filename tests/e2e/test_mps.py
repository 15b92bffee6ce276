"""MPS from the configuration to the container: control daemons, what is offered, what is granted, and
what becomes of it when a configuration changes or a daemon dies."""

import json
import os
import pathlib
import shutil
import signal

import pytest

from node import GPU, SHARED, Node, config_map
from programs import Process, wait_until

FAKE = pathlib.Path(__file__).with_name("fake_mps_control.py")
MPS_CONFIG = config_map("platform/device-plugin-config.yaml")["mps-config"]
ROOT_ON_HOST = "/run/nvidia/mps"


def entry(name: str, replicas: int, **extra) -> dict:
    return {"name": name, "replicas": replicas, **extra}


def mps(*entries: dict, tranche: dict | None = None, **extra) -> str:
    config = {"version": "v1", "sharing": {"mps": {**extra, "resources": list(entries)}}}
    if tranche is not None:
        config["tranche"] = tranche
    return json.dumps(config)


class Mps:
    """What belongs to MPS on a node: the daemons' folder, and the program's stand-in."""

    def __init__(self, node: Node):
        self.node = node
        self.dir = node.dir / "mps"
        self.home = node.dir / "fake"
        self.home.mkdir()
        bin_dir = node.dir / "bin"
        bin_dir.mkdir()
        program = bin_dir / "nvidia-cuda-mps-control"
        shutil.copy(FAKE, program)
        program.chmod(0o755)
        self.env = {
            "PATH": f"{bin_dir}:{os.environ['PATH']}",
            "FAKE_MPS": self.home,
            "CUDA_VISIBLE_DEVICES": "none",  # of whoever started us: no daemon's business
        }

    def supervisor(self, *arguments: object, config: str | None = None) -> Process:
        if config is not None:
            self.node.write(config)
        return self.node.start(
            f"--mps-dir={self.dir}",
            f"--host-root={self.node.host}",
            f"--config-file={self.node.config}",
            "--machine-interval=200ms",
            *arguments,
            argv0="mps-control-daemon",
            env=self.env,
        )

    def agent(self, *arguments: object, **options) -> Process:
        return self.node.agent(
            f"--mps-dir={self.dir}",
            f"--mps-root={ROOT_ON_HOST}",
            f"--config-file={self.node.config}",
            *arguments,
            **options,
        )

    def calls(self) -> list:
        file = self.home / "calls.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]

    def told(self, resource: str = SHARED) -> list:
        """What one resource's daemon was told, but for questions: `-d`, then commands."""
        pipe = str(self.pipe(resource))
        return [
            " ".join(call["args"]) or call["input"]
            for call in self.calls()
            if call["env"]["CUDA_MPS_PIPE_DIRECTORY"] == pipe
            and not call["input"].startswith("get_")
        ]

    def pipe(self, resource: str = SHARED) -> pathlib.Path:
        return self.dir / resource / "pipe"

    def pid(self, resource: str = SHARED) -> int:
        return int((self.pipe(resource) / "nvidia-cuda-mps-control.pid").read_text())

    def is_started(self, resource: str = SHARED) -> bool:
        return (self.dir / resource / ".started").exists()

    def is_ready(self) -> bool:
        return (self.dir / ".ready").exists()

    def wait_ready(self) -> None:
        wait_until(self.is_ready, "every daemon serves")

    def modes(self) -> set:
        text = self.node.smi("--query-gpu=compute_mode", "--format=csv,noheader")
        return set(text.split())


@pytest.fixture
def mps_node(node):
    opened = []

    def open_node(machine: str = "a100-40gb-x4") -> Mps:
        opened.append(Mps(node(machine)))
        return opened[-1]

    yield open_node
    for one in opened:  # daemons are nobody's children once their supervisor is gone
        one.node.end_programs()
        for file in one.dir.glob("nvidia.com/*/pipe/nvidia-cuda-mps-control.pid"):
            pid = int(file.read_text())
            if "nvidia-cuda-mps" in pathlib.Path(f"/proc/{pid}/comm").read_text():
                os.kill(pid, signal.SIGKILL)


def test_the_published_configuration(mps_node):
    here = mps_node()
    agent = here.agent(config=MPS_CONFIG)
    agent.wait_log(f"not advertising {SHARED}: sharing.mps: .*mps-control-daemon")
    supervisor = here.supervisor()
    here.wait_ready()

    # NVIDIA's commands in NVIDIA's order: 40960 MiB / 8, 100 / 8.
    limits = [f"set_default_device_pinned_mem_limit {i} 5120M" for i in range(4)]
    assert here.told() == ["-d", *limits, "set_default_active_thread_percentage 12"]
    [environment] = {json.dumps(call["env"], sort_keys=True) for call in here.calls()}
    assert json.loads(environment) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_MPS_LOG_DIRECTORY": str(here.dir / SHARED / "log"),
        "CUDA_MPS_PIPE_DIRECTORY": str(here.dir / SHARED / "pipe"),
    }
    assert here.modes() == {"Exclusive_Process"}
    assert "Start of gpu.shared" in wait_until(lambda: supervisor.output, "the daemon's log")

    here.node.kubelet.wait(SHARED, capacity=32, allocatable=32)
    uuid = here.node.uuids()[0]
    assert here.node.kubelet.allocate(SHARED, [f"{uuid}::3"]) == {
        "envs": {
            "CUDA_MPS_PIPE_DIRECTORY": f"/mps/{SHARED}/pipe",
            "NVIDIA_VISIBLE_DEVICES": uuid,
        },
        "mounts": [
            {
                "container_path": f"/mps/{SHARED}/pipe",
                "host_path": f"{ROOT_ON_HOST}/{SHARED}/pipe",
                "read_only": False,
            },
            {"container_path": "/dev/shm", "host_path": f"{ROOT_ON_HOST}/shm", "read_only": False},
        ],
        "devices": [],
        "annotations": {},
        "cdi_devices": [],
    }
    assert "maximum request size for shared resources is 1; found 2" in here.node.kubelet.refusal(
        SHARED, [f"{uuid}::0", f"{uuid}::1"]
    )
    assert agent.stop() == 0

    assert supervisor.stop() == 0
    assert here.told()[-1] == "quit"
    assert here.modes() == {"Default"}
    assert not here.is_ready() and not here.is_started()
    assert here.pipe().is_dir() and not (here.dir / SHARED / "log").exists()
