"""Who uses what, with a real kubelet, runtime and API server: each Pod's figures beside what its processes
hold, as the agent's /metrics has them."""

import json
import os
import pathlib
import sys
import time

import pytest
from pods import GPU, Applied, pod, wait_offer
from release import Release

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from prometheus import Page  # noqa: E402

MIB = 1 << 20
METRICS = ("metrics.enabled=true",)
OCCUPY = "exec /opt/tranche/bin/tranche-sim occupy"


def config_map(config: dict) -> str:
    metadata = {"name": "metered", "namespace": "kube-system"}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": json.dumps(config)}}
    )


def shared(replicas: int, **more) -> dict:
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": replicas}]}}
    return {"version": "v1", "sharing": sharing, **more}


def holding(name: str, *sizes: str, node: str, resource: str = GPU) -> str:
    """A Pod with a container for each size, which holds so much of a tranche of its own."""
    made = json.loads(pod(name, "x", image="lab-glibc:1", node=node))
    libraries = f"/host/usr/lib/{os.uname().machine}-linux-gnu"
    places = {"tools": ("/opt/tranche", "/opt/tranche"), "libraries": ("/usr/lib", "/host/usr/lib")}
    made["spec"]["volumes"] = [{"name": one, "hostPath": {"path": of}} for one, (of, _) in places.items()]
    made["spec"]["containers"] = [
        {
            "name": f"c{i}",
            "image": "lab-glibc:1",
            "command": ["bash", "-c", f'{OCCUPY} --gpu "$NVIDIA_VISIBLE_DEVICES" --memory {size}'],
            "env": [{"name": "LD_LIBRARY_PATH", "value": libraries}],
            "resources": {"limits": {resource: 1}},
            "volumeMounts": [{"name": one, "mountPath": at, "readOnly": True} for one, (_, at) in places.items()],
        }
        for i, size in enumerate(sizes)
    ]
    return json.dumps(made)


class Scraped:
    def __init__(self, lab, release, node: str):
        self.lab, self.release, self.node = lab, release, node

    def page(self) -> Page:
        name = self.release.agents()[self.node]["metadata"]["name"]
        path = f"/api/v1/namespaces/kube-system/pods/{name}:9400/proxy/metrics"
        return Page(self.lab.kubectl("get", "--raw", path))

    def when(self, condition, what: str, timeout: float = 60) -> Page:
        found = []

        def holds():
            found.append(self.page())
            try:
                return condition(found[-1])
            except KeyError:
                return False

        def told():
            seen = {name: found[-1].all(name) for name in found[-1] if name.startswith("tranche_")} if found else {}
            return f"{what}: {seen}"

        self.lab.wait(holds, told, timeout)
        return found[-1]


def memory(page: Page) -> dict:
    """MiB by Pod and container."""
    used = page.all("tranche_container_memory_used_bytes")
    return {(dict(key)["pod"], dict(key)["container"]): value / MIB for key, value in used.items()}


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["t4", "a100-40gb-mig=mig"])


def test_each_container_of_a_time_sliced_gpu(lab):
    """By their control groups: without limits, without an arbiter."""
    pods = (
        holding("train", "1577Mi", node="t4"),
        holding("two", "315Mi", "200Mi", node="t4"),
        holding("idle", "0Mi", node="t4"),
    )
    with Applied(lab, config_map(shared(5))), Release(lab, "config.name=metered", *METRICS) as release:
        wait_offer(lab, "t4", 5)
        node = lab.node("t4")
        node.occupy("host", "--memory", "50Mi")
        try:
            with Applied(lab, *pods):
                for name in ("train", "two", "idle"):
                    lab.wait_pod(name)
                scraped = Scraped(lab, release, "t4")
                wanted = {("train", "c0"): 1577, ("two", "c0"): 315, ("two", "c1"): 200, ("idle", "c0"): 0}
                page = scraped.when(lambda p: memory(p) == wanted, "each container's memory, to the MiB")
                use = page.by("tranche_gpu_memory_bytes", "use")
                assert use["containers"] == (1577 + 315 + 200) * MIB
                assert use["host-processes"] == 50 * MIB and use["unknown"] == 0
                assert sum(use.values()) == page["DCGM_FI_DEV_FB_CAPACITY_BYTES"]
                assert set(page.all("tranche_container_attributed").values()) == {1}
                assert page.by("tranche_tranches", "state") == {"advertised": 5, "allocated": 4, "withheld": 0}
                assert set(page.by("tranche_check", "check").values()) == {1}
                # A Pod that is gone is gone two seconds later.
                lab.kubectl("delete", "pod", "train", "--wait")
                time.sleep(2)
                assert not [key for key in memory(scraped.page()) if key[0] == "train"]
        finally:
            node.leave("host")


def test_without_the_nodes_process_ids_it_is_unknown(lab):
    values = ("config.name=metered", *METRICS, "metrics.hostPID=false")
    with Applied(lab, config_map(shared(5))), Release(lab, *values) as release:
        wait_offer(lab, "t4", 5)
        with Applied(lab, holding("train", "1577Mi", node="t4")):
            lab.wait_pod("train")
            page = Scraped(lab, release, "t4").when(
                lambda p: p.by("tranche_container_attributed", "pod") == {"train": 0}
                and p.by("tranche_gpu_memory_bytes", "use")["unknown"] >= 1577 * MIB,
                "the Pod is there, and what it uses is unknown",
            )
            assert "tranche_container_memory_used_bytes" not in page
            assert page.by("tranche_check", "check")["host-processes"] == 0


def test_mig_instances_also_time_sliced(lab):
    small, large = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
    config = {
        "version": "v1",
        "flags": {"migStrategy": "mixed"},
        "sharing": {"timeSlicing": {"resources": [{"name": small, "replicas": 2}]}},
    }
    pods = (
        holding("whole", "1000Mi", node="mig", resource=large),
        holding("half", "700Mi", node="mig", resource=small),
    )
    values = ("config.name=metered", "mig.monitor=true", *METRICS)
    with Applied(lab, config_map(config)), Release(lab, *values) as release:
        wait_offer(lab, "mig", 1, large)
        with Applied(lab, *pods):
            for name in ("whole", "half"):
                lab.wait_pod(name)
            page = Scraped(lab, release, "mig").when(
                lambda p: memory(p) == {("whole", "c0"): 1000, ("half", "c0"): 700}, "both Pods' memory"
            )
            assert page.by("tranche_container_memory_used_bytes", "mechanism").keys() == {"mig", "time-slicing"}
            profiles = page.by("tranche_container_memory_used_bytes", "mig_profile")
            assert profiles == {"2g.10gb": 1000 * MIB, "1g.5gb": 700 * MIB}
            share = page.by("container_gpu_allocation", "pod")
            assert share["whole"] == pytest.approx(2 / 7) and share["half"] == pytest.approx(1 / 14)
