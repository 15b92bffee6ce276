"""The chart's policy for fractions, installed on a real API server, and its result for an
object."""

import contextlib

import pytest
from helm import Helm, find_helm
from kubectl import Kubectl
from workloads import gpus, make_namespace, pod, template_of

MODELS = [
    {"product": "NVIDIA L20", "memory": 46068},
    {"product": "Tesla T4", "memory": 15360},
    {"product": "NVIDIA T4", "memory": 16384},
]
SERVED = ("--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")
RECORD = "tranche.dev/gpu-fractions"


def values(**more) -> dict:
    policy = {"enabled": True, "models": MODELS, "namespaces": ["shop"], **more}
    return {"fractions": {"policy": policy}}


@contextlib.contextmanager
def installed(server, folder):
    """The default sizes in namespace `shop`, all sizes in `any`, nothing in `plain`."""
    if find_helm() is None:
        pytest.skip("no helm")
    helm = Helm(find_helm(), folder)
    shop = helm.template(values(), *SERVED)
    every = helm.template(values(sizes=list(range(1, 100)), namespaces=["any"]), *SERVED, release="every")
    items = [o for o in shop.objects if "fractions" in o["metadata"]["name"] or is_template(o)]
    items += [o for o in every.objects if "fractions" in o["metadata"]["name"]]
    assert len(items) == 4 + 3 + 4
    for name in ("shop", "any", "plain"):
        make_namespace(server, name)
    made = [server.apply(item) for item in items]
    for name in ("shop", "any"):
        server.wait(lambda name=name: admitted(server, pod(gpus(0.5), namespace=name)), "fractions are rewritten")
        bad = pod(gpus(1.5), namespace=name)
        server.wait(lambda bad=bad: "asks for 1.5" in told(server, bad), "refusals have reasons")
    yield server
    for item in reversed(made):
        server.request("DELETE", server.path(item))


def is_template(item: dict) -> bool:
    return item["kind"] == "ResourceClaimTemplate"


def admitted(server, item: dict) -> dict:
    return server.apply(item, dry_run=True)


def told(server, item: dict) -> str:
    """The message for a user who would create it."""
    kubectl = Kubectl(server, item["metadata"]["namespace"])
    return kubectl("create", "--dry-run=server", "-f", "-", item=item).stderr


def shown(item: dict) -> dict:
    """The parts of a workload's Pods that a rewrite may change."""
    template = template_of(item)
    spec = template["spec"]

    def lists(key):
        return {c["name"]: c["resources"] for c in spec.get(key, []) if c.get("resources")}

    return {
        "annotations": template["metadata"].get("annotations", {}),
        "claims": spec.get("resourceClaims", []),
        "resources": lists("initContainers") | lists("containers"),
    }
