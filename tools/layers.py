#!/usr/bin/env python3
"""Checks who includes whom: the rules of the house (docs/architecture.md), on the files themselves.

CMake keeps a room from including what it does not link; this check keeps the links honest, and
third-party headers in the folders that own them. Exit 1 with one line per violation.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

PURE_BASE = {"base"}
VALUES = {"base", "gpu", "cluster"}
CORE = VALUES | {"config"}
HEART = CORE | {"offer", "mig", "limit", "topology"}
NEEDS = HEART | {"mps", "cdi", "labels", "sizing", "placement", "cost"}
PURE = NEEDS | {"explain", "rollout"}
ADAPTERS = {"nvml", "host", "kube", "kubelet", "http", "tenant"}
SERVICES = {"deviceplugin", "dra", "metrics", "admission", "web"}
WIRING = {"agent", "arbiter", "controller", "cli"}

# room -> rooms it may include (itself is always allowed)
ALLOWED = {"base": set(), "gpu": PURE_BASE, "cluster": PURE_BASE, "config": VALUES}
ALLOWED |= {room: CORE for room in ("offer", "mig", "limit", "topology")}
ALLOWED |= {room: HEART for room in ("mps", "cdi", "labels", "sizing", "placement", "cost")}
ALLOWED |= {"explain": NEEDS, "rollout": NEEDS | {"explain"}}
ALLOWED |= {room: CORE for room in ADAPTERS}
ALLOWED |= {room: PURE for room in SERVICES}
ALLOWED |= {room: PURE | ADAPTERS | SERVICES | WIRING for room in WIRING}
ALLOWED["interpose"] = set()
ALLOWED["load"] = PURE_BASE
ALLOWED["hook"] = {"base", "limit"}

# Rooms inside a room: inner room -> inner rooms of the same outer one that it may include. Beyond
# that an inner room may what the outer one may. It may not include the outer room's own files,
# which stand above it, unless these are named in SHARED.
INNER = {}
SHARED = {}

# single headers allowed beyond the rooms above
ALLOWED_FILES = {
    "interpose": {"limit/wire.h"},
    "tenant": {"limit/wire.h"},
    # Generated from kubelet's interfaces; owned by kubelet/, spoken by the services too.
    **{room: {"kubelet/proto/"} for room in SERVICES},
}

# third-party header prefix -> places (room, or room/file suffix) that may include it
OWNERS = {
    "grpc": ("kubelet/", "_service.cpp", "_service_test.cpp"),
    "google/protobuf": ("kubelet/", "_service.cpp", "_service_test.cpp"),
    "curl/": ("kube/",),
    "httplib": ("http/",),
    "yaml-cpp/": ("base/",),
    "spdlog/": ("base/",),
    "CLI/": ("cli/", "load/main/"),
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
    return header in SHARED.get(own.split("/")[0], set())


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


def main():
    source = ROOT / "src"
    files = sorted(p for p in source.rglob("*") if p.suffix in (".h", ".cpp"))
    found = [line for path in files for line in violations_of(path, source)]
    for line in found:
        print(line, file=sys.stderr)
    print(f"layers: {len(files)} files, {len(found)} violations")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
