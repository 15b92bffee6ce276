"""Many claims: a hundred shares on eight GPUs, and claims that come and go by the hundred."""

import random
import time

import pytest
from claims import (
    VALUES,
    InMode,
    claim_files,
    claiming,
    devices,
    records,
    share,
    template,
    wait_devices,
)
from packing import best_fit, first_fit
from pods import Applied
from release import Release

GPUS = 8
# Of an A100 80GB, in MiB, so that memory and compute run out together.
MEMORY = 81920 - 644 - 32  # what programs can have of an A100-80GB


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["a100-80gb-x8=a100"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    with Release(lab, *VALUES) as release, InMode(lab, "a100"):
        wait_devices(lab, "a100", *[f"gpu-{index}" for index in range(GPUS)])
        yield release


def share_of(percent: int) -> str:
    return template(f"p{percent}", share(f"{MEMORY * percent // 100}Mi", percent))


def taken(lab) -> dict[str, tuple[int, int]]:
    """Percent of compute and MiB of memory that claims consume, by device."""
    sums: dict[str, tuple[int, int]] = {}
    for claim in lab.get("resourceclaims")["items"]:
        for one in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", []):
            consumed = one["consumedCapacity"]
            memory = consumed["memory"]
            mib = int(memory[:-2]) * (1024 if memory.endswith("Gi") else 1)
            percent, before = sums.get(one["device"], (0, 0))
            sums[one["device"]] = (percent + int(consumed["compute"]), before + mib)
    return sums


def is_pending(lab, name: str) -> bool:
    for condition in lab.pod(name)["status"].get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return True
    return False


def is_running(lab, name: str) -> bool:
    return lab.pod(name)["status"]["phase"] == "Running"


def clear(lab, names: list[str]) -> None:
    lab.kubectl("delete", "pod", "--ignore-not-found", "--wait", *names, timeout=300)
    lab.wait(
        lambda: not records(lab, "a100") and not claim_files(lab, "a100") and not taken(lab),
        lambda: f"left: {records(lab, 'a100')} {claim_files(lab, 'a100')}",
        timeout=120,
    )


@pytest.mark.soak
@pytest.mark.parametrize("paced", [True, False], ids=["paced", "burst"])
def test_a_hundred_shares_never_exceed_a_gpu(lab, release, paced):
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    rng = random.Random(seed)
    arrivals = [rng.choice((10, 15, 20, 25, 30, 40, 50, 60)) for _ in range(100)]
    names = [f"share-{index}" for index in range(len(arrivals))]
    command = ("sleep", "infinity")
    with Applied(lab, *[share_of(percent) for percent in sorted(set(arrivals))]):
        try:
            if paced:
                for name, percent in zip(names, arrivals, strict=True):
                    before = next(iter(devices(lab, "a100")))
                    lab.apply(claiming(name, f"p{percent}", *command))
                    lab.wait(
                        lambda one=name: is_running(lab, one) or is_pending(lab, one), f"{name} is decided about"
                    )
                    # One that fits nowhere is removed, as in the packing for comparison.
                    if not is_running(lab, name):
                        lab.kubectl("delete", "pod", name, "--wait")
                        continue
                    settle(lab, before)
            else:
                texts = [claiming(n, f"p{p}", *command) for n, p in zip(names, arrivals, strict=True)]
                lab.apply("\n---\n".join(texts))
                lab.wait(
                    lambda: all(is_running(lab, n) or is_pending(lab, n) for n in names), "all are decided about", 300
                )
            sums = taken(lab)
            assert all(percent <= 100 and mib <= MEMORY for percent, mib in sums.values()), sums
            placed = sum(percent for percent, _ in sums.values())
            wanted = best_fit(arrivals, GPUS) if paced else first_fit(arrivals, GPUS)
            print(f"placed {placed} %, {'best' if paced else 'first'} fit {wanted} %")
            assert placed >= wanted, (seed, placed, wanted)
        finally:
            clear(lab, names)


def settle(lab, before: str) -> None:
    """The order of the slice follows within 2 s; the next share may come when it no longer
    changes."""
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        if next(iter(devices(lab, "a100"))) != before:
            break
        time.sleep(0.1)


@pytest.mark.soak
def test_five_hundred_claims_come_and_go_without_a_trace(lab, release):
    """Ten rounds of fifty Pods, each with a claim of its own."""
    small = template("small", share("1Gi", 1))
    tenants = ("bash", "-c", "ls /var/lib/tranche/tenants 2>/dev/null | wc -l")
    before = int(lab.node("a100").run(*tenants).out)
    with Applied(lab, small):
        for number in range(10):
            names = [f"storm-{number}-{index}" for index in range(50)]
            texts = [claiming(name, "small", "sleep", "infinity") for name in names]
            lab.apply("\n---\n".join(texts))
            lab.wait(lambda: all(is_running(lab, one) for one in names), "all run", timeout=240)
            assert len(records(lab, "a100")) == 50
            clear(lab, names)
    assert int(lab.node("a100").run(*tenants).out) == before
