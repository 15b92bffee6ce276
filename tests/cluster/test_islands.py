"""GPUs joined by NVSwitches, for claims: one island, without GPUs whose links are down."""

import re

import pytest
from claims import VALUES, InMode, claiming, devices, request, template, wait_clean, wait_devices
from pods import Applied
from release import Release

ISLAND = "tranche.dev/nvlinkIsland"
GPUS = [f"gpu-{index}" for index in range(8)]


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["a100-80gb-x8=a100"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    with Release(lab, *VALUES) as release, InMode(lab, "a100"):
        wait_devices(lab, "a100", *GPUS)
        yield release


def islands(lab) -> dict[str, str]:
    """The island of each GPU that is in one."""
    attributes = {name: device["attributes"] for name, device in devices(lab, "a100").items()}
    return {name: one[ISLAND]["string"] for name, one in attributes.items() if ISLAND in one}


def together(count: int) -> str:
    constraints = [{"requests": ["gpu"], "matchAttribute": ISLAND}]
    return template(f"island-of-{count}", request(count=count), constraints=constraints)


def test_nvswitches_make_one_island_of_the_gpus_whose_links_are_up(lab, release):
    node = lab.node("a100")
    whole = dict.fromkeys(GPUS, "island-0")
    lab.wait(lambda: islands(lab) == whole, lambda: f"islands: {islands(lab)}")
    roots = {one["attributes"]["resource.kubernetes.io/pcieRoot"]["string"] for one in devices(lab, "a100").values()}
    assert roots == {"pci0000:06", "pci0000:46", "pci0000:86", "pci0000:b6"}
    with Applied(lab, together(8), together(7)):
        with Applied(lab, claiming("eight", "island-of-8")):
            lab.wait_pod("eight")
            assert len(re.findall(r"UUID: (\S+?)\)", lab.exec("eight", "nvidia-smi", "-L"))) == 8
        wait_clean(lab, "a100")
        node.sim("fault", "nvlink", "--gpu", 7)
        try:
            fewer = dict.fromkeys(GPUS[:7], "island-0")
            lab.wait(lambda: islands(lab) == fewer, lambda: f"islands: {islands(lab)}", timeout=120)
            with Applied(lab, claiming("eight", "island-of-8"), claiming("seven", "island-of-7")):
                lab.wait_pod("seven")
                lab.wait(
                    lambda: "cannot allocate all claims" in lab.kubectl("describe", "pod", "eight"),
                    "eight of one island are not there",
                )
        finally:
            node.sim("clear")
        lab.wait(lambda: islands(lab) == whole, lambda: f"islands: {islands(lab)}", timeout=120)
    wait_clean(lab, "a100")
