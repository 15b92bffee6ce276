"""What ELF files say of themselves: their architecture, and the shared libraries that they need. They are read and
never run, so the image of another architecture is made the same way."""

import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import debian

MACHINES = {"Advanced Micro Devices X86-64": "amd64", "AArch64": "arm64"}
# Debian's name of an architecture: the compiler's, which is also that of its folder of libraries.
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


@dataclass(frozen=True)
class Elf:
    architecture: str
    loader: str | None  # the program that loads it; None for libraries, and where it is linked statically
    needed: tuple[str, ...]
    runpath: tuple[str, ...]  # folders where they are looked for first

    def folders(self, place: str) -> tuple[str, ...]:
        """Where what this file needs is looked for; `place` is its own folder."""
        triplet = TRIPLETS[self.architecture]
        own = (re.sub(r"\$ORIGIN|\$\{ORIGIN\}", place, folder) for folder in self.runpath)
        return *own, f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib", "/usr/lib"


def read(file: Path) -> Elf:
    with file.open("rb") as content:
        if content.read(4) != b"\x7fELF":
            raise ValueError(f"{file} is not an ELF file")
    command = ["readelf", "--wide", "--file-header", "--program-headers", "--dynamic", str(file)]
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"{' '.join(command)}: {done.stderr.strip()}")
    machine = re.search(r"^ *Machine: +(.*)", done.stdout, flags=re.M)[1]
    if machine not in MACHINES:
        raise ValueError(f"{file}: its machine is {machine}, neither amd64 nor arm64")
    loader = re.search(r"program interpreter: (.*)\]", done.stdout)
    return Elf(
        MACHINES[machine],
        loader[1] if loader else None,
        tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)),
        tuple(
            folder
            for folders in re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", done.stdout)
            for folder in folders.split(":")
        ),
    )


def libraries(program: Path, loaded: Iterable[str], tree: debian.Tree) -> dict[str, Path]:
    """Path in the image -> file of the tree: what the program needs, what it loads by name, what these need in their
    turn, and the loader. They are looked for as the loader does (ld.so(8))."""
    elf = read(program)
    found: dict[str, Path] = {}
    seen = set()
    todo = [(name, program, elf.folders("/usr/bin")) for name in (*elf.needed, *loaded)]
    if elf.loader:
        # By the path that the program names, and not again where a library needs it.
        where, _, name = elf.loader.rpartition("/")
        todo.append((name, program, (where,)))
    while todo:
        name, wanting, folders = todo.pop()
        if name in seen:
            continue
        seen.add(name)  # whoever needs it: the loader loads one of a name
        places = (tree.place(f"{folder}/{name}") for folder in folders)
        place = next((place for place in places if tree.file(place).exists()), None)
        if place is None:
            raise ValueError(f"{wanting} needs {name}, which is not in {tree.root}; {tree.remedy}")
        found[place] = file = tree.file(place)
        library = read(file)
        if library.architecture != elf.architecture:
            raise ValueError(f"{file} is of {library.architecture}, and {program} of {elf.architecture}")
        below = library.folders(str(Path(place).parent))
        todo += [(needed, file, below) for needed in library.needed]
    return found
