#!/usr/bin/env python3
"""What a scrape of /metrics costs: an agent and an arbiter on a simulated node whose GPUs limited programs share, one in
each Pod; and what metrics cost the agent, beside one without. Programs and page are real, GPUs are simulated, kubelet is a
stand-in. Takes root.

    tests/bench/metrics_scrape.py [--scrapes 500] [--idle 30] [--node MACHINE:PODS]... [--peer 'COMMAND' --peer-url URL]

The default nodes: 8 H200 with 48 Pods, 16 T4 with 160. --peer: another exporter, as a command that serves at the URL; it
runs over the same simulated NVML, and is asked in turn with ours.
"""

import argparse
import contextlib
import gzip
import os
import pathlib
import shlex
import statistics
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from client import LIMITER, Client  # noqa: E402
from node import GPU, Node  # noqa: E402
from programs import wait_until  # noqa: E402
from test_limits import held, limited, tenant  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mb(pid: int) -> float:
    return int(pathlib.Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1000


def scrape(url: str) -> tuple[float, bytes, int]:
    """Milliseconds until the page is there as Prometheus asks for it, the page, and its bytes on the wire."""
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    request = urllib.request.Request(url, headers={"Accept": accept, "Accept-Encoding": "gzip"})
    begin = time.perf_counter()
    with urllib.request.urlopen(request, timeout=30) as answer:
        body = answer.read()
        zipped = answer.headers.get("Content-Encoding") == "gzip"
    took = 1000 * (time.perf_counter() - begin)
    return took, gzip.decompress(body) if zipped else body, len(body)


def series(page: bytes) -> int:
    return sum(1 for line in page.splitlines() if line and not line.startswith(b"#"))


def spread(times: list[float]) -> str:
    times = sorted(times)
    return (f"median {statistics.median(times):.2f} ms, p99 {times[int(0.99 * len(times))]:.2f}, "
            f"longest {times[-1]:.2f}, {len(times)} scrapes")


class Shared:
    """A node with Pods that share its GPUs, and a program in each."""

    def __init__(self, machine: str, pods: int):
        self.node = Node(machine)
        self.clients: list[Client] = []
        self.pods = pods
        self.gpus = len(self.node.uuids())

    def serve(self, *metrics: str):
        replicas = -(-self.pods // self.gpus)
        arbiter = self.node.dir / "arbiter"
        flags = (f"--limit-library={LIMITER}", f"--arbiter-state-dir={arbiter}", *metrics)
        agent = self.node.agent(*flags, config=limited(replicas), env={"NODE_NAME": "n1"})
        self.node.kubelet.wait(GPU, allocatable=replicas * self.gpus)
        return agent

    def fill(self):
        answers = [held(self.node, f"pod-{i}")["answer"] for i in range(self.pods)]
        folder = self.node.state / "tenants"
        self.node.start("arbiter", f"--tenants={folder}", f"--state-dir={self.node.dir / 'arbiter'}")
        for answer in answers:
            mine = folder / tenant(answer)
            wait_until((mine / "arbiter.sock").exists, "the arbiter serves")
            self.clients.append(Client(self.node.env | answer["envs"], mine).joined())
            assert self.clients[-1]("allocate", 64) == 0

    def close(self):
        for client in self.clients:
            client.end()
        with contextlib.redirect_stdout(None):  # its logs
            self.node.close()


def idle(agent, seconds: float) -> str:
    before = cpu_seconds(agent.pid)
    time.sleep(seconds)
    return f"{100 * (cpu_seconds(agent.pid) - before) / seconds:.2f} % of a core, {resident_mb(agent.pid):.1f} MB"


def wait_for_page(url: str, pods: int):
    def whole() -> bool:
        with contextlib.suppress(OSError):
            return scrape(url)[1].count(b"\ntranche_container_memory_used_bytes{") >= pods
        return False

    wait_until(whole, "all Pods are on the page", deadline=120)


def measure(machine: str, pods: int, options):
    without = Shared(machine, pods)
    try:
        agent = without.serve()
        without.fill()
        print(f"{without.gpus} GPUs ({machine}), {pods} Pods")
        print(f"  agent without metrics, idle: {idle(agent, options.idle)}")
    finally:
        without.close()
    there = Shared(machine, pods)
    peer = None
    try:
        agent = there.serve("--metrics-address=127.0.0.1:0")
        there.fill()
        port = agent.wait_log(r"metrics are served at port (\d+)").group(1)
        url = f"http://127.0.0.1:{port}/metrics"
        wait_for_page(url, pods)
        if options.peer:
            name, *words = shlex.split(options.peer)
            peer = there.node.start(*words, argv0=name, executable=pathlib.Path(name))
            wait_until(lambda: answers(options.peer_url), "the peer answers", deadline=60)
        print(f"  agent with metrics, not scraped: {idle(agent, options.idle)}")
        times = {"agent": []} | ({"peer": []} if peer else {})
        for _ in range(options.scrapes):
            for who, taken in times.items():
                took, page, wire = scrape(url if who == "agent" else options.peer_url)
                taken.append(took)
            time.sleep(0.01)
        took, page, wire = scrape(url)
        print(f"  a scrape: {spread(times['agent'])}; {series(page)} series, {len(page)} bytes, {wire} zipped")
        print(f"  agent after that: {resident_mb(agent.pid):.1f} MB")
        if peer:
            print(f"  the peer's: {spread(times['peer'])}; {series(scrape(options.peer_url)[1])} series, "
                  f"{resident_mb(peer.pid):.1f} MB; ours by theirs, medians: "
                  f"{statistics.median(times['agent']) / statistics.median(times['peer']):.3f}")
    finally:
        there.close()


def answers(url: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(scrape(url)[1])
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scrapes", type=int, default=500)
    parser.add_argument("--idle", type=float, default=30)
    parser.add_argument("--node", action="append", help="a machine of sim/machines and how many Pods: h200:48")
    parser.add_argument("--peer")
    parser.add_argument("--peer-url")
    options = parser.parse_args()
    for one in options.node or ["h200:48", "gpus-16:160"]:
        machine, pods = one.rsplit(":", 1)
        measure(machine, int(pods), options)


if __name__ == "__main__":
    main()
