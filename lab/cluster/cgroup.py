"""The lab's control groups: /tranche-lab/<lab>/... in every hierarchy mounted on this machine
(version 1: one for each controller; version 2: one). They identify the lab's processes."""

import os
import pathlib
import signal
import time

from . import linux

TOP = "tranche-lab"


def hierarchies() -> list[pathlib.Path]:
    found = []
    with open("/proc/self/mountinfo") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            if after.split()[0] in ("cgroup", "cgroup2"):
                found.append(pathlib.Path(before.split()[4]))
    return found


def make(path: str) -> None:
    """`path` such as tranche-lab/dev/node, below every hierarchy."""
    for top in hierarchies():
        folder = top
        for part in pathlib.Path(path).parts:
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems"):
                _inherit(parent / name, folder / name)


def _inherit(parent: pathlib.Path, own: pathlib.Path) -> None:
    # Version 1 refuses processes in a cpuset without processors. In version 2 empty means all.
    if not own.exists() or (own.parent / "cgroup.controllers").exists():
        return
    if not own.read_text().strip():
        own.write_text(parent.read_text())


def join(path: str) -> None:
    """The calling process, and what it starts from now on."""
    for top in hierarchies():
        (top / path / "cgroup.procs").write_text("0")


def processes(path: str) -> set[int]:
    """Everything in `path` and below, by process id here."""
    found: set[int] = set()
    for top in hierarchies():
        for folder, _, _ in os.walk(top / path):  # takes it that a folder goes meanwhile
            try:
                found |= {int(line) for line in pathlib.Path(folder, "cgroup.procs").read_text().split()}
            except OSError:
                continue  # ended while we looked
    return found - {0}


def kill(path: str, timeout: float = 30) -> set[int]:
    """Kills everything in `path`; returns what is left after the time-out."""
    end = time.monotonic() + timeout
    killed: dict[int, int | None] = {}
    while left := processes(path):
        for pid in left:
            killed.setdefault(pid, linux.start_time(pid))
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if time.monotonic() > end:
            return left
        time.sleep(0.02)
    linux.wait_collected(killed)
    return set()


def remove(path: str) -> list[pathlib.Path]:
    """Removes `path` and what is below it, and the top if empty; returns what could not be
    removed."""
    left = []
    for top in hierarchies():
        below = top / path
        if not below.exists():
            continue
        folders = [folder for folder, _, _ in os.walk(below, topdown=False)]
        left += [pathlib.Path(folder) for folder in folders if not _removed(folder)]
    for top in hierarchies():
        if (top / TOP).exists():
            _removed(top / TOP)  # not while another lab is in it
    return left


def _removed(folder) -> bool:
    for _ in range(50):
        try:
            os.rmdir(folder)
            return True
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != 16 or pathlib.Path(folder).name == TOP:  # EBUSY: just emptied
                return False
            time.sleep(0.02)
    return False
