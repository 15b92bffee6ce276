"""MIG instances that are made for claims and removed after them, with a real scheduler, kubelet and
API server: what a claim gets, that a GPU is whole, shared or cut, but only one of these at once,
and that nothing is left."""

import re

import pytest
from claims import VALUES, InMode, claim_of, claiming, devices, memory_of, records, request, results, share, template, wait_clean
from pods import Applied, wait_offer
from release import Release


def profile(name: str) -> str:
    """A template for an instance of this profile."""
    text = f"device.attributes['gpu.nvidia.com'].profile == '{name}'"
    selectors = [{"cel": {"expression": text}}]
    return template(name.replace(".", "-"), request(device_class="mig.nvidia.com", selectors=selectors))


HALF = template("half", share("20Gi", 50))
WHOLE = template("whole", request())


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["h100", "h200"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    with Release(lab, *VALUES, "dra.dynamicMig=true", "migManager.enabled=true") as release:
        yield release


def layout(lab, node: str, gpu: int) -> list[str]:
    """The profiles of the instances on a GPU, as nvidia-smi lists them. None: MIG is off."""
    out = lab.node(node).run("nvidia-smi", "-L").out
    block = out.split(f"GPU {gpu}: ")[1].split("\nGPU ")[0]
    return re.findall(r"MIG (\S+)", block)


def wait_layout(lab, node: str, gpu: int, *profiles: str) -> None:
    lab.wait(
        lambda: sorted(layout(lab, node, gpu)) == sorted(profiles),
        lambda: f"GPU {gpu} of {node} has {layout(lab, node, gpu)}, not {profiles}",
    )


def wait_places(lab, node: str) -> None:
    place = re.compile(r"gpu-\d+-mig-\w+-\d+-\d+")
    lab.wait(
        lambda: any(map(place.fullmatch, devices(lab, node))),
        lambda: f"{node} publishes {sorted(devices(lab, node))}",
        timeout=60,
    )


def test_an_instance_is_made_and_removed(lab, release):
    templates = (template("any", request(device_class="mig.nvidia.com")), *map(profile, ("1g.10gb", "2g.20gb", "3g.40gb")))
    with InMode(lab, "h100"), Applied(lab, *templates):
        wait_places(lab, "h100")
        published = devices(lab, "h100")
        assert {"gpu-0", "gpu-0-mig-7g80gb-0-0", "gpu-0-mig-1g10gb-19-6"} <= set(published)
        with Applied(lab, claiming("large", "3g-40gb"), claiming("small", "1g-10gb")):
            for name, wanted in (("large", "3g.40gb"), ("small", "1g.10gb")):
                lab.wait_pod(name)
                [given] = results(lab, claim_of(lab, name))
                assert published[given["device"]]["attributes"]["profile"]["string"] == wanted
                seen = lab.exec(name, "nvidia-smi", "-L")
                assert re.findall(r"MIG (\S+)", seen) == [wanted], seen
            assert sorted(layout(lab, "h100", 0)) == ["1g.10gb", "3g.40gb"]
            # Restarts change nothing, and later instances are added.
            before = lab.node("h100").run("nvidia-smi", "-L").out
            lab.kubectl("-n", "kube-system", "rollout", "restart", "daemonset/tranche")
            lab.kubectl("-n", "kube-system", "rollout", "status", "daemonset/tranche", "--timeout=90s", timeout=100)
            lab.node("h100").restart_kubelet()
            with Applied(lab, claiming("later", "2g-20gb")):
                lab.wait_pod("later")
                assert sorted(layout(lab, "h100", 0)) == ["1g.10gb", "2g.20gb", "3g.40gb"]
            wait_layout(lab, "h100", 0, "1g.10gb", "3g.40gb")
            with Applied(lab, claiming("smallest", "any")):
                lab.wait_pod("smallest")
                assert sorted(layout(lab, "h100", 0)) == ["1g.10gb", "1g.10gb", "3g.40gb"]
            wait_layout(lab, "h100", 0, "1g.10gb", "3g.40gb")
            assert lab.node("h100").run("nvidia-smi", "-L").out == before
            for name in ("large", "small"):
                assert lab.pod(name)["status"]["containerStatuses"][0]["restartCount"] == 0
            assert set(devices(lab, "h100")) == set(published)
        wait_clean(lab, "h100")
        wait_layout(lab, "h100", 0)


def test_share_and_instance_exclude_each_other_and_flip_back(lab, release):
    templates = (HALF, WHOLE, profile("1g.10gb"))
    with InMode(lab, "h100"), Applied(lab, *templates):
        wait_places(lab, "h100")

        def waits(name: str) -> None:
            lab.wait(lambda: "cannot allocate all claims" in lab.kubectl("describe", "pod", name), f"{name} waits")

        with Applied(lab, claiming("share", "half")):
            lab.wait_pod("share")
            with Applied(lab, claiming("cut", "1g-10gb")):
                waits("cut")
                assert layout(lab, "h100", 0) == []
                lab.kubectl("delete", "pod", "share", "--wait")
                lab.wait_pod("cut")
                assert layout(lab, "h100", 0) == ["1g.10gb"]
                with Applied(lab, claiming("shared-again", "half")):
                    waits("shared-again")
                    lab.kubectl("delete", "pod", "cut", "--wait")
                    lab.wait_pod("shared-again")
                    assert layout(lab, "h100", 0) == []
                    assert memory_of(lab, "shared-again") == 20 * 1024
        wait_clean(lab, "h100")
        with Applied(lab, claiming("cut-once", "1g-10gb")):
            lab.wait_pod("cut-once")
            # The scheduler gives the GPU out as soon as the Pod is gone; the agent waits for the
            # instance's end.
            with Applied(lab, claiming("all", "whole", node="h100")):
                waits("all")
                lab.kubectl("delete", "pod", "cut-once", "--grace-period=0", "--force")
                lab.wait_pod("all")
                assert memory_of(lab, "all") > 80_000
        wait_clean(lab, "h100")


def test_eight_gpus_are_filled_without_double_booking(lab, release):
    """Instances from the last GPU on, shares from the first."""
    with InMode(lab, "h200"), Applied(lab, profile("1g.18gb"), profile("3g.71gb"), HALF):
        wait_places(lab, "h200")
        small = [claiming(f"small-{index}", "1g-18gb", node="h200") for index in range(9)]
        large = [claiming(f"large-{index}", "3g-71gb", node="h200") for index in range(3)]
        with Applied(lab, *small, *large, claiming("part", "half", node="h200")):
            names = [f"small-{index}" for index in range(9)] + [f"large-{index}" for index in range(3)]
            seen = []
            for name in [*names, "part"]:
                lab.wait_pod(name, timeout=120)
            for name in names:
                seen += re.findall(r"UUID: (MIG-\S+?)\)", lab.exec(name, "nvidia-smi", "-L"))
            assert len(set(seen)) == 12, "each has an instance of its own"
            [given] = results(lab, claim_of(lab, "part"))
            assert given["device"] == "gpu-0"
            assert layout(lab, "h200", 0) == []
            assert layout(lab, "h200", 7)
            assert len(records(lab, "h200")) == 13
        wait_clean(lab, "h200")
        for gpu in range(8):
            wait_layout(lab, "h200", gpu)


def test_what_somebody_else_cut_stays_theirs(lab, release):
    """An instance without a claim is given as it is, and its GPU is cut for claims again when it
    has gone."""
    with InMode(lab, "h100"), Applied(lab, profile("1g.10gb")):
        wait_places(lab, "h100")
        node = lab.node("h100")
        assert node.run("nvidia-smi", "-mig", "1").code == 0
        assert node.run("nvidia-smi", "mig", "-cgi", "9,9", "-C").code == 0
        lab.wait(
            lambda: sorted(name.split("-gi")[0] for name in devices(lab, "h100")) == ["gpu-0-mig-3g40gb"] * 2,
            lambda: f"published: {sorted(devices(lab, 'h100'))}",
        )
        assert node.run("nvidia-smi", "mig", "-dci").code == 0
        assert node.run("nvidia-smi", "mig", "-dgi").code == 0
        wait_places(lab, "h100")
        with Applied(lab, claiming("again", "1g-10gb")):
            lab.wait_pod("again")
        wait_clean(lab, "h100")


def test_a_change_of_the_layout_waits_for_claims(lab, release):
    """Their Pods are evicted, like those of the device plugin, and the layout's instances can be
    claimed."""
    with InMode(lab, "h100"), Applied(lab, profile("1g.10gb"), profile("3g.40gb")):
        wait_places(lab, "h100")
        with Applied(lab, claiming("moved", "1g-10gb")):
            lab.wait_pod("moved")
            lab.kubectl("label", "node", "h100", "nvidia.com/mig.config=all-3g.40gb")
            state = "{.metadata.labels.nvidia\\.com/mig\\.config\\.state}"
            lab.wait(
                lambda: lab.kubectl("get", "node", "h100", "-o", f"jsonpath={state}") == "success",
                lambda: f"the layout: {lab.kubectl('describe', 'node', 'h100')}",
                timeout=120,
            )
            assert "NotFound" in lab.kubectl("get", "pod", "moved", check=False)
            assert layout(lab, "h100", 0) == ["3g.40gb", "3g.40gb"]
            lab.wait(
                lambda: sorted(name.split("-gi")[0] for name in devices(lab, "h100")) == ["gpu-0-mig-3g40gb"] * 2,
                lambda: f"published: {sorted(devices(lab, 'h100'))}",
            )
            with Applied(lab, claiming("of-layout", "3g-40gb")):
                lab.wait_pod("of-layout")
        lab.kubectl("label", "--overwrite", "node", "h100", "nvidia.com/mig.config=all-disabled")
        wait_places(lab, "h100")
        lab.kubectl("label", "node", "h100", "nvidia.com/mig.config-")
    wait_clean(lab, "h100")


def test_back_to_the_device_plugin_when_the_last_claim_has_ended(lab, release):
    with Applied(lab, profile("1g.10gb")):
        with InMode(lab, "h100"):
            wait_places(lab, "h100")
            lab.apply(claiming("stays", "1g-10gb", node="h100"))
            lab.wait_pod("stays")
        [given] = results(lab, claim_of(lab, "stays"))
        lab.wait(lambda: list(devices(lab, "h100")) == [given["device"]], "what is held stays listed alone")
        assert layout(lab, "h100", 0) == ["1g.10gb"]
        lab.kubectl("delete", "pod", "stays", "--wait")
        wait_offer(lab, "h100", 1)
        assert layout(lab, "h100", 0) == []
        lab.wait(lambda: not devices(lab, "h100"), "nothing is listed any more")
    wait_clean(lab, "h100")


def test_an_instance_stays_for_others_when_no_more_are_made(lab, release):
    node = lab.node("h100")
    with InMode(lab, "h100"), Applied(lab, profile("1g.10gb")):
        wait_places(lab, "h100")
        with Applied(lab, claiming("cut", "1g-10gb", node="h100")):
            lab.wait_pod("cut")
            release.upgrade("dra.dynamicMig=false")
            assert re.findall(r"MIG (\S+)", lab.exec("cut", "nvidia-smi", "-L")) == ["1g.10gb"]
            lab.kubectl("delete", "pod", "cut", "--wait", "--timeout=120s", timeout=130)
        assert layout(lab, "h100", 0) == ["1g.10gb"]
        with Applied(lab, claiming("second", "1g-10gb", node="h100")):
            lab.wait_pod("second")
            [given] = results(lab, claim_of(lab, "second"))
            assert re.fullmatch(r"gpu-0-mig-1g10gb-gi\d+-ci0", given["device"])
        wait_clean(lab, "h100")
    for command in ("-dci", "-dgi"):
        assert node.run("nvidia-smi", "mig", command).code == 0
    assert node.run("nvidia-smi", "-mig", "0").code == 0
