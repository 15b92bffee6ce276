"""Configurations in NVIDIA's format on a real API server: a wrong one is refused when it is created, in
words that say what is wrong."""

import json
import subprocess

import pytest
from api_server import Refused
from helm import ROOT, Helm, find_helm
from workloads import claim, exactly, make_namespace

NAME = "gpu-tranche-configurations"
DRIVER = "gpu.nvidia.com"
GROUP = "resource.nvidia.com/v1beta1"
KINDS = ["ResourceClaim", "ResourceClaimTemplate", "DeviceClass"]
WRONG = {"apiVersion": GROUP, "kind": "GpuConfg"}


def configured(parameters, kind="ResourceClaim", driver=DRIVER, name="c") -> dict:
    config = [{"opaque": {"driver": driver, "parameters": parameters}}]
    if kind == "DeviceClass":
        return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": {"config": config}}
    item = claim([exactly(device_class="gpu.nvidia.com")], kind, name=name)
    spec = item["spec"] if kind == "ResourceClaim" else item["spec"]["spec"]
    spec["devices"]["config"] = config
    return item


def of(kind="GpuConfig", **more) -> dict:
    return {"apiVersion": GROUP, "kind": kind, **more}


def sharing(strategy, kind="GpuConfig", **more) -> dict:
    return of(kind, sharing={"strategy": strategy, **more})


def mps(**limits) -> dict:
    return sharing("MPS", mpsConfig=limits)


@pytest.fixture(scope="module")
def guarded(server, tmp_path_factory):
    if find_helm() is None:
        pytest.skip("no helm")
    make_namespace(server, "shop")
    old = server.apply(configured(WRONG, "DeviceClass", name="old"))
    rendered = Helm(find_helm(), tmp_path_factory.mktemp("helm")).template({"dra": {"enabled": True}})
    made = [server.apply(o) for o in rendered.objects if o["metadata"]["name"] == NAME]
    assert len(made) == 2
    server.wait(lambda: not allowed(server, configured(WRONG)), "the policy is in force")
    yield server
    for item in (old, *made):
        server.request("DELETE", server.path(item))


def allowed(server, item: dict) -> bool:
    try:
        server.apply(item, dry_run=True)
    except Refused:
        return False
    return True


FINE = [
    of(),
    of("MigDeviceConfig"),
    sharing("TimeSlicing"),
    sharing("TimeSlicing", timeSlicingConfig={"interval": "Long"}),
    sharing("TimeSlicing", timeSlicingConfig={}),
    sharing("TimeSlicing", "MigDeviceConfig"),
    sharing("MPS"),
    mps(),
    sharing("MPS", "MigDeviceConfig", mpsConfig={"defaultPinnedDeviceMemoryLimit": "1Mi"}),
    mps(defaultActiveThreadPercentage=0, multiUser=True),
    mps(defaultActiveThreadPercentage=100, defaultPinnedDeviceMemoryLimit=1048576),
    mps(defaultPinnedDeviceMemoryLimit=2000000.5),
    mps(defaultPerDevicePinnedMemoryLimit={"0": "10G", "GPU-1": "1.5Gi", "MIG-2": "2e9"}),
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_right_is_let_through(guarded, kind):
    for parameters in FINE:
        guarded.apply(configured(parameters, kind), dry_run=True)


REFUSED = [
    ({"a": 1}, "apiVersion is not resource.nvidia.com/v1beta1"),
    ({"apiVersion": "gpu.nvidia.com/v1", "kind": "GpuConfig"}, "apiVersion is not resource.nvidia.com/v1beta1"),
    ({"apiVersion": 7, "kind": "GpuConfig"}, "apiVersion is not resource.nvidia.com/v1beta1"),
    (of("VfioDeviceConfig"), "kind is neither GpuConfig (for whole GPUs) nor MigDeviceConfig"),
    (of(memory="1Gi"), "memory is not known; known are apiVersion, kind, sharing"),
    (of(sharing="MPS"), "sharing is no map"),
    (of(sharing=None), "sharing is no map"),
    (of(sharing={}), "sharing.strategy is neither TimeSlicing nor MPS"),
    (sharing("Turns"), "sharing.strategy is neither TimeSlicing nor MPS"),
    (sharing("MPS", mps={}), "sharing.mps is not known; known are strategy, timeSlicingConfig, mpsConfig"),
    (sharing("MPS", timeSlicingConfig={}), "sharing.timeSlicingConfig is for a GpuConfig with strategy"),
    (sharing("TimeSlicing", "MigDeviceConfig", timeSlicingConfig={}), "is for a GpuConfig with strategy"),
    (sharing("TimeSlicing", timeSlicingConfig=[]), "sharing.timeSlicingConfig is no map"),
    (sharing("TimeSlicing", timeSlicingConfig={"interval": "Huge"}), "interval is none of Default, Short"),
    (sharing("TimeSlicing", timeSlicingConfig={"slice": 1}), "has another field than interval"),
    (sharing("TimeSlicing", mpsConfig={}), "sharing.mpsConfig needs strategy MPS"),
    (sharing("MPS", mpsConfig=[]), "sharing.mpsConfig is no map"),
    (mps(threads=1), "sharing.mpsConfig.threads is not known"),
    (mps(defaultActiveThreadPercentage=101), "defaultActiveThreadPercentage is no whole number from 0 to 100"),
    (mps(defaultActiveThreadPercentage=-1), "defaultActiveThreadPercentage is no whole number"),
    (mps(defaultActiveThreadPercentage=1.5), "defaultActiveThreadPercentage is no whole number"),
    (mps(defaultActiveThreadPercentage="50"), "defaultActiveThreadPercentage is no whole number"),
    (mps(defaultPinnedDeviceMemoryLimit="10GB"), "defaultPinnedDeviceMemoryLimit is no quantity of at least 1Mi"),
    (mps(defaultPinnedDeviceMemoryLimit="1023Ki"), "defaultPinnedDeviceMemoryLimit is no quantity of at least 1Mi"),
    (mps(defaultPinnedDeviceMemoryLimit=1048575), "defaultPinnedDeviceMemoryLimit is no quantity"),
    (mps(defaultPinnedDeviceMemoryLimit=0.5), "defaultPinnedDeviceMemoryLimit is no quantity"),
    (mps(defaultPinnedDeviceMemoryLimit=True), "defaultPinnedDeviceMemoryLimit is no quantity"),
    (mps(defaultPerDevicePinnedMemoryLimit="1Gi"), "defaultPerDevicePinnedMemoryLimit is no map"),
    (mps(defaultPerDevicePinnedMemoryLimit={"first": "1Gi"}), "a key that is neither a UUID nor an index"),
    (mps(defaultPerDevicePinnedMemoryLimit={"0": "1Gi", "1": "1k"}), "a value that is no quantity of at least 1Mi"),
]


@pytest.mark.parametrize("parameters, words", REFUSED)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_is_refused(guarded, kind, parameters, words):
    with pytest.raises(Refused) as refused:
        guarded.apply(configured(parameters, kind), dry_run=True)
    assert f"opaque.parameters for {DRIVER}: " in refused.value.message
    assert words in refused.value.message


def test_lint_which_reads_as_the_agent_does_agrees(tmp_path):
    wrong = [parameters for parameters, _ in REFUSED]
    for number, parameters in enumerate([*FINE, *wrong]):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(configured(parameters)))
        done = subprocess.run([ROOT / "build/bin/tranche", "lint", file], capture_output=True, text=True)
        assert ("config[0].opaque.parameters" in done.stdout) == (parameters in wrong), f"{parameters}: {done.stdout}"


def test_a_request_that_is_not_there_is_refused_by_kubernetes(guarded):
    item = configured(of())
    item["spec"]["devices"]["config"][0]["requests"] = ["gpux"]
    with pytest.raises(Refused, match="must be the name of a request"):
        guarded.apply(item, dry_run=True)


def test_the_second_of_a_claims_is_read_too(guarded):
    item = configured(of())
    item["spec"]["devices"]["config"] += configured(WRONG)["spec"]["devices"]["config"]
    assert not allowed(guarded, item)


def test_other_drivers_and_claims_without_any_are_left_alone(guarded):
    guarded.apply(configured(WRONG, driver="other.example.com"), dry_run=True)
    guarded.apply(claim([exactly()]), dry_run=True)
    guarded.apply(claim([exactly()], "ResourceClaimTemplate"), dry_run=True)


def test_a_class_that_is_there_is_judged_when_its_spec_changes(guarded):
    path = "/apis/resource.k8s.io/v1/deviceclasses/old"
    kind = "application/merge-patch+json"
    guarded.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, kind=kind)
    with pytest.raises(Refused, match="kind is neither"):
        guarded.request("PATCH", path, {"spec": {"extendedResourceName": "example.com/gpu"}}, kind=kind)
