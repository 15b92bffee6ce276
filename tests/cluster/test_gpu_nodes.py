"""GPUNodes for an operator (docs/gpunode.md): what each node has, who holds it, and that an agent
writes only its own node's."""

import json

import pytest
from pods import GPU, Applied, pod, wait_offer
from release import Release

NODES = {"l20": 1, "t4": 1, "a100": 4}
OBJECTS = "gpunodes.tranche.dev"


@pytest.fixture(scope="module")
def release(lab):
    """With the chart's own values, except for the lab's."""
    with Release(lab) as one:
        for node, count in NODES.items():
            wait_offer(lab, node, count)
        yield one
    for node in NODES:
        wait_offer(lab, node, 0)


def status(lab, node: str) -> dict:
    return lab.get(OBJECTS, node).get("status", {})


def wait_status(lab, node: str, condition, what: str, timeout: float = 60):
    lab.wait(
        lambda: node in lab.kubectl("get", OBJECTS) and condition(status(lab, node)),
        lambda: f"not so on {node}: {what}\n{lab.kubectl('get', OBJECTS, node, '-o', 'yaml', check=False)}",
        timeout,
    )
    return status(lab, node)


def test_who_holds_a_gpu(lab, release):
    with Applied(lab, pod("holder", "sleep", "infinity", gpus=2, node="a100")):
        lab.wait_pod("holder")
        now = wait_status(
            lab, "a100", lambda now: [h["pod"] for h in now["holdings"]] == ["holder"] * 2, "the Pod is named"
        )
        uuids = [gpu["uuid"] for gpu in now["gpus"]]
        for held in now["holdings"]:
            assert held["device"] in uuids
            assert held["container"] == "main"
            assert (held["namespace"], held["use"], held["state"]) == ("default", "whole", "in-use")
        table = lab.kubectl("get", "gpunodes")
        assert max(map(len, table.splitlines())) <= 120, table
        [row] = [line.split() for line in table.splitlines() if line.startswith("a100 ")]
        assert row[1:6] == ["device-plugin", "4", "A100-SXM4-40GB", "4/4", "2/4"], table
        [offered] = now["resources"]
        assert (offered["name"], offered["tranches"], offered["healthy"]) == (GPU, 4, 4)
    # Kubelet's record still names it for a while, and removals are written every 30 s.
    wait_status(lab, "a100", lambda now: now["holdings"] == [], "nobody holds anything", timeout=150)


def test_it_belongs_to_its_node(lab, release):
    wait_status(lab, "t4", lambda now: now, "it is written")
    [owner] = lab.get(OBJECTS, "t4")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Node", "t4")
    assert owner["uid"] == lab.get("node", "t4")["metadata"]["uid"]


def test_what_somebody_changed_is_put_right(lab, release):
    before = wait_status(lab, "t4", lambda now: now, "it is written")
    wrong = json.dumps({"status": {"summary": {"gpus": 77}}})
    lab.kubectl("patch", OBJECTS, "t4", "--subresource=status", "--type=merge", "-p", wrong)
    assert status(lab, "t4")["summary"]["gpus"] == 77
    lab.wait(lambda: status(lab, "t4") == before, "the agent writes it again", timeout=180)


@pytest.fixture
def as_agent_of_t4(lab, release, tmp_path):
    """kubectl with the token that kubelet gave the agent's Pod on t4. Returns the text of a
    refusal."""
    uid = release.agents()["t4"]["metadata"]["uid"]
    folder = f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~projected"
    token = lab.node("t4").run("sh", "-c", f"cat {folder}/*/token").out.strip()
    config = json.loads(lab.kubeconfig.read_text())
    config["users"] = [{**user, "user": {"token": token}} for user in config["users"]]
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))

    def run(*arguments: str) -> str:
        return lab.kubectl(*arguments, "--kubeconfig", file, check=False)

    return run


def test_an_agent_writes_its_own_nodes_only(lab, release, as_agent_of_t4):
    before = wait_status(lab, "l20", lambda now: now, "it is written")
    change = json.dumps({"metadata": {"labels": {"written": "by-another"}}})
    said = as_agent_of_t4("patch", OBJECTS, "l20", "--type=merge", "-p", change)
    assert "an agent may write the GPUNode of its own node only: this token is of t4" in said
    assert "own node only" in as_agent_of_t4("delete", OBJECTS, "l20")
    assert status(lab, "l20") == before
    assert "t4 patched" in as_agent_of_t4("patch", OBJECTS, "t4", "--type=merge", "-p", change)
