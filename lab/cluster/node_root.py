"""The file system of one node, made in its own mount namespace; then the node's supervisor.

The node's root is a folder of the lab (its disk, kept over a reboot). /usr is the machine's, under
an overlay for the node's writes, so that the simulated driver is installed like a real one; /etc,
/var and the rest are the node's own; /run, /dev, /proc and /sys are fresh at every boot. Nothing of
the machine outside /usr is visible, and none of it can be changed. All mounts end with the node's
last process.

Run as the first process of its namespaces: python3 -m lab.cluster.node_root FILE (NodeRoot's fields
as JSON).
"""

import json
import os
import pathlib
import stat
import sys
import uuid
from dataclasses import dataclass

from . import cgroup, linux, supervisor

_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_FOLDERS = (
    *("dev", "proc", "sys", "run", "tmp", "var", "root", "home", "mnt", "opt", "srv", "usr", "etc"),
    *("var/lib", "var/log", "var/tmp", "var/cache", "etc/cni/net.d", "etc/cdi", "etc/containerd"),
    *("opt/tranche-lab/bin", "opt/tranche/bin", "opt/tranche/sim", "opt/cni/bin", ".old"),
    *("etc/kubernetes/node-feature-discovery/features.d", "etc/tranche-lab", "var/lib/kubelet"),
)
_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\ntty:x:5:\nvideo:x:44:\nrender:x:105:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "resolv.conf": "",
}
# name: major, minor
_NODES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "kmsg": (1, 11),
    "tty": (5, 0),
}
# kubelet sets these, which apply to the whole machine: it is shown the values that it wants.
_KERNEL_SETTINGS = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


@dataclass(frozen=True)
class NodeRoot:
    name: str
    folder: str  # holds root/ (the disk), usr/ (the overlay's layers) and the socket
    socket: str
    cgroup: str  # which the node's own processes join
    programs: str  # folder of kubelet, containerd, ...
    build: str  # the build folder, with bin/ and sim/


def main() -> None:
    options = NodeRoot(**json.loads(pathlib.Path(sys.argv[1]).read_text()))
    cgroup.join(options.cgroup)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_PRIVATE)
    root = pathlib.Path(options.folder) / "root"
    make_disk(root, options.name)
    mount_all(root, options)
    listener = supervisor.listen(options.socket)
    enter(root)
    linux.set_hostname(options.name)
    print(f"node {options.name} is up", flush=True)
    supervisor.Supervisor(listener).serve()


def make_disk(root: pathlib.Path, name: str) -> None:
    """Everything on disk; existing files stay."""
    for folder in _FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / "var/tmp").chmod(0o1777)
    for link in _LINKS:
        above = pathlib.Path("/") / link
        if above.is_symlink() and not (root / link).is_symlink():
            (root / link).symlink_to(os.readlink(above))
        elif above.is_dir() and not above.is_symlink():
            supervisor.fail(f"/{link} is no link into /usr: a lab needs a machine with a merged /usr")
    if not (root / "var/run").is_symlink():
        (root / "var/run").symlink_to("/run")
    texts = {**_ETC, "hostname": f"{name}\n", "hosts": f"127.0.0.1 localhost\n127.0.1.1 {name}\n"}
    texts["machine-id"] = name.encode().hex().ljust(32, "0")[:32] + "\n"
    for file, text in texts.items():
        if not (root / "etc" / file).exists():
            (root / "etc" / file).write_text(text)
    for file in ("ld.so.cache", "ld.so.conf", "os-release"):
        above = pathlib.Path("/etc") / file
        if above.exists():
            (root / "etc" / file).write_bytes(above.read_bytes())


def mount_all(root: pathlib.Path, options: NodeRoot) -> None:
    linux.bind(str(root), str(root))
    # A lab may be in a place where programs and devices are forbidden (/run of many machines).
    linux.mount("none", str(root), flags=linux.MS_BIND | linux.MS_REMOUNT)
    layers = pathlib.Path(options.folder) / "usr"
    for name in ("upper", "work"):
        (layers / name).mkdir(parents=True, exist_ok=True)
    data = f"lowerdir=/usr,upperdir={layers}/upper,workdir={layers}/work"
    linux.mount("overlay", str(root / "usr"), "overlay", data=data)
    bind_read_only(options.programs, root / "opt/tranche-lab/bin")
    bind_read_only(f"{options.build}/bin", root / "opt/tranche/bin")
    bind_read_only(f"{options.build}/sim", root / "opt/tranche/sim")
    linux.mount("proc", str(root / "proc"), "proc", linux.MS_NOSUID | linux.MS_NODEV)
    linux.mount("tmpfs", str(root / "run"), "tmpfs", linux.MS_NOSUID, "mode=755")
    mount_sys(root / "sys")
    mount_dev(root / "dev")
    for folder in ("run/lock", "run/tranche-lab", "run/nvidia", "run/cdi"):
        (root / folder).mkdir()
    hide_kernel_settings(root)


def bind_read_only(source: str, target: pathlib.Path) -> None:
    linux.bind(source, str(target))
    flags = linux.MS_BIND | linux.MS_REMOUNT | linux.MS_RDONLY
    linux.mount("none", str(target), flags=flags)


def mount_sys(target: pathlib.Path) -> None:
    flags = linux.MS_NOSUID | linux.MS_NODEV | linux.MS_NOEXEC
    linux.mount("sysfs", str(target), "sysfs", flags)
    linux.bind("/sys/fs/cgroup", str(target / "fs/cgroup"), recursive=True)


def mount_dev(target: pathlib.Path) -> None:
    linux.mount("tmpfs", str(target), "tmpfs", linux.MS_NOSUID, "mode=755")
    for folder in ("pts", "shm", "mqueue"):
        (target / folder).mkdir()
    for name, (major, minor) in _NODES.items():
        os.mknod(target / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        (target / name).chmod(0o666 if name != "kmsg" else 0o600)
    linux.mount("devpts", str(target / "pts"), "devpts", 0, "newinstance,ptmxmode=0666,mode=0620,gid=5")
    linux.mount("tmpfs", str(target / "shm"), "tmpfs", linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
    linux.mount("mqueue", str(target / "mqueue"), "mqueue")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0"}
    links |= {"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
    for name, to in links.items():
        (target / name).symlink_to(to)


def hide_kernel_settings(root: pathlib.Path) -> None:
    shown = root / "run/tranche-lab/kernel"
    # Containers see this one too, where they have a GPU (lab/runtime/hooks.cpp).
    boot = {"kernel/random/boot_id": str(uuid.uuid4())}
    for name, value in (_KERNEL_SETTINGS | boot).items():
        file = shown / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
        linux.bind(str(file), str(root / "proc/sys" / name))


def enter(root: pathlib.Path) -> None:
    os.chdir(root)
    linux.pivot_root(".", ".old")
    linux.unmount("/.old")
    os.chdir("/")
    # Volumes with mount propagation, and containerd, need a shared tree; it is shared with nobody
    # else.
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SHARED)


if __name__ == "__main__":
    main()
