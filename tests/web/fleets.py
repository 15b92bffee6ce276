"""Fleets for tests of the page: `small()` has every case that the page tells apart, `big()` is large.

    python3 tests/web/fleets.py small|big|picture     prints one
"""

import json
import random
import sys

MIB = 1 << 20
GIB = 1 << 30
TAKEN = "2026-05-04T10:20:30.500000Z"
HOSTILE = "<img src=x onerror=alert(1)>"
BREAKOUT = "</script><script>alert(2)</script><!--\u2028"


def account(uuid, total, containers=0, host=0, unknown=0, unattributed=0, reserved=512 * MIB):
    used = containers + host + unknown + unattributed + reserved
    return {
        "gpu": uuid, "total": total, "free": total - used, "reserved": reserved, "containers": containers,
        "hostProcesses": host, "unknown": unknown, "unattributed": unattributed,
    }


def container(pod, gpu, mechanism, ns="team-a", name="main", **more):
    value = {
        "namespace": ns, "pod": pod, "container": name, "resource": "nvidia.com/gpu",
        "mechanism": mechanism, "gpu": gpu, "device": gpu, "gpus": 1.0, "attributed": True,
        "processes": 1,
    }
    value.update(more)
    return {key: one for key, one in value.items() if one is not None}


def gpu(index, uuid, model, total, **more):
    return {"index": index, "uuid": uuid, "model": model, "memoryTotal": total, **more}


def node(name, gpus, containers=(), reporting="fresh", why="", closed="", checks=(), **more):
    usage = {
        "version": "usage/v1", "node": name, "takenAt": TAKEN, "agent": "0.1.0",
        "driverVersion": "580.65.06", "gpus": gpus, "containers": list(containers),
        "checks": [{"name": check, "works": works} for check, works in checks], "ageNs": 800_000_000, **more,
    }
    value = {"name": name, "reporting": reporting, "why": why, "closed": closed, "usage": usage}
    return {key: one for key, one in value.items() if one != ""}


def sliced():
    uuid, total = "GPU-t4", 15360 * MIB
    pods = [
        container("train-0", uuid, "time-slicing", memoryUsed=2150 * MIB, memoryPeak=3000 * MIB,
                  memoryLimit=3840 * MIB, computeShare=0.314, computePromised=0.25, waitedShare=0.12,
                  computeNs=123_000_000_000, waitedNs=5_000_000_000, launches=1234567,
                  allocationFailures=3, gpus=0.25, tier="shared-small"),
        container("train-0", uuid, "time-slicing", name="sidecar", memoryUsed=0, memoryLimit=3840 * MIB,
                  computeShare=0.0, computePromised=0.25, gpus=0.25),
        container("notebook", uuid, "time-slicing", ns="team-b", memoryUsed=3700 * MIB, memoryPeak=3790 * MIB,
                  memoryLimit=3840 * MIB, computeShare=0.004, computeEstimatedNs=9_000_000, gpus=0.25),
        container("", uuid, "time-slicing", ns="", name="", memoryUsed=640 * MIB, gpus=0.25),
        container("stranger", uuid, "none", ns="team-c", memoryUsed=100 * MIB, resource=None, gpus=None),
    ]
    used = sum(pod["memoryUsed"] for pod in pods)
    memory = account(uuid, total, containers=used, host=300 * MIB, unattributed=64 * MIB, reserved=256 * MIB)
    return node("gpu-a", [gpu(0, uuid, "NVIDIA Tesla T4", total, memory=memory,
                              memoryUsed=total - memory["free"], utilization=0.83, temperatureC=61.0,
                              powerW=68.5, lastXid=31)], pods)


def mig():
    uuid, total = "GPU-mig", 81920 * MIB
    instances = [
        {"uuid": "MIG-1", "profile": "3g.40gb", "gpuInstance": 1, "memory": 40 * GIB, "start": 0, "size": 4},
        {"uuid": "MIG-2", "profile": "1g.10gb", "gpuInstance": 7, "memory": 10 * GIB, "start": 4, "size": 1},
    ]
    lost = [{"uuid": "MIG-3", "profile": "2g.20gb", "gpuInstance": 3, "memory": 20 * GIB}]
    pods = [
        container("llm", uuid, "mig", device="MIG-1", migProfile="3g.40gb", memoryUsed=30 * GIB,
                  memoryLimit=40 * GIB, computeShare=0.5, gpus=0.43),
        container("small", "GPU-mig2", "mig", device="MIG-3", migProfile="2g.20gb", gpus=0.29,
                  attributed=False, processes=None),
    ]
    return node("gpu-b", [
        gpu(0, uuid, "NVIDIA H100 80GB HBM3", total, mig=True, instances=instances,
            memory=account(uuid, total, containers=30 * GIB), memoryUsed=30 * GIB + 512 * MIB),
        gpu(1, "GPU-mig2", "NVIDIA H100 80GB HBM3", total, mig=True, instances=lost),
        gpu(2, "GPU-whole", "NVIDIA H100 80GB HBM3", total,
            memory=account("GPU-whole", total, containers=70 * GIB), memoryUsed=70 * GIB + 512 * MIB,
            utilization=0.99, temperatureC=70.0, powerW=651.0),
        gpu(3, "GPU-free", "NVIDIA H100 80GB HBM3", total, memory=account("GPU-free", total),
            memoryUsed=512 * MIB, utilization=0.0, temperatureC=30.0, powerW=70.0),
    ], pods + [container("whole", "GPU-whole", "exclusive", memoryUsed=70 * GIB, computeShare=0.97)])


def small():
    total = 46068 * MIB
    mps = [container(f"serve-{i}", "GPU-mps", "mps", ns="serving", memoryUsed=(i + 1) * GIB,
                     memoryLimit=8 * GIB, computeShare=0.1 * i, gpus=0.2) for i in range(4)]
    shares = [container(HOSTILE, "GPU-share", "share", ns="evil", memoryUsed=5 * GIB, gpus=0.5),
              container(BREAKOUT, "GPU-share", "share", ns="evil", memoryUsed=6 * GIB, gpus=0.5)]
    nodes = [
        sliced(),
        mig(),
        node("gpu-c", [
            gpu(0, "GPU-mps", "NVIDIA L40S", total, memory=account("GPU-mps", total, containers=10 * GIB),
                memoryUsed=10 * GIB + 512 * MIB, utilization=0.4),
            gpu(1, "GPU-share", "NVIDIA L40S", total, memory=account("GPU-share", total, containers=11 * GIB),
                memoryUsed=11 * GIB + 512 * MIB),
        ], mps + shares, reporting="stale", why="no answer within 5 s", closed="cordoned"),
        node("gpu-d", [gpu(0, "GPU-dark", "NVIDIA A30", 24 * GIB)],
             [container("old", "GPU-dark", "exclusive", attributed=False, processes=None)],
             reporting="silent", why="connection refused", agent="", driverVersion="", ageNs=None),
        node("gpu-e", [gpu(0, "GPU-blind", "NVIDIA A10", 24 * GIB, memoryUsed=9 * GIB)],
             [container("blind", "GPU-blind", "time-slicing", attributed=False, processes=None, gpus=0.5)],
             checks=[("host-processes", False), ("control-groups", False), ("arbiter", False), ("kubelet", True)]),
        node("empty", [], reporting="silent"),
    ]
    for one in nodes:
        one["usage"] = {key: value for key, value in one["usage"].items() if value not in (None, "")}
    return {
        "version": "fleet/v1", "cluster": "prod <eu>", "takenAt": TAKEN, "nodes": nodes,
        "capacity": [
            {"resource": "nvidia.com/gpu", "mechanism": "exclusive", "advertised": 4, "allocated": 2,
             "free": 1, "pending": 9},
            {"resource": "nvidia.com/mig-1g.10gb", "mechanism": "mig", "advertised": 7, "allocated": 7,
             "pending": 2},
            {"resource": "nvidia.com/gpu.shared", "mechanism": "time-slicing", "tier": "shared-small",
             "advertised": 8, "allocated": 4, "withheld": 1, "free": 3},
            {"resource": "nvidia.com/gpu.mps", "mechanism": "mps", "advertised": 10, "allocated": 4},
            {"resource": "gpu.nvidia.com", "mechanism": "share", "advertised": 4, "allocated": 2, "free": 2},
        ],
        "namespaces": [
            {"namespace": "team-a", "resource": "nvidia.com/gpu", "allocated": 2, "pending": 8},
            {"namespace": "team-b", "resource": "nvidia.com/gpu.shared", "tier": "shared-small", "allocated": 1},
            {"resource": "nvidia.com/gpu.shared", "allocated": 1},
        ],
        "waiting": waiting(),
    }


def waiting():
    causes = ["not-enough", "no-such-resource", "taint", "affinity", "other-resource", "quota", "claim",
              "gate", "topology", "admission", "starting", "unknown"]
    pods = [{
        "namespace": "team-a", "pod": f"wait-{cause}", "since": "2026-05-04T08:00:00Z", "cause": cause,
        "wants": [{"resource": "nvidia.com/gpu", "count": 8}],
        "message": "0/6 nodes are available: 6 Insufficient nvidia.com/gpu. " * 3,
    } for cause in causes]
    pods[8]["node"] = "gpu-a"
    pods.append({"since": "2026-05-04T10:20:00Z", "cause": "not-enough",
                 "wants": [{"resource": "nvidia.com/mig-1g.10gb", "count": 1}]})
    pods.append({"namespace": "evil", "pod": BREAKOUT, "since": "2026-05-04T10:20:00Z", "cause": "quota",
                 "message": "x" * 1024})
    return pods


def big(nodes=1000, gpus=8, per_gpu=3):
    chance = random.Random(7)
    total = 81920 * MIB
    made = []
    for at in range(nodes):
        name = f"gpu-{at:04}"
        cards, pods = [], []
        for index in range(gpus):
            uuid = f"GPU-{at:04}-{index}"
            here = [container(f"job-{at}-{index}-{i}", uuid, chance.choice(["time-slicing", "mps", "share"]),
                              ns=f"team-{at % 20}", memoryUsed=chance.randrange(20) * GIB, memoryLimit=26 * GIB,
                              computeShare=round(chance.random() / 3, 3), gpus=0.333)
                    for i in range(chance.randrange(per_gpu + 1))]
            used = sum(one["memoryUsed"] for one in here)
            memory = account(uuid, total, containers=used)
            cards.append(gpu(index, uuid, "NVIDIA H100 80GB HBM3", total, memory=memory,
                             memoryUsed=total - memory["free"], utilization=round(chance.random(), 2)))
            pods += here
        silent = at % 97 == 5
        made.append(node(name, cards, pods, reporting="stale" if silent else "fresh", why="no answer" if silent else ""))
    return {"version": "fleet/v1", "cluster": "large", "takenAt": TAKEN, "nodes": made}


def picture():
    """A cluster as people have them, for docs/web.md."""
    chance = random.Random(11)
    total = 81559 * MIB

    def shared(uuid, mechanism, names, size):
        pods = [container(name, uuid, mechanism, ns=ns, memoryUsed=chance.randrange(size // 4, size) * MIB,
                          memoryLimit=size * MIB, gpus=1 / len(names)) for ns, name in names]
        memory = account(uuid, total, containers=sum(one["memoryUsed"] for one in pods), reserved=400 * MIB)
        return pods, memory

    def machine(name, kinds, **more):
        cards, pods = [], []
        for index, (mechanism, names, size) in enumerate(kinds):
            uuid = f"GPU-{name}-{index}"
            here, memory = shared(uuid, mechanism, names, size)
            cards.append(gpu(index, uuid, "NVIDIA H100 80GB HBM3", total, memory=memory, utilization=0.5))
            pods += here
        return node(name, cards, pods, **more)

    team = [("vision", f"train-{i}") for i in range(4)]
    serve = [("serving", f"chat-{i}") for i in range(6)]
    books = [("research", f"notebook-{i}") for i in range(3)]
    nodes = [
        machine("gpu-01", [("exclusive", team[:1], 78000), ("time-slicing", books, 26000),
                           ("mps", serve, 13000), ("exclusive", team[1:2], 78000)]),
        machine("gpu-02", [("share", team[2:], 40000), ("mps", serve[:3], 26000), ("exclusive", [], 1),
                           ("time-slicing", books[:2], 39000)], closed="cordoned"),
        mig(),
        machine("gpu-04", [("time-slicing", books, 26000)] * 4, reporting="stale", why="no answer for 12 s"),
    ]
    nodes[2]["name"] = "gpu-03"
    return {
        "version": "fleet/v1", "cluster": "prod", "takenAt": TAKEN, "nodes": nodes,
        "waiting": waiting()[:3],
    }


if __name__ == "__main__":
    json.dump({"small": small, "big": big, "picture": picture}[sys.argv[1]](), sys.stdout)
