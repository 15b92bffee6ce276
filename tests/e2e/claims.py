"""Claims on a node of these tests: the agent as DRA driver on a real API server, the scheduler's
result written by the test, and kubelet's calls by the stand-in."""

import contextlib
import json
import pathlib
import uuid

from node import Node
from programs import DEADLINE, Process, wait_until

DRIVER = "gpu.nvidia.com"
MODE = "tranche.dev/mode"
API = "/apis/resource.k8s.io/v1"


class Claims:
    """The claims of one node. `server`: tests/chart/api_server.py."""

    def __init__(self, server, node: Node, name: str):
        self.server, self.node, self.name = server, node, name
        self._config_map = []
        (node.dir / "k" / "plugins_registry").mkdir()  # kubelet's own
        self.set_mode("dra")

    def set_mode(self, mode: str) -> None:
        metadata = {"name": self.name, "labels": {MODE: mode}}
        self.server.apply({"apiVersion": "v1", "kind": "Node", "metadata": metadata})

    def flags(self) -> list:
        driver = self.node.driver_root
        return [
            "--dra",
            f"--driver-root={driver}",
            f"--driver-root-ctr-path={self.node.host}{driver}",
            "--machine-interval=100ms",
            *self._config_map,
        ]

    def configure(self, config: str | dict) -> None:
        """The agent's in a ConfigMap, the supervisor's in its file."""
        self._config_map = [f"--config-map=default/{self.name}"]
        text = config if isinstance(config, str) else json.dumps(config)
        metadata = {"name": self.name, "namespace": "default"}
        self.server.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": text}})
        self.node.write(text)

    def environment(self) -> dict:
        return {"KUBECONFIG": self.server.kubeconfig(), "NODE_NAME": self.name, "NAMESPACE": "default"}

    def agent(self, *arguments: object, config: str | None = None) -> Process:
        if config is not None:
            self.configure(config)
        return self.node.agent(*self.flags(), *arguments, env=self.environment())

    def devices(self) -> dict:
        """What the node publishes, by name, without the devices for adminAccess."""
        slices = self.server.request("GET", f"{API}/resourceslices")["items"]
        return {
            device["name"]: device
            for one in slices
            if one["spec"].get("nodeName") == self.name
            for device in one["spec"].get("devices", [])
            if not device["name"].endswith("-admin")
        }

    def taints(self, device: str = "gpu-0") -> list:
        return [taint["key"] for taint in self.devices()[device].get("taints", [])]

    def wait_taints(self, *keys: str, device: str = "gpu-0") -> None:
        self.server.wait(
            lambda: device in self.devices() and self.taints(device) == list(keys),
            f"{device} has the taints {keys}",
        )

    def allocate(self, name: str, memory: str, percent: int, device: str = "gpu-0") -> dict:
        """A claim with a share, as the scheduler leaves it."""
        part = {"shareID": str(uuid.uuid4()), "consumedCapacity": {"memory": memory, "compute": str(percent)}}
        return self._allocate(name, "gpu-share", device, part)

    def allocate_whole(self, name: str, device: str = "gpu-0") -> dict:
        return self._allocate(name, "gpu.nvidia.com", device, {})

    def _allocate(self, name: str, device_class: str, device: str, part: dict) -> dict:
        requests = [{"name": "gpu", "exactly": {"deviceClassName": device_class}}]
        claim = self.server.apply(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"devices": {"requests": requests}},
            }
        )
        result = {
            "request": "gpu",
            "driver": DRIVER,
            "pool": f"gpu-{self.name}",
            "device": device,
            **part,
        }
        claim["status"] = {"allocation": {"devices": {"results": [result]}}}
        path = f"{API}/namespaces/default/resourceclaims/{name}/status"
        return self.server.request("PUT", path, claim)

    def _ask(self, op: str, claim: dict, patience: float = DEADLINE, socket: pathlib.Path | None = None) -> dict:
        socket = socket or self.node.dir / "k" / "plugins" / DRIVER / "dra.sock"
        wait_until(socket.exists, "the driver serves", patience)
        metadata = claim["metadata"]
        fields = {key: metadata[key] for key in ("namespace", "name", "uid")}
        return self.node.kubelet.ask(op, socket=str(socket), **fields)

    def prepare(self, claim: dict, **how) -> list:
        """The names of the CDI devices."""
        return self._ask("prepare-claim", claim, **how)["cdi"]

    def unprepare(self, claim: dict, **how) -> None:
        self._ask("unprepare-claim", claim, **how)

    def edits(self, claim: dict) -> dict:
        """What the claim's only CDI device adds to a container."""
        file = self.node.cdi / f"k8s.gpu.nvidia.com-claim-{claim['metadata']['uid']}.json"
        [device] = json.loads(file.read_text())["devices"]
        return device["containerEdits"]

    def environment_of(self, claim: dict) -> dict:
        return dict(one.split("=", 1) for one in self.edits(claim).get("env", []))

    def mounts_of(self, claim: dict) -> dict:
        return {one["containerPath"]: one["hostPath"] for one in self.edits(claim)["mounts"]}

    def tenant(self, claim: dict) -> pathlib.Path:
        [path] = [host for inside, host in self.mounts_of(claim).items() if inside.startswith("/run/tranche/")]
        return pathlib.Path(path)

    def part(self, claim: dict) -> dict:
        """The limits of the claim's containers on the GPU."""
        promised = self.node.promises()[self.tenant(claim).name]
        [part] = promised["devices"]
        return {**part, "priority": promised["priority"]}

    def forget(self, *claims: dict) -> None:
        for claim in claims:
            with contextlib.suppress(Exception):
                path = f"{API}/namespaces/default/resourceclaims/{claim['metadata']['name']}"
                self.server.request("DELETE", path)
