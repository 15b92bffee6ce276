"""Removes a lab, however it was left: killed, half built, or without its record. What belongs to it
is known by its folder and its control groups, never by a program's name.

Namespaces, mounts and interfaces of a lab exist only as long as its processes, so they are gone
once those are dead; control groups and files are removed here.
"""

import os
import pathlib
import shutil
import signal
import time

from . import cgroup, linux
from . import settings as s
from .errors import LabError


def take_down(name: str, folder: pathlib.Path) -> None:
    group = f"{cgroup.TOP}/{name}"
    _kill_supervisor(folder)
    left = cgroup.kill(group)
    if left:
        raise LabError(
            f"processes of lab {name} do not end: {', '.join(map(str, sorted(left)))}",
            "they hang in the kernel; try lab/down again later",
        )
    stuck = cgroup.remove(group)
    if stuck:
        raise LabError(f"control groups that cannot be removed: {', '.join(map(str, stuck))}")
    remove_folder(folder)


def exists(name: str, folder: pathlib.Path) -> bool:
    """Whether there is anything to take down."""
    groups = any((top / cgroup.TOP / name).exists() for top in cgroup.hierarchies())
    return groups or (folder / s.FILE).exists()


def _kill_supervisor(folder: pathlib.Path) -> None:
    """Everything in its process namespace ends with it. By pid and start time, as recorded."""
    try:
        _, stored = s.load(folder)
        pid, started = stored["pid"], stored["started"]
    except (LabError, KeyError):
        return  # the control groups know
    if linux.start_time(pid, zombie=True) != started:
        return
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    end = time.monotonic() + 30
    while linux.start_time(pid) == started and time.monotonic() < end:
        time.sleep(0.02)
    linux.wait_collected({pid: started})


def remove_folder(folder: pathlib.Path) -> None:
    """Only what lab/up made: a folder that belongs to no lab is left alone."""
    if not folder.exists():
        return
    if not (folder / s.FILE).exists():
        raise LabError(f"{folder} is no folder of a lab: it stays", f"a lab's folder holds {s.FILE}")
    for point in _mounts_below(folder):
        linux.unmount(point)
    record = folder / s.FILE
    for entry in folder.iterdir():
        if entry == record:
            continue  # last, so that a removal that was cut short can be repeated
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    record.unlink()
    folder.rmdir()
    if folder.parent == s.BASE and not any(s.BASE.iterdir()):
        s.BASE.rmdir()


def _mounts_below(folder: pathlib.Path) -> list[str]:
    """Normally none; removing files through one would be a disaster."""
    prefix = f"{folder.resolve()}/"
    with open("/proc/self/mountinfo") as file:
        points = [line.split()[4].encode().decode("unicode_escape") for line in file]
    return sorted((point for point in points if point.startswith(prefix)), reverse=True)
