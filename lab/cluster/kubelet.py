"""kubelet's configuration file and flags on a node of the lab."""

import os

from . import settings as s
from .settings import NodeSettings, Settings

FOLDER = "/etc/kubernetes"
CONTAINERD = "/run/containerd/containerd.sock"


def config(this: NodeSettings, settings: Settings) -> dict:
    made = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{FOLDER}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{settings.cgroup}/{this.name}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "oomScoreAdj": 0,
        "resolvConf": "",
        # Nobody answers there, so names fail slowly; without it every Pod gets a warning.
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        # The machine is small, and its disk is not the lab's.
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        # A crashing container restarts after a second, so tests of faults do not wait for minutes.
        "featureGates": {"KubeletCrashLoopBackOffMax": True, **settings.gates_of("kubelet")},
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
    }
    if settings.topology_manager != "none":
        made["topologyManagerPolicy"] = settings.topology_manager
    if settings.cpu_manager != "none":
        made["cpuManagerPolicy"] = settings.cpu_manager
        # It wants a processor that no Pod gets for itself.
        made["reservedSystemCPUs"] = str(min(os.sched_getaffinity(0)))
    if settings.node_status:
        made["nodeStatusUpdateFrequency"] = settings.node_status
    return made


def flags(this: NodeSettings) -> list[str]:
    return [
        f"--config={FOLDER}/kubelet.json",
        f"--kubeconfig={FOLDER}/kubelet.conf",
        f"--hostname-override={this.name}",
        f"--node-ip={this.address}",
    ]


def api_server() -> str:
    return f"https://{s.GATEWAY}:443"
