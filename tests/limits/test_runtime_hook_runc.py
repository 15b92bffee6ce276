"""The hook, run by runc itself: when it runs, what it sees of the image then, and that its failure
is the container's. Control groups are the machine's own, in a tree like kubelet's."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from arbiter import HOOK
from programs import wait_until
from r615 import Node

BUSYBOX = pathlib.Path("/bin/busybox")
ID = "d" * 64

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="runc makes containers as root"),
    pytest.mark.skipif(not shutil.which("runc"), reason="there is no runc here"),
    pytest.mark.skipif(not BUSYBOX.exists(), reason="there is no static busybox here (busybox-static)"),
]


def hierarchy() -> pathlib.Path:
    top = pathlib.Path("/sys/fs/cgroup")
    return top if (top / "cgroup.controllers").exists() else top / "memory"


class Container:
    """A bundle as containerd makes it from a grant: the tenant's folder and the preload file are
    mounted."""

    def __init__(self, node: Node, *command: str):
        self.node = node
        self.bundle = node.folder / "bundle"
        self.rootfs = self.bundle / "rootfs"
        for folder in ("bin", "etc", "proc", "dev", "sys"):
            (self.rootfs / folder).mkdir(parents=True)
        shutil.copy(BUSYBOX, self.rootfs / "bin/busybox")
        self.name = f"tranche-test-{os.getpid()}"
        self.parent = f"{self.name}/kubepods/burstable/podx"
        self.group = hierarchy() / self.parent / ID
        ours = node.folder / "ld.so.preload"
        ours.write_text("/usr/local/tranche/libtranche-limit.so\n")
        subprocess.run(["runc", "spec", "--bundle", self.bundle], check=True)
        config = json.loads((self.bundle / "config.json").read_text())
        config["process"] |= {"terminal": False, "args": ["/bin/busybox", *command]}
        del config["process"]["rlimits"]
        config["linux"]["cgroupsPath"] = f"/{self.parent}/{ID}"
        config["mounts"] = [one for one in config["mounts"] if one["destination"] in ("/proc", "/dev")]
        for source, place in ((ours, "/etc/ld.so.preload"), (node.tenants.folder / "a", "/run/tranche/a")):
            options = ["rbind", "rprivate", "ro"]
            config["mounts"].append({"destination": place, "type": "bind", "source": str(source), "options": options})
        arguments = [HOOK.name, "--tenants", str(node.tenants.folder), "--wait", "2"]
        config["hooks"] = {"createRuntime": [{"path": str(HOOK), "args": arguments, "timeout": 30}]}
        (self.bundle / "config.json").write_text(json.dumps(config))

    def run(self) -> subprocess.CompletedProcess:
        command = ["runc", "--root", self.node.folder / "runc", "run", "--bundle", self.bundle, ID]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def begin(self) -> None:
        command = ["runc", "--root", self.node.folder / "runc", "run", "--detach", "--bundle", self.bundle, ID]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False, timeout=120)
        assert done.returncode == 0

    def remove(self) -> None:
        command = ["runc", "--root", self.node.folder / "runc", "delete", "--force", ID]
        subprocess.run(command, capture_output=True, check=False, timeout=60)
        # Other groups come and go during the walk: os.walk skips what is gone.
        for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
            if self.name in pathlib.Path(folder).parts:
                os.rmdir(folder)


@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    for process in reversed(node.processes):
        process.kill()


@pytest.fixture
def container(node):
    node.promise(2000, by="limiter")
    container = Container(node, "echo", "it runs")
    yield container
    container.remove()


def serve(container: Container):
    """The arbiter, which sees the container's own tree of control groups as one of version 2."""
    tree = container.node.folder / "tree"
    tree.mkdir()
    (tree / "cgroup.controllers").write_text("dmem\n")
    (tree / container.name).symlink_to(hierarchy() / container.name)
    return container.node.serve("--cgroup-root", tree)


def test_an_images_own_file_is_told_from_the_mount_point_that_runc_makes(node, container):
    serve(container)
    done = container.run()
    assert (done.returncode, done.stdout) == (0, "it runs\n"), done.stderr
    place = container.rootfs / "etc/ld.so.preload"
    assert place.read_text() == "", "runc made it to mount on"
    # The same bundle again, as when kubelet starts a container whose image has a file.
    place.write_text("/opt/lib/libfoo.so\n")
    done = container.run()
    assert (done.returncode, done.stdout) == (0, "it runs\n"), done.stderr
    (finding,) = wait_until(node.findings, "the finding, of a container that has ended by now")
    assert (finding["kind"], finding["preload"]) == ("image-preload", "/opt/lib/libfoo.so")
    assert finding["cgroup"].endswith(f"/kubepods/burstable/podx/{ID}")


def test_a_container_whose_memory_the_kernel_is_to_keep_runs_limited_or_not_at_all(node, container):
    node.promise(2000)
    done = container.run()
    assert done.returncode != 0
    assert "it runs" not in done.stdout
    assert "the driver is to limit this container's GPU memory before it starts" in done.stderr
    assert "no arbiter answers" in done.stderr
    serve(container)
    config = json.loads((container.bundle / "config.json").read_text())
    config["process"]["args"] = ["/bin/busybox", "sleep", "600"]
    (container.bundle / "config.json").write_text(json.dumps(config))
    container.begin()
    # Nothing registered, nothing used the GPU: it was limited before it began.
    group = node.folder / "tree" / container.parent / ID
    assert "hard limit: 2000 MiB" in node.smi("memory-limits", "--get", "-n", group, "-i", "0")
