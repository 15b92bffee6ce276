#!/usr/bin/env python3
"""Checks who includes whom: the rules of the house (docs/architecture.md), on the files themselves.

CMake keeps a room from including what it does not link; this check keeps the links honest, and
third-party headers in the folders that own them. It also finds circles: files, or folders, that
need each other both ways. Exit 1 with one line per violation.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

PURE_BASE = {"base"}
FOUNDATION = {"base", "values", "gpu", "cluster"}
CORE = FOUNDATION | {"config"}
HEART = CORE | {"offer", "mig", "limit", "topology"}
NEEDS = HEART | {"mps", "cdi", "labels", "sizing", "placement", "cost"}
PURE = NEEDS | {"explain", "rollout"}
ADAPTERS = {"nvml", "host", "kube", "kubelet", "http", "tenant"}
SERVICES = {"deviceplugin", "dra", "metrics", "admission", "web"}
WIRING = {"agent", "arbiter", "controller", "cli"}

# room -> rooms it may include (itself is always allowed)
ALLOWED = {"base": set(), "config": FOUNDATION}
ALLOWED |= {room: PURE_BASE for room in ("values", "gpu", "cluster")}
ALLOWED |= {room: CORE for room in ("offer", "mig", "limit", "topology")}
ALLOWED |= {room: HEART for room in ("mps", "cdi", "labels", "sizing", "placement", "cost")}
ALLOWED |= {"explain": NEEDS, "rollout": NEEDS | {"explain"}}
ALLOWED |= {room: CORE for room in ADAPTERS}
ALLOWED |= {room: PURE for room in SERVICES}
# Values in, values out: what serves it on the wire stands in the wiring. So lint may ask it what
# becomes of a manifest.
ALLOWED["admission"] = CORE
ALLOWED["explain"] = NEEDS | {"admission"}
# The wiring rooms make adapters, and none of them includes another, but for the command line, which
# starts them.
ALLOWED |= {room: PURE | ADAPTERS | SERVICES | {"process"} for room in WIRING}
ALLOWED["cli"] |= WIRING
ALLOWED["interpose"] = set()
ALLOWED["load"] = PURE_BASE
ALLOWED["hook"] = {"base", "values", "limit"}
ALLOWED["process"] = PURE_BASE

# Rooms inside a room: inner room -> inner rooms of the same outer one that it may include. Beyond
# that an inner room may what the outer one may. It may not include the outer room's own files,
# which stand above it, unless the outer room's name is in the list, where it is the inner room that
# stands above.
INNER = {
    "arbiter/kernel": {"arbiter"},
    "arbiter/hook": {"arbiter"},
    "arbiter/pause": {"arbiter"},
    "arbiter/run": {"arbiter", "arbiter/kernel", "arbiter/hook", "arbiter/pause"},
    "admission/quota": {"admission"},
    "agent/loop": set(),
    "agent/node": set(),
    "agent/hardware": set(),
    "agent/plugins": {"agent/loop"},
    "agent/promises": {"agent/loop", "agent/node"},
    "agent/health": {"agent/loop", "agent/node"},
    "agent/serving": {"agent/loop", "agent/node", "agent/plugins"},
    "agent/config": {"agent/node"},
    "agent/labels": {"agent/loop", "agent/node"},
    "agent/limits": {"agent/loop", "agent/node", "agent/plugins"},
    "agent/mig": {"agent/loop", "agent/node", "agent/serving"},
    "agent/mps": {"agent/config", "agent/hardware", "agent/loop", "agent/node"},
    "agent/dra": {"agent/limits", "agent/loop", "agent/plugins"},
    "agent/cleanup": {"agent/config", "agent/labels", "agent/limits", "agent/node"},
    "agent/compat": {"agent/config", "agent/labels", "agent/node"},
    "cluster/snapshot": {"cluster"},
    "explain/lint": set(),
    "config/flags": {"config"},
    "config/file": {"config", "config/flags"},
    "config/programs": {"config", "config/flags", "config/file"},
}

# One room a protocol, by the list that CMake and C++ read.
PROTOCOLS = (ROOT / "src" / "mps" / "protocols.def").read_text()
INNER |= {f"mps/{name}": {"mps"} for name in re.findall(r"^PROTOCOL\((\w+)\)", PROTOCOLS, re.M)}

# single headers allowed beyond the rooms above
ALLOWED_FILES = {
    "interpose": {"limit/wire.h", "limit/part_format.h", "values/enforcement.h"},
    "tenant": {"limit/wire.h"},
    # Generated from kubelet's interfaces, and the server on a socket in its folders; owned by
    # kubelet/, spoken by the services too.
    **{
        room: {"kubelet/proto/", "kubelet/socket_server.h", "kubelet/server_call.h"}
        for room in SERVICES - {"admission"}
    },
}

# third-party header prefix -> places (room, or room/file suffix) that may include it
OWNERS = {
    "grpc": ("kubelet/", "_service.cpp", "_service_test.cpp"),
    "absl/": ("kubelet/",),
    "google/protobuf": ("kubelet/", "_service.cpp", "_service_test.cpp"),
    "curl/": ("kube/",),
    "event2/": ("http/",),
    "openssl/": ("http/",),
    "yaml-cpp/": ("base/",),
    "spdlog/": ("base/",),
    "CLI/": ("cli/", "load/main/"),
    # docs/decisions/0016-json-values.md
    "nlohmann/": ("base/canonical_json.cpp", "_test.cpp"),
}

# Files that still need each other both ways, one set for each group. The list only shrinks: what
# no circle needs any more is an error.
KNOWN_CIRCLES = ()

# The simulated machine (sim/README.md): room -> rooms of sim/ that it may include. Of src/ it uses
# base/ alone.
SIM = {"machine": set(), "state": {"machine"}, "gpu": {"state", "machine"}}
SIM |= {room: {"gpu", "state", "machine"} for room in ("nvml", "cuda", "mps", "smi", "cli")}
SIM_FILES = {
    "cuda": {"mps/wire.h"},  # a client speaks with the MPS programs
    "smi": {"nvml/abi.h"},  # a program of that library
    "cli": {"cuda/errors.def"},  # names of errors to inject
}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.M)


def inner_room_of(relative):
    """ "agent/config" of "agent/config/source.h"; "" for what stands in the outer room itself."""
    room = "/".join(relative.split("/")[:2])
    return room if room in INNER else ""


def allowed_inside(relative, header):
    """Whether a file may include a header of its own outer room."""
    own, target = inner_room_of(relative), inner_room_of(header)
    if not own or own == target:
        return True
    if target:
        return target in INNER[own]
    return own.split("/")[0] in INNER[own]


def allowed(relative, room, header):
    target = header.split("/", 1)[0]
    if target == room:
        return allowed_inside(relative, header)
    if target in ALLOWED.get(room, set()):
        return True
    return any(header.startswith(prefix) for prefix in ALLOWED_FILES.get(room, ()))


def violations_of(path, source):
    relative = path.relative_to(source).as_posix()
    room = relative.split("/", 1)[0]
    if room not in ALLOWED:
        yield f"src/{relative}: no room '{room}' in the plan of the house (tools/layers.py)"
        return
    for header in INCLUDE.findall(path.read_text()):
        target = header.split("/", 1)[0]
        if (source / target).is_dir() and "/" in header and not allowed(relative, room, header):
            yield f"src/{relative}: {inner_room_of(relative) or room}/ may not include {header}"
        if target in ("sim", "lab"):
            yield f"src/{relative}: src/ may not include {header}; sim/ is reached by dlopen only"
        for prefix, owners in OWNERS.items():
            if header.startswith(prefix) and not any(
                relative.startswith(o) or relative.endswith(o) for o in owners
            ):
                yield f"src/{relative}: {header} belongs to {' or '.join(owners)}"


def is_test(path):
    """Nothing includes a test: it is in no circle of files, and may look at any room it links."""
    return path.stem.endswith(("_test", "_fuzz", "_bench"))


def unit_of(path):
    """A header and its source are one: "room/file"; another file (hooks.def) is itself."""
    return (path.with_suffix("") if path.suffix in (".h", ".cpp") else path).as_posix()


def graphs_of(files, source):
    """Who needs whom, as {node: {node it needs: file that says so}}: of files, of folders."""
    units, folders = {}, {}
    for path in (p for p in files if not is_test(p)):
        relative = path.relative_to(source)
        for header in map(pathlib.PurePosixPath, INCLUDE.findall(path.read_text())):
            if not (source / header).is_file():
                continue
            by_file = unit_of(relative), unit_of(header)
            by_folder = relative.parent.as_posix(), header.parent.as_posix()
            for graph, (one, other) in ((units, by_file), (folders, by_folder)):
                if one != other:
                    graph.setdefault(one, {}).setdefault(other, relative.as_posix())
    return units, folders


def ways_from(graph, start):
    """{node that `start` needs, through others too: the shortest way there, without `start`}."""
    ways, ahead = {}, [(start, [])]
    for node, way in ahead:
        for other in sorted(graph.get(node, ())):
            if other not in ways:
                ways[other] = [*way, other]
                ahead.append((other, ways[other]))
    return ways


def circles_of(graph):
    """Groups of nodes that need each other, each with one circle in it: [(set, [node...])]."""
    ways = {node: ways_from(graph, node) for node in sorted(graph)}
    circles, seen = [], set()
    for node in ways:
        if node in ways[node] and node not in seen:
            group = {other for other in ways[node] if node in ways.get(other, ())}
            seen |= group
            circles.append((group, [node, *ways[node][node]]))
    return circles


def circle_violations(files, source, known_circles):
    units, folders = graphs_of(files, source)
    known = set().union(*known_circles)
    in_circles = set()
    for what, graph in (("files", units), ("folders", folders)):
        for group, way in circles_of(graph):
            in_circles |= group
            if not any(group <= known_group for known_group in known_circles):
                steps = (f" -> {b} ({graph[a][b]})" for a, b in zip(way, way[1:]))
                yield f"{what} need each other: {way[0]}{''.join(steps)}"
    for unit in sorted(known - in_circles):
        yield f"{unit} is in no circle any more: take it out of KNOWN_CIRCLES (tools/layers.py)"


def violations_in(source):
    """How many files there are, and what is wrong with them."""
    files = sorted(p for p in source.rglob("*") if p.suffix in (".h", ".cpp"))
    found = [line for path in files for line in violations_of(path, source)]
    return len(files), found + list(circle_violations(files, source, KNOWN_CIRCLES))


def sim_violations_of(path, root):
    relative = path.relative_to(root / "sim").as_posix()
    room = relative.split("/", 1)[0]
    if room not in SIM:
        yield f"sim/{relative}: stands in no room of sim/ (tools/layers.py)"
        return
    for header in INCLUDE.findall(path.read_text()):
        target, _, rest = header.partition("/")
        if target == "sim":
            own = rest.split("/", 1)[0] in SIM[room] | {room} or rest in SIM_FILES.get(room, ())
        else:
            own = target == "base" or not (rest and (root / "src" / target).is_dir())
        if not own:
            yield f"sim/{relative}: sim/{room}/ may not include {header}"


def sim_violations_in(root):
    """The same of the simulated machine, where no circle is left."""
    files = sorted(p for p in (root / "sim").rglob("*") if p.suffix in (".h", ".cpp"))
    found = [line for path in files for line in sim_violations_of(path, root)]
    return len(files), found + list(circle_violations(files, root, ()))


def main():
    counts, found = zip(violations_in(ROOT / "src"), sim_violations_in(ROOT), strict=True)
    count, found = sum(counts), [line for part in found for line in part]
    for line in found:
        print(line, file=sys.stderr)
    print(f"layers: {count} files, {len(found)} violations")
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
