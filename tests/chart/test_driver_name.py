"""Another name for the DRA driver (dra.driverName), from the values to a Pod's share of a GPU, on a
real API server: next to NVIDIA's own driver, of whose GPUs no share is claimed."""

import subprocess

import pytest
import yaml
from fractions_policy import SERVED, values
from helm import ROOT, Helm, find_helm
from test_fractions import (
    CONFIGURATION,
    SECRET,
    SHOP,
    SLICES,
    TEMPLATES,
    Cluster,
    assert_half,
    half_pod,
    resource_slice,
)

NAME = "gpu.example.com"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims"
DRA = {"dra": {"enabled": True, "driverName": NAME}}


@pytest.fixture(scope="module")
def cluster(server, tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    folder = tmp_path_factory.mktemp("driver-name")
    made = Cluster(server, folder, driver=NAME)
    classes = Helm(find_helm(), folder).template(DRA).of("DeviceClass")
    slices = [
        resource_slice("ours", "Tesla T4", "15360Mi", NAME),
        resource_slice("nvidias", "NVIDIA L20", "46068Mi"),
    ]
    for item in [*classes, *slices]:
        server.apply(item)
    made.start()
    yield made
    made.stop()
    made.delete_templates()
    paths = [CONFIGURATION, SECRET, *(server.path(item) for item in classes)]
    for path in (*paths, f"{SLICES}/ours", f"{SLICES}/nvidias"):
        made.delete(path)


def test_the_agents_and_the_controller_are_told_the_same(helm):
    rendered = helm.template({**DRA, "fractions": {"enabled": True}})
    assert rendered.env()["TRANCHE_DRA_DRIVER_NAME"] == NAME
    (container,) = rendered.one("Deployment", "gpu-tranche-controller")["spec"]["template"]["spec"]["containers"]
    assert f"--dra-driver-name={NAME}" in container["args"]


def test_half_a_gpu_is_claimed_of_that_driver(cluster):
    cluster.server.wait(lambda: cluster.post(f"{SHOP}/pods", half_pod("probe"), dry_run=True), "the GPUs are known")
    cluster.post(f"{SHOP}/pods", half_pod())
    assert_half(cluster.server.request("GET", f"{SHOP}/pods/vgpu-pod"))
    cluster.delete(f"{SHOP}/pods/vgpu-pod")
    template = cluster.server.request("GET", f"{TEMPLATES}/tranche-gpu-50")
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    (one,) = request["firstAvailable"]
    assert one["name"] == "t4"
    assert one["capacity"]["requests"] == {"memory": "7680Mi", "compute": "50"}
    (selector,) = one["selectors"]
    assert selector["cel"]["expression"] == f"device.attributes['{NAME}'].productName == 'Tesla T4'"
    device_class = cluster.server.request("GET", f"/apis/resource.k8s.io/v1/deviceclasses/{one['deviceClassName']}")
    (selector,) = device_class["spec"]["selectors"]
    assert f"device.driver == '{NAME}'" in selector["cel"]["expression"]
    # Kubernetes makes the Pod's claim from it: the API server compiles the expressions.
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "half", "namespace": "shop"},
        "spec": template["spec"]["spec"],
    }
    made = cluster.post(CLAIMS, claim, dry_run=True)
    assert made["spec"]["devices"]["requests"][0]["firstAvailable"][0]["selectors"] == one["selectors"]


def test_shares_of_one_gpu_are_held_together_by_its_attribute(cluster):
    pod = half_pod("two", **{"tranche.dev/gpu-together": "true"})
    (first,) = pod["spec"]["containers"]
    pod["spec"]["containers"] = [{**first, "name": name} for name in ("a", "b")]
    stored = cluster.post(f"{SHOP}/pods", pod)
    cluster.delete(f"{SHOP}/pods/two")
    (claim,) = stored["spec"]["resourceClaims"]
    template = cluster.server.request("GET", f"{TEMPLATES}/{claim['resourceClaimTemplateName']}")
    (constraint,) = template["spec"]["spec"]["devices"]["constraints"]
    assert constraint["matchAttribute"] == f"{NAME}/uuid"


def test_the_policy_for_fractions_names_that_driver(helm):
    rendered = helm.template({**values(), **DRA}, *SERVED)
    (template,) = [t for t in rendered.of("ResourceClaimTemplate") if t["metadata"]["name"] == "tranche-gpu-50"]
    (request,) = template["spec"]["spec"]["devices"]["requests"]
    for one in request["firstAvailable"]:
        assert one["selectors"][0]["cel"]["expression"].startswith(f"device.attributes['{NAME}'].productName")


def test_lint_takes_the_name_from_the_rendered_chart(helm, tmp_path):
    rendered = helm.template({**DRA, "fractions": {"enabled": True}})
    (tmp_path / "chart.yaml").write_text(yaml.safe_dump_all(rendered.objects))
    constraint = {"requests": ["gpu"], "matchAttribute": "uuid"}
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "pair"},
        "spec": {"devices": {"requests": [request], "constraints": [constraint]}},
    }
    (tmp_path / "claim.yaml").write_text(yaml.safe_dump(claim))

    def found(*files: str) -> str:
        command = [ROOT / "build/bin/tranche", "lint", *(tmp_path / file for file in files)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    assert "write gpu.nvidia.com/uuid" in found("claim.yaml")
    assert f"write {NAME}/uuid" in found("claim.yaml", "chart.yaml")


def test_an_agent_writes_the_pool_of_its_node_and_driver(server, helm):
    policy = helm.template(DRA, namespace="tranche").one("ValidatingAdmissionPolicy", "gpu-tranche-own-node")
    server.apply(policy, dry_run=True)  # its expressions are compiled
    [pools] = [v["expression"] for v in policy["spec"]["variables"] if v["name"] == "pools"]
    assert pools == f'["gpu-" + variables.node, "gpu-" + variables.node + "/{NAME}"]'
    rules = " ".join(v["expression"] for v in policy["spec"]["validations"])
    assert f'spec.driver == "{NAME}"' in rules and f'd.driver != "{NAME}"' in rules
