"""nvidia.com/gpu: 0.5 by the chart's MutatingAdmissionPolicy, on a real API server: its results for
manifests, that applying again changes nothing, and the texts of refusals."""

import copy
import json
import subprocess

import pytest
from api_server import Refused, running_server
from fractions_policy import MODELS, RECORD, SERVED, admitted, installed, shown, values
from helm import ROOT
from kubectl import Kubectl
from workloads import KINDS, container, gpus, make_namespace, pod, template_of, within


@pytest.fixture(scope="module")
def fractions(server, tmp_path_factory):
    with installed(server, tmp_path_factory.mktemp("helm")) as server:
        yield server


def refusal(server, item: dict) -> str:
    with pytest.raises(Refused) as refused:
        server.apply(item, dry_run=True)
    return refused.value.message


def half(name="main", template="tranche-gpu-50") -> dict:
    return {"name": f"tranche-gpu-{name}", "resourceClaimTemplateName": template}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("amount", [0.5, "0.5", "500m"], ids=["number", "string", "milli"])
def test_half_a_gpu_becomes_a_claim(fractions, kind, amount):
    assert shown(admitted(fractions, within(kind, pod(gpus(amount))))) == {
        "annotations": {RECORD: '{"main":{"gpu":"0.5","claim":"tranche-gpu-main"}}'},
        "claims": [half()],
        "resources": {"main": {"claims": [{"name": "tranche-gpu-main"}]}},
    }


def test_each_container_has_its_own(fractions):
    both = {"nvidia.com/gpu": 0.25, "cpu": "1"}
    made = pod(
        container("b", limits=both, requests={"nvidia.com/gpu": "250m"}),
        container("plain", limits={"memory": "1Gi"}),
        initContainers=[gpus(0.75, "a")],
        annotations={"mine": "1"},
    )
    assert shown(admitted(fractions, made)) == {
        "annotations": {
            "mine": "1",
            RECORD: '{"a":{"gpu":"0.75","claim":"tranche-gpu-a"},"b":{"gpu":"0.25","claim":"tranche-gpu-b"}}',
        },
        "claims": [half("a", "tranche-gpu-75"), half("b", "tranche-gpu-25")],
        "resources": {
            "a": {"claims": [{"name": "tranche-gpu-a"}]},
            # Kubernetes copies limits into requests first.
            "b": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}, "claims": [{"name": "tranche-gpu-b"}]},
            "plain": {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}},
        },
    }


@pytest.mark.parametrize("kind", KINDS)
def test_what_asks_for_no_fraction_is_left_alone(fractions, kind):
    mine = [{"name": "tranche-gpu-x", "resourceClaimTemplateName": "tranche-gpu-50"}]
    for one in (pod(gpus(1)), pod(container(claims=[{"name": "tranche-gpu-x"}]), resourceClaims=mine)):
        there = copy.deepcopy(one)
        there["metadata"]["namespace"] = "plain"
        assert shown(admitted(fractions, within(kind, one))) == shown(admitted(fractions, within(kind, there)))


def test_elsewhere_the_api_server_refuses_fractions_itself(fractions):
    assert "must be an integer" in refusal(fractions, pod(gpus(0.5), namespace="plain"))


# As a user does it, and what must not change thereby.

LIVE = ["Pod", "Deployment", "StatefulSet", "Job", "CronJob"]


def get(server, item: dict) -> dict:
    return server.request("GET", server.path(item))


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["apply", "server-side apply"])
@pytest.mark.parametrize("kind", LIVE)
def test_applying_again_changes_nothing(fractions, kind, how):
    kubectl = Kubectl(fractions, "shop")
    item = within(kind, pod(gpus(0.5), container("side", limits={"cpu": "1"}), name=f"again-{kind.lower()}-{len(how)}"))
    try:
        first = kubectl("apply", *how, "-f", "-", item=item)
        assert first.returncode == 0, first.stderr
        before = get(fractions, item)
        assert shown(before)["claims"] == [half()]
        for _ in range(2):
            done = kubectl("apply", *how, "-f", "-", item=item)
            assert done.returncode == 0, done.stderr
        after = get(fractions, item)
        assert after["spec"] == before["spec"]
        assert after["metadata"].get("generation") == before["metadata"].get("generation")
    finally:
        fractions.request("DELETE", fractions.path(item) + "?gracePeriodSeconds=0")


@pytest.mark.parametrize("how", [(), ("--server-side",)], ids=["apply", "server-side apply"])
def test_another_fraction_is_another_template_and_none_is_none(fractions, how):
    kubectl = Kubectl(fractions, "shop")
    name = f"change-{len(how)}"
    item = within("Deployment", pod(gpus(0.5), name=name))
    try:
        for amount, claims in (
            (0.5, [half()]),
            (0.25, [half(template="tranche-gpu-25")]),
            (0, None),
            (0.75, [half(template="tranche-gpu-75")]),
            (1, None),
        ):
            item = within("Deployment", pod(gpus(amount), name=name))
            done = kubectl("apply", *how, "-f", "-", item=item)
            assert done.returncode == 0, done.stderr
            now = shown(get(fractions, item))
            assert now["claims"] == (claims or [])
            assert (RECORD in now["annotations"]) == bool(claims)
            if claims is None:
                assert now["resources"]["main"]["limits"] == {"nvidia.com/gpu": str(amount)}
                assert "claims" not in now["resources"]["main"]
    finally:
        fractions.request("DELETE", fractions.path(item))


def test_a_manifest_that_asks_no_longer_takes_the_claim_away(fractions):
    """By kubectl apply, which sends what it applied before; server-side apply does not, there
    nvidia.com/gpu: 0 does it."""
    kubectl = Kubectl(fractions, "shop")
    mine = {"name": "tranche-gpu-mine", "resourceClaimTemplateName": "tranche-gpu-25"}
    keeps = container("keeps", claims=[{"name": "tranche-gpu-mine"}])
    items = [
        within("Deployment", pod(one, keeps, name="no-longer", resourceClaims=[mine]))
        for one in (gpus(0.5), container())
    ]
    try:
        for item, claims in zip(items, ([mine, half()], [mine]), strict=True):
            done = kubectl("apply", "-f", "-", item=item)
            assert done.returncode == 0, done.stderr
            now = shown(get(fractions, item))
            assert now["claims"] == claims
        assert now["resources"] == {"keeps": {"claims": [{"name": "tranche-gpu-mine"}]}}
    finally:
        fractions.request("DELETE", fractions.path(items[0]))


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_what_has_a_size_that_left_the_menu_can_be_applied_again(fractions, kind):
    """The object as the API server merges it: its content, with the manifest's fraction over it."""
    has = half(template="tranche-gpu-40")
    main = container("main", limits={"nvidia.com/gpu": 0.4}, claims=[{"name": "tranche-gpu-main"}])
    merged = within(kind, pod(main, resourceClaims=[has]))
    assert shown(admitted(fractions, merged))["claims"] == [has]
    other = within(kind, pod(gpus(0.3), resourceClaims=[has]))
    assert "asks for 0.3 of nvidia.com/gpu" in refusal(fractions, other)


def test_pods_of_a_rewritten_workload_need_no_rewrite(fractions):
    """As the controllers of Kubernetes make them from the stored template."""
    stored = template_of(admitted(fractions, within("ReplicaSet", pod(gpus(0.5)))))
    made = {"apiVersion": "v1", "kind": "Pod", "spec": stored["spec"]}
    made["metadata"] = {**stored["metadata"], "name": "of-a-set", "namespace": "shop"}
    assert shown(admitted(fractions, made)) == shown({"kind": "Pod", **stored})


# Impossible amounts.

TOO_LONG = "c" * 52


@pytest.mark.parametrize("kind", ["Pod", "Deployment", "CronJob"])
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (pod(gpus(0.4, "a")), 'container "a" asks for 0.4 of nvidia.com/gpu, and in namespace shop a container can have '
         "0.25, 0.5, 0.75 or whole GPUs: write one of these"),
        (pod(gpus(0.005)), "asks for 0.005 of nvidia.com/gpu"),
        (pod(gpus(1.5)), "asks for 1.5 of nvidia.com/gpu"),
        (pod(gpus(0.5, "a"), initContainers=[gpus("0.1", "b")]), 'container "b" asks for 0.1 of nvidia.com/gpu'),
        (pod(container(requests={"nvidia.com/gpu": 0.5})), "limits say nothing"),
        (
            pod(container(limits={"nvidia.com/gpu": 0.5}, requests={"nvidia.com/gpu": 0.25})),
            "limits.nvidia.com/gpu is 500m, and requests say 250m",
        ),
        (pod(gpus(0.5, TOO_LONG)), "a name of at most 51 letters"),
        (
            pod(gpus(0.5), resourceClaims=[{"name": "tranche-gpu-main", "resourceClaimName": "mine"}]),
            "the Pod has another claim tranche-gpu-main: rename",
        ),
        (pod(gpus(0.5, "a-b"), gpus(0.5, "a--b")), "rename that claim or the container"),
        (pod(gpus(0.5), nodeName="n"), "remove spec.nodeName"),
        (pod(*[gpus(0.5, f"c{i}") for i in range(129)]), "129 containers ask for a part of a GPU, and 128 are allowed"),
        (pod(gpus(0.5), annotations={"tranche.dev/gpu-memory": "1Gi"}), "remove the annotations tranche.dev/gpu-memory"),
        (
            pod(gpus(0.25, "a"), gpus(0.25, "b"), annotations={"tranche.dev/gpu-together": "true"}),
            "need the webhook of tranche controller",
        ),
        (
            pod(gpus(1), annotations={"tranche.dev/gpu-memory": "1Gi", "tranche.dev/gpu-compute": "5"}),
            "shares by the annotations tranche.dev/gpu-memory and tranche.dev/gpu-compute need the webhook",
        ),
        (
            pod(gpus(0.5), container("b", claims=[{"name": "tranche-gpu"}]),
                resourceClaims=[{"name": "tranche-gpu", "resourceClaimTemplateName": "tranche-gpu-together-5-5"}]),
            "claim tranche-gpu was made by the webhook",
        ),
    ],
    ids=[
        "not on the menu", "no step", "more than one", "one of two", "requests alone", "limits and requests", "long name",
        "claim of the same name", "two containers of one name", "a named node", "very many", "bytes and a fraction", "together",
        "bytes", "the webhook's",
    ],
)
def test_what_cannot_be_had_is_refused_in_words_that_help(fractions, kind, asked, words):
    message = refusal(fractions, within(kind, asked))
    assert words in message, message
    assert "tranche-gpu-refused" not in message


def test_a_user_reads_it(fractions):
    told = Kubectl(fractions, "shop").refusal(pod(gpus(0.4, "a")))
    assert 'container "a" asks for 0.4 of nvidia.com/gpu' in told and "fractions.policy.sizes" in told


# Impossible places.


def test_without_the_feature_the_chart_says_so(helm):
    words = helm.refusal(values())
    assert "needs MutatingAdmissionPolicy v1, which Kubernetes serves from 1.36" in words
    assert "--api-versions admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" in words


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"models": []}, "'fractions.policy.models' is empty"),
        ({"namespaces": []}, "'fractions.policy.namespaces' is empty"),
        ({"models": [MODELS[0], {**MODELS[0], "memory": 1024}]}, "names NVIDIA L20 twice"),
        ({"models": MODELS * 3}, "/fractions/policy/models"),
        ({"models": [{"product": "a'b", "memory": 1024}]}, "/fractions/policy/models/0/product"),
        ({"sizes": [100]}, "/fractions/policy/sizes/0"),
        ({"sizes": []}, "/fractions/policy/sizes"),
        ({"namespaces": ["A"]}, "/fractions/policy/namespaces/0"),
    ],
    ids=["no model", "no namespace", "twice", "nine models", "a quote", "all", "no size", "no namespace's name"],
)
def test_values_that_cannot_be_meant_are_refused(helm, more, words):
    assert words in helm.refusal(values(**more), *SERVED)


def dry_installation(helm, server, folder) -> subprocess.CompletedProcess:
    file = folder / "fractions.json"
    file.write_text(json.dumps(values(namespaces=["plain"])))
    chart = str(ROOT / "deploy/helm/tranche")
    arguments = ["--namespace=tranche", f"--values={file}", "--dry-run=server"]
    return helm.run("install", "dry", chart, *arguments, f"--kubeconfig={server.kubeconfig()}")


def test_helm_asks_the_api_server(helm, server, tmp_path):
    """This one serves the policies, another one does not."""
    done = dry_installation(helm, server, tmp_path)
    assert done.returncode == 0 and "MutatingAdmissionPolicyBinding" in done.stdout, done.stderr
    without = "--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false"
    with running_server(tmp_path, without, "--disable-admission-plugins=MutatingAdmissionPolicy") as old:
        make_namespace(old, "tranche")
        done = dry_installation(helm, old, tmp_path)
        assert done.returncode != 0 and "needs MutatingAdmissionPolicy v1" in done.stderr, done.stderr
