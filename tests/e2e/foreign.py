"""Another device plugin on the node (lab/plugin): it handles its socket as NVIDIA's does."""

import select
import subprocess

from node import Node
from programs import BUILD, DEADLINE, clean_environment

LAB_PLUGIN = BUILD / "bin" / "tranche-lab-plugin"


class ForeignPlugin:
    """Has served and tried to register when it is made; ended by end(), or with its `with`."""

    def __init__(self, here: Node, ids: list, endpoint: str = "nvidia-gpu.sock", **options: str):
        flags = [f"--folder={here.kubelet.socket_folder}", f"--endpoint={endpoint}"]
        flags += [f"--{name}={value}" for name, value in options.items()]
        flags += [f"--id={one}" for one in ids]
        self._popen = subprocess.Popen(
            [LAB_PLUGIN, *(part for flag in flags for part in flag.split("=", 1))],
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert select.select([self._popen.stdout], [], [], DEADLINE)[0], "it does not register"
        self.said = self._popen.stdout.readline().decode().strip()

    def send_list(self) -> None:
        self._popen.stdin.write(b"\n")
        self._popen.stdin.flush()

    def end(self) -> None:
        if not self._popen.stdin.closed:
            self._popen.stdin.close()
        self._popen.wait(timeout=DEADLINE)
        self._popen.stdout.close()

    def __enter__(self) -> "ForeignPlugin":
        return self

    def __exit__(self, *_) -> None:
        self.end()
