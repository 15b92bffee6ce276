"""Claims for tests: templates, Pods that use them, and their state."""

import json

from pods import pod

DRIVER = "gpu.nvidia.com"
MODE = "tranche.dev/mode"
VALUES = ("dra.enabled=true", "nvidiaDriverRoot=/")
LIST = ("bash", "-c", "nvidia-smi -L; env | grep ^NVIDIA; cat /etc/ld.so.preload; exec sleep infinity")


def template(name: str, *requests: dict, constraints: list | None = None, **spec: object) -> str:
    """A ResourceClaimTemplate with these requests (v1)."""
    devices = {"requests": list(requests), **spec}
    if constraints:
        devices["constraints"] = constraints
    return json.dumps(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name},
            "spec": {"spec": {"devices": devices}},
        }
    )


def request(name: str = "gpu", device_class: str = "gpu.nvidia.com", **exactly: object) -> dict:
    return {"name": name, "exactly": {"deviceClassName": device_class, **exactly}}


def share(memory: str, percent: int, name: str = "gpu") -> dict:
    return request(
        name, "gpu-share", capacity={"requests": {"memory": memory, "compute": str(percent)}}
    )


def claiming(name: str, from_template: str, *command: str, **spec: object) -> str:
    """A Pod whose container has a claim of its own."""
    text = json.loads(pod(name, *(command or LIST), image="lab-glibc:1", **spec))
    text["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": from_template}]
    resources = text["spec"]["containers"][0].setdefault("resources", {})
    resources["claims"] = [{"name": "gpu"}]
    return json.dumps(text)


class InMode:
    """with InMode(lab, "l20", "dra"): the node has the label."""

    def __init__(self, lab, node: str, mode: str = "dra"):
        self._lab, self._node, self._mode = lab, node, mode

    def __enter__(self):
        self._lab.kubectl("label", "--overwrite", "node", self._node, f"{MODE}={self._mode}")
        return self

    def __exit__(self, *_):
        self._lab.kubectl("label", "node", self._node, f"{MODE}-")


def slices(lab, node: str) -> list[dict]:
    return [
        one["spec"]
        for one in lab.get("resourceslices")["items"]
        if one["spec"].get("nodeName") == node and one["spec"]["driver"] == DRIVER
    ]


def devices(lab, node: str, for_admins: bool = False) -> dict[str, dict]:
    """What the node publishes, by name, for all or for requests with adminAccess."""
    listed = [device for one in slices(lab, node) for device in one.get("devices", [])]
    return {device["name"]: device for device in listed if device["name"].endswith("-admin") == for_admins}


def wait_devices(lab, node: str, *names: str) -> None:
    lab.wait(
        lambda: sorted(devices(lab, node)) == sorted(names),
        lambda: f"{node} publishes {sorted(devices(lab, node))}, not {sorted(names)}",
    )


def results(lab, claim: str) -> list[dict]:
    """The scheduler's allocation for a claim."""
    return lab.get("resourceclaim", claim)["status"]["allocation"]["devices"]["results"]


def device_statuses(lab, claim: str) -> list[dict]:
    """The driver's status of a claim's devices."""
    return lab.get("resourceclaim", claim)["status"].get("devices", [])


def claim_of(lab, name: str) -> str:
    """The claim made from a Pod's template."""
    statuses = lab.pod(name)["status"]["resourceClaimStatuses"]
    return statuses[0]["resourceClaimName"]


def records(lab, node: str) -> list[str]:
    """The uids of the claims that are prepared on a node."""
    out = lab.node(node).run("bash", "-c", "cd /var/lib/tranche/claims 2>/dev/null && ls *.json; true").out
    return [line.removesuffix(".json") for line in out.split()]


def memory_of(lab, name: str) -> int:
    """How much memory of its GPU a container sees, in MiB."""
    query = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
    return int(lab.exec(name, *query))


def wait_clean(lab, node: str) -> None:
    """Waits until nothing of any claim is left on the node."""
    lab.wait(
        lambda: not records(lab, node) and not claim_files(lab, node),
        lambda: f"left on {node}: {records(lab, node)}, {claim_files(lab, node)}",
    )


def claim_files(lab, node: str) -> list[str]:
    out = lab.node(node).run("bash", "-c", "ls /var/run/cdi | grep -- -claim-; true").out
    return out.split()
