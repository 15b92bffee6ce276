"""The programs under test as processes: start, talk, read the log, end. No fixed waits: everything
waits for a condition, with a deadline that only a fault reaches."""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()
TRANCHE = BUILD / "bin" / "tranche"
TRANCHE_SIM = BUILD / "bin" / "tranche-sim"
LAB_KUBELET = BUILD / "bin" / "tranche-lab-kubelet"
LIBRARY = BUILD / "sim" / "libnvidia-ml.so.1"
# Long enough for a machine with ten other jobs.
DEADLINE = 30.0

# Settings of the agent that a developer's shell may have.
_FOREIGN = re.compile(
    r"^(TRANCHE_(?!BUILD)|NVIDIA_|DP_|GFD_|CDI_|MIG_|MPS_|IMEX_|DEVICE_|CONFIG_FILE|NODE_|POD_|"
    r"FAIL_ON|PASS_DEVICE|DRIVER_ROOT|CONTAINER_DRIVER|SHARED_DEVICES|KUBE|NAMESPACE|USE_NODE|"
    r"GDS_|GDRCOPY_|MOFED_|ONESHOT|DEFAULT_CONFIG|FALLBACK|SEND_SIGNAL|SIGNAL|PROCESS_TO)"
)


def clean_environment(**extra: object) -> dict:
    env = {k: v for k, v in os.environ.items() if not _FOREIGN.match(k)}
    return {**env, **{k: str(v) for k, v in extra.items()}}


def wait_until(condition, what: str, deadline: float = DEADLINE):
    """The first true value of condition(); fails after the deadline."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not so after {deadline} s: {what}"
        time.sleep(0.01)


class Process:
    """A program with its output in files."""

    def __init__(self, command: list, folder: pathlib.Path, env: dict, executable=None):
        self.command = [str(part) for part in command]
        self._out = folder.with_suffix(".out")
        self._err = folder.with_suffix(".err")
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self._popen = subprocess.Popen(
                self.command,
                executable=str(executable) if executable else None,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self.pid = self._popen.pid

    @property
    def log(self) -> str:
        return self._err.read_text(errors="replace")

    @property
    def output(self) -> str:
        return self._out.read_text(errors="replace")

    def running(self) -> bool:
        return self._popen.poll() is None

    def failed(self) -> bool:
        return (self._popen.poll() or 0) > 0

    def mark(self) -> int:
        """Where the log ends now, for wait_log(after=)."""
        return len(self.log)

    def wait_log(self, pattern: str, after: int = 0) -> re.Match:
        def found():
            match = re.search(pattern, self.log[after:])
            assert match or self.running(), f"{self.command} ended without /{pattern}/:\n{self.log}"
            return match

        end = time.monotonic() + DEADLINE
        while True:
            match = found()
            if match:
                return match
            assert time.monotonic() < end, f"no /{pattern}/ in the log:\n{self.log[after:]}"
            time.sleep(0.01)

    def signal(self, number: int) -> None:
        self._popen.send_signal(number)

    def wait(self) -> int:
        return self._popen.wait(timeout=DEADLINE)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        if self.running():
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        if self.running():
            self._popen.kill()
        self._popen.wait()


class KubeletError(AssertionError):
    """The stand-in's command did not work."""


class Kubelet:
    """The kubelet stand-in. Commands: tranche-lab-kubelet --help."""

    def __init__(self, root: pathlib.Path, log: pathlib.Path):
        self.root = root
        self.watched: list[Process] = []  # whose failure ends a wait
        self._log = open(log, "wb")
        self._popen = subprocess.Popen(
            [LAB_KUBELET, "--kubelet-root", root],
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._rest = b""
        assert self._read_line()["ready"]

    @property
    def socket_folder(self) -> pathlib.Path:
        return self.root / "device-plugins"

    def _read_line(self) -> dict:
        end = time.monotonic() + 2 * DEADLINE
        while b"\n" not in self._rest:
            left = end - time.monotonic()
            assert left > 0, "the kubelet stand-in does not answer"
            if not select.select([self._popen.stdout], [], [], left)[0]:
                continue
            chunk = os.read(self._popen.stdout.fileno(), 1 << 16)
            assert chunk, f"the kubelet stand-in ended: {self._popen.wait()}"
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, op: str, **fields) -> dict:
        self._popen.stdin.write(json.dumps({"op": op, **fields}).encode() + b"\n")
        self._popen.stdin.flush()
        answer = self._read_line()
        if not answer["ok"]:
            raise KubeletError(answer["error"])
        return answer

    def wait(self, resource: str, **wanted) -> dict:
        """wait("nvidia.com/gpu", allocatable=4, capacity=4): returns the node when it is so."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                answer = self.ask("wait", resource=resource, timeout_s=1, **wanted)
                return answer["resources"]
            except KubeletError as error:
                for process in self.watched:
                    assert not process.failed(), f"{process.command} failed:\n{process.log}"
                if time.monotonic() > end:
                    raise error

    def node(self) -> dict:
        """allocatable of every resource that has any."""
        resources = self.ask("node")["resources"]
        return {name: one["allocatable"] for name, one in resources.items() if one["capacity"]}

    def devices(self, resource: str) -> dict:
        """By id, sorted: the stand-in, as kubelet, keeps them by id."""
        return {one["id"]: one for one in self.ask("devices", resource=resource)["devices"]}

    def ids(self, resource: str, healthy: bool | None = None) -> list:
        devices = self.devices(resource).values()
        return [one["id"] for one in devices if healthy in (None, one["healthy"])]

    def allocate(self, resource: str, ids: list) -> dict:
        return self.ask("allocate-raw", resource=resource, ids=ids)["answer"]

    def refusal(self, resource: str, ids: list) -> str:
        """The plugin's text when it refuses `ids`."""
        try:
            answer = self.allocate(resource, ids)
        except KubeletError as error:
            return str(error)
        raise AssertionError(f"{ids} of {resource} were granted: {answer}")

    def preferred(self, resource: str, available: list, size: int, must: list = ()) -> list:
        return self.ask(
            "preferred-raw",
            resource=resource,
            available=list(available),
            must_include=list(must),
            size=size,
        )["ids"]

    def admit(self, pod: str, limits: dict) -> dict:
        return self.ask("admit", pod=pod, containers=[{"name": "c", "limits": limits}])

    def run_pod(self, pod: str, resource: str) -> None:
        """A Pod that asks for one of `resource`, and is admitted."""
        status = self.admit(pod, {resource: 1})
        assert status["phase"] == "Running", status

    def registrations(self) -> list:
        return self.ask("registrations")["registrations"]

    def registered(self, resource: str) -> int:
        """How often `resource` was registered successfully."""
        return sum(
            one["resource"] == resource and not one["error"] for one in self.registrations()
        )

    def close(self) -> None:
        # Its own way to end would do, but gRPC sometimes takes 10 s for it.
        self._popen.kill()
        self._popen.wait()
        self._popen.stdin.close()
        self._popen.stdout.close()
        self._log.close()
