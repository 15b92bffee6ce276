"""Which Debian packages are in a program though no shared library shows them: archives that were linked,
and headers that were compiled in. Asked of the build folder, not guessed."""

import re
import shlex
import subprocess
from pathlib import Path

import debian


def static_packages(build: Path, target: str, tree: debian.Tree) -> dict[debian.Package, str]:
    """Package -> how it got in: "archive" or "headers". The tree is what the build folder compiled against."""
    if not (build / "build.ninja").exists():
        raise ValueError(
            f"{build} has no build.ninja: the list of what is linked into the program comes from it; "
            "name the build folder with --build"
        )
    found = {}
    for file in compiled_headers(build, target):
        if package := tree.owner(file):
            found[package] = "headers"
    for file in linked_archives(build, target):
        if package := tree.owner(file):
            found[package] = "archive"
    # Declarations of the shared C library and of the kernel.
    return {
        package: how
        for package, how in sorted(found.items())
        if not re.fullmatch(r"(libc6-dev|linux-libc-dev)(-\w+-cross)?", package.name)
    }


def linked_archives(build: Path, target: str) -> list[Path]:
    command = _ninja(build, "commands", target).splitlines()[-1]
    words = shlex.split(command.replace("&&", " "))
    archives = [Path(word) for word in words if word.startswith("/") and word.endswith(".a")]
    compiler = next((word for word in words if re.search(r"(g\+\+|clang\+\+)[-0-9]*$", word)), "g++")
    for switch, archive in (("-static-libstdc++", "libstdc++.a"), ("-static-libgcc", "libgcc.a")):
        if switch in words or "-static" in words:
            archives.append(_compilers_file(compiler, archive))
    return archives


def compiled_headers(build: Path, target: str) -> set[Path]:
    """Headers of packages that the target's objects were compiled from."""
    objects = {line for line in inputs(build, target) if line.endswith(".o")}
    headers, current = set(), False
    for line in _ninja(build, "deps").splitlines():
        if line and not line.startswith(" "):
            current = line.split(":", 1)[0] in objects
        elif current and "/usr/" in line:
            headers.add(build / line.strip())  # some are relative: ../arm64-root/usr/include
    return headers


def inputs(build: Path, target: str) -> list[str]:
    """Files that the target is made of, those of the build folder relative to it."""
    return _ninja(build, "inputs", target).splitlines()


def _compilers_file(compiler: str, name: str) -> Path:
    done = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def _ninja(build: Path, tool: str, *arguments: str) -> str:
    done = subprocess.run(
        ["ninja", "-C", str(build), "-t", tool, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise ValueError(f"ninja -C {build} -t {tool}: {(done.stderr or done.stdout).strip()}")
    return done.stdout
