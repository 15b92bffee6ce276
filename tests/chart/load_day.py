"""A made-up day of load on a cluster of GPU nodes, as series of promtool's tests: Pods come and go by the hour, GPUs are
shared in every way, agents are replaced, kubelet restarts, a node is rebooted, programs fail. Nothing of it is a fault
of the cluster. The same arguments make the same day."""

import dataclasses
import math
import random

GIB = 1 << 30
HOUR = 3600


@dataclasses.dataclass(frozen=True)
class Kind:
    """Tranches of one resource on one node, and how its Pods come."""

    node: str
    gpus: int
    gib: int  # memory of each GPU
    resource: str
    mechanism: str
    per_gpu: int
    limited: bool
    an_hour: float  # Pods, at the busiest time
    minutes: tuple[int, int]
    tier: str = ""
    profiles: tuple[str, ...] = ()


KINDS = (
    Kind("n1", 2, 16, "nvidia.com/gpu.shared", "time-slicing", 4, True, 2, (30, 150), "bronze"),
    Kind("n2", 2, 16, "nvidia.com/gpu.open", "time-slicing", 4, False, 2, (30, 150)),
    Kind("n3", 1, 24, "nvidia.com/gpu.mps", "mps", 8, True, 4, (10, 60), "gold"),
    Kind("n4", 1, 80, "nvidia.com/mig-2g.20gb", "mig", 3, True, 6, (15, 60), profiles=("2g.20gb",)),
    Kind("n5", 3, 80, "nvidia.com/gpu", "exclusive", 1, False, 1.2, (60, 240)),
    Kind("n6", 2, 16, "nvidia.com/gpu.shared", "time-slicing", 4, True, 0, (1, 1), "bronze"),  # idle
)
TIERS = {"gold": 300, "bronze": 1800}
# Who would have to wait for longer goes away, so that no wait is one that an alert tells of.
PATIENCE = 30


class Day:
    """series: by name and labels, one value for each step, None where there is none."""

    def __init__(self, seconds: int, step: int, begin: int = 0, seed: int = 7):
        self.step, self.ticks, self.begin = step, seconds // step + 1, begin
        self.series: dict[str, list] = {}
        self.random = random.Random(seed)
        # One agent on each node is replaced, an hour apart; the next one is asked beside it for a moment.
        self.replaced = {kind.node: (9 * HOUR + i * HOUR - begin) // step for i, kind in enumerate(KINDS)}
        for kind in KINDS:
            self._run_node(kind)
        self._run_cluster()
        self._run_controller()

    def put(self, name: str, labels: dict, first: int, values: list):
        text = ", ".join(f'{key}="{value}"' for key, value in labels.items() if value)
        line = self.series.setdefault(f"{name}{{{text}}}", [None] * self.ticks)
        for tick, value in enumerate(values, first):
            if 0 <= tick < self.ticks:
                line[tick] = value

    def of_agent(self, kind: Kind, name: str, labels: dict, first: int, values: list):
        """A series that the node's agent serves, and after it is replaced the next one."""
        change = self.replaced[kind.node] - first
        labels = labels | {"node": kind.node}
        old, new = (labels | {"instance": f"{kind.node}-{which}:9400"} for which in ("a", "b"))
        if change > 0:
            self.put(name, old, first, values[: change + 1])
        if change < len(values):
            self.put(name, new, first + max(change, 0), values[max(change, 0) :])

    def _busy(self, tick: int) -> float:
        """0.2 at night to 1 in the afternoon."""
        hour = (self.begin + tick * self.step) / HOUR % 24
        return 0.6 - 0.4 * math.cos((hour - 3) / 24 * 2 * math.pi)

    def _blips(self, chance_a_day: float) -> set[int]:
        """Single steps, never two in a row."""
        chance = chance_a_day * self.step / (24 * HOUR)
        found, last = set(), -9
        for tick in range(self.ticks):
            if tick - last > 4 and self.random.random() < chance:
                found.add(last := tick)
        return found

    def _run_node(self, kind: Kind):
        places = [(gpu, slot) for slot in range(kind.per_gpu) for gpu in range(kind.gpus)]
        ends = dict.fromkeys(places, 0)
        used = [[0] * self.ticks for _ in range(kind.gpus)]
        taken, number = [0] * self.ticks, 0
        waits = [None] * self.ticks
        for tick in range(self.ticks):
            chance = kind.an_hour * self._busy(tick) * self.step / HOUR
            # Some run when the day begins.
            coming = len(places) // 2 if tick == 0 and kind.an_hour else int(self.random.random() < chance)
            for _ in range(coming):
                free = [place for place in places if ends[place] <= tick]
                if not free:
                    for late in range(PATIENCE // self.step + 1):
                        if tick + late < self.ticks:
                            waits[tick + late] = late * self.step
                    continue
                number += 1
                length = self.random.randint(*kind.minutes) * 60 // self.step
                ends[free[0]] = tick + length
                self._run_pod(kind, number, free[0], tick, length, used)
                for at in range(tick, min(tick + length, self.ticks)):
                    taken[at] += 1
        self._tell_node(kind, used, taken)
        self._tell_capacity(kind, taken, waits)

    def _run_pod(self, kind: Kind, number: int, place: tuple[int, int], first: int, length: int, used: list):
        gpu, slot = place
        uuid = f"GPU-{kind.node}-{gpu}"
        part = kind.gib * GIB // (kind.per_gpu if kind.mechanism != "mig" else 4)
        labels = {"namespace": f"team-{number % 3}", "pod": f"{kind.node}-{number}", "container": "main",
                  "resource": kind.resource, "mechanism": kind.mechanism, "tier": kind.tier, "gpu": uuid,
                  "device": uuid if kind.mechanism != "mig" else f"MIG-{kind.node}-{slot}",
                  "mig_profile": kind.profiles[0] if kind.profiles else ""}
        share = 1 / kind.per_gpu if kind.mechanism != "mig" else 1
        memory, peak, busy, waited = [], [], 0.0, 0.0
        compute, waits = [], []
        wants_all = self.random.random() < 0.3
        # Some take all they may have: a whole GPU, or nearly their limit.
        most = self.random.choice((self.random.uniform(0.3, 0.9), 0.94 if kind.per_gpu > 1 else 0.99))
        for i in range(min(length, self.ticks - first)):
            grown = min(1.0, 0.2 + i / 8) * self.random.uniform(0.95, 1.0)
            memory.append(int(part * most * grown) >> 20 << 20)
            peak.append(max(memory))
            got = share * (self.random.uniform(0.95, 0.99) if wants_all else self.random.uniform(0, 0.6))
            got *= 0.5 if i % 97 == 50 else 1  # others have it for a moment
            busy += got * self.step
            waited += (0.6 if wants_all else 0.02) * self.step
            compute.append(round(busy, 2))
            waits.append(round(waited, 2))
            used[gpu][first + i] += memory[-1]
        self.of_agent(kind, "tranche_container_attributed", labels, first, [1] * len(memory))
        self.of_agent(kind, "tranche_container_memory_used_bytes", labels, first, memory)
        self.of_agent(kind, "tranche_container_memory_peak_bytes", labels, first, peak)
        own = {key: labels[key] for key in ("namespace", "pod", "container")}
        self.of_agent(kind, "container_gpu_allocation", own, first, [1 / kind.per_gpu] * len(memory))
        if kind.limited:
            self.of_agent(kind, "tranche_container_memory_limit_bytes", labels, first, [part] * len(memory))
            self.of_agent(kind, "tranche_container_compute_promised_ratio", labels, first, [share] * len(memory))
            self.of_agent(kind, "tranche_container_compute_seconds_total", labels, first, compute)
            self.of_agent(kind, "tranche_container_wait_seconds_total", labels, first, waits)

    def _tell_node(self, kind: Kind, used: list, taken: list):
        gone = range(0)
        if kind.node == "n6":  # rebooted at five in the morning
            at = (5 * HOUR - self.begin) // self.step
            gone = range(at, at + max(1, 300 // self.step))

        def tell(name: str, labels: dict, values: list):
            here = [None if tick in gone else value for tick, value in enumerate(values)]
            self.of_agent(kind, name, labels, 0, here)

        for gpu in range(kind.gpus):
            uuid, total = f"GPU-{kind.node}-{gpu}", kind.gib * GIB
            low = self._blips(9) if kind.mechanism == "time-slicing" else set()
            free = [GIB // 2 if tick in low else total - GIB // 4 - one for tick, one in enumerate(used[gpu])]
            tell("tranche_gpu_memory_bytes", {"gpu": uuid, "use": "free"}, free)
            tell("tranche_gpu_memory_bytes", {"gpu": uuid, "use": "containers"}, [total - GIB // 4 - one for one in free])
            tell("tranche_gpu_memory_bytes", {"gpu": uuid, "use": "reserved"}, [GIB // 4] * self.ticks)
            races = self._blips(6)
            excess = [3 << 20 if tick in races else 0 for tick in range(self.ticks)]
            tell("tranche_gpu_memory_excess_bytes", {"gpu": uuid}, excess)
            fault, xids = 0, self._blips(3)
            codes = []
            for tick in range(self.ticks):
                fault = self.random.choice((13, 31, 43)) if tick in xids else fault
                codes.append(fault)
            tell("DCGM_FI_DEV_XID_ERRORS", {"Hostname": kind.node, "gpu": gpu, "UUID": uuid}, codes)
        for check in ("driver", "pods", "kubelet"):
            fails = self._blips(1) if check in ("pods", "kubelet") else set()
            tell("tranche_check", {"check": check}, [int(tick not in fails) for tick in range(self.ticks)])
        for state in ("current", "older", "default"):
            tell("tranche_configuration", {"state": state}, [int(state == "current")] * self.ticks)
        tell("tranche_sample_age_seconds", {"figures": "fast"}, [self.random.choice((0.4, 0.9, 2, 9)) for _ in taken])
        tell("tranche_series_dropped", {}, [0] * self.ticks)

    def _tell_capacity(self, kind: Kind, taken: list, waits: list):
        labels = {"resource": kind.resource, "mechanism": kind.mechanism, "tier": kind.tier}
        if kind.node == "n6":
            return
        more = 8 if kind.node == "n1" else 0  # n6 has the same
        counts = {"advertised": lambda one: kind.gpus * kind.per_gpu + more, "allocated": lambda one: one,
                  "withheld": lambda one: 0, "free": lambda one: kind.gpus * kind.per_gpu + more - one}
        for state, count in counts.items():
            self.put("tranche_capacity_tranches", labels | {"state": state}, 0, [count(one) for one in taken])
        waiting = labels | {"namespace": "team-0", "cause": "not-enough"}
        self.put("tranche_pending_oldest_seconds", waiting, 0, waits)
        self.put("tranche_pending_pods", waiting, 0, [None if one is None else 1 for one in waits])

    def _run_cluster(self):
        """What kube-state-metrics says."""
        for kind in KINDS:
            ready = [1] * self.ticks
            if kind.node == "n6":
                at = (5 * HOUR - self.begin) // self.step
                ready = [int(not at <= tick <= at + 300 // self.step) for tick in range(self.ticks)]
            for which, first, last in (("a", 0, self.replaced[kind.node]), ("b", self.replaced[kind.node], self.ticks)):
                pod = {"namespace": "tranche", "pod": f"tranche-{kind.node}-{which}"}
                there = range(max(first, 0), min(last + 1, self.ticks))
                if not there:
                    continue
                info = pod | {"node": kind.node, "created_by_kind": "DaemonSet", "created_by_name": "tranche"}
                self.put("kube_pod_info", info, there.start, [1] * len(there))
                values = [ready[tick] for tick in there]
                self.put("kube_pod_status_ready", pod | {"condition": "true"}, there.start, values)
        # Kubelet is restarted on n1; a GPU of n2 is held under an earlier configuration.
        at = (11 * HOUR - self.begin) // self.step
        minutes = 60 // self.step

        def condition(node: str, name: str, bad: range):
            labels = {"node": node, "condition": name, "status": "false"}
            self.put("kube_node_status_condition", labels, 0, [int(tick in bad) for tick in range(self.ticks)])

        condition("n1", "TrancheServing", range(at, at + 3 * minutes))
        condition("n2", "TrancheDevicesFree", range(self.ticks))
        for node, lacks in (("n1", range(at, at + 6 * minutes)), ("n2", range(self.ticks))):
            of = {"node": node, "resource": "nvidia_com_gpu_shared"}
            self.put("kube_node_status_capacity", of, 0, [8] * self.ticks)
            self.put("kube_node_status_allocatable", of, 0, [4 if tick in lacks else 8 for tick in range(self.ticks)])
        rolls = range((9 * HOUR - self.begin) // self.step, (9 * HOUR - self.begin) // self.step + 5 * minutes)
        agents = {"namespace": "tranche", "daemonset": "tranche"}
        lacking = [int(tick in rolls) for tick in range(self.ticks)]
        self.put("kube_daemonset_status_number_unavailable", agents, 0, lacking)

    def _run_controller(self):
        for tier, seconds in TIERS.items():
            self.put("tranche_tier_max_wait_seconds", {"tier": tier}, 0, [seconds] * self.ticks)
        # It is replaced at three in the morning, and counts anew a minute later.
        at = (3 * HOUR - self.begin) // self.step
        for name, line in self.series.items():
            if name.startswith(("tranche_capacity_", "tranche_pending_", "tranche_tier_")) and 0 <= at < self.ticks:
                line[at : at + max(1, 60 // self.step)] = [None] * max(1, 60 // self.step)

    def input_series(self) -> list[dict]:
        lines = {name: line for name, line in self.series.items() if any(value is not None for value in line)}
        return [{"series": name, "values": notation(line)} for name, line in lines.items()]


def notation(line: list) -> str:
    """Values as promtool reads them: 5x3 is four times 5, _x3 is three times nothing."""
    words, i = [], 0
    while i < len(line):
        end = i
        while end < len(line) and line[end] == line[i]:
            end += 1
        count = end - i
        words.append(f"_x{count}" if line[i] is None else f"{line[i]}x{count - 1}" if count > 1 else f"{line[i]}")
        i = end
    return " ".join(words)
