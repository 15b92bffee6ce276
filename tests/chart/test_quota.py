"""The quota of shares on a real API server: `tranche controller` with the chart's rights, and the
chart's webhook for claims, called by URL. Kubernetes counts ResourceQuotas by a controller; here a
thread does."""

import concurrent.futures
import contextlib
import json
import subprocess
import threading
import time

import pytest
import yaml
from api_server import Refused, free_port
from helm import ROOT, find_helm
from test_fractions import ACCOUNT, CONFIGURATION, NAME, SECRET, SLICES, Cluster, resource_slice
from workloads import claim, exactly, gpus, make_namespace, pod

VALIDATING = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{NAME}"
GPUS = "requests.nvidia.com/gpu"
OURS = "tranche-gpu-shares"
RESERVED = 60.0  # seconds that a reservation waits for its claim
THIRDS = ROOT / "tests/data/reports/02-three-thirds-and-a-quota/thirds.yaml"


TEAM = "team-gpus"  # a class of the operator's, of the same GPUs


def device_class(name: str, **more) -> dict:
    spec = {"selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}], **more}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def whole_by_claims(claims: list[dict]) -> int:
    """Kubernetes charges each device of a class that is served as nvidia.com/gpu."""
    requests = [r["exactly"] for c in claims for r in c["spec"]["devices"]["requests"] if "exactly" in r]
    return sum(r.get("count", 1) for r in requests if r["deviceClassName"] == "gpu.nvidia.com")


class Counting:
    """Counts the use of ResourceQuotas, as kube-controller-manager does."""

    def __init__(self, server):
        self.server, self.ends = server, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ends.wait(0.02):
            for quota in self.server.request("GET", "/api/v1/resourcequotas")["items"]:
                with contextlib.suppress(Refused):
                    self.count(quota)

    def count(self, quota):
        hard = quota["spec"].get("hard", {})
        pods = self.server.request("GET", f"/api/v1/namespaces/{quota['metadata']['namespace']}/pods")["items"]
        whole = sum(
            int(c.get("resources", {}).get("requests", {}).get("nvidia.com/gpu", 0))
            for p in pods
            for c in p["spec"]["containers"]
        )
        claims = f"/apis/resource.k8s.io/v1/namespaces/{quota['metadata']['namespace']}/resourceclaims"
        whole += whole_by_claims(self.server.request("GET", claims)["items"])
        status = {"hard": hard, "used": {key: str(whole) for key in hard}}
        if quota["status"] != status:
            path = f"{self.server.path({**quota, 'apiVersion': 'v1', 'kind': 'ResourceQuota'})}/status"
            body = {**quota, "apiVersion": "v1", "kind": "ResourceQuota", "status": status}
            self.server.request("PUT", path, body)

    def stop(self):
        self.ends.set()
        self.thread.join()


@pytest.fixture(scope="module")
def cluster(server, tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    made = Cluster(server, tmp_path_factory.mktemp("quota"), counts=("gpu-share", TEAM))
    for name, served_as in (("gpu.nvidia.com", {"extendedResourceName": "nvidia.com/gpu"}), ("gpu-share", {}), (TEAM, {})):
        server.apply(device_class(name, **served_as))
    server.apply(resource_slice("l20", "NVIDIA L20", "46068Mi"))
    counting = Counting(server)
    made.start()
    server.wait(lambda: trusts(made), "API servers trust the webhook for claims")
    yield made
    made.stop()
    counting.stop()
    for path in (VALIDATING, CONFIGURATION, SECRET, f"{SLICES}/l20"):
        made.delete(path)


def trusts(cluster) -> bool:
    (webhook,) = cluster.server.request("GET", VALIDATING)["webhooks"]
    return bool(webhook["clientConfig"].get("caBundle"))


class Namespace:
    """One test's namespace, with a quota."""

    def __init__(self, cluster, name, hard):
        self.cluster, self.server, self.name = cluster, cluster.server, name
        make_namespace(self.server, name)
        self.claims = f"/apis/resource.k8s.io/v1/namespaces/{name}/resourceclaims"
        self.quotas = f"/api/v1/namespaces/{name}/resourcequotas"
        self.pods = f"/api/v1/namespaces/{name}/pods"
        if hard is not None:
            self.limit(hard)
            self.server.wait(self.is_counted, "the quota is counted")

    def limit(self, hard):
        metadata = {"name": "gpus", "namespace": self.name}
        self.server.apply(
            {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {GPUS: hard}}}
        )

    def is_counted(self):
        """By all, including this controller: a claim beyond it is refused."""
        if GPUS not in self.server.request("GET", f"{self.quotas}/gpus").get("status", {}).get("hard", {}):
            return False
        try:
            self.share("probe", 100, count=1000, dry_run=True)
        except Refused as error:
            return "ResourceQuota gpus" in error.message
        return False

    def share(self, name, percent, dry_run=False, **more):
        request = exactly(memory="1Mi", compute=str(percent))
        request["exactly"].update(more)
        return self.cluster.post(self.claims, claim([request], namespace=self.name, name=name), dry_run=dry_run)

    def end(self, name):
        self.server.request("DELETE", f"{self.claims}/{name}")

    def whole(self, name, count):
        return self.cluster.post(self.pods, pod(gpus(count), namespace=self.name, name=name))

    def ours(self):
        return self.server.request("GET", f"{self.quotas}/{OURS}")

    def left(self) -> str:
        return self.ours()["status"].get("hard", {}).get(GPUS)

    def ledger(self) -> dict:
        text = self.ours()["metadata"]["annotations"]["tranche.dev/gpu-share-ledger"]
        with contextlib.suppress(ValueError):
            return json.loads(text)
        return {"claims": {}, "reserved": {}}

    def charged(self) -> list[int]:
        ledger = self.ledger()
        return [*ledger["claims"].values(), *(one["permille"] for one in ledger["reserved"].values())]

    def tenant(self) -> str:
        """The token of an account that may edit the namespace. (Roles are aggregated by a
        controller.)"""
        edit = "system:aggregate-to-edit"
        self.server.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "tenant", "namespace": self.name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": edit},
                "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": self.name}],
            }
        )
        return self.server.token(self.name, "default")

    def held(self) -> int:
        """By existing claims, in percent."""
        requests = [c["spec"]["devices"]["requests"][0] for c in self.server.request("GET", self.claims)["items"]]
        return sum(int(r["exactly"]["capacity"]["requests"]["compute"]) for r in requests)


@pytest.fixture
def namespace(cluster, request):
    """namespace(hard): a namespace of this test."""
    made = []

    def make(hard):
        made.append(Namespace(cluster, f"quota-{request.node.originalname.replace('_', '-')[5:50].strip('-')}", hard))
        return made[-1]

    yield make
    for one in made:
        for path in (one.claims, one.pods, one.quotas):
            cluster.server.request("DELETE", f"{path}?gracePeriodSeconds=0")


def test_a_share_beyond_the_quota_is_refused_until_one_ends(namespace):
    ns = namespace("1")
    ns.share("a", 50)
    ns.share("b", 50)
    with pytest.raises(Refused) as refused:
        ns.share("c", 25)
    assert refused.value.status == 403
    said = f"namespace {ns.name} may have 1 GPUs (ResourceQuota gpus, {GPUS}): whole GPUs take 0, shares 1"
    assert 'claim "c" asks for 0.25 of a GPU' in refused.value.message and said in refused.value.message
    assert f"kubectl get resourceclaims -n {ns.name}" in refused.value.message
    assert ns.ours()["metadata"]["annotations"]["tranche.dev/gpu-shares-held"] == "1"
    ns.end("a")
    ns.server.wait(lambda: ns.share("c", 25), "there is room again")


def test_alternatives_are_charged_by_the_dearest(namespace):
    ns = namespace("1")
    alternatives = []
    for name, percent in (("small", "10"), ("large", "80")):
        one = exactly(name, memory="1Mi", compute=percent)
        alternatives.append({"name": name, **one["exactly"]})
    item = claim([{"name": "gpu", "firstAvailable": alternatives}], namespace=ns.name, name="a")
    ns.cluster.post(ns.claims, item)
    assert ns.charged() == [800]
    with pytest.raises(Refused, match="shares 0.8"):
        ns.share("b", 30)


def test_another_class_of_the_same_gpus_counts_too(namespace):
    ns = namespace("1")
    ns.share("a", 50)
    with pytest.raises(Refused, match="shares 0.5"):
        ns.share("b", 60, deviceClassName=TEAM)
    ns.share("b", 50, deviceClassName=TEAM)
    ns.server.wait(lambda: not ns.ledger()["reserved"], "the reconciler sees claims of both classes")
    assert sorted(ns.charged()) == [500, 500]


def test_three_thirds_in_mib_are_one_gpu(cluster, namespace):
    """Report 02, and a fourth; the Pod's share is that of the report's Job."""
    ns = namespace("1")
    (job,) = (item for item in yaml.safe_load_all(THIRDS.read_text()) if item["kind"] == "Job")
    job["metadata"]["namespace"] = ns.name
    made = cluster.post(f"/apis/batch/v1/namespaces/{ns.name}/jobs", job)
    (ours,) = made["spec"]["template"]["spec"]["resourceClaims"]
    path = f"/apis/resource.k8s.io/v1/namespaces/{ns.name}/resourceclaimtemplates"
    template = cluster.server.request("GET", f"{path}/{ours['resourceClaimTemplateName']}")

    def third(name):
        item = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}}
        return cluster.post(ns.claims, {**item, "spec": template["spec"]["spec"]})

    for name in ("a", "b", "c"):
        third(name)
    assert ns.ours()["metadata"]["annotations"]["tranche.dev/gpu-shares-held"] == "1"
    with pytest.raises(Refused, match="asks for 0.333333 of a GPU.*whole GPUs take 0, shares 1;"):
        third("d")
    with pytest.raises(Refused, match="exceeded quota"):
        ns.whole("one", 1)


def by_class(ns, name, device_class, annotations=None, **more):
    item = claim([exactly(device_class=device_class, **more)], namespace=ns.name, name=name)
    if annotations:
        item["metadata"]["annotations"] = annotations
    return ns.cluster.post(ns.claims, item)


def test_whole_gpus_by_claims_are_held_to_what_shares_leave(namespace):
    """Kubernetes charges these, against both quotas."""
    ns = namespace("2")
    ns.share("a", 50)
    for name, more in (("amounts", {"memory": "1Mi", "compute": "1"}), ("none", {})):
        by_class(ns, name, "gpu.nvidia.com", **more)
        with pytest.raises(Refused, match=f"exceeded quota: {OURS}"):
            by_class(ns, "second", "gpu.nvidia.com", **more)
        ns.end(name)
        ns.server.wait(lambda: ns.ours()["status"]["used"][GPUS] == "0", "it is given back")


def test_a_claims_spec_does_not_change(namespace):
    ns = namespace("1")
    made = ns.share("a", 10)
    made["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"]["compute"] = "90"
    with pytest.raises(Refused, match="immutable"):
        ns.server.request("PUT", f"{ns.claims}/a", {**made, "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"})


def test_a_claim_that_holds_gpus_keeps_its_finalizer(cluster, namespace):
    """Whoever removes it and deletes the claim would have the GPU without being charged."""
    ns = namespace("1")
    server, head = ns.server, {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    ns.share("a", 50)
    tenant = ns.tenant()
    live = server.request("GET", f"{ns.claims}/a")
    live["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    live = server.request("PUT", f"{ns.claims}/a", {**live, **head})

    def strip(status, query=""):
        found = server.request("GET", f"{ns.claims}/a")
        found = server.request("PUT", f"{ns.claims}/a/status", {**found, **head, "status": status})
        found["metadata"]["finalizers"] = []
        return server.request("PUT", f"{ns.claims}/a{query}", {**found, **head}, token=tenant)

    def allocated(driver):
        result = {"request": "gpu", "driver": driver, "pool": "gpu-l20", "device": "gpu-0"}
        users = [{"resource": "pods", "name": "p", "uid": "u"}]
        return {"allocation": {"devices": {"results": [result]}}, "reservedFor": users}

    def is_refused():
        try:
            strip(allocated("gpu.nvidia.com"), "?dryRun=All")
        except Refused as error:
            return "the claim holds GPUs" in error.message and "delete the Pods that use it" in error.message
        return False

    server.wait(is_refused, "the policy is in force")
    for other in ({}, allocated("other.example.com"), {}):  # what is allocated changes by way of nothing
        strip(other, "?dryRun=All")
    assert is_refused()
    server.request("DELETE", f"{ns.claims}/a", token=tenant)
    assert ns.charged() == [500]
    # Kubernetes frees what a claim holds, and then deletes it.
    strip({})
    server.wait(lambda: not ns.server.request("GET", ns.claims)["items"], "the claim ends")
    server.wait(lambda: ns.charged() == [], "nothing is charged")


def test_bursts_of_claims_that_come_and_go_never_exceed_it(cluster, namespace):
    """With a controller that is killed in the middle."""
    ns = namespace("1")
    ends, most = threading.Event(), []

    def churn(i):
        n = 0
        while not ends.is_set():
            n += 1
            with contextlib.suppress(Refused, OSError):
                ns.share(f"c-{i}-{n}", 30)
                ns.end(f"c-{i}-{n}")

    threads = [threading.Thread(target=churn, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    try:
        for look in range(60):
            most.append(ns.held())
            time.sleep(0.05)
            if look == 20:
                cluster.process.kill()
                cluster.process.wait()
                cluster.start()
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert max(most) <= 100
    # What came and went, or never came, without a leader is released within a minute.
    last = ns.server.wait(lambda: ns.share("last", 10), "there is room again")["metadata"]["uid"]
    ns.server.wait(lambda: last in ns.ledger()["claims"], "the next controller leads")


def test_whole_gpus_are_refused_after_shares_and_shares_after_whole_gpus(namespace):
    ns = namespace("2")
    ns.share("a", 50)
    assert ns.left() == "1"
    with pytest.raises(Refused, match=f"exceeded quota: {OURS}, requested: {GPUS}=2, used: {GPUS}=0, limited: {GPUS}=1"):
        ns.whole("two", 2)
    ns.server.wait(lambda: ns.whole("one", 1), "one fits")
    with pytest.raises(Refused, match="whole GPUs take 1, shares 0.5"):
        ns.share("b", 60)
    ns.share("b", 50)
    ns.end("a")
    ns.end("b")
    ns.server.wait(lambda: ns.whole("another", 1), "what shares held is free for whole GPUs")


def test_a_dry_run_reserves_nothing(namespace):
    ns = namespace("1")
    ns.share("a", 40)
    before = ns.ours()["metadata"]["annotations"]
    for _ in range(3):
        ns.share("b", 60, dry_run=True)
    after = ns.ours()["metadata"]["annotations"]
    assert after["tranche.dev/gpu-shares-held"] == before["tranche.dev/gpu-shares-held"] == "0.4"
    ns.share("b", 60)
    with pytest.raises(Refused, match="ResourceQuota gpus"):
        ns.share("c", 1, dry_run=True)


def test_a_quota_that_is_lowered_ends_nothing(namespace):
    ns = namespace("2")
    for name in ("a", "b", "c"):
        ns.share(name, 50)
    ns.limit("1")
    ns.server.wait(lambda: ns.left() == "0", "nothing is left for whole GPUs")
    assert ns.held() == 150
    with pytest.raises(Refused, match="may have 1 GPUs.*shares 1.5"):
        ns.share("d", 1)
    with pytest.raises(Refused, match="exceeded quota"):
        ns.whole("one", 1)


def test_claims_of_before_the_quota_count_and_go_with_it(namespace):
    ns = namespace(None)
    ns.share("a", 75)
    ns.limit("1")
    ns.server.wait(lambda: ns.left() == "0", "the claim is charged")
    assert ns.charged() == [750]
    owner = ns.server.request("GET", VALIDATING)["metadata"]
    (reference,) = ns.ours()["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["uid"]) == ("ValidatingWebhookConfiguration", owner["uid"])
    ns.server.request("DELETE", f"{ns.quotas}/gpus")
    ns.server.wait(lambda: not ns.server.request("GET", ns.quotas)["items"], "ours goes with it")
    ns.share("b", 100)


def test_our_quota_that_is_deleted_or_torn_comes_back(namespace):
    ns = namespace("2")
    ns.share("a", 50)
    ns.server.wait(lambda: not ns.ledger()["reserved"], "the claim is seen")
    before = ns.ours()
    ns.server.request("DELETE", f"{ns.quotas}/{OURS}")
    ns.server.wait(lambda: ns.ours()["metadata"]["uid"] != before["metadata"]["uid"], "it is made again")
    assert ns.ledger()["claims"] == json.loads(before["metadata"]["annotations"]["tranche.dev/gpu-share-ledger"])["claims"]
    merge = {"metadata": {"annotations": {"tranche.dev/gpu-share-ledger": "{"}}}
    ns.server.request("PATCH", f"{ns.quotas}/{OURS}", merge, kind="application/merge-patch+json")
    ns.server.wait(lambda: ns.charged() == [500], "the ledger is made anew")
    assert "its ledger of shares was damaged" in ns.cluster.log()


def test_our_quota_that_somebody_changed_is_put_right(namespace):
    """Another's key, and an amount that no cluster has: both would count for Pods."""
    ns = namespace("2")
    ns.share("a", 50)
    for hard in ({"pods": "0"}, {GPUS: "100Ei"}):
        change = {"spec": {"hard": hard}}
        ns.server.request("PATCH", f"{ns.quotas}/{OURS}", change, kind="application/merge-patch+json")
        ns.server.wait(lambda: ns.ours()["spec"]["hard"] == {GPUS: "1"}, "it says what shares leave")
        ns.server.wait(lambda: ns.ours()["status"]["hard"] == {GPUS: "1"}, "it is counted")
    ns.share("b", 50)


def test_a_quota_too_large_to_matter_limits_nothing(namespace):
    ns = namespace("2")
    ns.limit("100Ei")
    ns.server.wait(lambda: ns.share("probe", 100, count=1000, dry_run=True), "it is counted")
    ns.share("a", 50)
    assert int(ns.ours()["spec"]["hard"][GPUS]) > 1_000_000
    ns.whole("one", 1)


def test_somebody_elses_quota_under_our_name_is_not_touched(namespace):
    ns = namespace("2")
    metadata = {"name": OURS, "namespace": ns.name}
    theirs = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": "9"}}}
    ns.server.apply(theirs)
    with pytest.raises(Refused, match="not one of Tranche's.*kubectl delete resourcequota"):
        ns.share("a", 50)
    assert ns.ours()["spec"] == theirs["spec"]


@contextlib.contextmanager
def second_controller(cluster):
    """Another replica, which API servers do not call: yields post(namespace, claim)."""
    port = free_port()
    log = (cluster.folder / "second.log").open("ab")
    token = cluster.server.token("tranche", ACCOUNT)
    process = subprocess.Popen(
        [ROOT / "build/bin/tranche", "controller", f"--kubeconfig={cluster.server.kubeconfig(token)}"]
        + ["--namespace=tranche", "--fractions", *cluster.counting(), f"--webhook-listen=127.0.0.1:{port}"]
        + ["--webhook-hosts=127.0.0.1", f"--webhook-secret={NAME}", f"--webhook-configuration={NAME}"]
        + ["--leader-elect"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    )
    first = cluster.port
    configuration = cluster.server.request("GET", VALIDATING)
    extra = json.loads(json.dumps(configuration["webhooks"][0]))
    extra["name"] = "second.tranche.dev"
    extra["clientConfig"]["url"] = f"https://127.0.0.1:{port}/quota"
    # Each is asked about every second claim, by its name.
    halves = []
    for webhook, rest in ((configuration["webhooks"][0], "0"), (extra, "1")):
        condition = {"name": "its-half", "expression": f'object.metadata.name.endsWith("-{rest}")'}
        halves.append({**webhook, "matchConditions": [*webhook["matchConditions"], condition]})
    try:
        cluster.port = port
        cluster.server.wait(cluster.ready, "the second is ready")
        live = cluster.server.request("GET", VALIDATING)
        cluster.server.request("PUT", VALIDATING, {**live, "webhooks": halves})
        yield
    finally:
        cluster.port = first
        live = cluster.server.request("GET", VALIDATING)
        whole = {**configuration["webhooks"][0]}
        cluster.server.request("PUT", VALIDATING, {**live, "webhooks": [whole]})
        process.terminate()
        assert process.wait(timeout=20) == 0


def test_two_controllers_and_whole_gpus_at_once_never_exceed_it(cluster, namespace):
    ns = namespace("6")
    with second_controller(cluster):

        def both():
            refused = []
            for name in ("probe-0", "probe-1"):
                try:
                    ns.share(name, 100, count=1000, dry_run=True)
                except Refused as error:
                    refused.append(error.message)
            return all(f"{which}.tranche.dev" in text for which, text in zip(("quota", "second"), refused, strict=True))

        cluster.server.wait(both, "each is asked about its half")

        def one(i):
            with contextlib.suppress(Refused):
                return bool(ns.whole(f"p-{i}", 1) if i % 8 == 7 else ns.share(f"c-{i}-{i % 2}", 30))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            admitted = sum(bool(a) for a in pool.map(one, range(64)))
    pods = len(cluster.server.request("GET", ns.pods)["items"])
    assert ns.held() + 100 * pods <= 600
    assert admitted >= 6  # who waited for another was let in
    # A reservation that could not be taken back, for others wrote all the time, ends in a minute.
    cluster.server.wait(lambda: not ns.ledger()["reserved"], "every claim is seen", within=3 * RESERVED)
    ledger = ns.ledger()["claims"]
    assert sum(ledger.values()) == 10 * ns.held()


def test_its_token_writes_no_other_quota(cluster, namespace):
    ns = namespace("4")
    token = cluster.server.token("tranche", ACCOUNT)
    metadata = {"name": "mine", "namespace": ns.name, "labels": {"tranche.dev/gpu-shares": "true"}}
    head = {"apiVersion": "v1", "kind": "ResourceQuota"}
    spec = {"hard": {GPUS: "9"}}
    refused = "writes ResourceQuotas tranche-gpu-shares"
    with pytest.raises(Refused, match=refused):
        cluster.server.request("POST", ns.quotas, {**head, "metadata": metadata, "spec": spec}, token=token)
    other = {"name": OURS, "namespace": ns.name, "labels": metadata["labels"]}
    with pytest.raises(Refused, match=refused):
        body = {**head, "metadata": other, "spec": {"hard": {"pods": "0"}}}
        cluster.server.request("POST", ns.quotas, body, token=token)
    for path, verb in ((f"{ns.quotas}/gpus", "DELETE"), (f"{ns.quotas}/gpus", "PUT"), (f"{ns.quotas}/gpus/status", "PUT")):
        with pytest.raises(Refused) as error:
            cluster.server.request(verb, path, cluster.server.request("GET", f"{ns.quotas}/gpus"), token=token)
        assert error.value.status == 403


def test_away_it_refuses_claims_of_its_class_and_nothing_else(cluster, namespace):
    ns = namespace("4")
    cluster.stop()
    try:
        with pytest.raises(Refused, match='failed calling webhook "quota.tranche.dev"'):
            ns.share("a", 10)
        for other in (exactly(device_class="gpu.nvidia.com"), exactly(device_class="gpu-shares")):
            cluster.post(ns.claims, claim([other], namespace=ns.name), dry_run=True)
        template = claim([exactly()], kind="ResourceClaimTemplate", namespace=ns.name)
        cluster.server.apply(template, dry_run=True)
        ns.whole("one", 1)
    finally:
        cluster.start()
    ns.server.wait(lambda: ns.share("a", 10), "it answers again")


def test_what_never_came_is_forgotten(cluster, namespace):
    """Another admission refuses the claim after ours has reserved."""
    ns = namespace("1")
    ns.share("a", 10)
    ns.server.wait(lambda: not ns.ledger()["reserved"], "the claim is seen")
    with pytest.raises(Refused, match="already exists"):
        ns.share("a", 80)
    assert [one["permille"] for one in ns.ledger()["reserved"].values()] == [800]
    # A minute later: the reservation is too old.
    old = ns.ours()
    text = old["metadata"]["annotations"]["tranche.dev/gpu-share-ledger"]
    ledger = json.loads(text)
    for one in ledger["reserved"].values():
        one["at"] = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() - 70))
    merge = {"metadata": {"annotations": {"tranche.dev/gpu-share-ledger": json.dumps(ledger)}}}
    ns.server.request("PATCH", f"{ns.quotas}/{OURS}", merge, kind="application/merge-patch+json")
    ns.share("b", 80)
