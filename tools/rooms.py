"""The rooms of src/ (src/rooms.list): where each stands, and what it may include."""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Rooms:
    groups: dict[str, set[str]]  # with groups opened up
    wings: dict[str, str]  # room -> the folder of src/ that it stands in
    allowed: dict[str, set[str]]  # room -> rooms that it may include (itself is always allowed)
    allowed_files: dict[str, set[str]]  # room -> headers and folders beyond those rooms
    inner: dict[str, set[str]]  # room inside ("agent/loop") -> those of its outer room

    def folder(self, room):
        """Where a room stands, relative to src/: "programs/agent/loop" of "agent/loop"."""
        return f"{self.wings[room.split('/')[0]]}/{room}"

    def relative(self, path, source):
        """The include name of a file: "agent/loop/state.h"; None outside of every wing."""
        wing, *rest = path.relative_to(source).parts
        return "/".join(rest) if len(rest) > 1 and wing in self.wings.values() else None


def parse(text):
    rooms = Rooms({}, {}, {}, {}, {})

    def opened(names):
        return {room for name in names for room in rooms.groups.get(name, {name})}

    for line in text.splitlines():
        if not (line := line.split("#")[0].strip()):
            continue
        name, _, rest = line.partition(":")
        names = rest.split()
        if name.startswith("group "):
            rooms.groups[name.removeprefix("group ")] = opened(names)
            continue
        wing, room, *inner = name.split("/")
        if inner:
            full = f"{room}/{inner[0]}"
            rooms.inner[full] = {n if n == room else f"{room}/{n}" for n in names}
            continue
        rooms.wings[room] = wing
        rooms.allowed_files[room] = {n for n in names if "/" in n}
        rooms.allowed[room] = opened(n for n in names if "/" not in n)
    return rooms


def read(root=ROOT):
    rooms = parse((root / "src" / "rooms.list").read_text())
    # One room a protocol of the MPS daemon, by the list that CMake and C++ read.
    protocols = root / "src" / rooms.folder("mps") / "protocols.def"
    for name in re.findall(r"^PROTOCOL\((\w+)\)", protocols.read_text(), re.M):
        rooms.inner[f"mps/{name}"] = {"mps"}
    return rooms
