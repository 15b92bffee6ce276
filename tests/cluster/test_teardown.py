"""Several labs at once, and what is left of a killed one: nothing."""

import os
import pathlib
import signal
import subprocess

import pytest
from names import PREFIX
from pods import Applied, pod

from lab.cluster import cgroup
from lab.cluster import settings as s
from lab.cluster.errors import LabError
from lab.cluster.lab import Lab

ROOT = pathlib.Path(__file__).resolve().parents[2]


def command(name: str, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [ROOT / "lab" / name, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def traces(name: str) -> dict[str, list[str]]:
    """Traces of a lab on this machine, by kind; empty if none."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    processes = [
        entry.name
        for entry in pathlib.Path("/proc").iterdir()
        if entry.name.isdigit() and f"tranche-lab/{name}" in _read(entry / "cgroup")
    ]
    groups = [str(top / cgroup.TOP / name) for top in cgroup.hierarchies()]
    found = {
        "mounts": [line for line in mounts if f"tranche-lab/{name}" in line],
        "processes": processes,
        "groups": [one for one in groups if os.path.exists(one)],
        "files": [str(one) for one in (s.BASE / name,) if one.exists()],
    }
    return {kind: ones for kind, ones in found.items() if ones}


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def machine() -> dict[str, object]:
    """What a lab must leave alone."""
    run = ["ip", "-o", "link"]
    links = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    settings = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops")
    return {
        "interfaces": [line.split(":")[1] for line in links.splitlines()],
        "forwarding": _read(pathlib.Path("/proc/sys/net/ipv4/ip_forward")),
        "kernel": [_read(pathlib.Path("/proc/sys") / one) for one in settings],
        "folders": [
            os.path.exists(one)
            for one in ("/var/lib/kubelet", "/var/lib/containerd", "/etc/cni", "/run/containerd", "/run/netns")
        ],
    }


def test_two_labs_side_by_side_and_one_killed(lab):
    before = machine()
    name = f"{PREFIX}b"
    other = Lab.up(name, ["l20"])  # also called l20 there
    try:
        sleep = pod("same", "sleep", "infinity", node="l20")
        with Applied(lab, sleep):
            other.apply(sleep)
            lab.wait_pod("same")
            other.wait_pod("same")
            assert set(other.nodes_ready()) == {"l20"}
            uids = [one.pod("same")["metadata"]["uid"] for one in (lab, other)]
            assert uids[0] != uids[1]
            assert machine() == before

            for pid in cgroup.processes(f"{cgroup.TOP}/{name}"):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            with pytest.raises(LabError, match="already, or what is left of one"):
                Lab.up(name, ["l20"])
            done = command("down", "--name", name)
            assert done.returncode == 0, done.stderr
            assert traces(name) == {}
            assert machine() == before
            # The first one did not notice.
            assert lab.exec("same", "echo", "here") == "here\n"
    finally:
        command("down", "--name", name)


def test_down_without_the_lab_s_own_record(lab):
    """lab.json is torn, its supervisor alive: the control groups show what is the lab's."""
    name = f"{PREFIX}d"
    other = Lab.up(name, ["bare"])
    try:
        other.apply(pod("p", "sleep", "infinity"))
        other.wait_pod("p")
        (other.folder / s.FILE).write_text("{")
        assert traces(name)["processes"]
        done = command("down", "--name", name)
        assert done.returncode == 0, done.stderr
        assert traces(name) == {}
    finally:
        command("down", "--name", name)
    assert lab.nodes_ready()["l20"]


def test_a_lab_that_does_not_come_up_is_taken_down_again(tmp_path):
    name = f"{PREFIX}e"
    broken = tmp_path / "broken.yaml"
    broken.write_text("machine: x\ngpus: nonsense\n")
    with pytest.raises(LabError, match="broken.yaml|machine.yaml|gpus"):
        Lab.up(name, [str(broken)])
    assert traces(name) == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--node", "gtx9000"], "no simulated machine 'gtx9000'"),
        (["--node", "l20="], "no name after '='"),
        (["--node", "l20=A"], "'A' is not a name for a node"),
        (["--node", "l20", "--node", "t4=l20"], "two nodes are called 'l20'"),
        (["--name", "Big Name"], "not a name for a lab"),
        (["--runtime", "docker"], "--runtime 'docker': unknown"),
        (["--topology-manager", "best"], "--topology-manager 'best': unknown"),
        (["--cpu-manager", "dynamic"], "--cpu-manager 'dynamic': unknown"),
        (["--cidr", "10.42.0.0/16"], "overlaps 10.42.0.0/16"),
        (["--cidr", "10.1.2.0/24"], "too small"),
        (["--cidr", "many"], "--cidr 'many'"),
        (["--plain", "-1"], "5000 plain ones"),
        (["--node-status", "often"], "no duration"),
        (["--dir", "/tmp/" + "long" * 30], "too long for unix sockets"),
        (["--dir", "/usr/bin"], "is not empty"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_bad_input_is_refused_before_anything_is_made(arguments, said):
    name = [] if "--name" in arguments else ["--name", f"{PREFIX}x"]
    done = command("up", *name, *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert traces(f"{PREFIX}x") == {}


def test_commands_about_a_lab_that_is_not_there():
    for words in (("status",), ("kubectl", "get", "nodes")):
        done = command(words[0], "--name", f"{PREFIX}x", *words[1:])
        assert done.returncode == 1
        assert "there is no lab" in done.stderr
    done = command("down", "--name", f"{PREFIX}x")
    assert (done.returncode, done.stdout) == (0, f"lab: there is no lab {PREFIX}x\n")


def test_status_and_kubectl(lab):
    done = command("status", "--name", lab.name)
    assert done.returncode == 0, done.stdout
    for program in ("etcd", "kube-apiserver", "relay", "kwok", "containerd", "kubelet"):
        assert program in done.stdout
    done = command("kubectl", "--name", lab.name, "get", "node", "l20", "-o", "name")
    assert (done.returncode, done.stdout) == (0, "node/l20\n")
