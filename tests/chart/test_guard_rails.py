"""The guard rails on a real API server: what they refuse, in which words, and what they leave
alone."""

import pytest
from api_server import Refused
from helm import Helm, find_helm
from kubectl import Kubectl
from workloads import KINDS, claim, container, exactly, gpus, make_namespace, pod, within

NAMESPACE = "tranche"
PREFIX = "gpu-tranche-guard-"
NAMESPACES = {
    "shop": {},
    "small": {"memory": "12Gi", "compute": "50"},
    "broken": {"memory": "lots"},
    "kube-system": {},
    NAMESPACE: {},
}
KINDS_OF_CLAIMS = ["ResourceClaim", "ResourceClaimTemplate"]
HALF = {"memory": "12Gi", "compute": "50"}
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
SHARE = {"name": "tranche-gpu-a", "resourceClaimTemplateName": "tranche-gpu-50"}
MILLI = container(limits={"deviceclass.resource.kubernetes.io/gpu-share": "500m"})
MILLI_POD = pod(MILLI, name="milli")


def mixed(**more) -> dict:
    shared = container("a", claims=[{"name": "tranche-gpu-a"}])
    return pod(gpus(1, "w"), shared, resourceClaims=[SHARE], **more)


def policies(values: dict, folder) -> list[dict]:
    if find_helm() is None:
        pytest.skip("no helm")
    rendered = Helm(find_helm(), folder).template({"guardRails": {"enabled": True, **values}}, namespace=NAMESPACE)
    return [o for o in rendered.objects if o["metadata"]["name"].startswith(PREFIX)]


@pytest.fixture(scope="module")
def guarded(server, tmp_path_factory):
    """The API server with the policies in force, and namespaces with and without a maximum."""
    for name, maximum in NAMESPACES.items():
        make_namespace(server, name, {f"tranche.dev/max-gpu-{key}": maximum[key] for key in maximum})
    old = server.apply(within("Deployment", mixed(name="old")))
    made = [old, server.apply(MILLI_POD)]
    made += [server.apply(item) for item in policies({}, tmp_path_factory.mktemp("helm"))]
    assert len(made) == 2 + 8

    for item, words in (
        (claim([exactly(cores="1")]), "no device of class"),
        (mixed(), "asks for whole GPUs"),
        (claim([exactly(memory="1Gi")]), "names no compute"),
    ):
        server.wait(lambda item=item, words=words: words in told(server, item), f"told: {words}")
    yield server
    for item in reversed(made):
        if item["metadata"]["name"] != "milli":  # a test ends it
            server.request("DELETE", server.path(item))


def told(server, item: dict) -> str:
    """The message for a user who would create it."""
    return Kubectl(server, "shop")("create", "--dry-run=server", "-f", "-", item=item).stderr


def refusal(server, item: dict) -> str:
    with pytest.raises(Refused) as refused:
        server.apply(item, dry_run=True)
    return refused.value.message


@pytest.mark.parametrize("kind", KINDS)
def test_whole_gpus_beside_a_share_are_refused(guarded, kind):
    message = refusal(guarded, within(kind, mixed()))
    assert "container w asks for whole GPUs (nvidia.com/gpu), and claim tranche-gpu-a is a share" in message
    assert 'tranche.dev/gpu-mixed: "true"' in message
    guarded.apply(within(kind, mixed(annotations={"tranche.dev/gpu-mixed": "true"})), dry_run=True)


@pytest.mark.parametrize(
    "other",
    [
        pod(gpus(1, "w"), container("b"), resourceClaims=[{"name": "x", "resourceClaimTemplateName": "tranche-gpu-25"}]),
        pod(gpus(2, "w"), container("b", limits={"deviceclass.resource.kubernetes.io/gpu-share": 1})),
        pod(container("b"), initContainers=[gpus(1, "w")], resourceClaims=[SHARE]),
    ],
    ids=["by the template's name", "by the class", "an init container"],
)
def test_shares_are_known_in_every_form(guarded, other):
    assert "asks for whole GPUs" in refusal(guarded, other)


@pytest.mark.parametrize(
    "fine",
    [
        pod(gpus(1, "a"), gpus(2, "b")),
        pod(gpus(0, "a"), container("b"), resourceClaims=[SHARE]),
        pod(container("b", claims=[{"name": "tranche-gpu-a"}]), resourceClaims=[SHARE]),
        pod(gpus(1), resourceClaims=[{"name": "net", "resourceClaimTemplateName": "net"}]),
        pod(container(limits={"deviceclass.resource.kubernetes.io/gpu-share": 1})),
        pod(container()),
    ],
    ids=["whole ones", "none beside a share", "a share", "a claim of something else", "a class", "no GPU"],
)
@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_what_is_fine_is_let_through(guarded, kind, fine):
    guarded.apply(within(kind, fine), dry_run=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_a_device_class_is_refused(guarded, kind):
    message = refusal(guarded, within(kind, pod(container("a"), MILLI)))
    assert "container main asks for a part of a deviceclass.resource.kubernetes.io/... resource" in message
    assert "nvidia.com/gpu: 0.5" in message


@pytest.mark.parametrize("spared", ["kube-system", NAMESPACE])
def test_kubernetes_and_the_release_are_spared(guarded, spared):
    guarded.apply(mixed(namespace=spared), dry_run=True)
    guarded.apply(claim([exactly(cores="1")], namespace=spared), dry_run=True)


def test_what_is_there_already_can_be_changed_otherwise(guarded):
    """Scaled, restarted, given a finalizer and another image; only new requests are refused."""
    path = "/apis/apps/v1/namespaces/shop/deployments/old"
    kind = "application/strategic-merge-patch+json"
    for change in (
        {"spec": {"replicas": 3}},
        {"metadata": {"finalizers": ["a.example/b"]}},
        {"metadata": {"finalizers": None}},
        {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "w", "image": "j"}]}}}},
    ):
        guarded.request("PATCH", path, change, kind=kind)
    guarded.request("PATCH", f"{path}/status", {"status": {"replicas": 1}}, kind=kind)
    guarded.request("PATCH", f"{path}/scale", {"spec": {"replicas": 2}}, kind="application/merge-patch+json")
    more = {"spec": {"template": {"spec": {"containers": [{"name": "w", "resources": {"limits": {"nvidia.com/gpu": 2}}}]}}}}
    more["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"nvidia.com/gpu": 2}
    with pytest.raises(Refused, match="asks for whole GPUs"):
        guarded.request("PATCH", path, more, kind=kind)


def test_a_pod_that_is_there_lives_and_ends(guarded):
    path = "/api/v1/namespaces/shop/pods/milli"
    kind = "application/merge-patch+json"
    guarded.request("PATCH", path, {"metadata": {"labels": {"b": "c"}, "finalizers": ["a.example/b"]}}, kind=kind)
    guarded.request("PATCH", f"{path}/status", {"status": {"phase": "Running"}}, kind=kind)
    guarded.request("DELETE", f"{path}?gracePeriodSeconds=0")
    guarded.request("PATCH", path, {"metadata": {"finalizers": None}}, kind=kind)
    with pytest.raises(Refused):
        guarded.request("GET", path)


@pytest.mark.parametrize("kind", KINDS_OF_CLAIMS)
@pytest.mark.parametrize("key", ["gpu.nvidia.com/memory", "cores"])
def test_a_capacity_that_no_device_has_is_refused(guarded, kind, key):
    message = refusal(guarded, claim([exactly(**HALF), exactly("b", **{key: "1"})], kind))
    assert "request b asks for a capacity that no device of class gpu-share has" in message
    assert "without gpu.nvidia.com/ before them" in message
    guarded.apply(claim([exactly(device_class="other", **{key: "1"})], kind), dry_run=True)


def first_available(*capacities: dict) -> dict:
    models = [{"name": f"m{i}", **exactly(**c)["exactly"]} for i, c in enumerate(capacities)]
    return {"name": "gpu", "firstAvailable": models}


@pytest.mark.parametrize("kind", KINDS_OF_CLAIMS)
@pytest.mark.parametrize(
    ("request_", "what"),
    [
        (exactly(memory="12289Mi", compute="50"), "more than 12Gi of a GPU's memory"),
        (exactly(memory="1Gi", compute="51"), "more than 50 % of a GPU's compute"),
        (exactly(memory="1Gi"), "without capacity.requests.compute it asks for all"),
        (exactly(compute="50"), "without capacity.requests.memory it asks for all"),
        (exactly(), "more than 12Gi of a GPU's memory"),
        (exactly(device_class="gpu.nvidia.com"), "more than 12Gi of a GPU's memory"),
        (first_available(HALF, {"memory": "20Gi", "compute": "50"}), "more than 12Gi of a GPU's memory"),
    ],
    ids=["memory", "compute", "all compute", "all memory", "all", "a whole GPU", "of one model"],
)
def test_a_share_beyond_the_namespaces_maximum_is_refused(guarded, kind, request_, what):
    message = refusal(guarded, claim([request_], kind, namespace="small"))
    assert what in message and "of namespace small" in message
    guarded.apply(claim([request_], kind), dry_run=True)  # elsewhere there is none


def test_templates_for_fractions_are_made_for_all(guarded):
    """By Tranche, in every namespace; a claim made from one is checked."""
    large = [exactly(memory="34551Mi", compute="75")]
    guarded.apply(claim(large, "ResourceClaimTemplate", namespace="small", name="tranche-gpu-75"), dry_run=True)
    assert "more than 12Gi" in refusal(guarded, claim(large, namespace="small", name="tranche-gpu-75"))


@pytest.mark.parametrize("kind", KINDS_OF_CLAIMS)
@pytest.mark.parametrize("fine", [exactly(**HALF), first_available(HALF, HALF), exactly(device_class="net")])
def test_a_share_within_the_maximum_is_let_through(guarded, kind, fine):
    guarded.apply(claim([fine], kind, namespace="small"), dry_run=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fraction_beyond_the_maximum_is_refused_where_the_user_sees_it(guarded, kind):
    big = {"name": "tranche-gpu-a", "resourceClaimTemplateName": "tranche-gpu-75"}
    asking = [container("a", claims=[{"name": "tranche-gpu-a"}])]
    message = refusal(guarded, within(kind, pod(*asking, resourceClaims=[big], namespace="small")))
    assert "claim tranche-gpu-a (tranche-gpu-75) asks for more than 50 % of a GPU's compute" in message
    guarded.apply(within(kind, pod(*asking, resourceClaims=[SHARE], namespace="small")), dry_run=True)


def test_a_maximum_that_is_no_amount_is_the_operators_mistake(guarded):
    message = refusal(guarded, claim([exactly(**HALF)], namespace="broken"))
    assert "label tranche.dev/max-gpu-memory of namespace broken is 'lots', which is no amount" in message


def test_claims_of_the_scheduler_are_spared(guarded):
    """For nvidia.com/gpu: 1 it makes claims of whole GPUs itself."""
    whole = claim([exactly(device_class="gpu.nvidia.com")], namespace="small")
    arguments = ("create", "--dry-run=server", "-f", "-")
    done = Kubectl(guarded, "small")("--as=system:kube-scheduler", *arguments, item=whole)
    assert done.returncode == 0, done.stderr
    assert Kubectl(guarded, "small")(*arguments, item=whole).returncode != 0


CLASS = "deviceclass.resource.kubernetes.io/"
BY_CLASS = {
    "a share": [pod(container(limits={f"{CLASS}gpu-share": 1}), namespace="small")],
    "a whole GPU": [pod(container(limits={f"{CLASS}gpu.nvidia.com": 1}), namespace="small")],
    "a request alone": [pod(container(requests={f"{CLASS}gpu-share": 1}), namespace="small")],
    "a second container": [pod(container("a"), container(limits={f"{CLASS}gpu-share": 2}), namespace="small")],
    "an init container": [
        pod(container("a"), initContainers=[container(limits={f"{CLASS}gpu-share": 1})], namespace="small")
    ],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", BY_CLASS)
def test_the_maximum_holds_for_a_class_that_a_container_names(guarded, kind, case):
    """There are no amounts, so the scheduler claims all of the GPU."""
    [asking] = BY_CLASS[case]
    message = refusal(guarded, within(kind, asking))
    assert f"container main asks for {CLASS}gpu" in message and "all of a GPU" in message
    assert "more than 12Gi of memory" in message and "in namespace small" in message
    elsewhere = {**asking, "metadata": {**asking["metadata"], "namespace": "shop"}}
    guarded.apply(within(kind, elsewhere), dry_run=True)  # there is none


@pytest.mark.parametrize(
    "fine",
    [{f"{CLASS}gpu-share": 0}, {f"{CLASS}net": 1}, {"nvidia.com/gpu": 1}],
    ids=["none", "another class", "whole GPUs, which a quota counts"],
)
def test_the_maximum_leaves_alone(guarded, fine):
    guarded.apply(pod(container(limits=fine), namespace="small"), dry_run=True)


def test_a_pod_that_no_policy_can_judge_has_no_share_beyond_the_maximum(guarded):
    rules = [item for item in guarded.request("GET", POLICIES)["items"] if item["metadata"]["name"].startswith(PREFIX)]
    closed = {item["metadata"]["name"].removeprefix(PREFIX) for item in rules if item["spec"]["failurePolicy"] == "Fail"}
    assert closed == {"maximum", "claims"}


def test_the_scheduler_claims_no_share_beyond_the_maximum(guarded):
    """As it does for a class of shares that somebody gave an extended resource's name."""
    share = claim([exactly(name="container-0-request-0")], namespace="small")
    done = Kubectl(guarded, "small")("--as=system:kube-scheduler", "create", "--dry-run=server", "-f", "-", item=share)
    assert "more than 12Gi of a GPU's memory" in done.stderr


def test_advice_is_a_warning(guarded):
    for item, words in (
        (claim([exactly(memory="12Gi")]), "names no compute and is charged all of it"),
        (claim([exactly(compute="50")], "ResourceClaimTemplate"), "names no memory and is charged all of it"),
    ):
        assert "Warning: " in told(guarded, item) and words in told(guarded, item)
        guarded.apply(item, dry_run=True)
    for item in (claim([exactly(**HALF)]), claim([exactly(device_class="gpu.nvidia.com")])):
        assert told(guarded, item) == ""


def test_a_maximum_for_all_and_warnings_instead_of_refusals(guarded, tmp_path):
    """As `helm upgrade` with other values does."""
    everywhere = {"maximum": {"memory": "8Gi", "compute": 25}}
    large = claim([exactly(memory="9Gi", compute="25")])
    try:
        for item in policies(everywhere | {"validationActions": ["Warn"]}, tmp_path):
            guarded.apply(item)
        words = "more than 8Gi of a GPU's memory"
        guarded.wait(lambda: words in told(guarded, large), "the maximum is in force")
        guarded.wait(lambda: guarded.apply(large, dry_run=True), "it only warns")
        assert "have the operator raise guardRails.maximum.memory of the chart" in told(guarded, large)
        small = claim([exactly(**HALF)], namespace="small")  # has a maximum of its own
        assert guarded.apply(small, dry_run=True) and told(guarded, large).startswith("Warning: ")
    finally:
        for item in policies({}, tmp_path):
            guarded.apply(item)


@pytest.mark.parametrize(
    ("values", "arguments", "words"),
    [
        ({"enabled": True}, ["--kube-version", "1.29.0"], "needs Kubernetes 1.30 or later; this is v1.29.0"),
        ({"enabled": True, "validationActions": ["Deny", "Warn"]}, [], "Leave Warn out"),
        ({"maximum": None}, [], "in a values file it is a section"),
        ({"maximum": {"memory": "12"}}, [], "/guardRails/maximum/memory"),
        ({"maximum": {"compute": 101}}, [], "/guardRails/maximum/compute"),
        ({"shareClasses": []}, [], "/guardRails/shareClasses"),
    ],
    ids=["an old Kubernetes", "two actions", "no section", "bytes without a unit", "percent", "no class"],
)
def test_values_that_cannot_be_meant_are_refused(helm, values, arguments, words):
    all_values = {"guardRails": values, "admissionPolicy": {"enabled": False}}
    assert words in helm.refusal(all_values, *arguments)
