"""Pods with fractions that wait for nodes of models that the cluster did not have (report 03), on a
real API server. Kubernetes makes claims by a controller; here a thread does."""

import contextlib
import threading

import pytest
import yaml
from api_server import Refused
from helm import ROOT, find_helm
from test_fractions import ACCOUNT, CONFIGURATION, SECRET, SHOP, SLICES, TEMPLATES, Cluster, resource_slice

HALVES = ROOT / "tests/data/reports/03-nodes-come-later/halves.yaml"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims"
HALF = "tranche-gpu-50"
MERGE = "application/merge-patch+json"
PROTECTION = "resource.kubernetes.io/delete-protection"


class Claiming:
    """Makes the claims of Pods from their templates, as kube-controller-manager does. For an hour
    it assumes that a deleted one still exists, and makes none in its place."""

    def __init__(self, server):
        self.server, self.ends = server, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ends.wait(0.02):
            for pod in self.server.request("GET", f"{SHOP}/pods")["items"]:
                with contextlib.suppress(Refused):
                    self.claim(pod)

    def claim(self, pod):
        known = {one["name"]: one["resourceClaimName"] for one in pod["status"].get("resourceClaimStatuses", [])}
        made = dict(known)
        for one in pod["spec"].get("resourceClaims", []):
            if one["name"] in known:
                continue
            template = self.server.request("GET", f"{TEMPLATES}/{one['resourceClaimTemplateName']}")
            owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
            owner |= {key: pod["metadata"][key] for key in ("name", "uid")}
            metadata = dict(template["spec"].get("metadata", {}))
            annotations = {**metadata.pop("annotations", {}), "resource.kubernetes.io/pod-claim-name": one["name"]}
            metadata |= {"generateName": f"{pod['metadata']['name']}-{one['name']}-", "ownerReferences": [owner]}
            claim = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {**metadata, "annotations": annotations},
                "spec": template["spec"]["spec"],
            }
            made[one["name"]] = self.server.request("POST", CLAIMS, claim)["metadata"]["name"]
        if made != known:
            statuses = [{"name": name, "resourceClaimName": claim} for name, claim in made.items()]
            path = f"{SHOP}/pods/{pod['metadata']['name']}/status"
            self.server.request("PATCH", path, {"status": {"resourceClaimStatuses": statuses}}, kind=MERGE)

    def stop(self):
        self.ends.set()
        self.thread.join()


@pytest.fixture(scope="module")
def cluster(server, tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    made = Cluster(server, tmp_path_factory.mktemp("later"))
    claiming = Claiming(server)
    yield made
    claiming.stop()
    made.stop()
    for path in (CONFIGURATION, SECRET):
        made.delete(path)


@pytest.fixture
def empty(cluster):
    """No GPU, no Pod, no template. The test starts the controller."""
    yield cluster
    cluster.stop()
    for path in (f"{SHOP}/pods", "/apis/apps/v1/namespaces/shop/deployments", CLAIMS, TEMPLATES, SLICES):
        cluster.server.request("DELETE", f"{path}?gracePeriodSeconds=0")


def halves() -> dict:
    deployment = yaml.safe_load(HALVES.read_text())
    deployment["metadata"]["namespace"] = "shop"
    return deployment


def pod_of(cluster, name: str) -> dict:
    """One that the Deployment's controller makes."""
    live = cluster.server.request("GET", cluster.server.path(halves()))["spec"]["template"]
    metadata = {"name": name, "namespace": "shop", "annotations": live["metadata"].get("annotations", {})}
    return cluster.post(f"{SHOP}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": live["spec"]})


def claim_of(cluster, pod: str) -> dict:
    """{} while there is none."""
    statuses = cluster.server.request("GET", f"{SHOP}/pods/{pod}")["status"].get("resourceClaimStatuses", [])
    with contextlib.suppress(Refused):
        return cluster.server.request("GET", f"{CLAIMS}/{statuses[0]['resourceClaimName']}") if statuses else {}
    return {}


def models(item: dict) -> list[str]:
    """The models that a claim names."""
    requests = item.get("spec", {}).get("devices", {}).get("requests", [])
    return [one["name"] for request in requests for one in request["firstAvailable"]]


def wait_models(cluster, pod: str, *names: str) -> dict:
    def named():
        claim = claim_of(cluster, pod)
        return claim if models(claim) == list(names) else None

    return cluster.server.wait(named, f"the claim of {pod} names {names}")


def publish(cluster, *slices: dict):
    """Publishes them; returns when a dry run is admitted."""
    for item in slices:
        cluster.server.apply(item)
    dry = {**halves(), "metadata": {"name": "dry", "namespace": "shop"}}
    cluster.server.wait(lambda: cluster.server.apply(dry, dry_run=True), "the fleet is known")


L20 = resource_slice("l20", "NVIDIA L20", "46068Mi")
T4 = resource_slice("t4", "Tesla T4", "15360Mi")


def test_a_pod_that_waits_gets_a_model_that_joins(empty):
    empty.start()
    publish(empty, L20)
    empty.server.apply(halves())
    for name in ("has", "is-given", "waits"):
        pod_of(empty, name)
        wait_models(empty, name, "l20")
    has, given, waits = (claim_of(empty, name) for name in ("has", "is-given", "waits"))
    path = f"{CLAIMS}/{has['metadata']['name']}/status"
    empty.server.request("PATCH", path, {"status": {"allocation": {}}}, kind=MERGE)
    # The scheduler's first write, before it allocates.
    path = f"{CLAIMS}/{given['metadata']['name']}"
    empty.server.request("PATCH", path, {"metadata": {"finalizers": [PROTECTION]}}, kind=MERGE)
    empty.server.apply(T4)
    anew = wait_models(empty, "waits", "t4", "l20")
    assert anew["metadata"]["uid"] != waits["metadata"]["uid"] and anew["metadata"]["name"] == waits["metadata"]["name"]
    assert anew["metadata"]["ownerReferences"] == waits["metadata"]["ownerReferences"]
    for name, before in (("has", has), ("is-given", given)):
        assert claim_of(empty, name)["metadata"]["uid"] == before["metadata"]["uid"]
    assert f"ResourceClaim shop/{waits['metadata']['name']}: made anew" in empty.log()
    # Scheduling failed: the finalizer goes, the Pod's status says why, and it is made again, too.
    empty.server.request("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    empty.server.request("PATCH", f"{SHOP}/pods/is-given/status", {"status": {"conditions": [condition]}}, kind=MERGE)
    wait_models(empty, "is-given", "t4", "l20")
    empty.server.request("PATCH", f"{CLAIMS}/{has['metadata']['name']}", {"metadata": {"finalizers": None}}, kind=MERGE)


def test_from_zero_of_another_model(empty):
    """A Deployment from the time of an L20 is scaled up without any GPU; then a T4 comes."""
    empty.start()
    publish(empty, L20)
    empty.server.apply(halves())
    empty.server.request("DELETE", f"{SLICES}/l20")
    empty.stop()  # it would remember the model for five minutes
    empty.start()
    pod_of(empty, "up")
    wait_models(empty, "up", "l20")
    empty.server.apply(T4)
    wait_models(empty, "up", "t4")


def test_models_that_are_expected_are_claimed_from_the_beginning(empty):
    empty.start("--fractions-models=Tesla T4=14917,NVIDIA L20=45476")
    empty.server.wait(lambda: empty.server.apply(halves()), "the fleet is known")
    pod_of(empty, "new")
    claim = wait_models(empty, "new", "t4", "l20")
    (request,) = claim["spec"]["devices"]["requests"]
    assert [one["capacity"]["requests"]["memory"] for one in request["firstAvailable"]] == ["7458Mi", "22738Mi"]
    # The same node again.
    empty.server.apply(T4)

    def exact():
        claim = claim_of(empty, "new")
        if "spec" not in claim:  # while it is made anew
            return False
        first = claim["spec"]["devices"]["requests"][0]["firstAvailable"][0]
        return first["capacity"]["requests"]["memory"] == "7680Mi"

    empty.server.wait(exact, "the claim is made anew with the memory that the T4 has")


def test_its_token_deletes_no_claim_that_somebody_has(empty):
    empty.start()
    publish(empty, L20)
    empty.server.apply(halves())
    pod_of(empty, "has")
    has = wait_models(empty, "has", "l20")
    token = empty.server.token("tranche", ACCOUNT)
    path = f"{CLAIMS}/{has['metadata']['name']}"

    def delete(path=path):
        empty.server.request("DELETE", f"{path}?dryRun=All", token=token)

    empty.server.request("PATCH", f"{path}/status", {"status": {"allocation": {}}}, kind=MERGE)
    empty.server.wait(lambda: refused(delete), "the policy is in force")
    empty.server.request("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
    empty.server.request("PATCH", f"{path}/status", {"status": {"allocation": None}}, kind=MERGE)
    delete()
    own = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": has["spec"]}
    own["metadata"] = {"name": "own", "labels": {"tranche.dev/gpu-share": "true"}}
    with pytest.raises(Refused, match="makes ResourceClaims of Pods"):
        empty.server.request("POST", f"{CLAIMS}?dryRun=All", own, token=token)
    empty.server.request("PATCH", path, {"metadata": {"labels": {"tranche.dev/gpu-share": None}}}, kind=MERGE)
    assert refused(delete)


def refused(call) -> bool:
    try:
        call()
    except Refused as error:
        return "the controller deletes ResourceClaims with label tranche.dev/gpu-share only" in error.message
    return False
