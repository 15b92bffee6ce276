"""Requests with adminAccess on nodes that give shares, by the chart's classes and policy, to the end: the real
scheduler allocates. Only the agent and kubelet are missing: slices are as an agent publishes them."""

import pytest
from helm import Helm, find_helm
from test_fractions_policy_scheduled import cluster, share  # noqa: F401
from workloads import container, make_namespace, pod

NODE, DRIVER, VERSION = "gpu-1", "gpu.nvidia.com", "resource.k8s.io/v1"
GPUS = 3
EVERY = [f"gpu-{index}-admin" for index in range(GPUS)]
TOLERATION = {"key": "tranche.dev/admin-access", "operator": "Exists"}
WATCH = {"deviceClassName": "gpu.nvidia.com", "adminAccess": True, "allocationMode": "All"}
WHOLE = {"deviceClassName": "gpu.nvidia.com"}
PART = {"deviceClassName": "gpu-share", "capacity": {"requests": {"memory": "10Gi", "compute": "25"}}}


def device(name: str, kind: str, uuid: str, **more) -> dict:
    return {"name": name, "attributes": {"type": {"string": kind}, "uuid": {"string": uuid}}, **more}


def gpu(index: int) -> dict:
    amounts = {"memory": share("40Gi", "1Mi", "1Mi"), "compute": share("100", "1", "1")}
    return device(f"gpu-{index}", "gpu", f"GPU-{index}", capacity=amounts, allowMultipleAllocations=True)


def for_admins(index: int) -> dict:
    taint = {"key": "tranche.dev/admin-access", "effect": "NoSchedule"}
    return device(EVERY[index], "gpu-admin", f"GPU-{index}", taints=[taint])


def claim(name: str, *requests: dict) -> dict:
    listed = [{"name": f"r{index}", **request} for index, request in enumerate(requests)]
    metadata = {"name": name, "namespace": "watch"}
    return {"apiVersion": VERSION, "kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": listed}}}


@pytest.fixture(scope="module")
def watch(cluster, tmp_path_factory):  # noqa: F811
    if find_helm() is None:
        pytest.skip("no helm")
    rendered = Helm(find_helm(), tmp_path_factory.mktemp("helm")).template({"dra": {"enabled": True}})
    make_namespace(cluster, "watch", {"resource.kubernetes.io/admin-access": "true"})
    cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    merge = "application/merge-patch+json"
    cluster.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status}, kind=merge)
    cluster.request("PATCH", f"/api/v1/nodes/{NODE}", {"spec": {"taints": []}}, kind=merge)
    pool = {"name": f"gpu-{NODE}", "generation": 1, "resourceSliceCount": 1}
    devices = [make(index) for make in (gpu, for_admins) for index in range(GPUS)]
    spec = {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": devices}
    cluster.apply({"apiVersion": VERSION, "kind": "ResourceSlice", "metadata": {"name": "00"}, "spec": spec})
    for item in rendered.objects:
        if item["kind"] == "DeviceClass" or item["metadata"]["name"].endswith("admin-access"):
            cluster.apply(item)
    cluster.wait(lambda: admitted(cluster, {"exactly": WATCH})["deviceClassName"] == "gpu-admin", "requests are rewritten")
    return cluster


def admitted(server, request: dict) -> dict:
    """The request as the API server would store it."""
    stored = server.apply(claim("probe", request), dry_run=True)
    return stored["spec"]["devices"]["requests"][0].get("exactly", {})


def given(server, name: str, request: dict) -> list[str]:
    """The devices of a Pod's claim; none if it waits."""
    server.apply(claim(name, {"exactly": request}))
    uses = [{"name": "c", "resourceClaimName": name}]
    server.apply(pod(container(claims=[{"name": "c"}]), namespace="watch", name=name, resourceClaims=uses))

    def answer() -> dict | None:
        seen = server.request("GET", f"/api/v1/namespaces/watch/pods/{name}")
        told = [one for one in seen["status"].get("conditions", []) if one["type"] == "PodScheduled"]
        return told[0] if told else None

    if server.wait(answer, f"{name} is placed or waits")["status"] == "False":
        return []
    status = server.request("GET", f"/apis/{VERSION}/namespaces/watch/resourceclaims/{name}")["status"]
    return [one["device"] for one in status["allocation"]["devices"]["results"]]


def test_a_monitor_sees_every_gpu_and_takes_none(watch):
    assert given(watch, "whole", WHOLE) == ["gpu-0"]
    assert given(watch, "part", PART) == ["gpu-1"]
    assert given(watch, "monitor", WATCH) == EVERY
    assert given(watch, "second", WHOLE) == ["gpu-2"], "a monitor takes nothing"
    assert given(watch, "third", WHOLE) == [], "and its devices are nobody else's"
    assert given(watch, "beside", PART) == ["gpu-1"]
    assert given(watch, "late", WATCH) == EVERY, "all are in use"
    assert given(watch, "one", {"deviceClassName": "gpu.nvidia.com", "adminAccess": True}) == EVERY[:1]


@pytest.mark.parametrize(
    "request_",
    [
        WHOLE,
        PART,
        {**WATCH, "adminAccess": False},
        {**WATCH, "deviceClassName": "mig.nvidia.com"},
        {**WATCH, "selectors": [{"cel": {"expression": "device.attributes['gpu.nvidia.com'].type == 'gpu'"}}]},
    ],
)
def test_others_stay_as_they_are(watch, request_):
    stored = admitted(watch, {"exactly": request_})
    assert stored["deviceClassName"] == request_["deviceClassName"] and "tolerations" not in stored


def test_tolerations_and_selectors_are_kept(watch):
    own = {"key": "tranche.dev/unhealthy", "operator": "Exists"}
    by_model = [{"cel": {"expression": "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA L20'"}}]
    stored = admitted(watch, {"exactly": {**WATCH, "tolerations": [own], "selectors": by_model}})
    assert (stored["tolerations"], stored["selectors"]) == ([own, TOLERATION], by_model)
    choices = [{"name": "a", "deviceClassName": "gpu.nvidia.com"}]
    assert admitted(watch, {"firstAvailable": choices}) == {}


@pytest.mark.parametrize(("values", "version"), [({}, "1.35.4"), ({"deviceClasses": {"create": False}}, "1.36.3")])
def test_there_is_no_policy_where_nothing_serves_it(helm, values, version):
    rendered = helm.template({"dra": {"enabled": True, **values}}, "--kube-version", version)
    assert not [one for one in rendered.objects if one["metadata"]["name"].endswith("admin-access")]
