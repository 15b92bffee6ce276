"""The container runtime's hook as a runtime runs it: a bundle, the container's state on its
standard input, and an exit code that decides whether the container starts. The last tests have runc
itself run it."""

import json
import os
import socket
import subprocess

import pytest

from arbiter import HOOK
from programs import wait_until
from r615 import OUT_OF_MEMORY, Node

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="runtimes run hooks as root")

ID = "c" * 64


def run(*arguments, state: str = "", timeout: float = 60) -> subprocess.CompletedProcess:
    return subprocess.run(
        [HOOK, *map(str, arguments)], input=state, capture_output=True, text=True, timeout=timeout, check=False
    )


class Bundle:
    """A container that is about to start, as containerd passes it to a runtime."""

    def __init__(self, node: Node, *tenants: str):
        self.node = node
        self.folder = node.folder / "bundle"
        self.rootfs = self.folder / "rootfs"
        (self.rootfs / "etc").mkdir(parents=True)
        self.config = {
            "ociVersion": "1.0.2",
            "root": {"path": "rootfs"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}]
            + [
                {"destination": f"/run/tranche/{one}", "source": str(node.tenants.folder / one), "options": ["rbind"]}
                for one in tenants
            ],
        }
        (self.folder / "config.json").write_text(json.dumps(self.config))

    def preload(self, text: str) -> None:
        (self.rootfs / "etc/ld.so.preload").write_text(text)

    def state(self, pid: int) -> str:
        return json.dumps(
            {"ociVersion": "1.0.2", "id": ID, "status": "creating", "pid": pid, "bundle": str(self.folder)}
        )

    def start(self, pid: int, wait: int = 30) -> subprocess.CompletedProcess:
        return run("--tenants", self.node.tenants.folder, "--wait", wait, state=self.state(pid))


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    for process in reversed(node.processes):
        process.kill()


def test_it_is_linked_statically_and_explains_itself():
    done = subprocess.run(["readelf", "-d", HOOK], capture_output=True, text=True, check=True)
    assert "no dynamic section" in done.stdout
    done = run("--help")
    assert done.returncode == 0
    assert "createRuntime" in done.stdout
    for arguments in ([], ["--tenants"], ["--tenants", "relative"], ["--tenants", "/t", "--wait", "x"], ["--what", "1"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("tranche-limit-hook: ")
        assert "\nUsage: " in done.stderr


def test_a_container_starts_limited(node):
    node.promise(2000)
    node.serve()
    first = node.program()
    node.contain(first.pid)
    assert first.say(3000) == 0
    assert first.say("free") == 0
    done = Bundle(node, "a").start(first.pid)
    assert (done.returncode, done.stderr) == (0, "")
    # It has not registered, and never will: limited from its first allocation.
    assert first.say(3000) == OUT_OF_MEMORY
    assert first.say(1000) == 0


def test_without_an_arbiter_it_does_not_start(node):
    node.promise(2000)
    bundle = Bundle(node, "a")
    done = bundle.start(os.getpid(), wait=1)
    assert done.returncode == 1
    assert done.stderr.startswith("tranche: the driver is to limit this container's GPU memory before it starts")
    assert "no arbiter answers at" in done.stderr
    # The hook waits for one that comes in time.
    hook = subprocess.Popen(
        [HOOK, "--tenants", node.tenants.folder, "--wait", "60"], stdin=subprocess.PIPE, text=True
    )
    hook.stdin.write(bundle.state(os.getpid()))
    hook.stdin.close()
    node.contain(os.getpid())
    node.serve()
    assert hook.wait(timeout=60) == 0


def test_a_folder_that_is_reached_by_a_link_is_the_same_one(node):
    """Runtimes write the sources of mounts with links resolved."""
    node.promise(2000)
    (node.folder / "link").symlink_to(node.tenants.folder)
    state = Bundle(node, "a").state(os.getpid())
    done = run("--tenants", node.folder / "link", "--wait", 1, state=state)
    assert done.returncode == 1
    assert "no arbiter answers" in done.stderr


def test_while_the_driver_refuses_it_does_not_start(node):
    node.sim("fault", "fail", "--function", "nvmlDeviceSetMemoryLimits_v1", "--error", "NO_PERMISSION")
    node.promise(2000)
    process = node.serve()
    node.contain(os.getpid())
    bundle = Bundle(node, "a")
    done = bundle.start(os.getpid())
    assert done.returncode == 1
    assert "with CAP_SYS_ADMIN" in done.stderr
    process.wait_log("a container of tenant a does not start")
    node.sim("clear")
    assert bundle.start(os.getpid()).returncode == 0


def test_what_was_promised_is_the_arbiters_to_say_where_its_file_is_torn(node):
    node.promise(2000)
    bundle = Bundle(node, "a")
    (node.tenants.folder / "a.json").write_text("{")
    done = bundle.start(os.getpid(), wait=1)
    assert done.returncode == 1
    assert "what tenant a was promised cannot be read" in done.stderr


def test_where_the_kernel_keeps_nothing_it_never_holds_up_a_container(node):
    node.promise(2000, by="limiter")
    bundle = Bundle(node, "a")
    done = bundle.start(os.getpid())
    assert (done.returncode, done.stderr) == (0, "")
    bundle.preload("libfoo.so\n")
    done = bundle.start(os.getpid())
    assert done.returncode == 0
    assert "no arbiter answers" in done.stderr
    # One that listens and does not answer.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dumb:
        dumb.bind(str(node.tenants.folder / "start.sock"))
        dumb.listen()
        done = bundle.start(os.getpid())
        assert done.returncode == 0
        assert "does not answer" in done.stderr
        # The wait ends, also if the kernel is to limit something.
        node.promise(2000)
        assert bundle.start(os.getpid(), wait=1).returncode == 1


def test_a_container_without_tenants_is_none_of_its_business(node):
    node.promise(2000)
    bundle = Bundle(node)
    bundle.preload("libfoo.so\n")
    assert bundle.start(os.getpid()).returncode == 0


def test_an_images_own_preload_file_is_found(node):
    node.promise(2000, by="limiter")
    node.serve()
    first = node.program()
    node.contain(first.pid)
    bundle = Bundle(node, "a")
    bundle.preload("# ours\n/opt/lib/libfoo.so libbar.so\n")
    done = bundle.start(first.pid)
    assert (done.returncode, done.stderr) == (0, "")
    (finding,) = wait_until(node.findings, "the finding")
    assert finding["kind"] == "image-preload"
    assert finding["preload"] == "/opt/lib/libfoo.so libbar.so"
    assert (finding["tenant"], finding["pid"]) == ("a", first.pid)
    assert ("a" * 64) in finding["cgroup"]
    assert not {"name", "device", "memoryBytes"} & finding.keys()


@pytest.mark.parametrize(
    "state",
    [
        "",
        "{",
        "[]",
        '{"pid": 1}',
        '{"pid": -1, "bundle": "/"}',
        '{"pid": 1, "bundle": "/nowhere"}',
        "[" * 100_000,
        '{"pid": 1, "bundle": "' + "x" * 2_000_000 + '"}',
    ],
    ids=["empty", "torn", "list", "no-bundle", "no-pid", "no-config", "deep", "long"],
)
def test_a_state_that_is_none_is_refused_in_words(tmp_path, state):
    done = run("--tenants", tmp_path, state=state)
    assert done.returncode == 1
    assert done.stderr.startswith("tranche: ")


def test_files_that_do_not_answer_do_not_hold_it_for_ever(node):
    node.promise(2000)
    bundle = Bundle(node, "a")
    (bundle.folder / "config.json").unlink()
    os.mkfifo(bundle.folder / "config.json")
    done = bundle.start(os.getpid(), wait=0)
    assert done.returncode == 1
    assert "do not answer in time" in done.stderr


def test_an_image_that_works_against_it_harms_itself_alone(node):
    node.promise(2000, by="limiter")
    process = node.serve()
    bundle = Bundle(node, "a")
    place = bundle.rootfs / "etc/ld.so.preload"
    os.mkfifo(place)
    assert bundle.start(os.getpid()).returncode == 0
    place.unlink()
    (node.folder / "secret").write_text("/of/the/host.so")
    place.symlink_to(node.folder / "secret")
    assert bundle.start(os.getpid()).returncode == 0
    place.unlink()
    with place.open("w") as file:
        file.truncate(1 << 40)
    assert bundle.start(os.getpid()).returncode == 0
    place.unlink()
    bundle.preload("lib\x1b]0;owned\x07\nlib2.so" + "x" * 100_000)
    node.contain(os.getpid())
    assert bundle.start(os.getpid()).returncode == 0
    found = wait_until(lambda: [one for one in node.findings() if "lib2" in one["preload"]], "the finding")
    assert found[0]["preload"].startswith("lib?]0;owned? lib2.so")
    assert len(found[0]["preload"]) <= 512
    assert "of/the/host" not in json.dumps(node.findings())
    assert "\x1b" not in process.log
