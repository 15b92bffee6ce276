"""A real Prometheus that scrapes a real agent: what dashboards ask for has data, and sums close in it."""

import os

import pytest

from client import LIMITER
from loopback import LoopbackServer
from node import GPU
from programs import ROOT, wait_until
from prometheus_server import Prometheus, dashboard_queries, find_program
from test_limits import held, limited, limiting_agent, programs, tenant  # noqa: F401
from test_metrics import ANY_PORT, occupy, served

pytestmark = [
    pytest.mark.skipif(find_program("prometheus") is None, reason="no prometheus: tools/setup.sh test gets it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root"),
]

# What no agent here serves: the controller's series.
CONTROLLER = ROOT / "tests/data/boards/controller.prom"
BOARDS = sorted((ROOT / "tests/data/boards").glob("*.promql"))


@pytest.fixture
def controller():
    """The address of a server that answers every request with the controller's series."""

    with LoopbackServer(lambda _: (200, CONTROLLER.read_bytes()), "text/plain; version=0.0.4") as server:
        yield server.address


@pytest.fixture
def scraped(programs, controller):  # noqa: F811
    """A node whose shared GPUs two limited programs and one of the host use, and its Prometheus."""
    here = programs.here
    arbiter = here.dir / "arbiter"
    metrics = (ANY_PORT, f"--arbiter-state-dir={arbiter}")
    agent = served(limiting_agent(here, LIMITER, *metrics, config=limited(4), env={"NODE_NAME": "n1"}))
    here.kubelet.wait(GPU, allocatable=4 * len(here.uuids()))
    for pod, mebibytes in (("a", 1578), ("b", 316)):
        client = programs(here.state / "tenants" / tenant(held(here, pod)["answer"]))
        assert client("allocate", mebibytes) == 0
        assert client("spin", 100_000_000) == 0 and client("synchronize") == 0
    occupy(here, "--memory", "100Mi", "--util", "30")
    prometheus = Prometheus(here.dir / "prometheus", f"127.0.0.1:{agent.port}", controller)
    prometheus.here = here
    yield prometheus
    prometheus.process.kill()


def queries(board) -> list[str]:
    return [line for line in board.read_text().splitlines() if line and not line.startswith("#")]


def has_seen_an_xid(scraped) -> bool:
    """Raises one, a program's fault, until it is in a scrape: what is raised before the agent listens is not seen."""
    scraped.here.sim("xid", "--gpu", 1, "--xid", 31)
    return scraped.answers("DCGM_FI_DEV_XID_ERRORS")


@pytest.mark.parametrize("programs", ["h200"], indirect=True)
def test_every_query_of_a_board_has_data(scraped):
    """Also those of the dashboard, of docs/metrics.md, and NVIDIA's figures as the platform asks for them."""
    wait_until(lambda: has_seen_an_xid(scraped), "an XID", deadline=60)
    asked = ["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED"]
    asked += [query for board in BOARDS for query in queries(board)]
    panels = [query for queries in dashboard_queries().values() for query in queries]
    assert len(panels) > 25
    asked += panels
    for query in asked:
        wait_until(lambda query=query: scraped.answers(query), f"data for {query}", deadline=60)
    # The same number in Prometheus, by three ways.
    [used] = [one for one in scraped.ask("tranche_container_memory_used_bytes") if one["pod"] == "a"]
    assert used["namespace"] == "default" and used["value"] > 1578 << 20
    totals = {one["gpu"]: one["value"] for one in scraped.ask("sum by (gpu) (tranche_gpu_memory_bytes)")}
    capacity = {one["UUID"]: one["value"] for one in scraped.ask("DCGM_FI_DEV_FB_CAPACITY_BYTES")}
    assert totals == capacity
    # Unchanged Pods make no new series.
    every = 'count({__name__=~"tranche_.*|DCGM_.*"})'
    before = scraped.ask(every)[0]["value"]
    scrapes = "count_over_time(tranche_build_info[10m])"
    seen = scraped.ask(scrapes)[0]["value"]
    wait_until(lambda: scraped.ask(scrapes)[0]["value"] >= seen + 5, "five scrapes more", deadline=60)
    assert scraped.ask('count(last_over_time({__name__=~"tranche_.*|DCGM_.*"}[10m]))')[0]["value"] == before
