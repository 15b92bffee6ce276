"""The last part of `make lab`, once everything is built: one node with an L20, the chart installed,
its GPU shared among four Pods, and a table of what the node offers."""

import os
import subprocess
import time

from . import teardown
from .errors import LabError
from .lab import Lab, folder_of
from .paths import ROOT

CHART = ROOT / "deploy" / "helm" / "tranche"
VALUES = ROOT / "lab" / "values.yaml"
RESOURCE = "nvidia.com/gpu"


def shared_lab(name: str, say) -> Lab:
    """The lab of that name, made if needed, with the chart installed."""
    lab = _find(name)
    if lab is None:
        lab = Lab.up(name, ["l20"], say=say)
    else:
        say(f"{name} is up already")
    say("tranche, by its Helm chart")
    _install(lab)
    gpu_nodes = [node.name for node in lab.nodes if node.has_gpu]
    lab.wait(
        lambda: all(int(lab.allocatable(name, RESOURCE) or 0) > 0 for name in gpu_nodes),
        f"no {RESOURCE} on {', '.join(gpu_nodes)}; see `lab/kubectl -n tranche logs ds/tranche`",
        timeout=120,
    )
    return lab


def _install(lab: Lab) -> None:
    command = [lab.program("helm"), "upgrade", "--install", "tranche", CHART, "--values", VALUES]
    command += ["--namespace", "tranche", "--create-namespace", "--wait", "--timeout", "2m"]
    environment = {**os.environ, "KUBECONFIG": str(lab.kubeconfig)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = lab.kubectl("-n", "tranche", "logs", "ds/tranche", "--tail=20", check=False)
        raise LabError(f"the chart cannot be installed: {done.stderr.strip()}\n{told}".rstrip())


def _find(name: str) -> Lab | None:
    folder = folder_of(name)
    if not teardown.exists(name, folder):
        return None
    lab = Lab.find(name)
    if not lab.client.answers():
        raise LabError(f"what is left of a lab {name} is in the way", f"lab/down --name {name}, then again")
    return lab


def table(lab: Lab) -> str:
    rows = [("NODE", "MACHINE", "GPUS", f"{RESOURCE} OFFERED")]
    for node in lab.nodes:
        gpus = [gpu["name"] for gpu in node.gpus()] if node.has_gpu else []
        offered = lab.allocatable(node.name, RESOURCE) or "0"
        rows.append((node.name, ", ".join(sorted(set(gpus))) or "-", str(len(gpus)), offered))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def run(name: str = "dev") -> None:
    begin = time.monotonic()
    lab = shared_lab(name, lambda text: print(f"lab: {text}", flush=True))
    print(f"lab: ready after {time.monotonic() - begin:.0f} s\n\n{table(lab)}\n{what_to_try(lab)}")


def what_to_try(lab: Lab) -> str:
    programs = lab.settings.programs
    return f"""
Try, in this checkout:

  export KUBECONFIG={lab.kubeconfig} PATH={programs}:$PATH
  kubectl describe node {lab.nodes[0].name} | grep -A8 Allocatable
  kubectl apply -f lab/four-pods.yaml           # four Pods on one GPU, and a fifth that must wait
  kubectl get pods -w
  kubectl logs gpu-1                            # nvidia-smi -L in a container
  kubectl -n tranche logs ds/tranche            # what the agent says
  kubectl -n tranche edit cm tranche-configs    # another number of replicas: seen at once, without a restart
  kubectl label node {lab.nodes[0].name} nvidia.com/device-plugin.config=whole   # this node's GPU is not shared
  lab/fault {lab.nodes[0].name} no-driver                       # the driver is gone: kubectl describe node {lab.nodes[0].name}
  lab/fault {lab.nodes[0].name} driver-back                     # and there again; other faults: lab/fault --help
  lab/load-image FILE.tar                       # an image of yours, on every node
  lab/status                                    # what runs
  make lab-down                                 # takes all of it away

docs/lab.md tells more: several nodes, other GPUs, faults, CDI."""
