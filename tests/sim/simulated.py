"""A simulated machine: the built programs on a state of their own."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()


class Machine:
    """A machine with a state of its own; runs tranche-sim and nvidia-smi on it."""

    def __init__(self, name: str, folder: pathlib.Path):
        self.file = ROOT / "sim" / "machines" / f"{name}.yaml"
        self.folder = folder
        self.library = build_folder() / "sim" / "libnvidia-ml.so.1"
        self.control = self.library.with_name("nvidia-cuda-mps-control")
        self.env = {
            **{k: v for k, v in os.environ.items() if k != "NVIDIA_VISIBLE_DEVICES"},
            "TRANCHE_SIM": str(self.file),
            "TRANCHE_SIM_STATE": str(folder / "state"),
            "LD_LIBRARY_PATH": str(self.library.parent),
        }
        self._running: list[subprocess.Popen] = []

    def run(self, *command: str, env: dict | None = None, ok: bool = True) -> str:
        done = subprocess.run(
            command, env={**self.env, **(env or {})}, capture_output=True, text=True, timeout=60
        )
        if ok:
            assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        else:
            assert done.returncode != 0, f"{command} succeeded\n{done.stdout}"
        return done.stdout + done.stderr

    def sim(self, *arguments: str, ok: bool = True) -> str:
        return self.run(str(build_folder() / "bin" / "tranche-sim"), *arguments, ok=ok)

    def smi(self, *arguments: str, ok: bool = True, env: dict | None = None) -> str:
        return self.run(str(build_folder() / "sim" / "nvidia-smi"), *arguments, ok=ok, env=env)

    def show(self) -> dict:
        return json.loads(self.sim("show", "-o", "json"))

    def occupy(self, *arguments: str) -> subprocess.Popen:
        """Returns once the process holds the GPU."""
        process = subprocess.Popen(
            [str(build_folder() / "bin" / "tranche-sim"), "occupy", "--die-with-parent", *arguments],
            env=self.env,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "holds" in line, line
        return process

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
