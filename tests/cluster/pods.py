"""Pods and agents for tests, as manifests (JSON is YAML)."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "tests" / "data" / "scenarios"
GPU = "nvidia.com/gpu"


def pod(name: str, *command: str, image: str = "lab-static:1", **spec: object) -> str:
    """A Pod that ends at once on request. spec: more of its spec; `gpus` (number of `resource`),
    other `limits` and `env` of its container."""
    container = {"name": "main", "image": image, "command": list(command)}
    resource = spec.pop("resource", GPU)
    limits = spec.pop("limits", {})
    if gpus := spec.pop("gpus", 0):
        limits = {**limits, resource: gpus}
    if limits:
        container["resources"] = {"limits": limits}
    if env := spec.pop("env", None):
        container["env"] = [{"name": key, "value": value} for key, value in env.items()]
    if security := spec.pop("security", None):
        container["securityContext"] = security
    if node := spec.pop("node", ""):
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"terminationGracePeriodSeconds": 0, "containers": [container], **spec},
        }
    )


def agent(*arguments: str, driver_root: bool = False, **spec: object) -> str:
    """A DaemonSet of the agent on every GPU node; with driver_root, the node's / at /driver-root."""
    mounts = {"/var/lib/kubelet/device-plugins": "plugins", "/var/lib/tranche": "state"}
    paths = {"plugins": "/var/lib/kubelet/device-plugins", "state": "/var/lib/tranche"}
    if driver_root:
        mounts |= {"/driver-root": "driver", "/var/run/cdi": "cdi"}
        paths |= {"driver": "/", "cdi": "/var/run/cdi"}
    container = {
        "name": "agent",
        "image": "tranche:lab",
        "command": ["tranche", "agent", *arguments],
        "volumeMounts": [{"name": name, "mountPath": path} for path, name in mounts.items()],
    }
    volumes = [
        {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
        for name, path in paths.items()
    ]
    labels = {"app": "agent"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "terminationGracePeriodSeconds": 5,
            "nodeSelector": {"feature.node.kubernetes.io/pci-10de.present": "true"},
            "containers": [container],
            "volumes": volumes,
            **spec,
        },
    }
    return json.dumps(
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "kube-system"},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
    )


class Applied:
    """with Applied(lab, text): the manifest's objects are gone afterwards."""

    def __init__(self, lab, *manifests: str):
        self._lab = lab
        self._manifests = manifests

    def __enter__(self):
        for manifest in self._manifests:
            self._lab.apply(manifest)
        return self

    def __exit__(self, *_):
        for manifest in reversed(self._manifests):
            self._lab.kubectl(
                "delete", "--ignore-not-found", "--wait", "-f", "-", text=manifest, timeout=120
            )


class Serving(Applied):
    """The same for the only agents: afterwards no node offers anything, so the next agents' offer
    is not confused with it."""

    def __exit__(self, *error):
        super().__exit__(*error)

        def left() -> list:
            return [
                (node["metadata"]["name"], resource)
                for node in self._lab.get("nodes")["items"]
                for resource, count in node["status"]["allocatable"].items()
                if resource.startswith("nvidia.com/") and count != "0"
            ]

        self._lab.wait(lambda: not left(), lambda: f"still offered: {left()}")


def wait_offer(lab, node: str, count: int, resource: str = GPU, timeout: float = 60) -> None:
    def described():
        return lab.kubectl("-n", "kube-system", "describe", "pods", check=False)[-3000:]

    def what():
        return f"{node} offers {lab.allocatable(node, resource)} {resource}, not {count}:\n{described()}"

    lab.wait(lambda: int(lab.allocatable(node, resource) or 0) == count, what, timeout)
