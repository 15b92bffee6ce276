#!/usr/bin/env python3
"""Checks who includes whom: the rules of the house (src/rooms.list), on the files themselves.

CMake keeps a room from including what it does not link; this check keeps the links honest, and
third-party headers in the folders that own them. It also finds circles: files, or folders, that
need each other both ways. Exit 1 with one line per violation.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import rooms  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

ROOMS = rooms.read()
ALLOWED, ALLOWED_FILES, INNER = ROOMS.allowed, ROOMS.allowed_files, ROOMS.inner

# third-party header prefix -> places (room, or room/file suffix) that may include it
OWNERS = {
    "grpc": ("kubelet/", "_service.cpp", "_service_test.cpp"),
    "absl/": ("kubelet/",),
    "google/protobuf": ("kubelet/", "_service.cpp", "_service_test.cpp"),
    "curl/": ("kube/",),
    "event2/": ("http/",),
    "openssl/": ("http/",),
    "zlib.h": ("http/",),
    "yaml-cpp/": ("base/",),
    "spdlog/": ("base/",),
    "CLI/": ("cli/", "load/main/"),
    "ncursesw/": ("top/screen/",),
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
    place = path.relative_to(source).as_posix()
    relative = ROOMS.relative(path, source)
    if relative is None:
        yield f"src/{place}: stands in no room of src/rooms.list"
        return
    room = relative.split("/", 1)[0]
    if ROOMS.wings.get(room) != place.split("/", 1)[0]:
        yield f"src/{place}: no room '{room}' stands there by src/rooms.list"
        return
    for header in INCLUDE.findall(path.read_text()):
        target = header.split("/", 1)[0]
        if target in ALLOWED and "/" in header and not allowed(relative, room, header):
            yield f"src/{place}: {inner_room_of(relative) or room}/ may not include {header}"
        if target in ("sim", "lab"):
            yield f"src/{place}: src/ may not include {header}; sim/ is reached by dlopen only"
        for prefix, owners in OWNERS.items():
            if header.startswith(prefix) and not any(
                relative.startswith(o) or relative.endswith(o) for o in owners
            ):
                yield f"src/{place}: {header} belongs to {' or '.join(owners)}"


def is_test(path):
    """Nothing includes a test: it is in no circle of files, and may look at any room it links."""
    return path.stem.endswith(("_test", "_fuzz", "_bench"))


def unit_of(path):
    """A header and its source are one: "room/file"; another file (hooks.def) is itself."""
    return (path.with_suffix("") if path.suffix in (".h", ".cpp") else path).as_posix()


def name_of(path, source):
    """As files include it: without the wing, where it stands in one."""
    return pathlib.PurePosixPath(ROOMS.relative(path, source) or path.relative_to(source))


def graphs_of(files, source):
    """Who needs whom, as {node: {node it needs: file that says so}}: of files, of folders."""
    units, folders = {}, {}
    names = {path: name_of(path, source) for path in files}
    there = set(names.values()) | {name_of(p, source) for p in source.rglob("*.def")}
    for path in (p for p in files if not is_test(p)):
        relative = names[path]
        for header in map(pathlib.PurePosixPath, INCLUDE.findall(path.read_text())):
            if header not in there:
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
            own = target == "base" or not (rest and target in ALLOWED)
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
