"""A node: a folder under /tmp (short: unix socket paths are), a kubelet stand-in, a simulated
machine, and the programs that run on it."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import yaml

from programs import DEADLINE, LIBRARY, ROOT, TRANCHE, TRANCHE_SIM, Kubelet, Process
from programs import clean_environment

SCENARIOS = ROOT / "tests" / "data" / "scenarios"
GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"


def config_map(path: str) -> dict:
    """The data of a published ConfigMap: text of a configuration by key."""
    return yaml.safe_load((SCENARIOS / path).read_text())["data"]


def sharing(replicas: int, **extra) -> str:
    """A configuration that shares nvidia.com/gpu; extra: other keys of timeSlicing."""
    entry = {"name": "nvidia.com/gpu", "replicas": replicas}
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {**extra, "resources": [entry]}}})


class Volume:
    """A mounted ConfigMap as kubelet writes it: name -> ..data/name, ..data -> ..<version>."""

    def __init__(self, path: pathlib.Path, data: dict):
        self.path = path
        self._version = 0
        path.mkdir()
        self.put(data)

    def put(self, data: dict) -> None:
        old = os.readlink(self.path / "..data") if self._version else None
        self._version += 1
        fresh = self.path / f"..{self._version}"
        fresh.mkdir()
        for name, text in data.items():
            (fresh / name).write_text(text)
        os.symlink(fresh.name, self.path / "..data_tmp")
        os.rename(self.path / "..data_tmp", self.path / "..data")
        for name in data:
            if not (self.path / name).is_symlink():
                os.symlink(f"..data/{name}", self.path / name)
        for link in self.path.iterdir():
            if not link.name.startswith("..") and link.name not in data:
                link.unlink()
        if old:
            shutil.rmtree(self.path / old)


class Node:
    def __init__(self, machine: str, kubelet: bool = True):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="te-", dir="/tmp"))
        self.config = self.dir / "config.yaml"
        self.state = self.dir / "s"
        self.cdi = self.dir / "cdi"
        self.features = self.dir / "f"
        self.label_file = self.features / "gfd"
        self.host = self.dir / "h"
        self.driver_root = "/run/nvidia/driver"
        self.env = clean_environment(
            TRANCHE_SIM=ROOT / "sim" / "machines" / f"{machine}.yaml",
            TRANCHE_SIM_STATE=self.dir / "sim",
            LD_LIBRARY_PATH=LIBRARY.parent,
        )
        self._processes: list[Process] = []
        self.kubelet: Kubelet | None = None
        try:
            self.sim("root", self.host, "--driver-root", self.driver_root)
            if kubelet:
                self.kubelet = Kubelet(self.dir / "k", self.dir / "kubelet.log")
            else:
                (self.dir / "k" / "device-plugins").mkdir(parents=True)
        except BaseException:
            self.close()
            raise

    # The machine.

    def sim(self, *arguments: object) -> str:
        done = subprocess.run(
            [TRANCHE_SIM, *map(str, arguments)],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == 0, f"tranche-sim {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def smi(self, *arguments: object) -> str:
        done = subprocess.run(
            [LIBRARY.parent / "nvidia-smi", *map(str, arguments)],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == 0, f"nvidia-smi {arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def gpus(self) -> list:
        return json.loads(self.sim("show", "-o", "json"))["gpus"]

    def uuids(self) -> list:
        return [gpu["uuid"] for gpu in self.gpus()]

    # Programs.

    def start(
        self,
        *arguments: object,
        argv0: str = "tranche",
        env: dict | None = None,
        executable: pathlib.Path = TRANCHE,
    ) -> Process:
        """`tranche` under the name argv0."""
        process = Process(
            [argv0, *arguments],
            self.dir / f"log-{len(self._processes)}",
            {**self.env, **{k: str(v) for k, v in (env or {}).items()}},
            executable=executable,
        )
        self._processes.append(process)
        if self.kubelet is not None:
            self.kubelet.watched.append(process)
        return process

    def places(self, labels: str = "false") -> list:
        """The flags that keep an agent inside this node."""
        return [
            f"--kubelet-root={self.dir / 'k'}",
            f"--state-dir={self.state}",
            f"--host-root={self.host}",
            f"--cdi-root={self.cdi}",
            f"--output-file={self.label_file}",
            f"--labels={labels}",
        ]

    def agent(
        self,
        *arguments: object,
        config: str | dict | None = None,
        labels: str = "false",
        env: dict | None = None,
    ) -> Process:
        """An agent; with `config` in a file of its own that write() changes."""
        flags = self.places(labels)
        if config is not None:
            self.write(config)
            flags.append(f"--config-file={self.config}")
        return self.start("agent", *flags, *arguments, env=env)

    def write(self, config: str | dict) -> None:
        """Atomically: a running agent sees one or the other."""
        fresh = self.config.with_suffix(".fresh")
        fresh.write_text(config if isinstance(config, str) else json.dumps(config))
        fresh.replace(self.config)

    def refused(self, *arguments: object, env: dict | None = None, **extra) -> str:
        """The log of an agent that ends with exit code 1."""
        agent = self.agent(*arguments, env=env, **extra)
        if self.kubelet is not None:
            self.kubelet.watched.remove(agent)
        assert agent.wait() == 1, agent.log
        return agent.log

    def labels(self) -> dict:
        """What the label file says; {} without one."""
        try:
            text = self.label_file.read_text()
        except FileNotFoundError:
            return {}
        return dict(line.split("=", 1) for line in text.splitlines())

    def sockets(self) -> set:
        folder = self.dir / "k" / "device-plugins"
        return {one.name for one in folder.iterdir() if one.name.startswith("nvidia-")}

    def promises(self) -> dict:
        """The limits of every tenant (limits/v1), by its id."""
        found = {}
        for file in (self.state / "tenants").glob("*.json"):
            with contextlib.suppress(FileNotFoundError):  # removed since it was listed
                found[file.stem] = json.loads(file.read_text())["limits"]
        return found

    def stored_grants(self) -> list:
        file = self.state / "grants" / "grants.jsonl"
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text().splitlines()]

    def end_programs(self) -> None:
        for process in self._processes:
            process.kill()

    def close(self) -> None:
        self.end_programs()
        for process in self._processes:  # pytest shows it when the test failed
            print(f"-- {' '.join(process.command)}\n{process.output}{process.log}")
        if self.kubelet is not None:
            self.kubelet.close()
        shutil.rmtree(self.dir, ignore_errors=True)
