#!/usr/bin/env python3
"""What a thousand agents ask of an API server that was away and comes back, on a lab that runs:

    lab/up --name outage --node bare
    tests/bench/outage.py --name outage [--agents 1000] [--away 5]
    lab/down --name outage

API server and etcd are real; build/bench/followers holds as many selections as so many agents do. Tells the
requests that the new API server answered, what of them reached etcd, and its processor time until all were
followed again. What the server reads for its own caches is told apart, from a restart without agents."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from api import Api  # noqa: E402

from lab.cluster.errors import LabError  # noqa: E402
from lab.cluster.lab import Lab  # noqa: E402

RESOURCES = ("nodes", "pods", "configmaps")


def metrics(api: Api) -> str:
    connection = api.open()
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def total(text: str, name: str, **labels: str) -> float:
    """The sum of all series of `name` whose labels begin with `labels`."""
    found = 0.0
    for line in text.splitlines():
        series = re.match(rf"{name}(?:\{{(.*)\}})? (\S+)$", line)
        if series is None:
            continue
        has = dict(re.findall(r'(\w+)="([^"]*)"', series[1] or ""))
        if all(has.get(key, "").startswith(value) for key, value in labels.items()):
            found += float(series[2])
    return found


def figures(text: str) -> dict[str, float]:
    found = {}
    for resource in RESOURCES:
        for verb in ("LIST", "WATCH"):
            found[f"{verb} {resource}"] = total(text, "apiserver_request_total", verb=verb, resource=resource)
        found[f"lists of {resource} that reached etcd"] = total(
            text, "etcd_requests_total", operation="list", resource=resource
        ) + total(text, "etcd_requests_total", operation="list", type=f"*core.{resource[:-1]}")
    found["answered 429"] = total(text, "apiserver_request_total", code="429")
    found["processor time, s"] = total(text, "process_cpu_seconds_total")
    return found


class Followers:
    def __init__(self, lab: Lab, agents: int):
        program = pathlib.Path(lab.settings.build) / "bench" / "followers"
        self._process = subprocess.Popen(
            [program, lab.kubeconfig, str(agents)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def wait(self, followed: bool, timeout: float = 300) -> None:
        """Until all selections are followed, or some are not."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            line = self._process.stdout.readline()
            assert line, "followers ended"
            state = json.loads(line)
            if (state["followed"] == state["selections"]) == followed:
                return
        raise LabError(f"after {timeout:.0f} s: {state}", "give it more time, or fewer agents")

    def end(self) -> None:
        self._process.stdin.close()
        self._process.wait(60)


def outage(lab: Lab, away: float) -> None:
    lab.client.stop("kube-apiserver")
    time.sleep(away)
    lab.control_plane.start("kube-apiserver")
    lab.control_plane.wait_ready()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="outage")
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--away", type=float, default=5, help="seconds that the API server is away [5]")
    options = parser.parse_args()
    lab = Lab.find(options.name)
    api = Api(lab.kubeconfig)
    outage(lab, options.away)
    time.sleep(20)
    alone = figures(metrics(api))
    followers = Followers(lab, options.agents)
    try:
        followers.wait(True)
        begin = metrics(api)
        print(f"{options.agents} agents follow {3 * options.agents} selections")
        first = figures(begin)
        lab.client.stop("kube-apiserver")
        followers.wait(False)
        time.sleep(options.away)
        lab.control_plane.start("kube-apiserver")
        lab.control_plane.wait_ready()
        back = time.monotonic()
        followers.wait(True)
        again = time.monotonic() - back
        time.sleep(max(0.0, 20 - again))
        after = figures(metrics(api))
    finally:
        followers.end()
    print(f"all followed again {again:.0f} s after the API server was ready")
    print(f"{'':44}{'no agents':>12}{'they come':>12}{'it is back':>12}")
    for name, value in alone.items():
        print(f"{name:44}{value:12.1f}{first[name] - value:12.1f}{after[name]:12.1f}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"outage.py: {error.message()}")
