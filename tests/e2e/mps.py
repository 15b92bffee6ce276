"""MPS on a node of these tests: the supervisor, the agent, and the calls of NVIDIA's program."""

import json
import os
import pathlib
import shutil
import signal
import sys

from node import SHARED, Node
from programs import Process, wait_until

FAKE = pathlib.Path(__file__).with_name("fake_mps_control.py")
ROOT_ON_HOST = "/run/nvidia/mps"


def entry(name: str, replicas: int, **extra) -> dict:
    return {"name": name, "replicas": replicas, **extra}


def mps(*entries: dict, tranche: dict | None = None, **extra) -> str:
    config = {"version": "v1", "sharing": {"mps": {**extra, "resources": list(entries)}}}
    if tranche is not None:
        config["tranche"] = tranche
    return json.dumps(config)


class Mps:
    """A node's MPS: the daemons' folder, and `program` as nvidia-cuda-mps-control (by default a
    stand-in of these tests)."""

    def __init__(self, node: Node, program: pathlib.Path = FAKE):
        self.node = node
        self.dir = node.dir / "mps"
        self.home = node.dir / "fake"
        self.home.mkdir()
        bin_dir = node.dir / "bin"
        bin_dir.mkdir()
        installed = bin_dir / "nvidia-cuda-mps-control"
        if program == FAKE:
            # Started many times a second: this interpreter, without searching for it and for
            # packages.
            _, text = FAKE.read_text().split("\n", 1)
            installed.write_text(f"#!{sys.executable} -IS\n{text}")
        else:
            shutil.copy(program, installed)
        installed.chmod(0o755)
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
        text = file.read_text() if file.exists() else ""
        whole = text[: text.rfind("\n") + 1]  # another one may be on its way
        return [json.loads(line) for line in whole.splitlines()]

    def told(self, resource: str = SHARED) -> list:
        """One resource's daemon's calls except questions: `-d`, then commands."""
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

    def kill_daemons(self) -> None:
        """They have no parent once their supervisor is gone."""
        for file in self.dir.glob("nvidia.com/*/pipe/nvidia-cuda-mps-control.pid"):
            pid = int(file.read_text())
            command = pathlib.Path(f"/proc/{pid}/cmdline")
            if command.exists() and b"nvidia-cuda-mps-control" in command.read_bytes():
                os.kill(pid, signal.SIGKILL)

    def modes(self) -> set:
        text = self.node.smi("--query-gpu=compute_mode", "--format=csv,noheader")
        return set(text.split())
