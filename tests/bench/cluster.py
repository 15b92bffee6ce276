#!/usr/bin/env python3
"""How soon a node follows its label and its ConfigMap, on a running lab: label or map changed ->
new device list at kubelet (the agent's log line, written when the list goes out) -> new allocatable
in the Node object (watched). And the agent's memory on a cluster.

    lab/up --node l20 --node-status 1s        (or kubelet's own interval: leave --node-status out)
    tests/bench/cluster.py [--name NAME] [--changes 20]

Hardware is simulated; kubelet, scheduler, API server and agent are real."""

import argparse
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "cluster")]

from api import Api  # noqa: E402
from pods import GPU, wait_offer  # noqa: E402
from release import Release, label  # noqa: E402

from lab.cluster.lab import Lab  # noqa: E402

NAMESPACE = "kube-system"
MAP = "bench-configs"
LINE = re.compile(r"^(\S+) I advertising nvidia.com/gpu: (\d+) tranches", re.MULTILINE)


class NodeWatch(threading.Thread):
    """When each value of allocatable was first seen."""

    def __init__(self, api: Api, node: str):
        super().__init__(daemon=True)
        self.seen = {}
        self._connection = api.open()
        self._node = node

    def run(self) -> None:
        query = f"watch=true&fieldSelector=metadata.name%3D{self._node}"
        self._connection.request("GET", f"/api/v1/nodes?{query}")
        for line in self._connection.getresponse():
            status = json.loads(line)["object"].get("status", {})
            self.seen.setdefault(status.get("allocatable", {}).get(GPU), time.time())


def sharing(replicas: int) -> str:
    return json.dumps({"version": "v1", "sharing": {"timeSlicing": {"resources": [{"name": GPU, "replicas": replicas}]}}})


def advertised(text: str) -> dict:
    """Count -> when it was sent to kubelet."""
    found = {}
    for stamp, count in LINE.findall(text):
        when = datetime.datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        found[int(count)] = when.timestamp()
    return found


def show(name: str, values: list) -> None:
    values = sorted(values)
    print(f"{name}: median {statistics.median(values):.0f} ms, {values[0]:.0f} to {values[-1]:.0f} ({len(values)} changes)")


def measure(api: Api, release: Release, node: str, counts: list, change) -> tuple[list, list]:
    watch = NodeWatch(api, node)
    watch.start()
    begun = {}
    for count in counts:
        begun[count] = time.time()
        change(count)
        while str(count) not in watch.seen:
            time.sleep(0.02)
    sent = advertised(release.log(node))
    to_kubelet = [(sent[count] - begun[count]) * 1000 for count in counts]
    to_node = [(watch.seen[str(count)] - begun[count]) * 1000 for count in counts]
    return to_kubelet, to_node


def memory(lab, node: str) -> int:
    pid = lab.node(node).run("pgrep", "-f", "^tranche agent").out.split()[0]
    status = lab.node(node).run("cat", f"/proc/{pid}/status").out
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="dev")
    parser.add_argument("--changes", type=int, default=20)
    options = parser.parse_args()
    lab = Lab.find(options.name)
    [node] = [one.name for one in lab.nodes if one.has_gpu][:1]
    counts = list(range(2, 2 + options.changes))
    data = {f"k{count}": sharing(count) for count in counts} | {"default": sharing(1)}
    metadata = {"name": MAP, "namespace": NAMESPACE}
    lab.apply(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
    api = Api(lab.kubeconfig)
    with Release(lab, f"config.name={MAP}", "gfd.enabled=true", "gfd.labelOutput=node") as release:
        wait_offer(lab, node, 1)

        def change_label(count: int) -> None:
            api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {"nvidia.com/device-plugin.config": f"k{count}"}}})

        def change_map(count: int) -> None:
            path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{MAP}"
            api.patch(path, {"data": {"default": sharing(count)}})

        to_kubelet, to_node = measure(api, release, node, counts, change_label)
        show("label -> device list at kubelet", to_kubelet)
        show("label -> allocatable of the Node", to_node)
        label(lab, node, "")
        wait_offer(lab, node, 1)
        counts = [count + 40 for count in counts]
        to_kubelet, to_node = measure(api, release, node, counts, change_map)
        show("ConfigMap -> device list at kubelet", to_kubelet)
        show("ConfigMap -> allocatable of the Node", to_node)
        print(f"agent on a cluster: {memory(lab, node) / 1000:.1f} MB resident")
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)


if __name__ == "__main__":
    try:
        main()
    except subprocess.SubprocessError as error:
        sys.exit(f"cluster.py: {error}")
