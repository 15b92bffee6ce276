"""The configuration changes while the agent runs: only differences are applied, a bad one is
refused, the process stays the same."""

import signal

import pytest

from node import GPU, SHARED, Volume, config_map, sharing
from programs import ROOT, wait_until

REFUSED = "the new configuration is refused, the old one stays in force"


@pytest.mark.difference("config-watched")
def test_an_edit_takes_effect_without_a_new_registration(node):
    here = node("t4")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    for replicas in (5, 3, 1, 4):
        here.write(sharing(replicas))
        here.kubelet.wait(GPU, allocatable=replicas, capacity=replicas)
    assert here.kubelet.registered(GPU) == 1
    assert agent.running()


def test_a_config_map_update_takes_effect(node):
    here = node("l20")
    data = config_map("rollout/time-slicing-config.yaml")
    volume = Volume(here.dir / "configs", data)
    agent = here.agent(f"--config-file={volume.path}", "--config-name=l20")
    here.kubelet.wait(GPU, allocatable=8)
    for replicas in (5, 2):
        volume.put({**data, "l20": sharing(replicas)})
        here.kubelet.wait(GPU, allocatable=replicas)
    assert here.kubelet.registered(GPU) == 1
    # The key goes: nothing else is used in its place. It comes back.
    seen = agent.mark()
    volume.put({"any": data["any"]})
    agent.wait_log(f"l20.*any.*{REFUSED}", seen)
    assert here.kubelet.node() == {GPU: 2}
    volume.put(data)
    here.kubelet.wait(GPU, allocatable=8)
    assert here.kubelet.registered(GPU) == 1


def test_a_file_of_a_config_map_update_takes_effect(node):
    here = node("l20")
    volume = Volume(here.dir / "configs", {"config.yaml": sharing(2)})
    here.agent(f"--config-file={volume.path / 'config.yaml'}")
    here.kubelet.wait(GPU, allocatable=2)
    for replicas in (3, 4):
        volume.put({"config.yaml": sharing(replicas)})
        here.kubelet.wait(GPU, allocatable=replicas)


def test_config_managers_link_takes_effect(node):
    here = node("l20")
    volume = Volume(here.dir / "configs", {"a": sharing(2), "b": sharing(3)})
    link = here.dir / "link.yaml"
    link.symlink_to(volume.path / "a")
    here.agent(f"--config-file={link}")
    here.kubelet.wait(GPU, allocatable=2)
    # As NVIDIA's config-manager changes it: removed, then made again.
    link.unlink()
    link.symlink_to(volume.path / "b")
    here.kubelet.wait(GPU, allocatable=3)
    volume.put({"a": sharing(2), "b": sharing(6)})
    here.kubelet.wait(GPU, allocatable=6)


def test_which_file_of_a_folder(node):
    here = node("l20")
    volume = Volume(here.dir / "configs", {"one": sharing(3)})
    here.agent(f"--config-file={volume.path}")
    here.kubelet.wait(GPU, allocatable=3)  # the only one
    volume.put({"one": sharing(3), "default": sharing(5)})
    here.kubelet.wait(GPU, allocatable=5)  # the one named default


def test_renamed_and_back(node):
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    here.write(sharing(4, renameByDefault=True))
    here.kubelet.wait(SHARED, allocatable=4)
    here.kubelet.wait(GPU, allocatable=0, capacity=0)
    agent.wait_log("no longer advertising nvidia.com/gpu; Pods that hold it keep it")
    wait_until(lambda: here.sockets() == {"nvidia-gpu.shared.sock"}, "one socket")
    here.write(sharing(2))
    here.kubelet.wait(GPU, allocatable=2, capacity=2)
    here.kubelet.wait(SHARED, allocatable=0, capacity=0)
    wait_until(lambda: here.sockets() == {"nvidia-gpu.sock"}, "one socket")
    assert agent.running()


def test_what_did_not_change_keeps_its_socket_and_registration(node):
    here = node("a100-40gb-mig")
    two, three = "nvidia.com/mig-2g.10gb", "nvidia.com/mig-3g.20gb"

    def entries(**replicas):
        resources = [{"name": f"mig-{k}", "replicas": v} for k, v in replicas.items()]
        return {"sharing": {"timeSlicing": {"resources": resources}}}

    here.agent("--mig-strategy=mixed", config=entries(**{"2g.10gb": 2, "3g.20gb": 2}))
    here.kubelet.wait(two, allocatable=2)
    here.kubelet.wait(three, allocatable=2)
    here.kubelet.wait("nvidia.com/mig-1g.5gb", allocatable=2)
    folder = here.kubelet.socket_folder
    before = {name: (folder / name).stat().st_ino for name in here.sockets()}
    streams = here.kubelet.ask("stream-count")["streams"]
    assert len(before) == 3
    here.write(entries(**{"2g.10gb": 5, "3g.20gb": 2}))
    here.kubelet.wait(two, allocatable=5)
    assert {name: (folder / name).stat().st_ino for name in here.sockets()} == before
    assert len(here.kubelet.registrations()) == 3
    after = here.kubelet.ask("stream-count")["streams"]
    assert after[three] == streams[three]  # not even a list was sent
    assert after[two]["opened"] == 1


def test_a_bad_one_is_refused_and_the_old_one_stays(node):
    here = node("l20")
    agent = here.agent(config=sharing(3))
    here.kubelet.wait(GPU, allocatable=3)
    for bad, why in (
        (sharing(0), r"config.yaml:1: sharing.timeSlicing.resources\[0\].replicas: number of"),
        ("version: v2", r"unknown version: v2 \(.*config.yaml:1: version\)"),
        ("flags: [", "config.yaml:1: "),
        ("x" * (2 << 20), "at most 1 MiB"),
    ):
        seen = agent.mark()
        here.write(bad)
        assert REFUSED in agent.wait_log(f"{why}(.|\n)*{REFUSED}", seen).group()
    here.config.unlink()
    agent.wait_log(f"config.yaml: No such file.*{REFUSED}", seen)
    assert here.kubelet.node() == {GPU: 3}
    here.write(sharing(6))
    here.kubelet.wait(GPU, allocatable=6)
    assert here.kubelet.registered(GPU) == 1
    assert agent.running()


def lines(replicas: int) -> list[str]:
    """A configuration whose first line is already one: nothing is shared."""
    entry = f"{{name: {GPU}, replicas: {replicas}}}"
    return ["version: v1\n", f"sharing: {{timeSlicing: {{resources: [{entry}]}}}}\n"]


@pytest.mark.difference("config-being-written")
def test_a_file_rewritten_in_place_counts_when_it_is_whole(node):
    here = node("l20")
    agent = here.agent(config="".join(lines(4)))
    here.kubelet.wait(GPU, allocatable=4)
    with here.config.open("w") as file:
        for text, registrations in zip(["", lines(6)[0]], (2, 3)):
            file.write(text)
            file.flush()
            agent.signal(signal.SIGHUP)  # it reads now
            here.kubelet.wait(GPU, registrations=registrations, allocatable=4, capacity=4)
        file.write(lines(6)[1])
    here.kubelet.wait(GPU, allocatable=6)
    assert agent.log.count("the configuration has changed") == 1


@pytest.mark.difference("config-being-written")
def test_a_file_that_was_emptied_is_no_configuration(node):
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    here.config.open("w").close()
    agent.wait_log(f"config.yaml: the file was emptied.*version: v1.*{REFUSED}")
    agent.signal(signal.SIGHUP)
    here.kubelet.wait(GPU, registrations=2, allocatable=4, capacity=4)
    here.config.open("w").write(sharing(5))
    here.kubelet.wait(GPU, allocatable=5)
    # Another file in its place, a key of a ConfigMap or config-manager's link to /dev/null:
    # somebody intended it.
    here.write("")
    here.kubelet.wait(GPU, allocatable=1)
    agent.wait_log("config.yaml is empty: nothing is shared")


COMMENTS = ROOT / "tests/data/reports/01-comment-alone"
NOTHING = {
    "comments": (COMMENTS / "commented-out.yaml").read_text(),
    "a-mark": "---\n",
    "null": "null\n",
    "an-empty-mapping": "{}\n",
    "sections-with-nothing-below": "version:\nsharing:\n#  timeSlicing: {}\n",
    "the-second-document-alone": "---\n# none\n---\n" + sharing(4),
    "a-byte-order-mark": "\ufeff# version: v1\n",
}


@pytest.mark.difference("config-says-nothing")
@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_a_file_that_says_nothing_is_an_empty_one(node, text):
    here = node("t4")
    agent = here.agent(config=text)
    agent.wait_log("config.yaml is empty: nothing is shared; write 'version: v1' if that is meant")
    here.kubelet.wait(GPU, allocatable=1)
    here.write((COMMENTS / "shared.yaml").read_text())
    here.kubelet.wait(GPU, allocatable=4)
    here.config.write_text(text)
    agent.wait_log(f"config.yaml: the file was emptied; write 'version: v1' to share nothing.*{REFUSED}")
    agent.signal(signal.SIGHUP)
    here.kubelet.wait(GPU, registrations=2, allocatable=4, capacity=4)


def test_what_has_no_effect_in_a_file_is_told(node):
    here = node("t4")
    agent = here.agent(config="version: v1\nsharing:\n#  timeSlicing: {}\n---\n" + sharing(4))
    agent.wait_log("config.yaml:2: sharing: nothing is written under it, so it has no effect")
    agent.wait_log("config.yaml:5: another document begins here, and the first one alone is read")
    here.kubelet.wait(GPU, allocatable=1)


def test_an_agent_that_starts_waits_for_a_file_that_is_being_written(node):
    here = node("l20")
    with here.config.open("w") as file:
        file.write(lines(3)[0])
        file.flush()
        agent = here.agent(f"--config-file={here.config}")
        agent.wait_log("config.yaml is being written")
        assert here.kubelet.registrations() == []
        file.write(lines(3)[1])
    here.kubelet.wait(GPU, allocatable=3)


def test_what_is_held_stays_held(node):
    here = node("l20")
    here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    held = here.kubelet.admit("a", {GPU: 2})["containers"]
    here.write(sharing(8))
    status = here.kubelet.wait(GPU, allocatable=8)
    assert status[GPU]["allocated"] == 2
    again = here.kubelet.ask("restart-container", pod="a", container="c")["resources"]
    assert again == held["c"]
    assert here.kubelet.admit("b", {GPU: 6})["phase"] == "Running"
    assert here.kubelet.admit("c", {GPU: 1})["phase"] == "Failed"


def test_sighup_registers_everything_anew(node):
    here = node("l20")
    agent = here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=2)
    for count in (2, 3):
        agent.signal(signal.SIGHUP)
        here.kubelet.wait(GPU, registrations=count, allocatable=2)
    assert agent.running()
    agent.wait_log("SIGHUP: reading everything anew")


def test_signals_that_end(node):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
        here = node("l20")
        here.features.mkdir()
        agent = here.agent(config=sharing(2), labels="true")
        here.kubelet.wait(GPU, allocatable=2)
        agent.wait_log("wrote .* labels")
        assert here.sockets() == {"nvidia-gpu.sock"}
        agent.signal(number)
        assert agent.wait() == 0
        assert here.sockets() == set()
        assert list(here.features.iterdir()) == []


def test_labels_stay_with_an_infinite_interval(node):
    here = node("l20")
    here.features.mkdir()
    agent = here.agent("--sleep-interval=infinite", config=sharing(2), labels="true")
    agent.wait_log("wrote .* labels")
    assert agent.stop() == 0
    assert here.labels()["nvidia.com/gpu.replicas"] == "2"


def test_labels_follow(node):
    here = node("l20")
    here.features.mkdir()
    agent = here.agent(config=sharing(2), labels="true")
    agent.wait_log("wrote .* labels")
    assert here.labels()["nvidia.com/gpu.product"] == "NVIDIA-L20-SHARED"
    here.write(sharing(5, renameByDefault=True))
    wait_until(lambda: here.labels()["nvidia.com/gpu.replicas"] == "5", "5 replicas")
    assert here.labels()["nvidia.com/gpu.product"] == "NVIDIA-L20"
    # After a removal: written again with the next reading of the hardware, or at SIGHUP.
    here.label_file.unlink()
    agent.signal(signal.SIGHUP)
    wait_until(lambda: here.labels(), "the labels again")
