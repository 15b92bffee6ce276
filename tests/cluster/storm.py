"""Pods that ask for a tranche, one after the other on several threads, while agents are replaced."""

import threading

from pods import GPU, pod


class Storm:
    """Threads that make Pods which ask for a tranche: each is deleted when kubelet has decided
    about it."""

    def __init__(self, lab, node: str, threads: int = 4):
        self._lab = lab
        self._node = node
        self._over = threading.Event()
        self._counts = [0] * threads
        self._threads = [threading.Thread(target=self._run, args=(i,)) for i in range(threads)]
        self.refused: list = []

    @property
    def started(self) -> int:
        return sum(self._counts)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, thread: int) -> None:
        while not self._over.is_set():
            self._one(f"storm-{thread}-{self._counts[thread]}")
            self._counts[thread] += 1

    def _one(self, name: str) -> None:
        # Without the scheduler: only kubelet decides whether there is a tranche.
        self._lab.apply(pod(name, "sleep", "infinity", gpus=1, nodeName=self._node))
        status = {}

        def decided() -> bool:
            nonlocal status
            status = self._lab.get("pod", name)["status"]
            started = any(one["type"] == "PodReadyToStartContainers" for one in status.get("conditions", []))
            return status["phase"] != "Pending" or started

        self._lab.wait(decided, lambda: f"{name} is decided about: {status}", timeout=60)
        if status["phase"] == "Failed":
            self.refused.append(status.get("message", status.get("reason", "")))
        self._lab.kubectl("delete", "pod", name, "--grace-period=0", "--force", "--wait=false", check=False)


def replaced_under_storm(lab, namespace: str, daemonset: str, node: str = "l20") -> list:
    """Kubelet's messages for the Pods that it refused while all agents were replaced three
    times."""
    with Storm(lab, node) as storm:
        lab.wait(lambda: storm.started >= 3, "the storm goes")
        for _ in range(3):
            lab.kubectl("-n", namespace, "rollout", "restart", f"daemonset/{daemonset}")
            rollout = ("rollout", "status", f"daemonset/{daemonset}", "--timeout=120s")
            lab.kubectl("-n", namespace, *rollout, timeout=150)
        now = storm.started
        lab.wait(lambda: storm.started >= now + 3, "the storm goes on")
    print(f"{storm.started} Pods, {len(storm.refused)} refused")
    return storm.refused
