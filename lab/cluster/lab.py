"""A lab: what `lab/up` makes, and the Python interface for tests.

    with Lab.up(name="t1", nodes=["l20", "t4=worker"], plain=6) as lab:
        lab.apply(manifest)
        lab.kubectl("get", "pods")
        lab.reboot("l20")
    # taken down

Lab.find(name) is one that runs. Nothing waits for a fixed time: everything waits for a condition.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from . import cgroup, images, inotify, linux, network, paths, plain, registry, supervisor, teardown
from . import settings as s
from .client import ENVIRONMENT, Client
from .control_plane import ControlPlane
from .errors import LabError, Unreachable
from .node import Node
from .settings import Settings

_SOCKET_LIMIT = 107
_OBJECTS = pathlib.Path(__file__).with_name("objects.yaml")
# kubectl's messages about an API server that is away, or too busy.
_AWAY = ("Unable to connect to the server", "TLS handshake timeout", "connection refused", "unexpected EOF")
# node feature discovery's label for a node with an NVIDIA device.
GPU_LABEL = "feature.node.kubernetes.io/pci-10de.present=true"


def folder_of(name: str, folder: str | os.PathLike | None = None) -> pathlib.Path:
    return pathlib.Path(folder).absolute() if folder else s.BASE / name


class Lab:
    def __init__(self, folder: pathlib.Path, settings: Settings):
        self.folder = folder
        self.settings = settings
        self.name = settings.name
        self.client = Client(
            folder / "s", f"lab {self.name}", {**ENVIRONMENT, "PATH": _path(settings.programs)}
        )
        self.control_plane = ControlPlane(folder, settings, self.client)
        self.nodes = [Node(folder, one, settings, self.client) for one in settings.nodes]

    # Life.

    @classmethod
    def up(cls, name: str = "dev", nodes: list[str] = ("l20",), *, folder=None, say=None, **options) -> "Lab":
        """A new lab with every node Ready. `options`: fields of Settings. If it does not come up it
        is taken down again, unless TRANCHE_LAB_KEEP is set."""
        paths.check_machine()
        settings = Settings(
            name=name,
            nodes=s.parse_nodes(list(nodes)),
            programs=str(paths.programs_folder()),
            build=str(paths.build_folder()),
            **options,
        )
        s.check(settings)
        where = folder_of(name, folder)
        lab = cls(where, settings)
        _make_folder(lab)
        say = say or (lambda _: None)
        if scarce := inotify.warning(inotify.limit(), inotify.used(), len(lab.nodes)):
            say(scarce)
        try:
            lab._build(say)
        except BaseException:
            if not os.environ.get("TRANCHE_LAB_KEEP"):
                teardown.take_down(name, where)
            raise
        return lab

    @classmethod
    def find(cls, name: str = "dev", folder=None) -> "Lab":
        where = folder_of(name, folder)
        settings, _ = s.load(where)
        return cls(where, settings)

    def down(self) -> None:
        teardown.take_down(self.name, self.folder)

    def __enter__(self) -> "Lab":
        return self

    def __exit__(self, *_) -> None:
        self.down()

    def _build(self, say) -> None:
        say("keys, network")
        port = self._start_supervisor()
        network.make_lab(self.client)
        self.control_plane.prepare(port)
        say("control plane")
        self.control_plane.start_all()
        self._start_relay(port)
        self._start_registry()
        self.apply(_OBJECTS.read_text())
        archives = self._write_images(say)
        for node in self.nodes:
            say(f"node {node.name}")
            node.prepare(self.control_plane)
            node.boot()
            for archive in archives:
                node.load_image(archive)
            node.start_kubelet()
        if self.settings.plain:
            say(f"{self.settings.plain} plain nodes")
            self._make_plain()
        say("waiting until every node is Ready")
        self.wait_nodes()
        self._finish()

    def _start_supervisor(self) -> int:
        """Starts the lab's namespaces; returns the outside port of the relay."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        port = listener.getsockname()[1]
        descriptor = listener.fileno()
        cgroup.make(f"{self.settings.cgroup}/lab")
        log = os.open(self.folder / "lab.log", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        group = f"{self.settings.cgroup}/lab"
        pid = supervisor.spawn(
            [sys.executable, "-m", "lab.cluster.lab_root", str(self.folder), group, f"{descriptor}"],
            env={**self.client.environment, "PYTHONPATH": str(paths.ROOT)},
            out=log,
            err=log,
            unshare=["net", "mount", "pid", "ipc"],
            keep=[descriptor],
        )
        os.close(log)
        extra = {"pid": pid, "started": linux.start_time(pid), "port": port, "relay": descriptor}
        s.save(self.settings, self.folder, extra)
        _wait(self.client.answers, 30, f"lab {self.name} does not start: see {self.folder}/lab.log")
        listener.close()  # the supervisor has its own
        for node in self.settings.nodes:
            cgroup.make(f"{self.settings.cgroup}/{node.name}/system")
        return port

    def _start_relay(self, port: int) -> None:
        _, stored = s.load(self.folder)
        descriptor = stored["relay"]
        self.client.start(
            "relay",
            [sys.executable, "-m", "lab.cluster.relay", descriptor, "127.0.0.1", 443],
            self.folder / "log" / "relay.log",
            env={"PYTHONPATH": str(paths.ROOT)},
            keep=[descriptor],
        )

    def _start_registry(self) -> None:
        registry.make(self.folder / "registry")
        self.client.start(
            "registry",
            [sys.executable, "-m", "lab.cluster.registry", self.folder / "registry", s.GATEWAY, registry.PORT],
            self.folder / "log" / "registry.log",
            env={"PYTHONPATH": str(paths.ROOT)},
        )

    def _write_images(self, say) -> list[pathlib.Path]:
        say("images")
        folder = self.folder / "images"
        folder.mkdir()
        build = pathlib.Path(self.settings.build)
        files = [folder / f"{name}.tar" for name in ("pause", "static", "glibc", "agent")]
        images.write_pause(files[0], build)
        images.write_static(files[1])
        images.write_glibc(files[2], [images.GLIBC], build)
        images.write_agent(files[3], build)
        return files

    def _make_plain(self) -> None:
        nodes = plain.manifest(self.settings)
        self.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
        plain.start(self.folder, self.settings, self.client)

    def _finish(self) -> None:
        # Without it no Pod is admitted; the controller manager makes it.
        command = ("get", "serviceaccount", "default", "--ignore-not-found", "-o", "name")
        _wait(lambda: self.kubectl(*command), 60, "no service account in the default namespace")
        for node in self.nodes:
            if node.has_gpu:
                self.kubectl("label", "--overwrite", "node", node.name, GPU_LABEL)

    # The cluster.

    @property
    def kubeconfig(self) -> pathlib.Path:
        return self.folder / "kubeconfig"

    def program(self, name: str) -> pathlib.Path:
        """kubectl, helm, ... of the versions that the lab runs."""
        return pathlib.Path(self.settings.programs) / name

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        raise LabError(f"lab {self.name} has no node {name!r} of its own")

    def kubectl(self, *arguments: object, text: str | None = None, check=True, timeout=60) -> str:
        """Standard output; `text` is its standard input. With check, a failure is a LabError."""
        command = [str(self.program("kubectl")), "--kubeconfig", str(self.kubeconfig)]
        command += map(str, arguments)
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=timeout, check=False
        )
        if check and done.returncode != 0:
            words = " ".join(map(str, arguments))
            said = done.stderr.strip() or done.stdout.strip()
            kind = Unreachable if any(one in said for one in _AWAY) else LabError
            raise kind(f"kubectl {words}: {said}")
        return done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def get(self, *arguments: object) -> dict:
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, text: str) -> str:
        return self.kubectl("apply", "-f", "-", text=text)

    def wait(self, condition, what: str, timeout: float = 60):
        """The first true value of condition(); a LabError with `what` after the time-out. Also
        waits for an API server that does not answer."""
        return _wait(condition, timeout, what)

    def reboot(self, name: str) -> None:
        """Everything on the node ends, its disk stays. Returns when kubelet has said that it is another boot:
        until then the API server has the statuses of before."""

        def boot() -> str:
            return self.get("node", name)["status"]["nodeInfo"]["bootID"]

        before = boot()
        self.node(name).reboot()
        self.wait(lambda: boot() != before, f"{name} says that it was booted again", timeout=120)

    def wait_nodes(self, timeout: float = 180) -> None:
        wanted = {node.name for node in self.nodes} | set(self.settings.plain_names())

        def ready():
            self.control_plane.check_running()
            self._check_nodes()
            return wanted <= {name for name, is_ready in self.nodes_ready().items() if is_ready}

        _wait(ready, timeout, lambda: f"nodes not Ready: {self._unready(wanted)}", pause=0.2)

    def nodes_ready(self) -> dict[str, bool]:
        found = {}
        for node in self.get("nodes")["items"]:
            conditions = {one["type"]: one["status"] for one in node["status"].get("conditions", [])}
            found[node["metadata"]["name"]] = conditions.get("Ready") == "True"
        return found

    def _check_nodes(self) -> None:
        for node in self.nodes:
            program = node.client.programs().get("kubelet", {"restarts": 0})
            if program["restarts"] > 5:
                lines = node.log("kubelet").splitlines()[-5:]
                raise LabError(f"kubelet of {node.name} ends again and again:\n  " + "\n  ".join(lines))

    def _unready(self, wanted: set[str]) -> str:
        found = self.nodes_ready()
        return ", ".join(sorted(name for name in wanted if not found.get(name)))

    def allocatable(self, node: str, resource: str) -> str | None:
        return self.get("node", node)["status"]["allocatable"].get(resource)

    def pod(self, name: str, namespace: str = "default") -> dict:
        return self.get("pod", name, "-n", namespace)

    def wait_pod(self, name: str, phase: str = "Running", namespace: str = "default", timeout=90) -> dict:
        """The Pod once it is in that phase and, if it is Running, ready."""

        def reached():
            pod = self.pod(name, namespace)
            status = pod["status"]
            if status.get("phase") != phase:
                return None
            states = status.get("containerStatuses", [])
            return pod if phase != "Running" or all(one["ready"] for one in states) else None

        def what():
            told = self.kubectl("describe", "pod", name, "-n", namespace, check=False)
            return f"Pod {name} is not {phase}:\n{told}"

        return _wait(reached, timeout, what, pause=0.1)

    def logs(self, pod: str, *arguments: object) -> str:
        return self.kubectl("logs", pod, *arguments)

    def exec(self, pod: str, *argv: object, namespace: str = "default", check=True) -> str:
        return self.kubectl("exec", "-n", namespace, pod, "--", *argv, check=check)

    def load_images(self, manifest: str) -> list[str]:
        """Registers lab-glibc under every image name of the manifest. Returns the names."""
        names = images.names_in(manifest)
        if not names:
            raise LabError("the manifest names no image")
        archive = self.folder / "images" / "named.tar"
        images.write_glibc(archive, names, pathlib.Path(self.settings.build))
        registry.add(self.folder / "registry", archive, names)
        archive.unlink()
        return names

    def load_archive(self, archive: pathlib.Path, nodes: list[str] | None = None) -> None:
        """Imports a docker archive on these nodes, or on all."""
        chosen = self.nodes if nodes is None else [self.node(name) for name in nodes]
        for node in chosen:
            node.load_image(archive)

    def kill(self, component: str) -> None:
        """A component of the control plane dies (it is not restarted)."""
        self.client.signal(component, signal.SIGKILL)
        self.client.wait_end(component, 10)

    def restart_api_server(self) -> None:
        self.client.stop("kube-apiserver")
        self.control_plane.start("kube-apiserver")
        self.control_plane.wait_ready()

    def status(self) -> dict:
        """Program -> running, of the lab and of each node."""
        found = {"lab": self.client.programs()}
        for node in self.nodes:
            found[node.name] = node.client.programs() if node.client.answers() else {}
        return found


def _make_folder(lab: Lab) -> None:
    longest = max(len(str(node.client.path)) for node in lab.nodes)
    if longest > _SOCKET_LIMIT:
        raise LabError(
            f"{lab.folder} is too long for unix sockets below it ({longest} of {_SOCKET_LIMIT} bytes)",
            "choose a shorter folder or shorter names",
        )
    if teardown.exists(lab.name, lab.folder):
        raise LabError(
            f"there is a lab {lab.name} already, or what is left of one",
            f"take it down: lab/down --name {lab.name}",
        )
    if lab.folder.exists() and any(lab.folder.iterdir()):
        raise LabError(f"{lab.folder} is not empty", "a lab needs a folder of its own")
    lab.folder.mkdir(parents=True, exist_ok=True)
    s.save(lab.settings, lab.folder, {})


def _path(programs: str) -> str:
    return f"{programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def _wait(condition, timeout: float, what, pause: float = 0.1):
    end = time.monotonic() + timeout
    away = ""
    while True:
        try:
            value = condition()
        except Unreachable as error:
            value, away = None, f" ({error})"
        if value:
            return value
        if time.monotonic() > end:
            raise LabError(f"not so after {timeout:.0f} s: {what() if callable(what) else what}{away}")
        time.sleep(pause)
