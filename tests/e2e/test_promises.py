"""One GPU, one promise: running containers' promises are kept when the configuration changes."""

import json
import shutil

import pytest

from node import GPU, SHARED, sharing
from test_grants import checksum

EXCLUSIVE = sharing(1)
FOUR = sharing(4, renameByDefault=True)


def admit(here, resource: str, *pods: str) -> None:
    for pod in pods:
        here.kubelet.run_pod(pod, resource)


def remove(here, *pods: str) -> None:
    for pod in pods:
        here.kubelet.ask("remove", pod=pod)


def an_hour_passes(here) -> None:
    """For the stored grants; no agent runs."""
    records = here.stored_grants()
    for stored in records:
        stored["record"]["grantedAtMs"] -= 3600 * 1000
        stored["checksum"] = checksum(stored["record"])
    file = here.state / "grants" / "grants.jsonl"
    file.write_text("".join(json.dumps(stored) + "\n" for stored in records))


@pytest.mark.difference("devices-one-promise")
def test_four_that_share_keep_their_gpu_when_it_becomes_exclusive(node):
    here = node("l20")
    agent = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, allocatable=4)
    admit(here, SHARED, "a", "b", "c", "d")
    here.write(EXCLUSIVE)
    here.kubelet.wait(GPU, capacity=1, allocatable=0)
    agent.wait_log(r"nvidia.com/gpu on GPU 0 \(GPU-\S+\).*nvidia.com/gpu.shared.*default/a.*default/d")
    assert here.kubelet.admit("e", {GPU: 1})["phase"] == "Failed"
    remove(here, "a", "b", "c")
    agent.wait_log(r"nvidia.com/gpu.shared.*by default/d")
    assert here.kubelet.node()[GPU] == 0
    remove(here, "d")
    here.kubelet.wait(GPU, allocatable=1)
    admit(here, GPU, "e")


def test_with_the_pods_gone_first_it_is_exclusive_at_once(node):
    here = node("l20")
    first = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, allocatable=4)
    admit(here, SHARED, "a", "b", "c", "d")
    assert first.stop() == 0
    an_hour_passes(here)
    agent = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, registrations=2, allocatable=4)
    remove(here, "a", "b", "c", "d")
    here.write(EXCLUSIVE)
    here.kubelet.wait(GPU, capacity=1, allocatable=1)
    assert "is held" not in agent.log


def test_the_exclusive_holder_keeps_its_gpu_when_it_becomes_shared(node):
    here = node("l20")
    here.agent(config=EXCLUSIVE)
    here.kubelet.wait(GPU, allocatable=1)
    admit(here, GPU, "train")
    here.write(FOUR)
    here.kubelet.wait(SHARED, capacity=4, allocatable=0)
    remove(here, "train")
    here.kubelet.wait(SHARED, allocatable=4)


def test_a_whole_gpu_becomes_a_replica_where_the_name_stays(node):
    """The published rollout: the new Pod of a rolling update must run before the old one goes."""
    here = node("l20")
    here.agent(config=EXCLUSIVE)
    here.kubelet.wait(GPU, allocatable=1)
    admit(here, GPU, "old")
    here.write(sharing(2))
    here.kubelet.wait(GPU, capacity=2, allocatable=2)
    admit(here, GPU, "new")
    # In the other direction nothing is handed out: one of two would not have it alone.
    here.write(EXCLUSIVE)
    here.kubelet.wait(GPU, capacity=1, allocatable=0)
    remove(here, "old", "new")
    here.kubelet.wait(GPU, allocatable=1)


def test_a_restart_in_the_middle_withholds_from_the_first_list_on(node):
    here = node("l20")
    first = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, allocatable=4)
    admit(here, SHARED, "a")
    first.kill()
    here.agent(config=EXCLUSIVE)
    here.kubelet.wait(GPU, capacity=1)
    assert here.kubelet.node()[GPU] == 0
    remove(here, "a")
    here.kubelet.wait(GPU, allocatable=1)


def test_a_pod_is_refused_what_a_change_took_away_before_kubelet_knew(node):
    """Kubelet's list is older than the configuration: Allocate itself refuses, and names the
    holder."""
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    admit(here, GPU, "a")
    here.write(EXCLUSIVE)
    here.kubelet.wait(GPU, capacity=1, allocatable=0)
    # It is withheld before kubelet has named its holder.
    agent.wait_log(f"is held as {GPU} by default/a")
    [uuid] = here.uuids()
    refused = here.kubelet.refusal(GPU, [uuid])
    assert f'invalid allocation request for "{GPU}": {uuid} is held as {GPU} by default/a' in refused


@pytest.mark.difference("devices-one-promise")
def test_as_nvidia_hands_it_out_at_once_and_says_so(node):
    here = node("l20")
    exclusive = {**json.loads(EXCLUSIVE), "tranche": {"onChange": "asNvidia"}}
    agent = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, allocatable=4)
    admit(here, SHARED, "a")
    here.write(exclusive)
    here.kubelet.wait(GPU, allocatable=1)
    admit(here, GPU, "b")
    agent.wait_log("tranche.onChange is asNvidia")
    # Withholding applies to the holders that it finds.
    here.write(FOUR)
    here.kubelet.wait(SHARED, capacity=4, allocatable=0)
    remove(here, "b")
    here.kubelet.wait(SHARED, allocatable=4)


def test_what_another_plugin_gave_out_before_is_held_too(node):
    """Its grants are not ours; kubelet's checkpoint and pod-resources have them."""
    here = node("l20")
    first = here.agent(config=EXCLUSIVE)
    here.kubelet.wait(GPU, allocatable=1)
    admit(here, GPU, "train")
    assert first.stop() == 0
    shutil.rmtree(here.state)
    here.agent(config=FOUR)
    here.kubelet.wait(SHARED, capacity=4, allocatable=0)
    remove(here, "train")
    here.kubelet.wait(SHARED, allocatable=4)


def test_nothing_is_handed_out_while_kubelet_does_not_tell(node):
    """Its API server is away: it lists nobody, and restarts the containers of its checkpoint."""
    here = node("l20")
    first = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, allocatable=4)
    admit(here, SHARED, "a")
    assert first.stop() == 0
    an_hour_passes(here)
    here.kubelet.ask("api-server", away=True)
    agent = here.agent(config=EXCLUSIVE)
    agent.wait_log("is held as nvidia.com/gpu.shared by a container that kubelet does not name")
    assert here.kubelet.node()[GPU] == 0
    here.kubelet.ask("api-server", away=False)
    agent.wait_log("is held as nvidia.com/gpu.shared by default/a")
    remove(here, "a")
    here.kubelet.wait(GPU, allocatable=1)


def test_without_pod_resources_it_is_as_with_nvidia_and_said(node):
    here = node("l20")
    first = here.agent(config=FOUR)
    here.kubelet.wait(SHARED, allocatable=4)
    admit(here, SHARED, "a")
    assert first.stop() == 0
    shutil.rmtree(here.dir / "k" / "pod-resources")
    agent = here.agent(config=EXCLUSIVE)
    here.kubelet.wait(GPU, allocatable=1)
    agent.wait_log("W kubelet's pod-resources are not mounted")
