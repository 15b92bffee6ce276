"""Who uses what, with a real kubelet, runtime and API server: each Pod's figures beside what its processes
hold, as the agent's /metrics has them."""

import json
import os
import pathlib
import sys
import time

import pytest
from claims import VALUES as CLAIMS
from claims import InMode, claiming, share, template, wait_devices
from pods import GPU, Applied, pod, wait_offer
from release import Release

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from prometheus import Page  # noqa: E402

MIB = 1 << 20
METRICS = ("metrics.enabled=true",)
CONTEXT_MIB = 256  # of a CUDA program, on the simulated L20
OCCUPY = "exec /opt/tranche/bin/tranche-sim occupy"


def config_map(config: dict) -> str:
    metadata = {"name": "metered", "namespace": "kube-system"}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": json.dumps(config)}}
    )


def shared(replicas: int, **more) -> dict:
    sharing = {"timeSlicing": {"resources": [{"name": GPU, "replicas": replicas}]}}
    return {"version": "v1", "sharing": sharing, **more}


def holding(name: str, *sizes: str, node: str, resource: str = GPU, kind: str = "compute") -> str:
    """A Pod with a container for each size, which holds so much of a tranche of its own."""
    made = json.loads(pod(name, "x", image="lab-glibc:1", node=node))
    libraries = f"/host/usr/lib/{os.uname().machine}-linux-gnu"
    places = {"tools": ("/opt/tranche", "/opt/tranche"), "libraries": ("/usr/lib", "/host/usr/lib")}
    made["spec"]["volumes"] = [{"name": one, "hostPath": {"path": of}} for one, (of, _) in places.items()]
    made["spec"]["containers"] = [
        {
            "name": f"c{i}",
            "image": "lab-glibc:1",
            "command": ["bash", "-c", f'{OCCUPY} --kind {kind} --gpu "$NVIDIA_VISIBLE_DEVICES" --memory {size}'],
            "env": [{"name": "LD_LIBRARY_PATH", "value": libraries}],
            "resources": {"limits": {resource: 1}},
            "volumeMounts": [{"name": one, "mountPath": at, "readOnly": True} for one, (_, at) in places.items()],
        }
        for i, size in enumerate(sizes)
    ]
    return json.dumps(made)


def thief(name: str, size: str, node: str) -> str:
    """Uses the first GPU without asking for one."""
    made = json.loads(holding(name, size, node=node))
    [container] = made["spec"]["containers"]
    del container["resources"]
    container["env"].append({"name": "NVIDIA_VISIBLE_DEVICES", "value": "0"})
    return json.dumps(made)


class Scraped:
    def __init__(self, lab, release, node: str):
        self.lab, self.release, self.node = lab, release, node

    def get(self, what: str) -> str:
        name = self.release.agents()[self.node]["metadata"]["name"]
        return self.lab.kubectl("get", "--raw", f"/api/v1/namespaces/kube-system/pods/{name}:9400/proxy/{what}")

    def page(self) -> Page:
        return Page(self.get("metrics"))

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


def seconds(page: Page) -> dict:
    return page.by("tranche_container_compute_seconds_total", "pod")


def busy(percent: int) -> tuple:
    """A program that wants so much of the GPU's time."""
    return ("tranche-load", "compute", "--duration", "1h", "--duty", str(percent))


def kernel_time(scraped: Scraped, name: str) -> float:
    """Seconds that were counted for each kernel of a Pod; the simulated GPU's kernels take as long as they say, however
    loaded this machine is."""
    page = scraped.when(lambda p: seconds(p)[name] > 3, "it works")
    return seconds(page)[name] / page.by("tranche_container_launches_total", "pod")[name]


# How far: 3 points of a share of 20 %.
KERNEL = 0.15
ACCOUNT = {"limits": {"enforcement": "account"}}


@pytest.fixture
def lab(labs):
    return labs.get(["t4", "l20", "a100-40gb-mig=mig"])


@pytest.fixture
def mps_lab(labs):
    return labs.get(["l20"])


@pytest.fixture
def claims_lab(labs):
    return labs.get(["l20"], runtime="cdi")


def test_each_container_of_a_time_sliced_gpu(lab):
    """By their control groups: without limits, without an arbiter."""
    pods = (
        holding("train", "1577Mi", node="t4"),
        holding("two", "315Mi", "200Mi", node="t4"),
        holding("idle", "0Mi", node="t4"),
        thief("thief", "70Mi", node="t4"),
    )
    with Applied(lab, config_map(shared(5))), Release(lab, "config.name=metered", *METRICS) as release:
        wait_offer(lab, "t4", 5)
        node = lab.node("t4")
        node.occupy("host", "--memory", "50Mi")
        try:
            with Applied(lab, *pods):
                for name in ("train", "two", "idle", "thief"):
                    lab.wait_pod(name)
                scraped = Scraped(lab, release, "t4")
                wanted = {("train", "c0"): 1577, ("two", "c0"): 315, ("two", "c1"): 200, ("idle", "c0"): 0}
                wanted[("thief", "c0")] = 70
                page = scraped.when(lambda p: memory(p) == wanted, "each container's memory, to the MiB")
                use = page.by("tranche_gpu_memory_bytes", "use")
                assert use["containers"] == (1577 + 315 + 200 + 70) * MIB
                mechanisms = {dict(key)["pod"]: dict(key)["mechanism"] for key in page.all("tranche_container_processes")}
                assert mechanisms == dict.fromkeys(("train", "two", "idle"), "time-slicing") | {"thief": "none"}
                told = json.loads(scraped.get("usage"))
                named = {(one["pod"], one["name"], one.get("memory", 0)) for one in told["processes"] if "pod" in one}
                assert ("thief", "tranche-sim", 70 * MIB) in named and ("two", "tranche-sim", 315 * MIB) in named
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
        "tranche": ACCOUNT,
    }
    pods = (
        holding("whole", "1000Mi", node="mig", resource=large),
        holding("half", "700Mi", node="mig", resource=small),
        pod("busy", *busy(20), image="lab-glibc:1", gpus=1, resource=small, node="mig"),
    )
    values = ("config.name=metered", "mig.monitor=true", "limits.enabled=true", *METRICS)
    with Applied(lab, config_map(config)), Release(lab, *values) as release:
        wait_offer(lab, "mig", 1, large)
        with Applied(lab, *pods):
            for name in ("whole", "half", "busy"):
                lab.wait_pod(name)
            wanted = {("whole", "c0"): 1000, ("half", "c0"): 700, ("busy", "main"): CONTEXT_MIB}
            scraped = Scraped(lab, release, "mig")
            page = scraped.when(lambda p: memory(p) == wanted, "each Pod's memory")
            used = [dict(labels) for labels in page.all("tranche_container_memory_used_bytes")]
            profiles = {one["pod"]: (one["mechanism"], one["mig_profile"]) for one in used}
            small_ones = dict.fromkeys(("half", "busy"), ("time-slicing", "1g.5gb"))
            assert profiles == {"whole": ("mig", "2g.10gb"), **small_ones}
            share = page.by("container_gpu_allocation", "pod")
            assert share["whole"] == pytest.approx(2 / 7) and share["half"] == pytest.approx(1 / 14)
            assert kernel_time(scraped, "busy") == pytest.approx(0.001, rel=KERNEL)


def test_compute_is_counted_where_it_is_not_limited(lab):
    """Enforcement account: shares of the GPU's time over half a minute, beside what was asked for."""
    duties = {"a": 10, "b": 20, "c": 30}
    config = shared(4, tranche=ACCOUNT)
    pods = [pod(name, *busy(duty), image="lab-glibc:1", gpus=1, node="l20") for name, duty in duties.items()]
    values = ("config.name=metered", "limits.enabled=true", *METRICS)
    with Applied(lab, config_map(config)), Release(lab, *values) as release, Applied(lab, *pods):
        for name in duties:
            lab.wait_pod(name)
        scraped = Scraped(lab, release, "l20")
        first = scraped.when(lambda p: min(seconds(p)[name] for name in duties) > 1, "all three work")
        begin = time.monotonic()
        time.sleep(30)
        last = scraped.page()
        took = time.monotonic() - begin
        shares = {name: 100 * (seconds(last)[name] - seconds(first)[name]) / took for name in duties}
        assert all(abs(shares[name] - duty) <= 3 for name, duty in duties.items()), shares
        assert "tranche_container_compute_estimated_seconds_total" not in last
        assert set(memory(last).values()) == {CONTEXT_MIB}


def test_clients_of_mps(mps_lab):
    lab = mps_lab
    sharing = {"renameByDefault": True, "resources": [{"name": GPU, "replicas": 4}]}
    config = config_map({"version": "v1", "sharing": {"mps": sharing}, "tranche": ACCOUNT})
    pods = [
        holding(name, size, node="l20", resource="nvidia.com/gpu.shared", kind="mps")
        for name, size in (("one", "1000Mi"), ("two", "2000Mi"))
    ]
    pods.append(pod("busy", *busy(20), image="lab-glibc:1", gpus=1, resource="nvidia.com/gpu.shared"))
    parts = ("mps.enabled=true", "limits.enabled=true", "gfd.enabled=true", "gfd.labelOutput=node")
    values = ("config.name=metered", *parts, *METRICS)
    with Applied(lab, config), Release(lab, *values) as release:
        wait_offer(lab, "l20", 4, "nvidia.com/gpu.shared")
        with Applied(lab, *pods):
            for name in ("one", "two", "busy"):
                lab.wait_pod(name)
            wanted = {("one", "c0"): 1000, ("two", "c0"): 2000, ("busy", "main"): CONTEXT_MIB}
            scraped = Scraped(lab, release, "l20")
            page = scraped.when(lambda p: memory(p) == wanted, "each client's memory")
            used = [dict(labels) for labels in page.all("tranche_container_memory_used_bytes")]
            assert {one["mechanism"] for one in used} == {"mps"}
            # On a quarter of the multiprocessors a kernel takes four times as long.
            assert kernel_time(scraped, "busy") == pytest.approx(0.004, rel=KERNEL)
            assert "tranche_container_compute_promised_ratio" not in page
            use = page.by("tranche_gpu_memory_bytes", "use")
            assert use["unknown"] == 0 and sum(use.values()) == page["DCGM_FI_DEV_FB_CAPACITY_BYTES"]


def test_shares_of_claims(claims_lab):
    lab = claims_lab
    half = template("half", share("22722Mi", 50))
    hold = ("tranche-load", "hold", "--duration", "1h", "--memory")
    both = f"{' '.join((*hold, '2000Mi'))} & exec {' '.join(busy(20))}"
    pods = (claiming("one", "half", *hold, "1000Mi"), claiming("two", "half", "bash", "-c", both))
    values = (*CLAIMS, *METRICS, "limits.enabled=true")
    with Applied(lab, half), Release(lab, *values) as release, InMode(lab, "l20"):
        wait_devices(lab, "l20", "gpu-0")
        with Applied(lab, *pods):
            for name in ("one", "two"):
                lab.wait_pod(name)
            wanted = {("one", "main"): 1000 + CONTEXT_MIB, ("two", "main"): 2000 + 2 * CONTEXT_MIB}
            scraped = Scraped(lab, release, "l20")
            page = scraped.when(lambda p: memory(p) == wanted, "both claims' memory")
            labels = page.labels("tranche_container_memory_used_bytes")
            assert labels["mechanism"] == "share" and labels["resource"]
            assert set(page.by("tranche_container_memory_limit_bytes", "pod").values()) == {22722 * MIB}
            assert set(page.by("tranche_container_compute_promised_ratio", "pod").values()) == {0.5}
            assert page.by("container_gpu_allocation", "pod") == {"one": pytest.approx(0.5), "two": pytest.approx(0.5)}
            assert kernel_time(scraped, "two") == pytest.approx(0.001, rel=KERNEL)
