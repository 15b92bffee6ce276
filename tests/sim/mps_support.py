"""NVIDIA's Multi-Process Service on a simulated machine: its daemons, and programs that use it."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLIENT = pathlib.Path(__file__).with_name("mps_client.py")


class Program:
    """A CUDA program under control (mps_client.py)."""

    def __init__(self, machine, pipe=None, user=None, **env):
        if pipe is not None:
            env["CUDA_MPS_PIPE_DIRECTORY"] = str(pipe)
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), *([] if user is None else [str(user)])],
            env={**machine.env, **env}, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid

    def say(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def receive(self):
        numbers = [int(word) for word in self.process.stdout.readline().split()]
        assert numbers, f"the program ended: {self.process.wait()}"
        return numbers[0] if len(numbers) == 1 else tuple(numbers)

    def __call__(self, *words):
        self.say(*words)
        return self.receive()

    def joined(self):
        """The same, with a context."""
        assert (self("init"), self("context")) == (0, 0)
        return self

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Mps:
    """Daemons and clients of one machine."""

    def __init__(self, machine):
        self.machine = machine
        # A socket's path has 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mps-", dir="/tmp"))
        self.folder.chmod(0o755)
        # Other users take part.
        machine.env["TRANCHE_SIM_STATE"] = str(self.folder / "state")
        self.pipe = self.folder / "pipe"
        self.programs = []

    def control(self, *arguments, commands="", pipe=None, log=None, **env):
        env = {**self.machine.env, "CUDA_MPS_PIPE_DIRECTORY": str(pipe or self.pipe),
               "CUDA_MPS_LOG_DIRECTORY": str(log or self.folder / "log"), **env}
        return subprocess.run([str(self.machine.control), *arguments], env=env, input=commands, text=True,
                              capture_output=True, timeout=60)

    def start(self, *arguments, **env):
        done = self.control("-d", *arguments, **env)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return self

    def ask(self, commands, pipe=None):
        done = self.control(commands=commands, pipe=pipe)
        assert (done.returncode, done.stderr) == (0, ""), commands
        return done.stdout

    def refused(self, commands, pipe=None):
        done = self.control(commands=commands, pipe=pipe)
        assert done.returncode == 1, commands
        return done.stderr

    def program(self, pipe=None, **env):
        self.programs.append(Program(self.machine, pipe or self.pipe, **env))
        return self.programs[-1]

    def server(self):
        [server] = self.ask("get_server_list").split()
        return int(server)

    def daemon(self, pipe=None):
        return int((pathlib.Path(pipe or self.pipe) / "nvidia-cuda-mps-control.pid").read_text())

    def log(self, name):
        return (self.folder / "log" / f"{name}.log").read_text()

    def await_line(self, name, text):
        """Waits until the log has the line: some things cannot be observed otherwise."""
        patience = time.monotonic() + 60
        while not re.search(text, self.log(name)):
            assert time.monotonic() < patience, f"{text} never came:\n{self.log(name)}"
            os.sched_yield()

    def close(self):
        for program in self.programs:
            program.process.kill()
            program.end() if not program.process.stdin.closed else program.process.wait()
        # Folders may vanish during the walk: ending programs remove theirs.
        for folder, _, files in os.walk(self.folder):
            if "nvidia-cuda-mps-control.pid" not in files:
                continue
            try:
                pid = int((pathlib.Path(folder) / "nvidia-cuda-mps-control.pid").read_text())
                os.kill(pid, signal.SIGTERM)
            except (ProcessLookupError, FileNotFoundError):
                pass
        shutil.rmtree(self.folder, ignore_errors=True)
