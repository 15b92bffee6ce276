"""Limits of containers with claims, on a real Kubernetes: `tranche limit` and annotations, several
shares of one GPU in a container, and the configurations of NVIDIA's driver."""

import json

import pytest
from claims import (
    DRIVER,
    LIST,
    VALUES,
    InMode,
    claim_of,
    claiming,
    memory_of,
    request,
    results,
    share,
    template,
    wait_clean,
    wait_devices,
)
from limited import can_hold, limit, wait_event
from pods import GPU, Applied, pod
from release import Release, condition, label

GROUP = "resource.nvidia.com/v1beta1"
HALF = template("half", share("22722Mi", 50))
CONFIGS = {"default": {"version": "v1"}}
CONFIGS["limited"] = {"version": "v1", "tranche": {"limits": {"enforcement": "strict"}}}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "claim-limits", "namespace": "kube-system"},
    "data": {name: json.dumps(config) for name, config in CONFIGS.items()},
}


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["l20"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    values = (*VALUES, "config.name=claim-limits")
    with Applied(lab, json.dumps(CONFIG_MAP)), Release(lab, *values) as release, InMode(lab, "l20"):
        wait_devices(lab, "l20", "gpu-0")
        yield release


def restarts(lab, name: str) -> list[int]:
    return [one["restartCount"] for one in lab.pod(name)["status"]["containerStatuses"]]


def tenants(lab) -> dict[str, dict]:
    """Each tenant's limits on its device, by its id."""
    text = lab.node("l20").run("bash", "-c", "cat /var/lib/tranche/tenants/*.json").out
    decoder, found = json.JSONDecoder(), {}
    while text.strip():
        one, end = decoder.raw_decode(text.lstrip())
        text = text.lstrip()[end:]
        [part] = one["limits"]["devices"]
        found[one["limits"]["id"]] = part
    return found


def test_a_share_is_lowered_and_set_back_while_it_runs(lab, release):
    with Applied(lab, HALF, claiming("user", "half")):
        lab.wait_pod("user")
        assert can_hold(lab, "user", "20Gi")
        done = limit(lab, "set", "user", "--memory", "4Gi", "--compute", "10%")
        assert done.returncode == 0, done.stderr
        assert "memory 4096 MiB, compute 10%" in done.stdout
        lab.wait(lambda: not can_hold(lab, "user", "6Gi"), "the arbiter has the new limit")
        assert can_hold(lab, "user", "3Gi")
        [shown] = json.loads(limit(lab, "list", "-o", "json").stdout)["limits"]
        where = [shown[key] for key in ("node", "namespace", "pod", "container", "resource", "state")]
        assert where == ["l20", "default", "user", "main", "claim/gpu", "holds"]

        # What the claim got is the maximum.
        done = limit(lab, "set", "user", "--memory", "24Gi")
        assert done.returncode == 1
        assert "24576 MiB is more than the 22722 MiB of the claim" in done.stderr
        assert "more than the 22722 MiB" in wait_event(lab, "Pod", "user", "LimitSettingRefused")
        assert not can_hold(lab, "user", "6Gi"), "what was set before stands"

        lab.kubectl("annotate", "pod", "user", "tranche.dev/memory=2Gi")
        done = limit(lab, "reset", "user")
        assert done.returncode == 0, done.stderr
        lab.wait(lambda: not can_hold(lab, "user", "3Gi"), "the annotation's limit holds now")
        assert can_hold(lab, "user", "1Gi")
        lab.kubectl("annotate", "--overwrite", "pod", "user", "tranche.dev/memory=23Gi")
        assert "more than the 22722 MiB" in wait_event(lab, "Pod", "user", "LimitAnnotationRefused")
        lab.wait(lambda: can_hold(lab, "user", "20Gi"), "the claim's own limit is back")
        assert restarts(lab, "user") == [0]
    wait_clean(lab, "l20")


def test_what_is_set_outlives_the_agent(lab, release):
    with Applied(lab, HALF, claiming("user", "half")):
        lab.wait_pod("user")
        assert limit(lab, "set", "user", "--resource", "claim/gpu", "--memory", "4Gi").returncode == 0
        lab.kubectl("-n", "kube-system", "rollout", "restart", "daemonset/tranche")
        lab.kubectl("-n", "kube-system", "rollout", "status", "daemonset/tranche", "--timeout=90s", timeout=100)
        [shown] = json.loads(limit(lab, "get", "user", "-o", "json").stdout)["limits"]
        assert shown["state"] == "holds"
        assert [part["memoryBytes"] for part in tenants(lab).values()] == [4 << 30]
        assert limit(lab, "reset", "user").returncode == 0
        lab.wait(lambda: can_hold(lab, "user", "20Gi"), "the claim's limit is back")
    wait_clean(lab, "l20")


def test_a_whole_gpu_by_the_extended_resource_is_lowered_where_the_resource_has_limits(lab, release):
    whole = pod("whole", *LIST, image="lab-glibc:1", gpus=1)
    with Applied(lab, whole):
        lab.wait_pod("whole")
        made = lab.pod("whole")["status"]["extendedResourceClaimStatus"]
        assert [one["resourceName"] for one in made["requestMappings"]] == [GPU]
        done = limit(lab, "set", "whole", "--memory", "4Gi", "--timeout", "20s")
        assert done.returncode == 1
        assert "refused: the claim's device is not limited" in done.stderr
        assert "write tranche.limits for nvidia.com/gpu" in wait_event(lab, "Pod", "whole", "LimitSettingRefused")
        assert can_hold(lab, "whole", "40Gi")
    wait_clean(lab, "l20")
    label(lab, "l20", "limited")
    try:
        lab.wait(lambda: "limited" in str(condition(lab, "l20")), "the agent follows the configuration")
        with Applied(lab, whole):
            lab.wait_pod("whole")
            assert can_hold(lab, "whole", "40Gi"), "nothing is held back yet"
            done = limit(lab, "set", "whole", "--memory", "4Gi", "--compute", "20%")
            assert done.returncode == 0, done.stderr
            lab.wait(lambda: not can_hold(lab, "whole", "6Gi"), "the arbiter has the new limit")
            [shown] = json.loads(limit(lab, "list", "-o", "json").stdout)["limits"]
            assert (shown["container"], shown["resource"], shown["state"]) == ("main", GPU, "holds")
            assert limit(lab, "reset", "whole").returncode == 0
            lab.wait(lambda: can_hold(lab, "whole", "40Gi"), "the whole GPU is back")
            lab.kubectl("annotate", "pod", "whole", "tranche.dev/memory=2Gi")
            lab.wait(lambda: not can_hold(lab, "whole", "3Gi"), "the annotation's limit holds")
            assert restarts(lab, "whole") == [0]
        wait_clean(lab, "l20")
    finally:
        label(lab, "l20", "")


def several(name: str, uses: dict[str, list[dict]], **claims: str) -> str:
    """A Pod with these claims (name -> template), and containers that use them."""
    text = json.loads(pod(name, *LIST, image="lab-glibc:1"))
    [container] = text["spec"]["containers"]
    text["spec"]["containers"] = [
        {**container, "name": one, "resources": {"claims": used}} for one, used in uses.items()
    ]
    text["spec"]["resourceClaims"] = [
        {"name": claim, "resourceClaimTemplateName": made_from} for claim, made_from in claims.items()
    ]
    return json.dumps(text)


def memory_in(lab, name: str, container: str) -> int:
    query = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
    return int(lab.kubectl("exec", name, "-c", container, "--", *query))


def test_two_shares_of_one_gpu_in_one_container_are_added_up(lab, release):
    small = template("small", share("4Gi", 10))
    large = template("large", share("10Gi", 25))
    two = template("two", share("4Gi", 10, "a"), share("10Gi", 25, "b"))
    one, other = {"name": "one"}, {"name": "other"}
    with Applied(lab, small, large, two):
        with Applied(lab, several("joint", {"main": [one, other]}, one="small", other="large")):
            lab.wait_pod("joint")
            assert memory_of(lab, "joint") == 14 << 10
            assert can_hold(lab, "joint", "13Gi")
            assert not can_hold(lab, "joint", "15Gi")
            [part] = tenants(lab).values()
            assert (part["memoryBytes"], part["permille"]) == (14 << 30, 350)
            assert len(lab.exec("joint", "ls", "/run/tranche").split()) == 1
        wait_clean(lab, "l20")
        with Applied(lab, several("requests", {"main": [{"name": "both"}]}, both="two")):
            lab.wait_pod("requests")
            assert memory_of(lab, "requests") == 14 << 10
        wait_clean(lab, "l20")
        # With another container's claim, each has its own.
        apart = several("apart", {"first": [one], "second": [other]}, one="small", other="large")
        by_request = several(
            "named", {"first": [{"name": "both", "request": "a"}], "second": [{"name": "both", "request": "b"}]}, both="two"
        )
        with Applied(lab, apart, by_request):
            for name in ("apart", "named"):
                lab.wait_pod(name)
                assert (memory_in(lab, name, "first"), memory_in(lab, name, "second")) == (4 << 10, 10 << 10)
            assert len(tenants(lab)) == 4
    wait_clean(lab, "l20")
    assert not lab.node("l20").run("bash", "-c", "ls /var/lib/tranche/tenants | grep json; true").out


def configured(name: str, one: dict, sharing: dict) -> str:
    parameters = {"apiVersion": GROUP, "kind": "GpuConfig", "sharing": sharing}
    return template(name, one, config=[{"opaque": {"driver": DRIVER, "parameters": parameters}}])


def mps(**settings: object) -> dict:
    return {"strategy": "MPS", "mpsConfig": settings}


def test_a_configuration_of_nvidias_driver_lowers_and_never_raises(lab, release):
    half = share("22722Mi", 50)
    lower = configured(
        "lower", half, mps(defaultActiveThreadPercentage=20, defaultPinnedDeviceMemoryLimit="8Gi")
    )
    higher = configured("higher", half, mps(defaultPinnedDeviceMemoryLimit="40Gi"))
    whole = configured("whole", request(), mps(defaultActiveThreadPercentage=30))
    slices = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}
    sliced = configured("sliced", half, slices)
    with Applied(lab, lower, higher, whole, sliced):
        with Applied(lab, claiming("lowered", "lower"), claiming("sliced", "sliced")):
            lab.wait_pod("lowered")
            assert memory_of(lab, "lowered") == 8 << 10
            assert can_hold(lab, "lowered", "7Gi")
            assert not can_hold(lab, "lowered", "9Gi")
            [given] = results(lab, claim_of(lab, "lowered"))
            assert tenants(lab)[given["shareID"]]["permille"] == 200
            # The operator may raise it to what the claim got.
            assert limit(lab, "set", "lowered", "--memory", "20Gi").returncode == 0
            lab.wait(lambda: can_hold(lab, "lowered", "18Gi"), "the arbiter has the new limit")
            lab.wait_pod("sliced")
            assert memory_of(lab, "sliced") == 22722
        wait_clean(lab, "l20")
        with Applied(lab, claiming("raised", "higher")):
            why = "asks for 40960 MiB of memory, and its share has 22722 MiB"
            lab.wait(lambda: why in lab.kubectl("describe", "pod", "raised"), "the Pod says why")
            assert lab.pod("raised")["status"]["phase"] == "Pending"
        wait_clean(lab, "l20")
        with Applied(lab, claiming("alone", "whole")):
            lab.wait_pod("alone")
            [part] = tenants(lab).values()
            assert (part.get("memoryBytes"), part["permille"]) == (None, 300)
    wait_clean(lab, "l20")


def test_a_claims_configuration_does_not_undo_that_of_its_class(lab, release):
    gpus = f"device.driver == '{DRIVER}' && device.attributes['{DRIVER}'].type == 'gpu'"
    lowering = {"apiVersion": GROUP, "kind": "GpuConfig", "sharing": mps(defaultActiveThreadPercentage=20)}
    low = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "low"},
        "spec": {
            "selectors": [{"cel": {"expression": gpus}}],
            "config": [{"opaque": {"driver": DRIVER, "parameters": lowering}}],
        },
    }
    emptied = configured("emptied", request(device_class="low"), {"strategy": "TimeSlicing"})
    with Applied(lab, json.dumps(low), emptied, claiming("emptied", "emptied")):
        lab.wait_pod("emptied")
        [part] = tenants(lab).values()
        assert part["permille"] == 200
    wait_clean(lab, "l20")
