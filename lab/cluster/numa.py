"""The NUMA nodes of a simulated machine for kubelet: a stand-in of /sys/devices/system/node, so
that the topology manager has to choose between them. This machine's processors and memory are
divided evenly; a node may have no processor."""

import os
import pathlib
import re

FOLDER = "/sys/devices/system/node"


def write(target: pathlib.Path, count: int) -> None:
    """Fills `target` with `count` nodes. Links of processors lead to /sys/devices/system/cpu when it is
    mounted at FOLDER."""
    processors = sorted(os.sched_getaffinity(0))
    names = list(range(count))
    target.mkdir(parents=True, exist_ok=True)
    everything = f"0-{count - 1}" if count > 1 else "0"
    for file in ("online", "possible", "has_normal_memory", "has_memory"):
        (target / file).write_text(f"{everything}\n")
    with_processor = [str(node) for node in names if processors[node::count]]
    (target / "has_cpu").write_text(",".join(with_processor) + "\n")
    for node in names:
        _write_node(target / f"node{node}", node, count, processors[node::count])


def _write_node(folder: pathlib.Path, node: int, count: int, processors: list[int]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "cpulist").write_text(",".join(map(str, processors)) + "\n")
    (folder / "cpumap").write_text(f"{sum(1 << one for one in processors):x}\n")
    (folder / "distance").write_text(" ".join("10" if node == one else "20" for one in range(count)) + "\n")
    (folder / "meminfo").write_text(_memory(node, count))
    (folder / "hugepages").mkdir(exist_ok=True)
    for one in processors:
        link = folder / f"cpu{one}"
        if not link.is_symlink():
            link.symlink_to(f"../../cpu/cpu{one}")


def _memory(node: int, count: int) -> str:
    lines = []
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        found = re.fullmatch(r"(\w+):\s+(\d+) kB", line)
        if found and found[1] in ("MemTotal", "MemFree"):
            lines.append(f"Node {node} {found[1]}: {int(found[2]) // count} kB")
    return "\n".join(lines) + "\n"
