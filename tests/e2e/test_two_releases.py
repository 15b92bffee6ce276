"""Two releases of the chart for one node, by mistake, with one state folder or two: the second
one's agent waits and says why, and its cleanup leaves the first one's files alone. A release whose
state folder changes is one release."""

import signal

from node import GPU, sharing
from programs import wait_until
from test_cleanup import cleanup, killed_agent, left, tranche

FIRST = {"TRANCHE_RELEASE": "gpu/tranche"}
SECOND = {"TRANCHE_RELEASE": "other/second"}


def first_agent(here):
    agent = here.agent(config=sharing(4), env=FIRST)
    here.kubelet.wait(GPU, allocatable=4)
    return agent


def test_a_second_releases_cleanup_leaves_the_first_ones_node_alone(node):
    here = node("l20")
    agent = first_agent(here)
    here.kubelet.admit("a", {GPU: 1})
    before = left(here)
    cleaner = cleanup(here, "--stay", env=SECOND)
    check = ("cleanup", "--check", f"--state-dir={here.state}")
    wait_until(lambda: tranche(*check, **SECOND).returncode == 0, "its probe is answered")
    assert tranche(*check, **FIRST).returncode == 1, "another release's cleanup answers"
    # The first one's Pod is replaced meanwhile.
    agent.kill()
    next_agent = first_agent(here)
    next_agent.wait_log("restored 1 grants")
    assert left(here) == before
    assert cleaner.stop() == 0, cleaner.log
    assert left(here) == before
    assert "release gpu/tranche serves this node: nothing of release other/second is here" in cleaner.log


def test_a_cleanup_where_nothing_of_its_release_ever_ran_ends_at_once(node):
    here = node("l20", kubelet=False)
    cleaner = cleanup(here, env=SECOND)
    assert cleaner.wait() == 0, cleaner.log
    assert left(here) == set()


def test_a_second_releases_agent_waits_and_writes_nothing(node):
    here = node("l20")
    agent = first_agent(here)
    before = left(here)
    second = here.agent(config=sharing(4), env=SECOND)
    second.wait_log("release gpu/tranche serves this node .*, and release other/second waits")
    ready = ("agent", "--check=ready", f"--state-dir={here.state}")
    # Between two Pods of the first release.
    agent.kill()
    agent = first_agent(here)
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    assert left(here) == before
    # The first release is uninstalled.
    assert agent.stop() == 0, agent.log
    cleaner = cleanup(here, env=FIRST)
    assert cleaner.wait() == 0, cleaner.log
    here.kubelet.wait(GPU, registrations=3, allocatable=4)
    wait_until(lambda: tranche(*ready).returncode == 0, "the second release serves")


def test_taking_over_does_not_wait_for_a_release_that_is_gone(node):
    here = node("l20")
    killed_agent(here)
    first = first_agent(here)
    first.kill()
    second = here.agent("--take-over", config=sharing(2), env=SECOND)
    second.wait_log("release gpu/tranche has no agent here: this one takes the node over")
    here.kubelet.wait(GPU, allocatable=2)


def test_a_second_release_with_another_state_folder_is_refused(node):
    here = node("l20")
    here.features.mkdir()
    agent = here.agent(config=sharing(4), env=FIRST, labels="true")
    here.kubelet.wait(GPU, allocatable=4)
    wait_until(here.labels, "labels")
    before = left(here)
    elsewhere = f"--state-dir={here.dir / 'elsewhere'}"
    second = here.agent(elsewhere, env=SECOND, labels="true")
    second.wait_log("release gpu/tranche serves this node .*, and release other/second waits")
    ready = ("agent", "--check=ready", elsewhere)
    assert "release gpu/tranche serves this node" in tranche(*ready).stdout
    # Kubelet empties its folder at its start.
    here.kubelet.ask("restart")
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    cleaner = cleanup(here, elsewhere, env=SECOND)
    assert cleaner.wait() == 0, cleaner.log
    assert "release gpu/tranche serves this node: nothing of release other/second is here" in cleaner.log
    # Between two Pods of the first release.
    agent.kill()
    cleaner = cleanup(here, elsewhere, env=SECOND)
    assert cleaner.wait() == 0, cleaner.log
    agent = here.agent(config=sharing(4), env=FIRST, labels="true")
    here.kubelet.wait(GPU, registrations=3, allocatable=4)
    wait_until(lambda: left(here) == before, "the first release's files, and no others")
    assert not (here.dir / "elsewhere").exists()
    # The first release is uninstalled.
    assert agent.stop() == 0, agent.log
    cleaner = cleanup(here, env=FIRST)
    assert cleaner.wait() == 0, cleaner.log
    here.kubelet.wait(GPU, registrations=4, allocatable=1)
    wait_until(lambda: tranche(*ready).returncode == 0, "the second release serves")


def test_a_release_whose_state_folder_changes_hands_over(node):
    here = node("l20")
    first = first_agent(here)
    here.kubelet.run_pod("before", GPU)
    second = here.agent(f"--state-dir={here.dir / 'elsewhere'}", config=sharing(4), env=FIRST)
    second.wait_log("prepared to take over")
    first.signal(signal.SIGTERM)
    here.kubelet.run_pod("while", GPU)
    assert first.wait() == 0
    assert "handed over to the next agent" in first.log
    second.wait_log(f"served the node with the state folder {here.state} before")
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    here.kubelet.run_pod("after", GPU)
    # It is still one release.
    third = here.agent(config=sharing(4), env=SECOND)
    third.wait_log("release gpu/tranche serves this node .*, and release other/second waits")


def test_by_hand_it_clears_whoever_served(node):
    here = node("l20")
    first = first_agent(here)
    first.kill()
    here.kubelet.watched.clear()
    cleaner = cleanup(here)
    assert cleaner.wait() == 0, cleaner.log
    assert left(here) == set()
