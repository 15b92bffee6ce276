"""A GPU that cannot be reset because a program has it open: which one, with the Pod. The test
provides the node's /proc; the simulated machine's driver refuses the reset."""

import contextlib
import json
import subprocess
import sys

import pytest

from node import GPU
from test_mig_by_hand import MONITOR
from test_mig_manager import MERGE, PLATFORM, SMALL, Managed, server  # noqa: F401  (a fixture)

CONTAINER = "c" * 64
DCGM = "nvidia.com/gpu.deploy.dcgm"


@contextlib.contextmanager
def monitor(here):
    """A program that has NVML open, as a monitor has."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", MONITOR], env=here.env, text=True, **pipes) as process:
        assert process.stdout.readline() == "open\n"
        yield
        process.stdin.close()


def show_process(here, pid: int, name: str, cgroup: str, command: str = "", opens: str = "") -> None:
    """A process in the node's /proc, as its agent reads it."""
    folder = here.host / "proc" / str(pid)
    (folder / "fd").mkdir(parents=True)
    (folder / "stat").write_text(f"{pid} ({name}) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5000 1 1")
    (folder / "cgroup").write_text(f"0::{cgroup}\n")
    (folder / "cmdline").write_text("\0".join([*command.split(), ""]))
    (folder / "mountinfo").write_text("")
    if opens:
        (folder / "fd" / "3").symlink_to(opens)


class Waiting(Managed):
    def waits_for(self) -> str:
        """What the change waits for, according to the agent."""
        text = self.object()["metadata"].get("annotations", {}).get("tranche.dev/mig-change", "{}")
        return json.loads(text).get("waitsFor", "")


@pytest.fixture
def managed(server, node):  # noqa: F811
    def start(name: str, drain: str = "2s") -> Waiting:
        here = node(PLATFORM)
        one = Waiting(server, here, name, f"--mig-drain-timeout={drain}")
        here.kubelet.wait(GPU, allocatable=len(here.gpus()))
        return one

    return start


def refused(one: Managed) -> str:
    with monitor(one.here):
        one.wish("all-1g.10gb")
        one.wait_state("failed")
    assert one.layouts() == ["off"] * len(one.here.gpus())
    return one.reported("MigChangeFailed")


def make_pod(server, node_name: str, namespace: str, name: str, owners: dict | None = None, **spec) -> str:  # noqa: F811
    """Its uid."""
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    account = {"name": "default", "namespace": namespace}
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    spec = {"nodeName": node_name, "containers": [{"name": "c", "image": "i"}], **spec}
    metadata = {"name": name, "namespace": namespace, **(owners or {})}
    made = server.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    return made["metadata"]["uid"]


def test_a_process_is_named_with_its_pod(server, managed):  # noqa: F811
    one = managed("held-by-a-pod")
    uid = make_pod(server, one.name, "gpu-operator", "dcgm-exporter-x7f2")
    show_process(one.here, 1, "systemd", "/init.scope")
    show_process(
        one.here, 4711, "dcgm-exporter", f"/kubepods/besteffort/pod{uid}/{CONTAINER}", opens="/dev/nvidia0"
    )
    message = refused(one)
    assert "dcgm-exporter (pid 4711, Pod gpu-operator/dcgm-exporter-x7f2)" in message
    assert "cannot be seen" not in message


def test_a_service_of_the_node_is_named_with_its_command(managed):
    one = managed("held-by-a-service")
    show_process(one.here, 1, "systemd", "/init.scope")
    command = "/usr/bin/nv-hostengine -n"
    show_process(one.here, 812, "nv-hostengine", "/system.slice/nvidia-dcgm.service", command, "/dev/nvidia0")
    assert f"nv-hostengine (pid 812, nvidia-dcgm.service: {command})" in refused(one)


def test_a_change_goes_on_when_the_process_has_ended(managed):
    one = managed("held-for-a-while", "30s")
    with monitor(one.here):
        one.wish("all-1g.10gb")
        one.server.wait(lambda: "processes use the GPU" in one.waits_for(), one.agent.log)
        assert one.state() == "pending"
    one.wait_state("success")
    assert one.layouts() == [SMALL] * len(one.here.gpus())


def test_nvidias_clients_end_before_anything_is_touched(server, managed):  # noqa: F811
    one = managed("nvidias-clients", "30s")
    server.request("PATCH", f"/api/v1/nodes/{one.name}", {"metadata": {"labels": {DCGM: "true"}}}, kind=MERGE)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "nvidia-dcgm", "uid": "u"}
    make_pod(server, one.name, "gpu-operator", "dcgm", {"ownerReferences": [owner]}, nodeSelector={DCGM: "true"})
    one.wish("all-1g.10gb")
    one.server.wait(lambda: "gpu-operator/dcgm" in one.waits_for(), one.agent.log)
    assert one.object()["metadata"]["labels"][DCGM] == "paused-for-mig-change"
    assert "MIG step" not in one.agent.log
    server.request("DELETE", "/api/v1/namespaces/gpu-operator/pods/dcgm?gracePeriodSeconds=0")
    one.wait_state("success")
    assert one.object()["metadata"]["labels"][DCGM] == "true"


def test_without_the_nodes_processes_the_message_says_so(managed):
    one = managed("held-unseen")
    message = refused(one)
    assert "cannot be seen" in message and "fuser -v /dev/nvidia*" in message and "enableHostPID" in message
