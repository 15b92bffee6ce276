"""nvidia.com/gpu: 0.5 by the chart's policy, to the end: real controllers make the Pods and their
claims, the real scheduler places them on one GPU that a ResourceSlice describes. Only kubelet is
missing."""

import subprocess

import pytest
from api_server import running_server
from fractions_policy import MODELS, SERVED, values
from helm import Helm, find_helm, lab_program
from kubectl import Kubectl
from workloads import claim, exactly, gpus, make_namespace, pod, within

VALUES = {**values(namespaces=["shop", "small"]), "guardRails": {"enabled": True}}
DRIVER = "gpu.nvidia.com"
NODE = "gpu-1"


def share(most: str, least: str, step: str) -> dict:
    policy = {"default": most, "validRange": {"min": least, "max": most, "step": step}}
    return {"value": most, "requestPolicy": policy}


def one_gpu() -> list[dict]:
    memory = f"{MODELS[0]['memory']}Mi"
    device = {
        "name": "gpu-0",
        "allowMultipleAllocations": True,
        "attributes": {"productName": {"string": MODELS[0]["product"]}, "type": {"string": "gpu"}},
        "capacity": {"memory": share(memory, "1Mi", "1Mi"), "compute": share("100", "1", "1")},
    }
    pool = {"name": f"gpu-{NODE}", "generation": 1, "resourceSliceCount": 1}
    slices = {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": [device]}
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}' && device.allowMultipleAllocations == true"}}
    version = "resource.k8s.io/v1"
    return [
        {"apiVersion": version, "kind": "ResourceSlice", "metadata": {"name": "00"}, "spec": slices},
        {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": "gpu-share"}, "spec": {"selectors": [selector]}},
    ]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    programs = {name: lab_program(name) for name in ("kube-controller-manager", "kube-scheduler")}
    if None in programs.values():
        pytest.skip("no scheduler: lab/build/build makes one")
    folder = tmp_path_factory.mktemp("cluster")
    with running_server(folder) as server:
        config = server.kubeconfig()
        running = []
        try:
            for name, program in programs.items():
                with (folder / f"{name}.log").open("wb") as log:
                    arguments = [f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0"]
                    running.append(subprocess.Popen([program, *arguments], stdout=log, stderr=log))
            yield server
        finally:
            for process in running:
                process.kill()
                process.wait()


@pytest.fixture(scope="module")
def shop(cluster, tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    rendered = Helm(find_helm(), tmp_path_factory.mktemp("helm")).template(VALUES, *SERVED)
    make_namespace(cluster, "shop")
    make_namespace(cluster, "small", {"tranche.dev/max-gpu-memory": "12Gi"})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    for item in [node, *one_gpu()]:
        cluster.apply(item)
    room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    status = {"capacity": room, "allocatable": room, "conditions": [ready]}
    cluster.request("PATCH", f"/api/v1/nodes/{NODE}/status", {"status": status}, kind="application/merge-patch+json")
    cluster.request("PATCH", f"/api/v1/nodes/{NODE}", {"spec": {"taints": []}}, kind="application/merge-patch+json")
    for item in rendered.objects:
        name, kind = item["metadata"]["name"], item["kind"]
        if "fractions" in name or "guard" in name or kind == "ResourceClaimTemplate":
            cluster.apply(item)
    cluster.wait(lambda: cluster.apply(pod(gpus(0.5)), dry_run=True), "fractions are rewritten")
    whole = claim([exactly()], namespace="small")
    guarded = Kubectl(cluster, "small")
    create = ("create", "--dry-run=server", "-f", "-")
    cluster.wait(lambda: "more than 12Gi" in guarded(*create, item=whole).stderr, "the maximum is in force")
    return cluster


def pods(server) -> list[dict]:
    return server.request("GET", "/api/v1/namespaces/shop/pods")["items"]


def consumed(server) -> list[dict]:
    claims = server.request("GET", "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims")["items"]
    allocated = [c["status"]["allocation"] for c in claims if "allocation" in c.get("status", {})]
    return [result["consumedCapacity"] for a in allocated for result in a["devices"]["results"]]


def test_two_halves_lie_on_one_gpu_and_the_third_waits(shop):
    item = within("Deployment", pod(gpus(0.5), name="halves"))
    item["spec"]["replicas"] = 3
    done = Kubectl(shop, "shop")("apply", "-f", "-", item=item)
    assert done.returncode == 0, done.stderr
    shop.wait(lambda: len(pods(shop)) == 3, "the Deployment has its Pods")

    def placed():
        return sum(p["spec"].get("nodeName") == NODE for p in pods(shop))

    def waiting() -> str:
        told = [c for p in pods(shop) for c in p["status"].get("conditions", []) if c["type"] == "PodScheduled"]
        return " ".join(c.get("message", "") for c in told)

    shop.wait(lambda: placed() == 2 and "cannot allocate all claims" in waiting(), "two are placed, one waits")
    half = f"{MODELS[0]['memory'] // 2}Mi"
    assert consumed(shop) == [{"memory": half, "compute": "50"}] * 2
    shop.request("DELETE", shop.path(item))
    bound = [p["metadata"]["name"] for p in pods(shop) if p["spec"].get("nodeName")]
    kubectl = Kubectl(shop, "shop")
    assert kubectl("delete", "pod", "--force", "--ignore-not-found", *bound).returncode == 0  # no kubelet ends them
    shop.wait(lambda: not pods(shop) and not consumed(shop), "the claims go with their Pods")


def test_a_job_gets_its_share(shop):
    job = within("Job", pod(gpus("0.25", "work"), name="batch"))
    assert Kubectl(shop, "shop")("apply", "-f", "-", item=job).returncode == 0
    shop.wait(lambda: [p for p in pods(shop) if p["spec"].get("nodeName")], "its Pod is placed")
    (made,) = pods(shop)
    assert made["spec"]["resourceClaims"] == [
        {"name": "tranche-gpu-work", "resourceClaimTemplateName": "tranche-gpu-25"}
    ]
    assert consumed(shop) == [{"memory": f"{MODELS[0]['memory'] // 4}Mi", "compute": "25"}]


def test_a_share_beyond_the_namespaces_memory_waits_and_says_why(shop):
    """The memory of a fraction is known when its claim is made."""
    large = pod(gpus(0.75), name="large", namespace="small")
    assert Kubectl(shop, "small")("apply", "-f", "-", item=large).returncode == 0

    def events() -> str:
        found = shop.request("GET", "/api/v1/namespaces/small/events")["items"]
        return " ".join(e["message"] for e in found if e["reason"] == "FailedResourceClaimCreation")

    words = "request gpu asks for more than 12Gi of a GPU's memory"
    shop.wait(lambda: words in events(), "an Event says why")
