"""The Linux calls that Python 3.11's library lacks: namespaces and mounts. All raise OSError."""

import ctypes
import os
import time

NEWNS = 0x00020000
NEWUTS = 0x04000000
NEWIPC = 0x08000000
NEWPID = 0x20000000
NEWNET = 0x40000000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MS_SHARED = 0x100000
MNT_DETACH = 0x2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    _check(
        _libc.mount(
            str(source).encode(),
            str(target).encode(),
            kind.encode() or None,
            ctypes.c_ulong(flags),
            data.encode() or None,
        ),
        f"mount {source} on {target}",
    )


def bind(source: str, target: str, recursive: bool = False) -> None:
    mount(source, target, flags=MS_BIND | (MS_REC if recursive else 0))


def unmount(target: str, flags: int = MNT_DETACH) -> None:
    _check(_libc.umount2(str(target).encode(), flags), f"umount {target}")


def set_hostname(name: str) -> None:
    _check(_libc.sethostname(name.encode(), len(name.encode())), "sethostname")


def pivot_root(new_root: str, put_old: str) -> None:
    # No wrapper in the C library; the number is the architecture's.
    number = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
    _check(_libc.syscall(number, new_root.encode(), put_old.encode()), f"pivot_root {new_root}")


def start_time(pid: int, zombie: bool = False) -> int | None:
    """When the process began, in clock ticks since boot: identifies one process for ever, together
    with the pid. None when it has ended; unreaped ones count as ended, unless `zombie`."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" and not zombie else int(fields[19])


def wait_collected(processes: dict[int, int | None], timeout: float = 5) -> None:
    """Waits until the new parent of these dead processes (by pid: start time) has reaped them."""
    end = time.monotonic() + timeout
    for pid, started in processes.items():
        while started is not None and start_time(pid, zombie=True) == started and time.monotonic() < end:
            time.sleep(0.02)
