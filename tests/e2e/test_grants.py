"""Grants on disk: written before Allocate is answered, restored after any death, removed only when
kubelet no longer lists their ids."""

import json
import time

from node import GPU, sharing
from programs import wait_until

OFTEN = "--grants-interval=500ms"


def ids_of(records: list) -> list:
    return [record["record"]["ids"] for record in records]


def lists_of(here) -> int:
    """How many lists of GPUs kubelet has received."""
    return here.kubelet.ask("stream-count")["streams"][GPU]["lists"]


def checksum(record: dict) -> str:
    """As docs/schemas/grant-v1.schema.json says: FNV-1a over the compact text, keys sorted."""
    value = 0xCBF29CE484222325
    for byte in json.dumps(record, sort_keys=True, separators=(",", ":")).encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def test_restored_after_sigkill(node):
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    held = here.kubelet.admit("a", {GPU: 2})["containers"]["c"][GPU]
    [stored] = here.stored_grants()
    assert stored["version"] == "grant/v1"
    assert stored["checksum"] == checksum(stored["record"])
    assert stored["record"]["ids"] == held["ids"]
    assert stored["record"]["envs"] == held["answer"]["envs"]
    agent.kill()
    assert here.stored_grants() == [stored]
    again = here.agent(config=sharing(4))
    again.wait_log("restored 1 grants from")
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    assert here.stored_grants() == [stored]
    assert here.kubelet.admit("b", {GPU: 2})["phase"] == "Running"
    assert len(here.stored_grants()) == 2


def test_only_what_is_old_and_gone_is_removed(node):
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    for pod in ("held-old", "gone-old", "gone-young"):
        here.kubelet.admit(pod, {GPU: 1})
    for pod in ("gone-old", "gone-young"):
        here.kubelet.ask("remove", pod=pod)
    assert agent.stop() == 0
    records = here.stored_grants()
    held_old, gone_old, gone_young = ids_of(records)
    # Time passes for two of them.
    for stored in records[:2]:
        stored["record"]["grantedAtMs"] = int((time.time() - 3600) * 1000)
        stored["checksum"] = checksum(stored["record"])
    file = here.state / "grants" / "grants.jsonl"
    file.write_text("".join(json.dumps(stored) + "\n" for stored in records))
    again = here.agent(OFTEN, config=sharing(4))
    again.wait_log("restored 3 grants from")
    wait_until(lambda: gone_old not in ids_of(here.stored_grants()), "the old one removed")
    again.wait_log("dropped 1 grant that nobody holds: ")
    assert ids_of(here.stored_grants()) == [held_old, gone_young]


def test_a_kubelet_that_knows_no_pods_yet_removes_nothing(node):
    """Its API server is away at start: pod-resources is empty, and it starts containers again all the same."""
    here = node("l20")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    here.kubelet.admit("a", {GPU: 1})
    assert agent.stop() == 0
    [stored] = here.stored_grants()
    stored["record"]["grantedAtMs"] = 1
    stored["checksum"] = checksum(stored["record"])
    (here.state / "grants" / "grants.jsonl").write_text(json.dumps(stored) + "\n")
    here.kubelet.ask("api-server", away=True)
    before = lists_of(here)
    again = here.agent(OFTEN, config=sharing(2))
    # It registers, and has kubelet write its checkpoint in each of two rounds.
    wait_until(lambda: lists_of(here) >= before + 3, "two rounds")
    assert ids_of(here.stored_grants()) == ids_of([stored])
    here.kubelet.ask("remove", pod="a")
    wait_until(lambda: here.stored_grants() == [], "it is gone")
    again.wait_log("dropped 1 grant that nobody holds: ")


def test_nothing_is_removed_while_kubelet_does_not_tell(node):
    here = node("l20")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    here.kubelet.admit("a", {GPU: 1})
    here.kubelet.ask("remove", pod="a")
    assert agent.stop() == 0
    [stored] = here.stored_grants()
    stored["record"]["grantedAtMs"] = 1
    stored["checksum"] = checksum(stored["record"])
    (here.state / "grants" / "grants.jsonl").write_text(json.dumps(stored) + "\n")
    here.kubelet.ask("stop")
    again = here.agent(config=sharing(2))
    again.wait_log("cannot register|kubelet")
    assert ids_of(here.stored_grants()) == ids_of([stored])


def test_a_torn_line_is_set_aside_and_told(node):
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.admit("a", {GPU: 1})
    agent.kill()
    file = here.state / "grants" / "grants.jsonl"
    good = file.read_text()
    file.write_text(good + good[: len(good) // 2])
    again = here.agent(config=sharing(4))
    again.wait_log("a stored grant cannot be read .*rejected.jsonl")
    again.wait_log("restored 1 grants from")
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    assert file.read_text() == good
    assert (file.parent / "rejected.jsonl").read_text() == good[: len(good) // 2] + "\n"


def test_an_id_given_anew_supersedes(node):
    here = node("l20")
    here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    first = here.kubelet.ids(GPU)[:1]
    for _ in range(3):
        here.kubelet.allocate(GPU, first)
    agent = here.agent("--log-level=debug", config=sharing(2))  # waits for the first one's end
    agent.wait_log("another agent serves this node")
    here.end_programs()
    last = here.agent(config=sharing(2))
    last.wait_log("restored 1 grants from")
    here.kubelet.wait(GPU, registrations=2)
    assert ids_of(here.stored_grants())[-1] == first


def test_without_a_state_folder_it_serves_all_the_same(node):
    here = node("l20")
    here.state.write_text("in the way")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    assert here.kubelet.admit("a", {GPU: 1})["phase"] == "Running"
    agent.wait_log("grants are not stored: .*--state-dir")
    agent.wait_log("one of the node's locks is missing: ")
