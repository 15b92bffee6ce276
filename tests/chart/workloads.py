"""Pods, and the workloads that hold their templates, as the tests of policies send them."""

import copy

LABELS = {"app": "a"}

# kind -> (apiVersion, the path of the Pod template in spec, the rest of spec)
SELECTOR = {"selector": {"matchLabels": LABELS}}
WORKLOADS = {
    "ReplicationController": ("v1", ("template",), {}),
    "Deployment": ("apps/v1", ("template",), SELECTOR),
    "ReplicaSet": ("apps/v1", ("template",), SELECTOR),
    "StatefulSet": ("apps/v1", ("template",), {**SELECTOR, "serviceName": "s"}),
    "DaemonSet": ("apps/v1", ("template",), SELECTOR),
    "Job": ("batch/v1", ("template",), {}),
    "CronJob": ("batch/v1", ("jobTemplate", "spec", "template"), {"schedule": "0 0 * * *"}),
}
KINDS = ["Pod", *WORKLOADS]


def make_namespace(server, name: str, labels: dict | None = None):
    """With the account that Pods need, which nobody makes without controllers."""
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}})
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    server.apply({**account, "metadata": {"name": "default", "namespace": name}})


def container(name="main", **resources) -> dict:
    return {"name": name, "image": "i", **({"resources": resources} if resources else {})}


def gpus(amount, name="main") -> dict:
    """A container that asks for this number of GPUs."""
    return container(name, limits={"nvidia.com/gpu": amount})


def pod(*containers: dict, namespace="shop", name="p", annotations: dict | None = None, **spec) -> dict:
    metadata = {"name": name, "namespace": namespace, "labels": dict(LABELS)}
    if annotations:
        metadata["annotations"] = annotations
    spec = {"containers": list(containers), **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def within(kind: str, pod: dict) -> dict:
    """The workload with such Pods; for Pod the Pod itself."""
    if kind == "Pod":
        return pod
    version, path, more = WORKLOADS[kind]
    template = {"metadata": copy.deepcopy(pod["metadata"]), "spec": copy.deepcopy(pod["spec"])}
    for key in ("name", "namespace"):
        del template["metadata"][key]
    if kind in ("Job", "CronJob"):
        template["spec"]["restartPolicy"] = "Never"
    for step in reversed(path):
        template = {step: template}
    metadata = {key: pod["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {**more, **template}}


def template_of(item: dict) -> dict:
    """The Pod template of a workload; a Pod itself."""
    if item["kind"] == "Pod":
        return item
    found = item["spec"]
    for step in WORKLOADS[item["kind"]][1]:
        found = found[step]
    return found


def claim(requests: list[dict], kind="ResourceClaim", namespace="shop", name="c") -> dict:
    spec = {"devices": {"requests": requests}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec if kind == "ResourceClaim" else {"spec": spec},
    }


def exactly(name="gpu", device_class="gpu-share", **capacity) -> dict:
    request = {"deviceClassName": device_class}
    if capacity:
        request["capacity"] = {"requests": capacity}
    return {"name": name, "exactly": request}
