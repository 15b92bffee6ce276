"""Resource claims (DRA) with a real scheduler, kubelet and API server: what a claim gets on a node in mode dra, and
that nothing is given out twice when modes, agents and kubelets change."""

import json
import re

import pytest
from claims import (
    VALUES,
    InMode,
    claim_of,
    claiming,
    device_statuses,
    devices,
    memory_of,
    records,
    request,
    results,
    share,
    template,
    wait_clean,
    wait_devices,
)
from pods import GPU, Applied, pod, wait_offer
from release import Release

HALF = template("half", share("22722Mi", 50))


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["l20", "a100-40gb-x4=a100", "a100-40gb-mig=mig"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    with Release(lab, *VALUES, "mig.monitor=true", "dra.evictAfter=2s", "healthRecovery=1s") as release:
        yield release


def test_two_halves_share_a_gpu_and_a_third_waits(lab, release):
    with InMode(lab, "l20"), Applied(lab, HALF):
        wait_devices(lab, "l20", "gpu-0")
        with Applied(lab, *[claiming(name, "half") for name in ("one", "two")]):
            for name in ("one", "two"):
                lab.wait_pod(name)
                assert memory_of(lab, name) == 22722
                [given] = results(lab, claim_of(lab, name))
                assert given["device"] == "gpu-0"
                assert lab.exec(name, "ls", "/run/tranche").split() == [given["shareID"]]
            # More than its part is refused, and its part is available.
            hold = ("tranche-load", "hold", "--duration", "100ms", "--memory")
            lab.exec("one", *hold, "20Gi")
            assert "memory" in lab.exec("one", "bash", "-c", " ".join([*hold, "24Gi"]) + " 2>&1; true")
            with Applied(lab, claiming("three", "half")):
                lab.wait(
                    lambda: "cannot allocate all claims" in lab.kubectl("describe", "pod", "three"),
                    "the third waits",
                )
                lab.kubectl("delete", "pod", "one", "--wait")
                lab.wait_pod("three")
                assert memory_of(lab, "three") == 22722
        wait_clean(lab, "l20")


def test_a_pod_on_another_node_than_its_claim_does_not_run_without_a_gpu(lab, release):
    both = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "both"}]}
    claim = json.loads(HALF) | {"kind": "ResourceClaim", "metadata": {"name": "both"}}
    claim["spec"] = claim["spec"]["spec"]

    def using(name: str, **spec: object) -> str:
        made = json.loads(claiming(name, "half", **spec))
        made["spec"] |= both
        return json.dumps(made)

    with InMode(lab, "l20"), InMode(lab, "a100"):
        wait_devices(lab, "l20", "gpu-0")
        lab.wait(lambda: devices(lab, "a100"), "a100 publishes")
        here = {"kubernetes.io/hostname": "l20"}
        with Applied(lab, json.dumps(claim), using("scheduled", nodeSelector=here)):
            lab.wait_pod("scheduled")
            with Applied(lab, using("bound", nodeName="a100")):
                why = "it is of pool gpu-l20, and this node, a100, has pool gpu-a100"
                lab.wait(lambda: why in lab.kubectl("describe", "pod", "bound"), "the Pod says why")
                assert lab.pod("bound")["status"]["phase"] == "Pending"
                assert not records(lab, "a100")
        wait_clean(lab, "l20")


def test_a_plain_pod_gets_a_whole_gpu_of_a_node_in_mode_dra(lab, release):
    """By the DeviceClass's extendedResourceName, on the devices that shares are cut from."""
    with InMode(lab, "a100"), Applied(lab, template("share", share("10Gi", 25))):
        wait_devices(lab, "a100", *[f"gpu-{index}" for index in range(4)])
        wait_offer(lab, "a100", 0)
        with Applied(lab, claiming("part", "share", node="a100"), pod("whole", "sleep", "infinity", image="lab-glibc:1", gpus=3, node="a100")):
            lab.wait_pod("part")
            lab.wait_pod("whole")
            seen = re.findall(r"UUID: (\S+?)\)", lab.exec("whole", "nvidia-smi", "-L"))
            assert len(set(seen)) == 3
            own = lab.node("a100").uuids()
            [given] = results(lab, claim_of(lab, "part"))
            assert own[int(given["device"].removeprefix("gpu-"))] not in seen
            # The fullest comes first, so that the next share goes there.
            def first() -> str:
                return next(iter(devices(lab, "a100")))

            lab.wait(lambda: first() == given["device"], lambda: f"{first()} stands first")
        wait_clean(lab, "a100")


def test_a_monitor_sees_gpus_in_use_and_all_gpus_are_given_together_or_not(lab, release):
    lab.kubectl("label", "--overwrite", "namespace", "default", "resource.kubernetes.io/admin-access=true")
    watch = template("watch", request(allocationMode="All", adminAccess=True))
    both = (template("share", share("10Gi", 25)), template("every", request(allocationMode="All")))
    with InMode(lab, "a100"), Applied(lab, watch, *both):
        wait_devices(lab, "a100", *[f"gpu-{index}" for index in range(4)])
        assert len(devices(lab, "a100", for_admins=True)) == 4
        part, monitor, every = (
            claiming(name, kind, node="a100") for name, kind in (("part", "share"), ("monitor", "watch"), ("all", "every"))
        )
        with Applied(lab, part):
            lab.wait_pod("part")
            [given] = results(lab, claim_of(lab, "part"))
            with Applied(lab, monitor):
                lab.wait_pod("monitor")
                assert len(re.findall("UUID: GPU-", lab.exec("monitor", "nvidia-smi", "-L"))) == 4
            with Applied(lab, every):
                # From 1.37 on the scheduler itself lets it wait.
                told = (f"left out {given['device']}", "cannot allocate all claims")
                lab.wait(
                    lambda: any(words in lab.kubectl("describe", "pod", "all") for words in told),
                    lambda: f"the Pod is told why it waits: {lab.kubectl('describe', 'pod', 'all')}",
                )
        with Applied(lab, every):
            lab.wait_pod("all")
            assert len(results(lab, claim_of(lab, "all"))) == 4
        wait_clean(lab, "a100")


def test_a_claim_by_model_and_four_of_one_island(lab, release):
    by_model = "device.attributes['gpu.nvidia.com'].productName.startsWith('NVIDIA A100')"
    four = template(
        "four",
        request(count=4, selectors=[{"cel": {"expression": by_model}}]),
        constraints=[{"requests": ["gpu"], "matchAttribute": "tranche.dev/nvlinkIsland"}],
    )
    with InMode(lab, "l20"), InMode(lab, "a100"), Applied(lab, four):
        wait_devices(lab, "a100", *[f"gpu-{index}" for index in range(4)])
        islands = {one["attributes"]["tranche.dev/nvlinkIsland"]["string"] for one in devices(lab, "a100").values()}
        assert len(islands) == 1
        attributes = [one["attributes"] for one in devices(lab, "a100").values()]
        roots = sorted(one["resource.kubernetes.io/pcieRoot"]["string"] for one in attributes)
        assert roots == ["pci0000:00", "pci0000:40", "pci0000:80", "pci0000:c0"]
        assert {one["brand"]["string"] for one in attributes} == {"Nvidia"}
        with Applied(lab, claiming("four", "four")):
            lab.wait_pod("four")
            assert lab.pod("four")["spec"]["nodeName"] == "a100"
            listed = lab.exec("four", "nvidia-smi", "-L")
            assert sorted(re.findall(r"UUID: (\S+?)\)", listed)) == sorted(lab.node("a100").uuids())
        wait_clean(lab, "a100")


def test_from_one_mode_to_the_other_no_pod_is_restarted(lab, release):
    """Containers keep what they hold; the other wire gives it out when they have ended."""
    wait_offer(lab, "a100", 4)
    holder = pod("holder", "sleep", "infinity", image="lab-glibc:1", gpus=3, node="a100", runtimeClassName="nvidia")
    claims = template("whole", request())
    with Applied(lab, holder, claims):
        lab.wait_pod("holder")
        held = set(re.findall(r"UUID: (\S+?)\)", lab.exec("holder", "nvidia-smi", "-L")))
        own = lab.node("a100").uuids()
        free = [f"gpu-{index}" for index, uuid in enumerate(own) if uuid not in held]
        with InMode(lab, "a100"):
            wait_devices(lab, "a100", *free)
            wait_offer(lab, "a100", 0)
            with Applied(lab, claiming("claimer", "whole", node="a100")):
                lab.wait_pod("claimer")
                [uuid] = re.findall(r"UUID: (\S+?)\)", lab.exec("claimer", "nvidia-smi", "-L"))
                assert uuid not in held
                assert lab.pod("holder")["status"]["containerStatuses"][0]["restartCount"] == 0
                lab.kubectl("delete", "pod", "holder", "--wait")
                wait_devices(lab, "a100", *[f"gpu-{index}" for index in range(4)])
                # And back: the claim keeps its GPU, with a taint, and the device plugin has the
                # others.
                lab.kubectl("label", "--overwrite", "node", "a100", "tranche.dev/mode=device-plugin")
                wait_offer(lab, "a100", 3)
                wait_devices(lab, "a100", *free)
                [device] = devices(lab, "a100").values()
                assert [taint["key"] for taint in device["taints"]] == ["tranche.dev/mode"]
                with Applied(lab, pod("back", "sleep", "infinity", image="lab-glibc:1", gpus=3, node="a100", runtimeClassName="nvidia")):
                    lab.wait_pod("back")
                    assert uuid not in lab.exec("back", "nvidia-smi", "-L")
                assert lab.pod("claimer")["status"]["containerStatuses"][0]["restartCount"] == 0
            wait_offer(lab, "a100", 4)
            wait_devices(lab, "a100")
    wait_clean(lab, "a100")


def test_claims_outlive_kubelet_and_agent(lab, release):
    with InMode(lab, "l20"), Applied(lab, HALF, claiming("stays", "half")):
        lab.wait_pod("stays")
        [before] = records(lab, "l20")
        file = lab.node("l20").run("bash", "-c", "cat /var/run/cdi/*-claim-*").out
        lab.kubectl("-n", "kube-system", "rollout", "restart", "daemonset/tranche")
        lab.kubectl("-n", "kube-system", "rollout", "status", "daemonset/tranche", "--timeout=90s", timeout=100)
        with Applied(lab, claiming("next", "half")):
            lab.wait_pod("next")
            lab.node("l20").restart_kubelet()
            # Kubelet removes the node's slices when it starts.
            wait_devices(lab, "l20", "gpu-0")
            assert len(records(lab, "l20")) == 2
            assert before in records(lab, "l20")
        lab.wait(lambda: records(lab, "l20") == [before], "the other one has ended")
        assert lab.node("l20").run("bash", "-c", "cat /var/run/cdi/*-claim-*").out == file
        assert lab.pod("stays")["status"]["containerStatuses"][0]["restartCount"] == 0
        sockets = lab.node("l20").run("ls", "/var/lib/kubelet/plugins_registry").out.split()
        assert len([one for one in sockets if one.startswith("gpu.nvidia.com")]) == 1
    wait_clean(lab, "l20")


def test_a_damaged_record_is_made_again_and_its_container_starts_again(lab, release):
    """Kubelet prepares no claim of a running Pod again, so the container needs the CDI file of before."""
    until_told = ("bash", "-c", "until [ -e /tmp/end ]; do sleep 0.2; done")
    with InMode(lab, "l20"), Applied(lab, HALF, claiming("stays", "half", *until_told)):
        lab.wait_pod("stays")
        [uid] = records(lab, "l20")
        record, node = f"/var/lib/tranche/claims/{uid}.json", lab.node("l20")
        before = node.run("cat", record).out
        node.run("truncate", "--size=100", record)
        lab.kubectl("-n", "kube-system", "rollout", "restart", "daemonset/tranche")
        lab.kubectl("-n", "kube-system", "rollout", "status", "daemonset/tranche", "--timeout=90s", timeout=100)
        lab.wait(lambda: node.run("cat", record).out == before, "the record is made again")
        lab.exec("stays", "touch", "/tmp/end")

        def again() -> bool:
            [status] = lab.pod("stays")["status"]["containerStatuses"]
            return status["restartCount"] == 1 and "running" in status["state"]

        lab.wait(again, "the container runs again")
        assert memory_of(lab, "stays") == 22722
    wait_clean(lab, "l20")


def test_an_unhealthy_gpu_gets_no_claim_until_it_heals(lab, release):
    """And Pods that hold it are evicted, if the operator wants that."""
    with InMode(lab, "l20"), Applied(lab, HALF, claiming("victim", "half")):
        lab.wait_pod("victim")
        node = lab.node("l20")
        node.sim("fault", "lost", "--gpu", 0)
        try:
            lab.wait(lambda: "taints" in devices(lab, "l20")["gpu-0"], "the GPU has a taint")
            gone = "kubectl get pod: the victim is evicted"
            lab.wait(lambda: "NotFound" in lab.kubectl("get", "pod", "victim", check=False), gone)
            assert "DeviceTaintManagerEviction" in lab.kubectl("get", "events")
            with Applied(lab, claiming("ill", "half")):
                lab.wait(
                    lambda: "FailedScheduling" in lab.kubectl("describe", "pod", "ill"), "no claim gets it"
                )
                node.sim("clear")
                node.sim("reset", "--gpu", 0)
                lab.wait_pod("ill")
        finally:
            node.sim("clear")
            node.sim("reset", "--gpu", 0)
        assert "taints" not in devices(lab, "l20")["gpu-0"]
    wait_clean(lab, "l20")


def test_a_claim_says_what_it_got_and_how_it_is(lab, release):
    """In status.devices, and on the Pod by kubelet's health stream. Its claim tolerates the taint, so it stays."""
    exactly = share("22722Mi", 50)["exactly"]
    stays = {"tolerations": [{"key": "tranche.dev/unhealthy", "operator": "Exists", "effect": "NoExecute"}]}
    held = template("held", {"name": "gpu", "exactly": exactly | stays})

    def ready(claim: str) -> tuple[str, str]:
        found = device_statuses(lab, claim)
        condition = found[0]["conditions"][0] if found else {}
        return condition.get("status", ""), condition.get("reason", "")

    def health() -> list[str]:
        shown = lab.pod("keeper")["status"]["containerStatuses"][0].get("allocatedResourcesStatus", [])
        return [one["health"] for entry in shown for one in entry.get("resources", [])]

    with InMode(lab, "l20"), Applied(lab, held, claiming("keeper", "held")):
        lab.wait_pod("keeper")
        claim = claim_of(lab, "keeper")
        lab.wait(lambda: ready(claim) == ("True", "Prepared"), lambda: f"ready: {ready(claim)}")
        [given], [said] = results(lab, claim), device_statuses(lab, claim)
        assert {key: said[key] for key in ("driver", "pool", "device", "shareID")} == {
            key: given[key] for key in ("driver", "pool", "device", "shareID")
        }
        assert said["data"] == {"uuid": lab.node("l20").uuids()[0], "memory": "22722Mi", "compute": 50}
        lab.wait(lambda: health() == ["Healthy"], lambda: f"kubelet shows {health()}")
        node = lab.node("l20")
        node.sim("fault", "lost", "--gpu", 0)
        try:
            lab.wait(lambda: ready(claim) == ("False", "DeviceUnhealthy"), lambda: f"ill: {ready(claim)}")
            lab.wait(lambda: health() == ["Unhealthy"], lambda: f"kubelet shows {health()}")
        finally:
            node.sim("clear")
            node.sim("reset", "--gpu", 0)
        lab.wait(lambda: ready(claim) == ("True", "Prepared"), lambda: f"healed: {ready(claim)}")
        lab.wait(lambda: health() == ["Healthy"], lambda: f"kubelet shows {health()}")
    wait_clean(lab, "l20")


def test_a_mig_instance_that_exists_by_its_profile(lab, release):
    small = "device.attributes['gpu.nvidia.com'].profile == '1g.5gb'"
    mig = template(
        "small", request(device_class="mig.nvidia.com", selectors=[{"cel": {"expression": small}}])
    )
    with InMode(lab, "mig"), Applied(lab, mig):
        lab.wait(lambda: devices(lab, "mig"), "the instances are published")
        profiles = [one["attributes"]["profile"]["string"] for one in devices(lab, "mig").values()]
        with Applied(lab, claiming("slice", "small", node="mig")):
            lab.wait_pod("slice")
            [given] = results(lab, claim_of(lab, "slice"))
            own = devices(lab, "mig")[given["device"]]["attributes"]
            seen = lab.exec("slice", "nvidia-smi", "-L")
            assert re.findall(r"UUID: (MIG-\S+?)\)", seen) == [own["uuid"]["string"]], seen
            assert "1g.5gb" in profiles and own["profile"]["string"] == "1g.5gb"
    wait_clean(lab, "mig")


def test_the_api_server_away(lab, release):
    with InMode(lab, "l20"), Applied(lab, HALF, claiming("stays", "half")):
        lab.wait_pod("stays")
        [uid] = records(lab, "l20")
        lab.restart_api_server()
        with Applied(lab, claiming("after", "half")):
            lab.wait_pod("after")
        lab.wait(lambda: records(lab, "l20") == [uid], "the other one has ended")
    wait_clean(lab, "l20")
