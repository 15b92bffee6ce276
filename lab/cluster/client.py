"""Talks to a supervisor (supervisor.py): starts, signals and runs programs in its namespaces."""

import json
import signal
import socket
import time
from dataclasses import dataclass

from .errors import LabError

ENVIRONMENT = {
    "PATH": "/opt/tranche-lab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class Client:
    def __init__(self, path, what: str, environment: dict | None = None):
        """`what`: whose supervisor it is, for messages."""
        self.path = str(path)
        self.what = what
        self.environment = environment or ENVIRONMENT

    def ask(self, request: dict, timeout: float = 60) -> dict:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout)
            try:
                connection.connect(self.path)
                connection.sendall(json.dumps(request).encode() + b"\n")
                answer = bytearray()
                while chunk := connection.recv(1 << 16):
                    answer += chunk
            except OSError as error:
                raise LabError(f"{self.what} does not answer ({self.path}: {error})") from error
        if not answer:
            raise LabError(f"{self.what} ended while it was asked ({self.path})")
        answer = json.loads(answer)
        if "error" in answer:
            raise LabError(f"{self.what}: {answer['error']}")
        return answer

    def answers(self) -> bool:
        try:
            self.ask({"op": "status"}, timeout=5)
        except LabError:
            return False
        return True

    def start(self, name: str, argv: list, log, *, env: dict | None = None, **options) -> int:
        request = {
            "op": "start",
            "name": name,
            "argv": [str(one) for one in argv],
            "env": {**self.environment, **(env or {})},
            "log": str(log),
            **options,
        }
        return self.ask(request)["pid"]

    def run(
        self, argv: list, *, text: str = "", timeout: float = 60, env: dict | None = None, check=True
    ) -> Done:
        request = {
            "op": "run",
            "argv": [str(one) for one in argv],
            "env": {**self.environment, **(env or {})},
            "input": text,
            "timeout": timeout,
        }
        done = Done(**self.ask(request, timeout=timeout + 10))
        if check and done.code != 0:
            command = " ".join(map(str, argv))
            raise LabError(f"{self.what}: {command}: exit code {done.code}: {done.err or done.out}")
        return done

    def signal(self, name: str, number: int) -> None:
        self.ask({"op": "signal", "name": name, "signal": int(number)})

    def programs(self) -> dict:
        return self.ask({"op": "status"})["programs"]

    def running(self, name: str) -> bool:
        program = self.programs().get(name)
        return program is not None and program["exit"] is None

    def wait_end(self, name: str, timeout: float) -> bool:
        end = time.monotonic() + timeout
        while self.running(name):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def stop(self, name: str, timeout: float = 20) -> None:
        """SIGTERM, and SIGKILL if that does not end it."""
        if name not in self.programs():
            return
        self.ask({"op": "stop", "name": name})
        if self.wait_end(name, timeout):
            return
        self.signal(name, signal.SIGKILL)
        if not self.wait_end(name, timeout):
            raise LabError(f"{self.what}: {name} does not end, even when killed")

    def end(self, name: str) -> None:
        """Stops what was no part of the lab: nothing is missing without it, so the status no longer
        lists it."""
        self.stop(name)
        self.ask({"op": "forget", "name": name})
