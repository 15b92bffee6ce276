"""/metrics of a real agent on simulated GPUs: what each figure is beside what the machine says, what
is unknown, and what a scrape does while the driver hangs."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from client import LIMITER
from node import GPU, sharing
from programs import ROOT, TRANCHE_SIM, wait_until
from prometheus import Page
from test_schemas import schema, validator
from test_limits import CONTEXT_MIB, held, limited, limiting_agent, programs, tenant  # noqa: F401

sys.path.insert(0, str(ROOT / "tests/chart"))
from prometheus_programs import find_promtool, promtool  # noqa: E402

MIB = 1 << 20
ANY_PORT = "--metrics-address=127.0.0.1:0"


def served(agent):
    """The agent, once its `port` is known."""
    agent.port = int(agent.wait_log(r"metrics are served at port (\d+)").group(1))
    return agent


def metrics_agent(here, *arguments, **options):
    return served(here.agent(ANY_PORT, *arguments, **options))


def scrape(agent, accept: str = "text/plain") -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{agent.port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def usage(agent) -> dict:
    """usage/v1 of the node."""
    with urllib.request.urlopen(f"http://127.0.0.1:{agent.port}/usage", timeout=10) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        made = json.load(answer)
    validator(schema("usage-v1")).validate(made)
    return made


def page(agent) -> Page:
    return Page(scrape(agent))


def when(agent, condition, what: str) -> Page:
    """The first page for which the condition holds. A page that lacks the series is not it."""
    found = []

    def holds():
        try:
            found.append(page(agent))
            return condition(found[-1])
        except (KeyError, urllib.error.HTTPError):
            return False

    wait_until(holds, what)
    return found[-1]


def occupy(here, *arguments):
    """A process of the node that holds a part of its first GPU."""
    return here.start("occupy", "--gpu", 0, *arguments, executable=TRANCHE_SIM)


def test_gpus_under_both_generations_of_names(node):
    here = node("l20")
    agent = metrics_agent(here, config=sharing(4))
    occupy(here, "--memory", "1000Mi", "--util", "50")
    seen = when(agent, lambda p: p["DCGM_FI_DEV_FB_USED"] >= 1000, "the memory is seen")
    [gpu] = here.gpus()
    labels = seen.labels("DCGM_FI_DEV_FB_USED")
    assert labels["UUID"] == gpu["uuid"]
    assert labels["gpu"] == "0" and labels["device"] == "nvidia0" and labels["modelName"] == "NVIDIA L20"
    assert seen["DCGM_FI_DEV_FB_USED_BYTES"] == seen["DCGM_FI_DEV_FB_USED"] * MIB
    assert seen["DCGM_FI_DEV_FB_TOTAL"] == 46068
    assert sum(seen[f"DCGM_FI_DEV_FB_{part}"] for part in ("USED", "FREE", "RESERVED")) == 46068
    busy = when(agent, lambda p: p["DCGM_FI_DEV_GPU_UTIL"] == 50, "the load is seen")
    assert busy["DCGM_FI_DEV_GPU_UTIL_RATIO"] == 0.5
    smi = here.smi("--query-gpu=power.draw,temperature.gpu", "--format=csv,noheader,nounits")
    power, temperature = (float(value) for value in smi.split(","))
    assert busy["DCGM_FI_DEV_POWER_USAGE"] == pytest.approx(power, rel=0.2)
    assert busy["DCGM_FI_DEV_GPU_TEMP_CELSIUS"] == pytest.approx(temperature, abs=5)
    assert "DCGM_FI_PROF_SM_ACTIVE" not in busy, "an L20 has no GPM"
    assert "DCGM_FI_DEV_XID_ERRORS" not in busy, "there was none, which is not 0"
    here.sim("xid", "--gpu", 0, "--xid", 31)
    assert when(agent, lambda p: p["DCGM_FI_DEV_XID_ERRORS"] == 31, "the XID is seen")["DCGM_FI_DEV_XID_ERROR"] == 31


@pytest.mark.parametrize("names", ["4.8", "4.9"])
def test_one_generation_of_names(node, names):
    here = node("t4")
    agent = metrics_agent(here, f"--metrics-names={names}")
    seen = when(agent, lambda p: any(name.startswith("DCGM_FI_DEV_FB_") for name in p), "GPUs are read")
    old, new = "DCGM_FI_DEV_FB_USED" in seen, "DCGM_FI_DEV_FB_USED_BYTES" in seen
    assert (old, new) == (names == "4.8", names == "4.9")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")
def test_each_container_of_a_shared_gpu_has_its_own(programs):  # noqa: F811
    """Three containers of one GPU, with different memory and duty, known by the arbiter."""
    here = programs.here
    arbiter = here.dir / "arbiter"
    agent = limiting_agent(
        here,
        LIMITER,
        ANY_PORT,
        f"--arbiter-state-dir={arbiter}",
        config=limited(4, memory="20%"),
    )
    served(agent)
    here.kubelet.wait(GPU, allocatable=4)
    clients = {}
    for pod, mebibytes in (("a", 1578), ("b", 316), ("idle", 0)):
        mine = tenant(held(here, pod)["answer"])
        clients[pod] = programs(here.state / "tenants" / mine)
        if mebibytes:
            assert clients[pod]("allocate", mebibytes) == 0
    seen = when(
        agent,
        lambda p: p.by("tranche_container_memory_used_bytes", "pod")
        == {"a": (1578 + CONTEXT_MIB) * MIB, "b": (316 + CONTEXT_MIB) * MIB, "idle": CONTEXT_MIB * MIB},
        "each Pod's memory is exact",
    )
    assert set(seen.by("tranche_container_attributed", "pod").values()) == {1}
    # A guess that stood for the first context never counted beside it.
    assert seen.all("tranche_container_memory_peak_bytes") == seen.all("tranche_container_memory_used_bytes")
    assert set(seen.by("container_gpu_allocation", "pod").values()) == {0.25}
    assert set(seen.by("tranche_container_memory_limit_bytes", "pod")) == {"a", "b", "idle"}
    assert seen.labels("tranche_container_memory_used_bytes")["mechanism"] == "time-slicing"
    assert sum(seen.all("tranche_gpu_memory_bytes").values()) == 46068 * MIB
    assert seen.by("tranche_gpu_memory_bytes", "use")["containers"] == (1578 + 316 + 3 * CONTEXT_MIB) * MIB
    assert seen.by("tranche_tranches", "state") == {"advertised": 4, "allocated": 3, "withheld": 0}
    # One works for 100 ms, and is refused memory.
    assert clients["a"]("spin", 100_000_000) == 0 and clients["a"]("synchronize") == 0
    assert clients["a"]("allocate", 40000) == 2
    seen = when(
        agent,
        lambda p: p.by("tranche_container_allocation_failures_total", "pod")["a"] == 1
        and p.by("tranche_container_compute_seconds_total", "pod")["a"] >= 0.099,
        "what it did is counted",
    )
    compute = seen.by("tranche_container_compute_seconds_total", "pod")
    assert compute["a"] == pytest.approx(0.1, abs=0.01) and compute["b"] == compute["idle"] == 0
    assert "tranche_container_compute_estimated_seconds_total" not in seen
    assert seen.by("tranche_container_compute_asked_seconds_total", "pod")["a"] > 0
    assert seen.by("tranche_container_launches_total", "pod")["a"] >= 1
    assert seen.by("tranche_container_wait_seconds_total", "pod")["b"] == 0
    told = usage(agent)
    mine = {one["pod"]: one for one in told["containers"]}
    assert mine["a"]["memoryUsed"] == (1578 + CONTEXT_MIB) * MIB and mine["a"]["allocationFailures"] == 1
    assert 0 < mine["a"]["computeShare"] <= 1 and mine["idle"]["computeShare"] == 0
    assert told["gpus"][0]["memory"]["containers"] == (1578 + 316 + 3 * CONTEXT_MIB) * MIB
    # Its container ends: it is gone, and nothing of it is anybody's.
    clients["b"].end()
    here.kubelet.ask("remove", pod="b")
    seen = when(agent, lambda p: "b" not in p.by("tranche_container_processes", "pod"), "the Pod is gone")
    assert seen.by("tranche_tranches", "state")["allocated"] == 2


def test_what_is_not_known_has_no_figure(node):
    """No API server and no arbiter: whose a process is, nobody here can say."""
    here = node("t4")
    agent = metrics_agent(here, config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.admit("a", {GPU: 1})
    occupy(here, "--memory", "1000Mi", "--util", "50")
    seen = when(agent, lambda p: p.by("tranche_container_attributed", "pod") == {"a": 0}, "the Pod is there")
    assert "tranche_container_memory_used_bytes" not in seen
    assert "tranche_container_processes" not in seen
    assert seen.by("tranche_check", "check")["pods"] == 0
    seen = when(agent, lambda p: p.by("tranche_gpu_memory_bytes", "use")["unknown"] >= 1000 * MIB, "its memory is")
    assert sum(seen.all("tranche_gpu_memory_bytes").values()) == 15360 * MIB
    told = usage(agent)
    assert told["node"] and told["gpus"][0]["model"] == "Tesla T4"
    [container] = told["containers"]
    assert container["pod"] == "a" and not {"attributed", "memoryUsed", "computeShare"} & set(container)
    assert "processes" not in told, "the node's processes are not seen here"


def test_a_driver_that_hangs_delays_no_scrape(node):
    here = node("t4")
    agent = metrics_agent(here)
    when(agent, lambda p: p["DCGM_FI_DEV_FB_USED"] >= 0, "the GPU is read")
    here.sim("fault", "hang")
    when(agent, lambda p: p.by("tranche_sample_age_seconds", "figures")["fast"] > 3, "the figures age")
    assert "DCGM_FI_DEV_FB_USED" in page(agent), "the last ones are there for a while"


@pytest.mark.skipif(find_promtool() is None, reason="no promtool: tools/setup.sh test gets it")
def test_both_formats_are_what_prometheus_takes(node):
    here = node("a100-40gb-mig")
    agent = metrics_agent(here, "--mig-strategy=mixed")
    when(agent, lambda p: len(p.all("DCGM_FI_DEV_FB_USED")) >= 2, "instances are read")
    judged = promtool("check", "metrics", text=scrape(agent))
    # 3: it would name some otherwise, for DCGM's names are given.
    assert judged.returncode in (0, 3), judged.stdout + judged.stderr
    text = scrape(agent, "application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    assert all(dict(labels)["GPU_I_PROFILE"] for labels in page(agent).all("DCGM_FI_DEV_FB_USED"))


def test_the_next_agent_serves_at_the_same_port(node):
    here = node("t4")
    first = metrics_agent(here, config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    second = here.agent(f"--metrics-address=127.0.0.1:{first.port}", config=sharing(2))
    second.wait_log("prepared to take over")
    first.signal(signal.SIGTERM)
    assert served(second).port == first.port
    when(second, lambda p: p["DCGM_FI_DEV_FB_USED"] >= 0, "the GPU is read")


def test_with_a_certificate_nothing_is_in_the_clear(node):
    here = node("t4")
    folder = here.dir / "tls"
    folder.mkdir()
    agent = here.agent(ANY_PORT, f"--metrics-tls-dir={folder}")
    port = served(agent).port
    agent.wait_log("the certificate of metrics cannot be used")
    with pytest.raises((urllib.error.URLError, OSError)):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=node"]
        + ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
        check=True,
        capture_output=True,
    )

    def over_tls():
        done = subprocess.run(
            ["curl", "-s", "--cacert", folder / "tls.crt", f"https://127.0.0.1:{port}/metrics"],
            capture_output=True,
            text=True,
        )
        return re.search(r"^tranche_build_info", done.stdout, re.MULTILINE)

    wait_until(over_tls, "it is served with the certificate")


def test_a_node_tells_whether_it_serves_what_it_is_asked_to(node):
    here = node("l20")
    agent = metrics_agent(here, config=sharing(4))

    def states(page: Page) -> dict[str, float]:
        return page.by("tranche_configuration", "state")

    when(agent, lambda p: states(p) == {"current": 1, "older": 0, "default": 0}, "its file is in force")
    here.write("version: v1\nsharing: [no, mapping]\n")
    when(agent, lambda p: states(p) == {"current": 0, "older": 1, "default": 0}, "the older one is in force")
    here.write(sharing(2))
    when(agent, lambda p: states(p)["current"] == 1, "the next one is in force")
    without = metrics_agent(node("l20"))
    when(without, lambda p: states(p) == {"current": 0, "older": 0, "default": 1}, "none is asked for")
