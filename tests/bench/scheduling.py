#!/usr/bin/env python3
"""How many Pods a second the scheduler places on many nodes: plain Pods (nvidia.com/gpu: 1), and Pods with claims of
shares, whose claims are there already or are made of a template.

    lab/up --name scheduling --node a100-80gb-x8=a100 --runtime cdi --plain 500
    tests/bench/scheduling.py --name scheduling [--pods 1000]
    lab/down --name scheduling

The plain nodes are kwok's. Each has the ResourceSlices that the agent publishes on node a100, under its own name,
and eight GPUs as a device plugin has them. API server, scheduler and controller manager are real and have their
default limits (the scheduler sends 50 requests a second). The lab is left full: take it down."""

import argparse
import copy
import json
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/cluster")]

from api import Api  # noqa: E402
from claims import VALUES, InMode, claiming, share, slices, template  # noqa: E402
from pods import Applied, pod  # noqa: E402
from release import Release  # noqa: E402

from lab.cluster.lab import Lab  # noqa: E402

PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
QUARTER = share("20Gi", 25)


def dress(api: Api, node: str, like: list[dict]) -> None:
    """Gives the node eight GPUs, by both ways."""
    amounts = {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    api.patch(f"/api/v1/nodes/{node}/status", {"status": {"capacity": amounts, "allocatable": amounts}})
    for number, spec in enumerate(like):
        spec = copy.deepcopy(spec)
        spec["nodeName"] = node
        spec["pool"]["name"] = f"gpu-{node}"
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": spec}
        api.request("POST", SLICES, {**body, "metadata": {"name": f"{node}-gpu.nvidia.com-{number:02}"}})


def on_plain_nodes(text: str) -> dict:
    """Keeps it off the real node, and without what only kubelet needs."""
    made = json.loads(text)
    made["spec"]["nodeSelector"] = {"type": "kwok"}
    return made


def place(api: Api, lab: Lab, pods: list[dict]) -> float:
    """Seconds until all are bound."""
    unbound = f"{PODS}?fieldSelector=spec.nodeName%3D&limit=1"
    begin = time.monotonic()
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda one: api.request("POST", PODS, one), pods))
    lab.wait(lambda: not api.request("GET", unbound)["items"], "all are bound", timeout=600)
    return time.monotonic() - begin


def clear(api: Api, lab: Lab) -> None:
    api.request("DELETE", f"{PODS}?gracePeriodSeconds=0")
    lab.wait(lambda: not api.request("GET", f"{PODS}?limit=1")["items"], "no Pod is left", timeout=300)
    api.request("DELETE", CLAIMS)
    lab.wait(lambda: not api.request("GET", f"{CLAIMS}?limit=1")["items"], "no claim is left", timeout=300)


def with_claim(name: str) -> dict:
    made = on_plain_nodes(claiming(name, "quarter", "sleep", "infinity"))
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": name}]
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="scheduling")
    parser.add_argument("--pods", type=int, default=1000)
    options = parser.parse_args()
    lab = Lab.find(options.name)
    nodes = lab.settings.plain_names()
    api = Api(lab.kubeconfig)
    with Release(lab, *VALUES), InMode(lab, "a100"), Applied(lab, template("quarter", QUARTER)):
        lab.wait(lambda: slices(lab, "a100"), "the slices of node a100")
        like = slices(lab, "a100")
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda node: dress(api, node, like), nodes))
        print(f"{len(nodes)} nodes of {len(like[0]['devices'])} GPUs, {options.pods} Pods each", flush=True)
        names = [f"pod-{index}" for index in range(options.pods)]
        claims = [{"metadata": {"name": name}, "spec": {"devices": {"requests": [QUARTER]}}} for name in names]
        kinds = {
            "plain": [on_plain_nodes(pod(name, "sleep", "infinity", gpus=1)) for name in names],
            "claim": [with_claim(name) for name in names],
            "template": [on_plain_nodes(claiming(name, "quarter", "sleep", "infinity")) for name in names],
        }
        for kind, pods in kinds.items():
            if kind == "claim":
                with ThreadPoolExecutor(16) as threads:
                    list(threads.map(lambda one: api.request("POST", CLAIMS, one), claims))
            took = place(api, lab, pods)
            print(f"{kind}: {took:.1f} s, {options.pods / took:.1f} Pods a second", flush=True)
            clear(api, lab)
    return 0


if __name__ == "__main__":
    sys.exit(main())
