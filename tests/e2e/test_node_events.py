"""A Node's Events when the configuration is in a ConfigMap that Helm did not see, and the Pod lacks
what it needs. On a real API server; skipped where the lab's programs are not built
(lab/build/build)."""

import sys

import pytest

from node import GPU, sharing
from programs import ROOT

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

NS = "gpu"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
PERMISSION = ("fault", "fail", "--function", "nvmlDeviceGetMigDeviceHandleByIndex", "--error", "NO_PERMISSION")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
        yield server


class OnCluster:
    """An agent that follows a ConfigMap of this text, on a Node of this name."""

    def __init__(self, server, here, name: str, config: str, *arguments: str):
        self.server, self.here, self.name = server, here, name
        server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        self.configure(config)
        self.start(*arguments)

    def configure(self, config: str) -> None:
        metadata = {"name": self.name, "namespace": NS}
        self.server.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": config}}
        )

    def start(self, *arguments: str) -> None:
        flags = (f"--config-map={NS}/{self.name}", "--machine-interval=50ms")
        environment = {"KUBECONFIG": self.server.kubeconfig(), "NODE_NAME": self.name, "NAMESPACE": NS}
        self.agent = self.here.agent(*flags, *arguments, env=environment)

    def notes(self) -> list:
        return [
            event["note"]
            for event in self.server.request("GET", EVENTS)["items"]
            if event["reason"] == "ResourceWithheld" and event["regarding"]["name"] == self.name
        ]

    def wait_note(self, *words: str) -> None:
        self.server.wait(
            lambda: any(all(word in note for word in words) for note in self.notes()),
            f"an Event of {self.name} with {words}: {self.agent.log}",
        )

    def wait_configured(self, status: str, reason: str, *words: str) -> None:
        def told() -> bool:
            node = self.server.request("GET", f"/api/v1/nodes/{self.name}")
            return any(
                (one["status"], one["reason"]) == (status, reason) and all(word in one["message"] for word in words)
                for one in node["status"].get("conditions", [])
                if one["type"] == "TrancheConfigured"
            )

        self.server.wait(told, f"TrancheConfigured {status}, {reason}: {self.agent.log}")

    def wait_not_ready(self, word: str) -> None:
        def answer() -> bool:
            probe = self.here.start("agent", *self.here.places(), "--check=ready")
            return probe.wait() == 1 and word in probe.log + probe.output

        self.server.wait(answer, f"the probe is told {word}")


def test_a_config_map_that_would_fill_the_memory_ends_no_agent(server, node):
    """Of 240 KB aliases would make gigabytes. The last configuration stays, also at the next start."""
    here = node("l20")
    there = OnCluster(server, here, "bomb", sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    there.configure("version: v1\nflags:\n  a: &a " + "x" * 120_000 + "\n  b: [" + ", ".join(["*a"] * 30_000) + "]\n")
    refusal = "anchors and aliases copy more than 4 MiB of text"
    there.wait_configured("False", "ConfigRefused", refusal)
    there.agent.wait_log(refusal + ".*; the new configuration is refused, the old one stays in force")
    assert there.agent.stop() == 0
    there.start()
    there.agent.wait_log(refusal + ".*; what was in force last stays in force")
    here.kubelet.wait(GPU, allocatable=4)


def test_whole_gpus_beside_instances_are_reported_until_a_layout_is_named(server, node):
    here = node("a100-40gb-x4")
    name, wish = "mixture", "/api/v1/nodes/mixture"
    for gpu in (1, 2, 3):
        here.sim("mig", "enable", "--gpu", gpu)
        here.sim("reset", "--gpu", gpu)
        here.sim("mig", "create", "--gpu", gpu, "--profile", "2g.10gb")
    there = OnCluster(server, here, name, "version: v1\nflags: {migStrategy: mixed}\n")
    # What exists is served.
    here.kubelet.wait(GPU, allocatable=1)
    here.kubelet.wait("nvidia.com/mig-2g.10gb", allocatable=3)

    def condition() -> tuple:
        conditions = server.request("GET", wish)["status"].get("conditions", [])
        return next(
            ((one["status"], one["reason"], one["message"]) for one in conditions if one["type"] == "TrancheMigPlanned"),
            ("", "", ""),
        )

    server.wait(lambda: condition()[:2] == ("False", "MigUnplanned"), f"the condition: {there.agent.log}")
    assert "GPU 0 advertised whole and GPUs 1, 2, 3 in MIG instances" in condition()[2]
    there.agent.wait_log("advertised whole and GPUs 1, 2, 3 in MIG instances, and no layout says so")
    assert here.start("agent", *here.places(), "--check=ready").wait() == 0
    events = server.request("GET", EVENTS)["items"]
    [event] = [one for one in events if one["reason"] == "MigUnplanned" and one["regarding"]["name"] == name]
    assert event["type"] == "Warning"
    server.apply(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"nvidia.com/mig.config": "mixed-workload"}},
        }
    )
    server.wait(lambda: condition()[:2] == ("True", "MigPlanned"), f"planned: {there.agent.log}")


def test_a_folder_of_cdi_files_that_is_missing(server, node):
    here = node("cdi-sample")
    here.cdi.write_text("no folder")
    there = OnCluster(
        server,
        here,
        "no-cdi",
        "version: v1\nflags: {plugin: {deviceListStrategy: cdi-cri}}\n",
        f"--driver-root={here.driver_root}",
        f"--driver-root-ctr-path={here.host}{here.driver_root}",
        "--nvidia-cdi-hook-path=/usr/local/nvidia/toolkit/nvidia-cdi-hook",
    )
    there.wait_note("not advertising any resource: unable to create cdi spec file: a CDI file", "cdi.enabled=true")
    there.wait_not_ready("cdi.enabled=true")
    there.wait_configured("False", "ConfigInPart", "; not followed: unable to create cdi spec file")
    assert len(there.notes()) == 1
    here.cdi.unlink()
    here.kubelet.wait(GPU, capacity=8, allocatable=8)
    there.wait_configured("True", "ConfigApplied")


@pytest.mark.parametrize(
    "strategy, words",
    [("mixed", "not advertising nvidia.com/mig-*"), ("single", "not advertising nvidia.com/gpu: migStrategy single")],
)
def test_mig_instances_that_the_driver_does_not_tell(server, node, strategy, words):
    here = node("a100-40gb-mig")
    here.sim(*PERMISSION)
    there = OnCluster(server, here, f"mig-{strategy}", f"version: v1\nflags: {{migStrategy: {strategy}}}\n")
    there.wait_note(words, "Insufficient Permissions", "mig.monitor=true")
    assert len(there.notes()) == 1
    there.wait_configured("False", "ConfigInPart", f"; not followed: {words}", "mig.monitor=true")
