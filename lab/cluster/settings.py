"""The requested properties of a lab, checked once; kept in lab.json in its folder, where every
other command reads them."""

import ipaddress
import json
import pathlib
import re
from dataclasses import asdict, dataclass, field

from . import paths
from .errors import LabError

BASE = pathlib.Path("/run/tranche-lab")
FILE = "lab.json"
RUNTIMES = ("wrapper", "cdi")
TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
CPU_POLICIES = ("none", "static")
GATED = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
# Every lab has a network of its own, so that all labs use the same addresses.
NODE_NETWORK = ipaddress.ip_network("10.42.0.0/16")
SERVICE_NETWORK = ipaddress.ip_network("10.96.0.0/16")
API_SERVICE = "10.96.0.1"
GATEWAY = "10.42.0.1"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")


@dataclass(frozen=True)
class NodeSettings:
    name: str
    machine: str  # path of the machine file; empty: a node without a GPU
    number: int  # from 1: its address and the range of its Pods follow from it

    @property
    def address(self) -> str:
        return str(NODE_NETWORK[256 + self.number])

    def pods(self, network: str) -> ipaddress.IPv4Network:
        """A /24 of the Pods' network."""
        whole = ipaddress.ip_network(network)
        return ipaddress.ip_network((int(whole.network_address) + self.number * 256, 24))


@dataclass(frozen=True)
class Settings:
    name: str = "dev"
    nodes: list[NodeSettings] = field(default_factory=list)
    plain: int = 0  # kwok's nodes
    runtime: str = "wrapper"
    topology_manager: str = "none"
    cpu_manager: str = "none"
    pod_network: str = "10.244.0.0/16"
    # Feature gates for all of Kubernetes; "kube-scheduler:NAME" is for that program only.
    gates: dict[str, bool] = field(default_factory=dict)
    node_status: str = ""  # kubelet's nodeStatusUpdateFrequency; empty: kubelet's own
    programs: str = ""
    build: str = ""

    @property
    def cgroup(self) -> str:
        return f"tranche-lab/{self.name}"

    def gates_of(self, program: str) -> dict[str, bool]:
        """A program's own gates take precedence."""
        ours = {name: on for name, on in self.gates.items() if ":" not in name}
        own = {name: on for name, on in self.gates.items() if name.startswith(f"{program}:")}
        return {**ours, **{name.partition(":")[2]: on for name, on in own.items()}}

    def feature_gates(self, program: str) -> str:
        """As Kubernetes' flag takes them."""
        return ",".join(f"{name}={str(on).lower()}" for name, on in sorted(self.gates_of(program).items()))

    def plain_names(self) -> list[str]:
        return [f"plain-{number}" for number in range(1, self.plain + 1)]


def parse_nodes(words: list[str]) -> list[NodeSettings]:
    """`MACHINE` or `MACHINE=NAME`; without a name it is the machine's, numbered from the second on.
    `none` as MACHINE is a real node without a GPU."""
    nodes: list[NodeSettings] = []
    for word in words:
        machine, equals, name = word.partition("=")
        if equals and not name:
            raise LabError(f"--node {word}: no name after '='", "leave out the '=', or give a name")
        file = "" if machine == "bare" else str(paths.machine_file(machine))
        stem = "bare" if not file else pathlib.Path(file).stem
        name = name or _free_name(stem, {node.name for node in nodes})
        nodes.append(NodeSettings(name, file, len(nodes) + 1))
    return nodes


def parse_gates(text: str) -> dict[str, bool]:
    """`NAME=true,kubelet:OTHER=false`. Kubernetes itself checks that it knows them."""
    gates: dict[str, bool] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        program, colon, gate = name.rpartition(":")
        known = program in GATED if colon else True
        if not known or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", gate) or value not in ("true", "false"):
            raise LabError(f"--gates {word!r}: no feature gate", "such as DRAConsumableCapacity=false or kubelet:DRAConsumableCapacity=false")
        gates[name] = value == "true"
    return gates


def _free_name(stem: str, taken: set[str]) -> str:
    number = 2
    name = stem
    while name in taken:
        name = f"{stem}-{number}"
        number += 1
    return name


def check(settings: Settings) -> None:
    if not _NAME.fullmatch(settings.name):
        raise LabError(
            f"--name {settings.name!r}: not a name for a lab",
            "use at most 32 of a-z, 0-9 and '-', beginning and ending with a letter or digit",
        )
    if not settings.nodes:
        raise LabError("a lab needs a node", "name one, for example --node l20")
    names = [node.name for node in settings.nodes] + settings.plain_names()
    for name in names:
        if not _NAME.fullmatch(name):
            raise LabError(
                f"{name!r} is not a name for a node",
                "use at most 32 of a-z, 0-9 and '-', beginning and ending with a letter or digit",
            )
        if names.count(name) > 1:
            raise LabError(f"two nodes are called {name!r}", "name them apart: --node MACHINE=NAME")
    if len(settings.nodes) > 200 or not 0 <= settings.plain <= 5000:
        raise LabError("at most 200 nodes and 5000 plain ones")
    for option, value, known in (
        ("--runtime", settings.runtime, RUNTIMES),
        ("--topology-manager", settings.topology_manager, TOPOLOGY_POLICIES),
        ("--cpu-manager", settings.cpu_manager, CPU_POLICIES),
    ):
        if value not in known:
            raise LabError(f"{option} {value!r}: unknown", f"one of: {', '.join(known)}")
    _check_network(settings.pod_network)
    if settings.node_status and not re.fullmatch(r"[0-9]+(ms|s|m)", settings.node_status):
        raise LabError(f"--node-status {settings.node_status!r}: no duration", "such as 1s or 500ms")


def _check_network(text: str) -> None:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise LabError(f"--cidr {text!r}: {error}", "such as 10.244.0.0/16") from error
    if network.prefixlen > 16:
        raise LabError(f"--cidr {text}: too small", "a /16 or wider: each node takes a /24 of it")
    for other, what in ((NODE_NETWORK, "nodes"), (SERVICE_NETWORK, "services")):
        if network.overlaps(other):
            raise LabError(f"--cidr {text} overlaps {other}, the {what}' network of every lab")


def save(settings: Settings, folder: pathlib.Path, extra: dict) -> None:
    text = json.dumps({"settings": asdict(settings), **extra}, indent=1)
    fresh = folder / f".{FILE}"
    fresh.write_text(text + "\n")
    fresh.rename(folder / FILE)


def load(folder: pathlib.Path) -> tuple[Settings, dict]:
    try:
        stored = json.loads((folder / FILE).read_text())
    except FileNotFoundError:
        raise LabError(
            f"there is no lab in {folder}", "start one with lab/up, or name it by --name or --dir"
        ) from None
    except (OSError, ValueError) as error:
        raise LabError(f"{folder / FILE}: {error}", "lab/down --name NAME removes a broken lab") from error
    fields = stored.pop("settings")
    nodes = [NodeSettings(**node) for node in fields.pop("nodes")]
    return Settings(nodes=nodes, **fields), stored
