"""The admission webhook for fractions of GPUs, on a real API server: `tranche controller` with the
chart's rights, and the chart's webhook configuration, called by URL."""

import base64
import contextlib
import copy
import json
import socket
import ssl
import subprocess
import threading

import pytest
import yaml
from api_server import Refused, free_port
from helm import CHART, ROOT, Helm, find_helm, lab_program
from modes import MODES

NAME = "gpu-tranche-webhook"
ACCOUNT = "gpu-tranche-controller"
CLAIMS = "gpu-tranche-claims"
SHOP = "/api/v1/namespaces/shop"
SECRET = f"/api/v1/namespaces/tranche/secrets/{NAME}"
CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{NAME}"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaimtemplates"
SCENARIO = ROOT / "tests/data/scenarios/fractions/half-pod.yaml"


class Cluster:
    """An API server that asks the webhook, and one controller that serves it."""

    def __init__(self, server, folder, counts=(), driver="gpu.nvidia.com"):
        """counts: DeviceClasses whose claims are counted against quotas. driver: the value dra.driverName."""
        self.server, self.folder, self.counts = server, folder, counts
        self.port = free_port()
        self.process = None
        helm = Helm(find_helm(), folder)
        quota = {"enabled": bool(counts), **({"deviceClasses": list(counts)} if counts else {})}
        values = {"fractions": {**MODES["fractions"]["fractions"], "quota": quota}, "dra": {"driverName": driver}}
        rendered = helm.template(values, namespace="tranche")
        self.driver_flag = driver_flag(rendered)
        for item in rendered.objects:
            about_controller = item["metadata"]["name"] in (ACCOUNT, NAME, CLAIMS, "tranche-controller")
            if not about_controller or item["kind"] in ("Deployment", "Service", "NetworkPolicy"):
                continue
            if item["kind"].endswith("WebhookConfiguration"):
                path = item["webhooks"][0]["clientConfig"]["service"]["path"]
                item["webhooks"][0]["clientConfig"] = {"url": f"https://127.0.0.1:{self.port}{path}"}
            server.apply(item)
        for name in ("shop", "other"):
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            account = {"apiVersion": "v1", "kind": "ServiceAccount"}
            server.apply({**account, "metadata": {"name": "default", "namespace": name}})

    def start(self, *more):
        log = (self.folder / "controller.log").open("ab")
        token = self.server.token("tranche", ACCOUNT)
        self.process = subprocess.Popen(
            [ROOT / "build/bin/tranche", "controller", f"--kubeconfig={self.server.kubeconfig(token)}"]
            + ["--namespace=tranche", "--fractions", f"--webhook-listen=127.0.0.1:{self.port}"]
            + ["--webhook-hosts=127.0.0.1", f"--webhook-secret={NAME}", f"--webhook-configuration={NAME}"]
            + ["--leader-elect", self.driver_flag, *self.counting(), *more],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
        self.server.wait(self.trusted_handshake, "the webhook serves what API servers trust")
        self.server.wait(self.ready, "the webhook is ready")

    def counting(self) -> list[str]:
        classes = ",".join(self.counts)
        return ["--fractions-quota", f"--fractions-quota-classes={classes}"] if classes else []

    def stop(self):
        if self.process:
            self.process.terminate()
            assert self.process.wait(timeout=20) == 0
        self.process = None

    def log(self) -> str:
        return (self.folder / "controller.log").read_text()

    def bundle(self) -> str:
        (webhook,) = self.server.request("GET", CONFIGURATION)["webhooks"]
        return base64.b64decode(webhook["clientConfig"].get("caBundle", "")).decode()

    def trusted_handshake(self) -> bool:
        """A new connection, as from an API server that has just started."""
        bundle = self.bundle()
        if not bundle:
            return False
        context = ssl.create_default_context(cadata=bundle)
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1"):
                return True

    def ready(self) -> bool:
        context = ssl._create_unverified_context()
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain:
            with context.wrap_socket(plain) as stream:
                stream.sendall(b"GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                return stream.recv(64).startswith(b"HTTP/1.1 200")

    def post(self, path: str, item: dict, dry_run=False) -> dict:
        return self.server.request("POST", path + ("?dryRun=All" if dry_run else ""), item)

    def templates(self) -> set[str]:
        return {t["metadata"]["name"] for t in self.server.request("GET", TEMPLATES)["items"]}

    def delete_templates(self):
        for name in self.templates():
            self.delete(f"{TEMPLATES}/{name}")

    def delete(self, path: str):
        with contextlib.suppress(Refused):
            self.server.request("DELETE", path + "?gracePeriodSeconds=0")


def driver_flag(rendered) -> str:
    """The chart's flag for the controller with the DRA driver's name."""
    pod = rendered.one("Deployment", "gpu-tranche-controller")["spec"]["template"]["spec"]
    (flag,) = [a for a in pod["containers"][0]["args"] if a.startswith("--dra-driver-name=")]
    return flag


@pytest.fixture(scope="module")
def cluster(server, tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    made = Cluster(server, tmp_path_factory.mktemp("fractions"))
    made.start()
    yield made
    made.stop()
    made.delete_templates()
    for path in (CONFIGURATION, SECRET, f"{SLICES}/l20", f"{SLICES}/t4"):
        made.delete(path)


def half_pod(name="vgpu-pod", **annotations) -> dict:
    pod = yaml.safe_load(SCENARIO.read_text())
    pod["metadata"] = {"name": name, "namespace": "shop"}
    if annotations:
        pod["metadata"]["annotations"] = annotations
    return pod


def plain_pod(name: str, **limits) -> dict:
    container = {"name": "c", "image": "i", "resources": {"limits": limits}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


def shareable(amount: str, step: str) -> dict:
    policy = {"default": amount, "validRange": {"min": step, "max": amount, "step": step}}
    return {"value": amount, "requestPolicy": policy}


def device(product: str, memory: str) -> dict:
    return {
        "name": "gpu-0",
        "attributes": {"productName": {"string": product}, "uuid": {"string": f"GPU-{product}"}},
        "capacity": {
            "memory": shareable(memory, "1Mi"),
            "compute": shareable("100", "1"),
        },
        "allowMultipleAllocations": True,
    }


def resource_slice(node: str, product: str, memory: str, driver="gpu.nvidia.com") -> dict:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": driver,
            "nodeName": node,
            "pool": {"name": f"gpu-{node}", "generation": 1, "resourceSliceCount": 1},
            "devices": [device(product, memory)],
        },
    }


def test_without_models_and_replicas_it_is_refused_with_what_to_do(cluster):
    with pytest.raises(Refused) as refused:
        cluster.post(f"{SHOP}/pods", half_pod())
    assert refused.value.status == 403
    assert "no node gives parts of GPUs" in refused.value.message
    assert "kubectl label node NODE tranche.dev/mode=dra" in refused.value.message


def test_replicas_where_no_node_is_in_mode_dra(cluster):
    labels = {"nvidia.com/gpu.replicas": "2", "tranche.dev/gpu.shared.limits": "strict"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "shared-1", "labels": labels}}
    cluster.server.apply(node)
    amounts = {"nvidia.com/gpu.shared": "4"}
    merge = "application/merge-patch+json"
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    cluster.server.request("PATCH", "/api/v1/nodes/shared-1/status", status, kind=merge)

    def admitted():
        return cluster.post(f"{SHOP}/pods", half_pod(), dry_run=True)

    pod = cluster.server.wait(admitted, "the node counts")
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"nvidia.com/gpu.shared": "1"},
        "requests": {"nvidia.com/gpu.shared": "1"},
    }
    cluster.delete("/api/v1/nodes/shared-1")


@pytest.fixture(scope="module")
def models(cluster):
    """Two models of GPU, published as a driver does."""
    for item in (
        resource_slice("l20", "NVIDIA L20", "46068Mi"),
        resource_slice("t4", "Tesla T4", "15360Mi"),
    ):
        cluster.server.apply(item)

    def has_both():
        cluster.post(f"{SHOP}/pods", half_pod("probe", **{"tranche.dev/probe": "1"}), dry_run=True)
        pod = half_pod("probe")
        pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "0.51"}}
        cluster.post(f"{SHOP}/pods", pod)
        cluster.delete(f"{SHOP}/pods/probe")
        made = cluster.server.request("GET", f"{TEMPLATES}/tranche-gpu-51")
        return len(made["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"]) == 2

    cluster.server.wait(has_both, "the fleet has two models")
    return cluster


def assert_half(template: dict):
    """Of a Pod or of a workload's Pod template."""
    assert template["spec"]["resourceClaims"] == [
        {"name": "tranche-gpu-my-container", "resourceClaimTemplateName": "tranche-gpu-50"}
    ]
    (container,) = template["spec"]["containers"]
    assert container["resources"] == {"claims": [{"name": "tranche-gpu-my-container"}]}
    record = json.loads(template["metadata"]["annotations"]["tranche.dev/gpu-fractions"])
    assert record == {"my-container": {"claim": "tranche-gpu-my-container", "gpu": "0.5"}}


def test_the_scenarios_pod_as_written(models):
    models.post(f"{SHOP}/pods", half_pod())
    assert_half(models.server.request("GET", f"{SHOP}/pods/vgpu-pod"))
    template = models.server.request("GET", f"{TEMPLATES}/tranche-gpu-50")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    assert [(one["name"], one["capacity"]["requests"]) for one in request["firstAvailable"]] == [
        ("t4", {"memory": "7680Mi", "compute": "50"}),
        ("l20", {"memory": "23034Mi", "compute": "50"}),
    ]
    models.delete(f"{SHOP}/pods/vgpu-pod")


def workload(kind: str) -> dict:
    template = {"metadata": {"labels": {"app": "half"}}, "spec": half_pod()["spec"]}
    spec = {"selector": {"matchLabels": {"app": "half"}}, "template": template}
    metadata = {"name": "half", "namespace": "shop"}
    if kind in ("Job", "CronJob"):
        template["spec"]["restartPolicy"] = "Never"
        spec = {"template": template}
    if kind == "CronJob":
        spec = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": spec}}
    if kind == "StatefulSet":
        spec["serviceName"] = "half"
    version = "batch/v1" if kind in ("Job", "CronJob") else "apps/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def template_of(item: dict) -> dict:
    spec = item["spec"]
    return (spec["jobTemplate"]["spec"] if item["kind"] == "CronJob" else spec)["template"]


KINDS = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_workload_by_kubectl_again_and_again(models, kind, tmp_path):
    kubectl = lab_program("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl: lab/build/build makes one")
    file = tmp_path / "half.yaml"
    file.write_text(yaml.safe_dump(workload(kind)))

    def apply(*more):
        command = [kubectl, f"--kubeconfig={models.server.kubeconfig()}", "apply", "-f", file, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return models.server.request("GET", models.server.path(workload(kind)))

    first = apply()
    assert_half(template_of(first))
    again = apply()
    assert again["spec"] == first["spec"]
    assert again["metadata"]["generation"] == first["metadata"]["generation"]
    models.delete(models.server.path(workload(kind)))
    models.server.wait(lambda: gone(models, workload(kind)), "it is deleted")
    # Server-side apply, by one owner from the beginning.
    first = apply("--server-side")
    assert_half(template_of(first))
    again = apply("--server-side")
    assert again["spec"] == first["spec"]
    models.delete(models.server.path(workload(kind)))
    models.server.wait(lambda: gone(models, workload(kind)), "it is deleted")


def gone(cluster, item: dict) -> bool:
    """Without controllers nobody ends a foreground deletion: finalizers are removed here."""
    path = cluster.server.path(item)
    try:
        live = cluster.server.request("GET", path)
    except Refused as error:
        return error.status == 404
    if live["metadata"].get("finalizers"):
        patch = {"metadata": {"finalizers": None}}
        cluster.server.request("PATCH", path, patch, kind="application/merge-patch+json")
    return False


def test_a_pod_applied_again(models):
    pod = half_pod("again")
    first = models.server.apply(pod)
    assert_half(first)
    assert models.server.apply(pod)["spec"] == first["spec"]
    models.delete(f"{SHOP}/pods/again")


def test_a_dry_run_makes_no_template(models):
    pod = half_pod("dry")
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "0.37"}}
    stored = models.post(f"{SHOP}/pods", pod, dry_run=True)
    assert stored["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == "tranche-gpu-37"
    assert "tranche-gpu-37" not in models.templates()
    models.post(f"{SHOP}/pods", pod)
    assert "tranche-gpu-37" in models.templates()
    models.delete(f"{SHOP}/pods/dry")


def test_a_template_of_somebody_elses_is_not_touched(models):
    theirs = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "tranche-gpu-13", "namespace": "shop"},
        "spec": {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}},
    }
    made = models.server.apply(theirs)
    pod = half_pod("thirteen")
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "0.13"}}
    with pytest.raises(Refused, match="not one of Tranche's.*kubectl -n shop delete"):
        models.post(f"{SHOP}/pods", pod)
    live = models.server.request("GET", f"{TEMPLATES}/tranche-gpu-13")
    assert live["metadata"]["uid"] == made["metadata"]["uid"]
    models.delete(f"{TEMPLATES}/tranche-gpu-13")


def test_its_token_makes_no_other_template(models):
    token = models.server.token("tranche", ACCOUNT)
    labels = {"tranche.dev/gpu-share": "true"}
    spec = {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}

    def make(metadata):
        item = {**head, "metadata": metadata, "spec": spec}
        models.server.request("POST", TEMPLATES + "?dryRun=All", item, token=token)

    def in_force():
        with contextlib.suppress(Refused):
            make({"name": "mine", "labels": labels})
            return False
        return True

    models.server.wait(in_force, "the policy is in force")
    make({"name": "tranche-gpu-77", "labels": labels})
    for metadata in ({"name": "mine", "labels": labels}, {"name": "tranche-gpu-77"}):
        with pytest.raises(Refused, match="makes and deletes ResourceClaimTemplates tranche-gpu-"):
            make(metadata)


def test_a_template_that_is_missing_is_made_again(models):
    models.post(f"{SHOP}/pods", half_pod("waits"))
    models.delete(f"{TEMPLATES}/tranche-gpu-50")
    # A Pod of the same share brings it back; so does any change of the waiting Pod.
    merge = "application/merge-patch+json"
    labels = {"metadata": {"labels": {"seen": "1"}}}
    models.server.request("PATCH", f"{SHOP}/pods/waits", labels, kind=merge)
    models.server.wait(lambda: "tranche-gpu-50" in models.templates(), "it is there again")
    models.delete(f"{SHOP}/pods/waits")


@pytest.mark.parametrize(
    ("gpu", "why"),
    [("1.5", "1.5"), ("0.001", "0.001"), ("0.505", "0.505")],
    ids=["more than one", "too little", "too fine"],
)
def test_what_is_written_wrong_is_refused(models, gpu, why):
    pod = half_pod("wrong")
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": gpu}}
    with pytest.raises(Refused, match="fractions.tranche.dev") as refused:
        models.post(f"{SHOP}/pods", pod)
    assert refused.value.status == 422, refused.value.message


def test_certificates_change_under_requests_and_none_fails(models):
    """Serving certificates of 6 s, authorities of 24 s: several of each expire."""
    models.stop()
    models.start("--webhook-certificate-life=6s")
    seen = {"authorities": set(), "certificates": set()}
    failures, stop = [], threading.Event()

    def call():
        while not stop.is_set():
            try:
                assert_half(models.post(f"{SHOP}/pods", half_pod("rotates"), dry_run=True))
                assert models.trusted_handshake()
            except Exception as error:  # noqa: BLE001: any failure counts
                failures.append(repr(error))

    def turned():
        data = models.server.request("GET", SECRET)["data"]
        seen["certificates"].add(data["tls.crt"])
        seen["authorities"].add(models.bundle())
        return len(seen["authorities"]) >= 4 and len(seen["certificates"]) >= 4

    caller = threading.Thread(target=call)
    caller.start()
    try:
        models.server.wait(turned, "an authority has a successor, which is then trusted alone")
    finally:
        stop.set()
        caller.join()
    assert not failures
    models.stop()
    models.start()


@pytest.mark.parametrize(
    ("broken", "said"),
    [("tls.key", "tls.key is not the key of tls.crt"), ("ca.crt", "ca.crt holds no certificates")],
    ids=["its key", "its authority"],
)
def test_a_damaged_secret_is_made_anew(models, broken, said):
    damaged = {"data": {broken: base64.b64encode(b"hello").decode()}}
    models.server.request("PATCH", SECRET, damaged, kind="application/merge-patch+json")

    def mended():
        data = models.server.request("GET", SECRET)["data"]
        return data[broken] != damaged["data"][broken] and models.trusted_handshake()

    models.server.wait(mended, "it is made anew")
    assert f"was damaged: {said}" in models.log()
    assert_half(models.post(f"{SHOP}/pods", half_pod("mended"), dry_run=True))


def test_an_absent_webhook_blocks_nobody(models):
    held = models.server.apply(workload("Deployment"))
    models.stop()
    with contextlib.ExitStack() as later:
        later.callback(models.start)
        others = [plain_pod("none"), plain_pod("whole", **{"nvidia.com/gpu": "1"})]
        others.append(plain_pod("memory", memory="1Gi", **{"nvidia.com/gpu": 2}))
        for pod in others:
            models.post(f"{SHOP}/pods", pod, dry_run=True)
        whole = copy.deepcopy(workload("Deployment"))
        whole["metadata"]["name"] = "whole"
        whole["spec"]["template"]["spec"] = others[1]["spec"]
        models.server.apply(whole, dry_run=True)
        with pytest.raises(Refused, match="must be an integer"):
            models.post(f"{SHOP}/pods", half_pod())
        # What was admitted before continues: it is scaled, and its Pods are made.
        scale = {"spec": {"replicas": 3}}
        path = models.server.path(workload("Deployment"))
        scaled = models.server.request("PATCH", path, scale, kind="application/merge-patch+json")
        assert scaled["spec"]["template"] == held["spec"]["template"]
        again = plain_pod("one") | {"spec": held["spec"]["template"]["spec"]}
        models.post(f"{SHOP}/pods", again, dry_run=True)
        models.delete(path)


def test_it_serves_neither_kubernetes_nor_its_own_namespace(models):
    for namespace in ("kube-system", "tranche"):
        account = {"apiVersion": "v1", "kind": "ServiceAccount"}
        models.server.apply({**account, "metadata": {"name": "default", "namespace": namespace}})
        with pytest.raises(Refused, match="must be an integer"):
            pod = half_pod()
            pod["metadata"]["namespace"] = namespace
            models.post(f"/api/v1/namespaces/{namespace}/pods", pod, dry_run=True)


def test_an_upgrade_keeps_what_the_controller_wrote(server, tmp_path):
    """By Helm itself, which compares the old chart, the new chart, and the cluster."""
    if find_helm() is None:
        pytest.skip("no helm")
    helm = Helm(find_helm(), tmp_path)
    name, merge = "up-tranche-webhook", "application/merge-patch+json"
    secret = f"/api/v1/namespaces/gpu-operator/secrets/{name}"
    configuration = f"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{name}"
    release = ["up", CHART, "--namespace=gpu-operator", f"--kubeconfig={server.kubeconfig()}", "--no-hooks"]
    bundle = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n").decode()

    def run(*words):
        done = helm.run(*map(str, words))
        assert done.returncode == 0, done.stdout + done.stderr

    run("install", *release, "--set=fractions.enabled=true")
    try:
        server.request("PATCH", secret, {"data": {"tls.key": "aGVsbG8="}}, kind=merge)
        live = server.request("GET", configuration)
        live["webhooks"][0]["clientConfig"]["caBundle"] = bundle
        server.request("PUT", configuration, live)
        run("upgrade", *release, "--set=fractions.enabled=true", "--set=fractions.timeoutSeconds=7")
        (webhook,) = server.request("GET", configuration)["webhooks"]
        assert webhook["timeoutSeconds"] == 7
        assert webhook["clientConfig"]["caBundle"] == bundle
        assert server.request("GET", secret)["data"] == {"tls.key": "aGVsbG8="}
    finally:
        run("uninstall", "up", "--namespace=gpu-operator", f"--kubeconfig={server.kubeconfig()}", "--no-hooks")
    with pytest.raises(Refused):
        server.request("GET", configuration)
