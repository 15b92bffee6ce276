"""Incidents from the program that is refused memory to the Events of its Pod and its neighbour, and
to `tranche incident`. On a simulated GPU and a real API server; skipped where the lab's programs are
not built (lab/build/build)."""

import json
import os
import subprocess
import sys

import pytest
import yaml

from client import LIMITER
from node import GPU
from programs import ROOT, TRANCHE, clean_environment
from test_limits import limited, limiting_agent, programs, tenant  # noqa: F401
from test_schemas import schema, validator

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")
NODE = "n1"
NAMESPACES = ("team-a", "team-b")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        server.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        for name in NAMESPACES:
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            account = {"name": "default", "namespace": name}
            server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        yield server


class Site:
    """A node with an agent and an arbiter, and Pods with a program each."""

    def __init__(self, server, programs, config: str):  # noqa: F811
        self.server, self.programs, self.here = server, programs, programs.here
        self.arbiter = self.here.dir / "arbiter"
        metadata = {"name": "gpus", "namespace": NAMESPACES[0]}
        server.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": config}})
        self.agent = limiting_agent(
            self.here,
            LIMITER,
            f"--arbiter-state-dir={self.arbiter}",
            f"--config-map={NAMESPACES[0]}/gpus",
            env={"KUBECONFIG": server.kubeconfig(), "NODE_NAME": NODE, "NAMESPACE": NAMESPACES[0]},
        )
        self.here.kubelet.wait(GPU, allocatable=2)

    def pod(self, ns: str, name: str):
        """Its program."""
        spec = {
            "nodeName": NODE,
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "none", "resources": {"limits": {GPU: "1"}}}],
        }
        metadata = {"name": name, "namespace": ns}
        self.server.apply({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        admitted = self.here.kubelet.ask(
            "admit", pod=name, namespace=ns, containers=[{"name": "c", "limits": {GPU: 1}}]
        )
        answer = admitted["containers"]["c"][GPU]["answer"]
        return self.programs(self.here.state / "tenants" / tenant(answer))

    def incident(self, *words: str, code: int = 0) -> str:
        places = [f"--state-dir={self.here.state}", f"--arbiter-state-dir={self.arbiter}"]
        return run("incident", *words, *places, code=code)

    def listed(self) -> list:
        return json.loads(self.incident("list", "-o", "json"))["incidents"]

    def note(self, reason: str, ns: str, pod: str) -> str:
        """Of the Event, once there is one."""
        path = f"/apis/events.k8s.io/v1/namespaces/{ns}/events"

        def found():
            for event in self.server.request("GET", path)["items"]:
                if (event["reason"], event["regarding"]["name"]) == (reason, pod):
                    return event["note"]
            return None

        return self.server.wait(found, f"Event {reason} of {ns}/{pod}: {self.agent.log}")


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run(
        [TRANCHE, *words], env=clean_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_gpu_is_full_for_a_neighbour_has_grown(server, programs):  # noqa: F811
    """Two Pods of different namespaces, promised more than there is."""
    config = limited(2, memory="75%", oversubscribe=True)
    site = Site(server, programs, config)
    victim, other = site.pod("team-a", "train"), site.pod("team-b", "hungry")
    assert victim("allocate", 8192) == 0
    assert other("allocate", 30000) == 0
    assert victim("allocate", 10000) == 2, "out of memory: the GPU is full"

    note = site.note("GpuOutOfMemory", "team-a", "train")
    assert "container c: asked 9.8 GiB, limit " in note
    assert "within its limit, but the GPU is full" in note
    assert "a Pod of another namespace took 29." in note
    assert "hungry" not in note and "team-b" not in note
    taken = site.note("GpuMemoryTaken", "team-b", "hungry")
    assert "later a Pod of another namespace was refused 9.8 GiB" in taken
    assert "train" not in taken and "team-a" not in taken

    [one] = site.listed()
    assert (one["namespace"], one["pod"], one["container"]) == ("team-a", "train", "c")
    shown = site.incident("show", one["id"])
    assert "Pod team-b/hungry, container c" in shown
    assert "memory   |" in shown
    text = site.incident("show", one["id"], "-o", "json")
    validator(schema("incident-v1")).validate(json.loads(text))
    validator(schema("incident-list-v1")).validate(json.loads(site.incident("list", "-o", "json")))
    assert yaml.safe_load(site.incident("show", one["id"], "-o", "yaml")) == json.loads(text)

    # A file that somebody sent: whole, edited, torn.
    sent = site.here.dir / "sent.json"
    sent.write_text(text)
    assert run("incident", "show", "--file", str(sent)) == shown
    sent.write_text(text.replace("hungry", "humble"))
    assert "checksum" in run("incident", "show", "--file", str(sent), code=2)
    sent.write_text(text[: len(text) // 2])
    run("incident", "show", "--file", str(sent), code=2)


def test_a_container_that_refuses_itself_without_end_an_xid_and_a_stall(server, programs):  # noqa: F811
    programs.here.env["TRANCHE_STALL_AFTER"] = "2s"
    site = Site(server, programs, limited(2))
    uuid = site.here.uuids()[0]
    loud, calm = site.pod("team-a", "loud"), site.pod("team-a", "calm")
    for _ in range(2000):
        assert loud("allocate", 40000) == 2
    note = site.note("GpuOutOfMemory", "team-a", "loud")
    assert "asked 39.1 GiB, limit 22." in note
    assert "GPU is full" not in note
    assert [one["cause"] for one in site.listed()] == ["limit"]

    # An error of the GPU: all who hold it.
    site.here.sim("xid", "--gpu", 0, "--xid", 31)
    for pod in ("loud", "calm"):
        assert f"{uuid} reported XID 31" in site.note("GpuXid", "team-a", pod)
    xid = next(one for one in site.listed() if one["kind"] == "xid")
    shown = json.loads(site.incident("show", xid["id"], "-o", "json"))["incident"]
    assert {holder["pod"] for holder in shown["holders"]} == {"loud", "calm"}
    assert all("timeline" in holder for holder in shown["holders"]), "of the arbiter's recorder"
    asked = json.loads((site.here.state / "tenants" / "incidents.asked").read_text())
    validator(schema("incident-asks-v1")).validate(asked)

    # A launch of a minute: not the loud one, which must wait for its turn to have an incident.
    assert calm("spin", 60_000_000_000) == 0
    assert "has not ended" in site.note("GpuStall", "team-a", "calm")
    assert "long-launch" in [one["cause"] for one in site.listed()]


def test_without_a_node_it_says_so(tmp_path):
    nowhere = [f"--state-dir={tmp_path / 'a'}", f"--arbiter-state-dir={tmp_path / 'b'}"]
    assert "no agent or arbiter has run" in run("incident", "list", *nowhere, code=3)
    (tmp_path / "a").mkdir()
    assert run("incident", "list", *nowhere) == "no incidents\n"
    assert "there is no incident 'x'" in run("incident", "show", "x", *nowhere, code=1)
