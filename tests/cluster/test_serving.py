"""The Node says what kubelet does: another device plugin registers over ours, a GPU fails."""

import contextlib
import json

import pytest
from pods import GPU, Applied, pod, wait_offer
from release import Release

MAP = "served"
NAMESPACE = "kube-system"
LIMITS = {"limits": {"enforcement": "strict", "memory": "1Gi"}}
FOLDER = "/var/lib/kubelet/device-plugins"
SERVED = "kubelet offers what this agent offers"  # in the agent's log


def config_map(replicas: int) -> str:
    entry = {"name": GPU, "replicas": replicas}
    sharing = {"timeSlicing": {"resources": [entry]}}
    text = json.dumps({"version": "v1", "sharing": sharing, "tranche": LIMITS})
    metadata = {"name": MAP, "namespace": NAMESPACE}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": text}}
    )


@pytest.fixture
def released(lab):
    """A function that installs the chart with more values."""
    installed = []
    lab.apply(config_map(8))

    def install(*values: str) -> Release:
        given = (f"config.name={MAP}", "config.default=default", "limits.enabled=true", *values)
        labels = ("gfd.enabled=true", "gfd.labelOutput=node")
        installed.append(Release(lab, *given, *labels).__enter__())
        wait_offer(lab, "t4", 8)
        return installed[-1]

    yield install
    for one in installed:
        one.__exit__()
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)


class ForeignPlugin:
    """A plugin on the node that is not ours (lab/plugin), with each GPU once."""

    def __init__(self, lab, node: str, endpoint: str = "nvidia-gpu.sock"):
        self._node = lab.node(node)
        self._before = self._reads()
        flags = ["--folder", FOLDER, "--endpoint", endpoint]
        flags += [word for uuid in self._node.uuids() for word in ("--id", uuid)]
        # Its input stays open, and a line of it has the list sent again.
        script = 'rm -f /run/foreign; mkfifo /run/foreign; exec "$@" 0<>/run/foreign'
        argv = ["sh", "-c", script, "sh", "/opt/tranche/bin/tranche-lab-plugin", *flags]
        self._node.client.start("foreign", argv, "/var/log/lab/foreign.log")

    def _reads(self) -> int:
        try:
            return self._node.log("foreign").count("read by kubelet")
        except FileNotFoundError:
            return 0

    def is_read(self) -> bool:
        """Kubelet has its list, and keeps reading."""
        return self._reads() > self._before

    def send_list(self) -> None:
        self._node.run("sh", "-c", "echo > /run/foreign")

    def __enter__(self) -> "ForeignPlugin":
        return self

    def __exit__(self, *_) -> None:
        self._node.client.end("foreign")


def condition(lab, kind: str) -> tuple:
    """Status, reason and message of a condition of t4."""
    for one in lab.get("node", "t4")["status"]["conditions"]:
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return ("", "", "")


def events(lab, reason: str) -> list:
    found = lab.get("events.events.k8s.io", "-A")["items"]
    return [one for one in found if one["reason"] == reason]


def happened(lab, reason: str) -> set:
    """Each Event with that reason, and its count: the difference shows new ones."""
    return {
        (one["metadata"]["name"], one.get("series", {}).get("count", 1)) for one in events(lab, reason)
    }


def registrations(lab) -> int:
    """How often a plugin registered the resource, by kubelet's log."""
    lines = lab.node("t4").log("kubelet").splitlines()
    return sum("registration request from device plugin" in line and GPU in line for line in lines)


def replicas(lab) -> tuple:
    labels = lab.get("node", "t4")["metadata"]["labels"]
    return labels.get("nvidia.com/gpu.replicas"), labels.get("nvidia.com/gpu.product")


def ready(lab, release) -> bool:
    pod_status = release.agents()["t4"]["status"]
    return all(one["ready"] for one in pod_status["containerStatuses"])


def test_a_plugin_that_registers_beside_ours_is_told_and_left_alone(lab, released):
    """The cloud's DaemonSet put back: 8 becomes 1, and the whole Node says so."""
    release = released()
    lab.wait(lambda: condition(lab, "TrancheServing")[0] == "True", "it is served")
    with ForeignPlugin(lab, "t4", endpoint="cloud.sock"):
        wait_offer(lab, "t4", 1)
        lab.wait(
            lambda: condition(lab, "TrancheServing")[:2] == ("False", "AnotherPlugin"),
            lambda: f"{condition(lab, 'TrancheServing')}",
        )
        lab.wait(lambda: replicas(lab) == ("1", "Tesla-T4"), lambda: f"{replicas(lab)}")
        lab.wait(lambda: not ready(lab, release), "the agent is not ready")
        assert events(lab, "AnotherPlugin")
    lab.wait(lambda: condition(lab, "TrancheServing")[0] == "True", "served again")
    wait_offer(lab, "t4", 8)
    lab.wait(lambda: replicas(lab) == ("8", "Tesla-T4-SHARED"), lambda: f"{replicas(lab)}")
    lab.wait(lambda: ready(lab, release), "ready again")


@contextlib.contextmanager
def beaten_plugin(lab, release):
    """A plugin whose socket replaced ours, which is made again and registered.

    Kubelet reads its list only if it came to that socket before ours was back: otherwise it is
    retried.
    """
    for _ in range(10):
        before = registrations(lab)
        with ForeignPlugin(lab, "t4") as other:
            lab.wait(
                lambda: registrations(lab) >= before + 2, lambda: f"not registered: {release.log('t4')}"
            )
            wait_offer(lab, "t4", 8)
            if other.is_read():
                yield other
                return
        # Its end removes our socket. After several tries the agent waits for a minute.
        lab.wait(lambda: registrations(lab) >= before + 3, "registered again", timeout=120)
    pytest.fail("kubelet never came to the other plugin's socket")


def test_take_over_does_not_split_the_node(lab, released):
    """NVIDIA's list with our registration: no Pod fails for longer than it takes to notice."""
    told = happened(lab, "RegisteredAgain")
    release = released("takeOver=true")
    with beaten_plugin(lab, release) as other:
        # The next ones may be over before the condition is written, and one Event may count
        # several.
        before, said = registrations(lab), release.log("t4").count(SERVED)
        other.send_list()
        lab.wait(lambda: registrations(lab) > before, lambda: f"not registered again: {release.log('t4')}")
        lab.wait(lambda: release.log("t4").count(SERVED) > said, lambda: f"not served: {release.log('t4')}")
        lab.wait(lambda: happened(lab, "RegisteredAgain") - told, "it is told")
        lab.wait(lambda: condition(lab, "TrancheServing")[0] == "True", "taken back")
        wait_offer(lab, "t4", 8)
        with Applied(lab, pod("after", "sleep", "infinity", image="lab-glibc:1", gpus=1, node="t4")):
            lab.wait_pod("after")
    # kubelet drops the resource with the other plugin's end; it is registered again.
    lab.wait(lambda: condition(lab, "TrancheServing")[0] == "True", "served to the end")
    wait_offer(lab, "t4", 8)


def test_an_xid_is_told_on_the_node_and_on_the_pod_until_it_is_over(lab, released):
    release = released("healthRecovery=5s")
    lab.wait(lambda: condition(lab, "TrancheGpuHealthy")[0] == "True", "healthy")
    with Applied(lab, pod("holder", "sleep", "infinity", image="lab-glibc:1", gpus=1, node="t4")):
        uid = lab.wait_pod("holder")["metadata"]["uid"]
        lab.node("t4").sim("xid", "--gpu", 0, "--xid", 94)
        lab.wait(
            lambda: condition(lab, "TrancheGpuHealthy")[:2] == ("False", "GpuUnhealthy"),
            lambda: f"{condition(lab, 'TrancheGpuHealthy')}",
        )
        assert "XID 94" in condition(lab, "TrancheGpuHealthy")[2]
        assert ready(lab, release), "an unhealthy GPU leaves the agent ready"
        lab.wait(
            lambda: {one["regarding"].get("uid") for one in events(lab, "GpuUnhealthy")} == {uid, "t4"},
            lambda: f"{events(lab, 'GpuUnhealthy')}",
        )
        lab.wait(lambda: condition(lab, "TrancheGpuHealthy")[0] == "True", "healthy again")
        lab.wait(lambda: events(lab, "GpuRecovered"), "and told")
