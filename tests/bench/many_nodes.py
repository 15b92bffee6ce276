#!/usr/bin/env python3
"""What a large cluster costs the processes that serve it as a whole, on a lab that runs: `tranche
controller` as leader with a ClusterPolicy, and a process that takes a snapshot of all nodes and Pods, or
keeps them up to date (build/bench/cluster_memory).

    lab/up --name many --node bare --plain 1000
    tests/bench/many_nodes.py --name many [--pods 5000]
    lab/down --name many

The plain nodes are made to look like GPU nodes (8 GPUs each, the labels of feature discovery, as many
images as kubelet tells), the Pods like those of a service; both are kwok's. API server, etcd and the
programs measured are real. The lab is left full: take it down."""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

import yaml  # noqa: E402
from api import Api  # noqa: E402

from lab.cluster.errors import LabError  # noqa: E402
from lab.cluster.lab import Lab  # noqa: E402

GPU = "nvidia.com/gpu"
NAMESPACE = "many"
CRD = ROOT / "deploy/helm/tranche/templates/clusterpolicy-crd.yaml"
GOAL = 100_000_000
# kubelet's nodeStatusMaxImages.
IMAGES = [
    {"names": [f"registry.example.com/team/image-{i}@sha256:{i:064x}"], "sizeBytes": i << 20} for i in range(50)
]
FEATURES = {
    "cuda.driver.major": "550",
    "cuda.runtime.major": "12",
    "gpu.compute.major": "8",
    "gpu.count": "8",
    "gpu.family": "ampere",
    "gpu.machine": "example",
    "gpu.memory": "81920",
    "gpu.present": "true",
    "gpu.product": "NVIDIA-A100-SXM4-80GB",
    "gpu.replicas": "1",
    "gpu.sharing-strategy": "none",
    "mig.capable": "true",
    "mig.strategy": "none",
}


def dress(api: Api, node: str) -> None:
    api.patch(f"/api/v1/nodes/{node}", {"metadata": {"labels": {f"nvidia.com/{k}": v for k, v in FEATURES.items()}}})
    amounts = {"cpu": "128", "memory": "1Ti", "pods": "110", "ephemeral-storage": "4Ti", GPU: "8"}
    api.patch(
        f"/api/v1/nodes/{node}/status",
        {"status": {"capacity": amounts, "allocatable": amounts, "images": IMAGES}},
    )


def pod(name: str, node: str) -> dict:
    variables = [{"name": f"SETTING_{i}", "value": f"value-{i} of a service"} for i in range(20)]
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}
    container = {
        "name": "main",
        "image": "registry.example.com/team/service:1.0.0",
        "args": ["serve", "--port=8080", "--model=/models/one"],
        "env": variables,
        "ports": [{"containerPort": 8080}],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "resources": {"limits": {GPU: 1, "cpu": "8", "memory": "64Gi"}},
        "volumeMounts": [{"name": "models", "mountPath": "/models"}],
    }
    labels = {"app.kubernetes.io/name": "service", "pod-template-hash": "5d4f8c7b9"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "nodeName": node,
            "containers": [container],
            "volumes": [{"name": "models", "emptyDir": {}}],
            "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        },
    }


def fill(api: Api, lab: Lab, nodes: list, pods: int) -> None:
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    lab.wait(lambda: api.request("GET", account)["items"], "the namespace has its account")
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda node: dress(api, node), nodes))
        made = (pod(f"service-{i}", nodes[i % len(nodes)]) for i in range(pods))
        list(threads.map(lambda one: api.request("POST", path, one), made))
    left = f"{path}?fieldSelector=status.phase%21%3DRunning&limit=1"
    lab.wait(lambda: not api.request("GET", left)["items"], "every Pod runs", timeout=600)


def make_policy(api: Api, lab: Lab) -> None:
    # Its only template values are the chart's labels.
    definition = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "", CRD.read_text(), flags=re.S))
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    api.request("POST", definitions, definition)
    path = f"{definitions}/{definition['metadata']['name']}"

    def served() -> bool:
        conditions = api.request("GET", path).get("status", {}).get("conditions") or []  # null at first
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    lab.wait(served, "policies are served")
    configs = {"metadata": {"name": "configs"}, "data": {f"config-{i}": "version: v1\n" for i in range(10)}}
    api.request("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", configs)
    spec = {"devicePlugin": {"config": {"name": "configs", "default": "config-0"}}}
    policy = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}}
    api.request("POST", "/apis/nvidia.com/v1/clusterpolicies", {**policy, "spec": spec})


def resident(pid: int) -> int:
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024


def processor_time(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(what: str, value: int, more: str = "") -> bool:
    kept = value <= GOAL
    print(f"{what}: {value / 1e6:.1f} MB{more}{'' if kept else '  OVER THE GOAL of 100 MB'}", flush=True)
    return kept


def measure_controller(api: Api, lab: Lab, seconds: float) -> bool:
    program = pathlib.Path(lab.settings.build) / "bin" / "tranche"
    flags = (f"--namespace={NAMESPACE}", "--config-map-out=policy", "--leader-elect")
    path = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
    with tempfile.TemporaryFile("w+") as log:
        command = [program, "controller", *flags, f"--kubeconfig={lab.kubeconfig}"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            lab.wait(
                lambda: api.request("GET", path).get("status", {}).get("state") == "ready",
                "the policy is applied",
            )
            first = resident(process.pid)
            before = processor_time(process.pid)
            time.sleep(seconds)
            used = (processor_time(process.pid) - before) / seconds
            last = resident(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(30)
        log.seek(0)
        assert code == 0, log.read()
    more = f", {last / 1e6:.1f} after {seconds:.0f} s with {used:.2%} of a core"
    return show("controller, leader, resident", first, more)


def measure_whole(lab: Lab, what: str) -> bool:
    program = pathlib.Path(lab.settings.build) / "bench" / "cluster_memory"
    done = subprocess.run([program, lab.kubeconfig, what], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kept = True
    found = json.loads(done.stdout)
    held = found.pop("held", {})
    for step, one in found.items():
        more = [f"{one['resident'] / 1e6:.1f} after it, {one['milliseconds']} ms"]
        more += [f"{one[name]} {name}" for name in ("nodes", "pods", "bytes") if name in one]
        kept &= show(f"{what}: {step}, most so far", one["peak"], ", " + ", ".join(more))
    if held:
        print(f"{what}: holds {held['objects']} objects of {held['bytes'] / 1e6:.1f} MB in all")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="many")
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--idle", type=float, default=30, help="seconds that the controller is watched [30]")
    options = parser.parse_args()
    lab = Lab.find(options.name)
    nodes = lab.settings.plain_names()
    if not nodes:
        raise LabError(f"lab {options.name} has no plain nodes", "lab/up --name many --node bare --plain 1000")
    api = Api(lab.kubeconfig)
    begin = time.monotonic()
    fill(api, lab, nodes, options.pods)
    make_policy(api, lab)
    print(f"{len(nodes)} nodes, {options.pods} Pods, made in {time.monotonic() - begin:.0f} s", flush=True)
    kept = measure_controller(api, lab, options.idle)
    for what in ("snapshot", "watch"):
        kept &= measure_whole(lab, what)
    return 0 if kept else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        sys.exit(f"many_nodes.py: {error.message()}")
