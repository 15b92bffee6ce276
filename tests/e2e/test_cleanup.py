"""tranche cleanup: what an agent left on its node is removed, what others wrote stays, and a probe
can ask."""

import json
import os
import subprocess

from node import GPU, sharing
from programs import DEADLINE, TRANCHE, clean_environment, wait_until

CDI = "k8s.device-plugin.nvidia.com-gpu.json"


def tranche(*arguments: object, **env: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, *map(str, arguments)],
        env=clean_environment(**env),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


def cleanup(here, *arguments: object, **extra):
    """With flags like the agents of here.agent()."""
    return here.start(
        "cleanup",
        f"--kubelet-root={here.dir / 'k'}",
        f"--state-dir={here.state}",
        f"--cdi-root={here.cdi}",
        f"--output-file={here.label_file}",
        f"--config-file={here.config}",
        *arguments,
        **extra,
    )


def left(here) -> set:
    """Every file below the folders that an agent writes to."""
    folders = (here.state, here.cdi, here.features)
    return {
        str(file.relative_to(here.dir))
        for folder in folders
        if folder.exists()
        for file in folder.rglob("*")
        if file.is_file()
    }


def killed_agent(here) -> None:
    """An agent with a grant, labels and CDI files, killed before it could tidy up."""
    here.features.mkdir()
    config = json.loads(sharing(4))
    config["flags"] = {"plugin": {"deviceListStrategy": "cdi-annotations"}}
    agent = here.agent(
        f"--driver-root-ctr-path={here.host}{here.driver_root}", config=config, labels="true"
    )
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.admit("a", {GPU: 1})
    wait_until(here.labels, "labels")
    agent.kill()


def test_clears_what_a_killed_agent_left(node):
    here = node("l20")
    killed_agent(here)
    assert {f"cdi/{CDI}", "f/gfd", "s/grants/grants.jsonl"} <= left(here)
    (here.cdi / "other.json").write_text("{}")
    (here.features / "other").write_text("a=b\n")
    here.kubelet.watched.clear()
    cleaner = cleanup(here)
    assert cleaner.wait() == 0, cleaner.log
    assert left(here) == {"cdi/other.json", "f/other"}
    for file in (CDI, "f/gfd", "grants.jsonl"):
        assert file in cleaner.log
    assert "this node is cleared" in cleaner.log
    again = cleanup(here)
    assert again.wait() == 0, again.log
    assert "removed" not in again.log
    assert not here.state.exists()


def test_stays_for_the_probe_and_leaves_nothing(node):
    here = node("l20")
    killed_agent(here)
    here.kubelet.watched.clear()
    check = ("cleanup", "--check", f"--state-dir={here.state}")
    before = tranche(*check)
    assert before.returncode == 1
    assert "not cleared (yet)" in before.stderr
    cleaner = cleanup(here, "--stay")
    wait_until(lambda: tranche(*check).returncode == 0, "the probe is answered")
    assert cleaner.running()
    assert cleaner.stop() == 0, cleaner.log
    assert left(here) == set()
    assert tranche(*check).returncode == 1


def test_a_killed_cleaner_does_not_count(node):
    here = node("l20", kubelet=False)
    cleaner = cleanup(here, "--stay")
    cleaner.wait_log("this node is cleared")
    check = ("cleanup", "--check", f"--state-dir={here.state}")
    wait_until(lambda: tranche(*check).returncode == 0, "the probe is answered")
    cleaner.kill()
    assert tranche(*check).returncode == 1


def test_waits_for_the_agent(node):
    here = node("l20")
    agent = here.agent(config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    impatient = cleanup(here, "--timeout=1s")
    here.kubelet.watched.remove(impatient)
    assert impatient.wait() == 1
    assert "an agent serves this node" in impatient.log and "end it first" in impatient.log
    assert agent.running()
    cleaner = cleanup(here, "--stay")
    cleaner.wait_log("waiting for it to end")
    assert agent.stop() == 0, agent.log
    cleaner.wait_log("this node is cleared")
    # The next agent waits for the cleaner, and takes the lock that it makes again.
    next_agent = here.agent(config=sharing(4))
    next_agent.wait_log("another agent serves this node")
    assert cleaner.stop() == 0, cleaner.log
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    assert (here.state / "agent.lock").exists()


def test_usage_errors_name_the_remedy():
    for arguments, said in (
        (["--stay", "--check"], "exclude each other"),
        (["--daemonset=tranche", "--patch={}"], "write NAMESPACE/NAME"),
        (["--daemonset=a/b", "--patch={"], "it is no JSON object"),
        (["--timeout=0s"], "write a duration"),
        (["--sty"], "stay"),
    ):
        done = tranche("cleanup", *arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr, arguments


def test_help_lists_its_flags():
    done = tranche("cleanup", "--help")
    assert done.returncode == 0
    for flag in ("--stay", "--check", "--daemonset", "--patch", "--timeout", "--state-dir"):
        assert flag in done.stdout
    assert "--mig-strategy" not in done.stdout


def test_what_limited_containers_mount_stays_while_they_run(node, tmp_path):
    library = tmp_path / "libtranche-limit.so"
    library.write_bytes(b"library")
    here = node("l20")
    config = json.loads(sharing(4)) | {"tranche": {"limits": {"enforcement": "strict"}}}
    agent = here.agent(f"--limit-library={library}", config=config)
    here.kubelet.wait(GPU, allocatable=4)
    answers = {
        pod: here.kubelet.admit(pod, {GPU: 1})["containers"]["c"][GPU]["answer"]
        for pod in ("runs", "ends")
    }
    here.kubelet.ask("remove", pod="ends")
    assert agent.stop() == 0
    here.kubelet.watched.clear()
    assert cleanup(here).wait() == 0
    mounted = {one["host_path"] for one in answers["runs"]["mounts"]}
    assert all(os.path.exists(path) for path in mounted)
    assert len(here.promises()) == 1
    here.kubelet.ask("remove", pod="runs")
    assert cleanup(here).wait() == 0
    assert not here.state.exists()


def test_pods_that_have_just_gone_hold_nothing(node, tmp_path):
    """Kubelet's checkpoint still names them, and without an agent kubelet does not write it. A
    kubelet that lists the cleaner's own Pod has its Pods, and is believed; otherwise it may know
    none of them yet."""
    library = tmp_path / "libtranche-limit.so"
    library.write_bytes(b"library")
    here = node("l20")
    config = json.loads(sharing(4)) | {"tranche": {"limits": {"enforcement": "strict"}}}
    agent = here.agent(f"--limit-library={library}", config=config)
    here.kubelet.wait(GPU, allocatable=4)
    here.kubelet.admit("cleaner", {})
    here.kubelet.admit("ends", {GPU: 1})
    checkpoint = here.dir / "k" / "device-plugins" / "kubelet_internal_checkpoint"
    stale = checkpoint.read_text()
    assert agent.stop() == 0
    here.kubelet.ask("remove", pod="ends")
    checkpoint.write_text(stale)
    assert cleanup(here, env={"POD_NAME": "another"}).wait() == 0
    assert len(here.promises()) == 1
    assert cleanup(here, env={"POD_NAME": "cleaner"}).wait() == 0
    assert not here.state.exists()
