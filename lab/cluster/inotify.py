"""The kernel's limit of inotify instances, of which the programs of each node take some, all as root."""

import pathlib

A_NODE = 12  # about: as seen on a lab
_LIMIT = pathlib.Path("/proc/sys/fs/inotify/max_user_instances")


def warning(limit: int, used: int, nodes: int) -> str:
    """What to say before nodes are made that may not find enough instances; empty: nothing."""
    wanted = used + A_NODE * nodes
    if wanted <= limit:
        return ""
    return (
        f"{nodes} nodes take about {A_NODE * nodes} inotify instances, and {max(limit - used, 0)} of {limit} are free: "
        f"`sysctl fs.inotify.max_user_instances={max(512, 2 * wanted)}` where programs end with `too many open files`"
    )


def limit() -> int:
    return int(_LIMIT.read_text())


def used() -> int:
    """Of root, as far as /proc tells: programs come and go meanwhile."""
    count = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == 0:
                count += sum(str(one.readlink()) == "anon_inode:inotify" for one in (process / "fd").iterdir())
        except OSError:
            continue
    return count
