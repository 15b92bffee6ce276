"""The chart on a lab, by a real Helm."""

import os
import subprocess

from pods import ROOT

CHART = ROOT / "deploy" / "helm" / "tranche"
# Names of a node's release (decision 21).
CLAIMS = (
    "/var/lib/tranche/agent.lock",
    "/var/lib/kubelet/device-plugins/tranche/agent.lock",
    "/var/lib/kubelet/plugins/gpu.nvidia.com/agent.lock",
)


class Release:
    """with Release(lab, "config.name=x", ...): the chart is installed with these values (as --set), and those
    of `files`."""

    def __init__(self, lab, *values: str, files=(), namespace: str = "kube-system", name: str = "tranche"):
        self._lab = lab
        self._values = values
        self._files = files
        self.namespace = namespace
        self.name = name
        self._installed = False

    def helm(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(self._lab.program("helm")), *arguments, "--namespace", self.namespace],
            env={**os.environ, "KUBECONFIG": str(self._lab.kubeconfig)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def values(self) -> list:
        common = ("image.repository=tranche", "image.tag=lab", "runtimeClassName=nvidia")
        from_files = [word for file in self._files for word in ("--values", str(file))]
        return from_files + [word for value in (*common, *self._values) for word in ("--set", value)]

    def __enter__(self) -> "Release":
        waiting = ("--create-namespace", "--wait", "--timeout", "120s")
        self.helm("upgrade", "--install", self.name, str(CHART), *waiting, *self.values())
        self._installed = True
        return self

    def __exit__(self, *_) -> None:
        if self._installed:
            # What clearing leaves is tested by test_lifecycle (tests/chart). The nodes must be
            # given up, or a release in another namespace would wait for this one.
            nodes = list(self.agents())
            self.uninstall("--no-hooks")
            for node in nodes:
                given_up = f"grep -ls '\"{self.namespace}/{self.name}\"' {' '.join(CLAIMS)} | xargs -r rm"
                self._lab.node(node).run("bash", "-c", given_up)

    def upgrade(self, *values: str) -> None:
        """With these values (as --set) beside those it has."""
        options = [word for value in values for word in ("--set", value)]
        self.helm("upgrade", self.name, str(CHART), "--reuse-values", "--wait", "--timeout", "180s", *options)

    def uninstall(self, *options: str) -> None:
        self.helm("uninstall", self.name, "--wait", "--timeout", "180s", *options)
        self._installed = False

    def agents(self) -> dict:
        """Node -> the agent's Pod there."""
        return self.pods("agent")

    def pods(self, component: str) -> dict:
        """Node -> the Pod of that component there."""
        selector = f"app.kubernetes.io/component={component},app.kubernetes.io/instance={self.name}"
        pods = self._lab.get("pods", "-n", self.namespace, "-l", selector)["items"]
        return {
            pod["spec"]["nodeName"]: pod
            for pod in pods
            if not pod["metadata"].get("deletionTimestamp")
        }

    def untouched(self, before: dict) -> bool:
        """The agents are the same Pods, without restarted containers."""
        now = self.agents()
        same = {node: pod["metadata"]["uid"] for node, pod in now.items()} == {
            node: pod["metadata"]["uid"] for node, pod in before.items()
        }
        restarts = [one["restartCount"] for pod in now.values() for one in pod["status"]["containerStatuses"]]
        return same and not any(restarts)

    def log(self, node: str) -> str:
        """Empty while the node has no agent's Pod, or the Pod no log."""
        pod = self.agents().get(node)
        if pod is None:
            return ""
        return self._lab.kubectl("logs", "-n", self.namespace, pod["metadata"]["name"], check=False)


def condition(lab, node: str) -> tuple:
    """Status, reason and message of TrancheConfigured; empty when the node does not have it."""
    for one in lab.get("node", node)["status"]["conditions"]:
        if one["type"] == "TrancheConfigured":
            return one["status"], one["reason"], one["message"]
    return ()


def label(lab, node: str, value: str) -> None:
    """Chooses a configuration; "": none."""
    key = "nvidia.com/device-plugin.config"
    lab.kubectl("label", "--overwrite", "node", node, f"{key}={value}" if value else f"{key}-")
