"""How long claims take on a real Kubernetes: figures for docs/performance.md, printed, without
assertions."""

import json
import re
import time

import pytest
from claims import VALUES, InMode, claiming, request, share, slices, template, wait_clean
from pods import Applied
from release import Release


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["h200"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    with Release(lab, *VALUES, "dra.dynamicMig=true") as release:
        yield release


def complete(lab) -> bool:
    """All slices of the pool are there, in one generation, with the places of eight GPUs."""
    made = slices(lab, "h200")
    generations = {one["pool"]["generation"] for one in made}
    places = sum("-mig-" in device["name"] for one in made for device in one.get("devices", []))
    return len(generations) == 1 and len(made) == made[0]["pool"]["resourceSliceCount"] and places > 8 * 20


def seconds_until(lab, what, longest: float = 60) -> float:
    begin = time.monotonic()
    while not what():
        assert time.monotonic() - begin < longest
    return time.monotonic() - begin


def prepares(lab, prefix: str) -> list[float]:
    """The driver's time for each claim of Pods with these names, in milliseconds: from kubelet's
    call to the answer, including the request to the API server. From the agent's log."""
    text = lab.kubectl("-n", "kube-system", "logs", "daemonset/tranche", "--all-pods=true", "--tail=-1")
    return sorted(float(took) for took in re.findall(rf"prepared claim default/{prefix}\S* in ([0-9.]+) ms", text))


@pytest.mark.soak
def test_how_long_slices_take(lab, release):
    reading = seconds_until(lab, lambda: True)
    with InMode(lab, "h200"):
        print(f"after the label: {seconds_until(lab, lambda: complete(lab)):.2f} s")
        for _ in range(3):
            lab.kubectl("delete", "resourceslices", "--all", "--wait=false")
            print(f"after all were deleted: {seconds_until(lab, lambda: complete(lab)):.2f} s")
    begin = time.monotonic()
    slices(lab, "h200")
    print(f"(each reading takes {time.monotonic() - begin + reading:.2f} s)")


@pytest.mark.soak
@pytest.mark.parametrize("at_once", [1, 20])
def test_how_long_prepare_takes(lab, release, at_once):
    """Claims of each kind, with Pods one after the other or twenty at once, when nothing of earlier
    ones is left."""
    profile = "device.attributes['gpu.nvidia.com'].profile == '1g.18gb'"
    kinds = {
        "share": request("gpu", "gpu-share", capacity=share("1Gi", 1)["exactly"]["capacity"]),
        "instance": request(device_class="mig.nvidia.com", selectors=[{"cel": {"expression": profile}}]),
    }
    with InMode(lab, "h200"):
        lab.wait(lambda: complete(lab), "the slices are there")
        for kind, wanted in kinds.items():
            prefix = f"{kind}-by-{at_once}-"
            with Applied(lab, template(kind, wanted)):
                rounds = 40 if at_once == 1 else 5
                for number in range(rounds):
                    pods = [claiming(f"{prefix}{number}-{index}", kind, "sleep", "infinity") for index in range(at_once)]
                    with Applied(lab, "\n---\n".join(pods)):
                        for text in pods:
                            lab.wait_pod(json.loads(text)["metadata"]["name"], timeout=180)
                    wait_clean(lab, "h200")
                took = prepares(lab, prefix)
                assert len(took) == rounds * at_once
                p99 = took[len(took) * 99 // 100 - 1]
                print(f"{kind}, {at_once} at once: p50 {took[len(took) // 2]} ms, p99 {p99} ms, longest {took[-1]} ms")
