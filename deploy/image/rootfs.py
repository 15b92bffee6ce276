"""The files of the agent's image: one program, the shared libraries it needs, and the little of /etc that
the C library and NVIDIA's container toolkit look for.

No shell, no package manager, no certificates (the API server's come with the Pod's token).
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import debian
import elf
from archive import Content, Directory, Source, Symlink

# Names by which the program takes the part of NVIDIA's.
LINKS = ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager", "mps-control-daemon")

# NVIDIA's driver libraries are loaded into this program by name and need these, which the program itself
# may not.
DRIVER_NEEDS = ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")

# The program loads these itself, when it needs them.
LOADED = ("libcurl.so.4", "libssl.so.3")

# Descriptions of the terminals that people have; `tranche top` looks for them where Debian's ncurses-base puts them.
TERMINALS = ("linux", "screen", "screen-256color", "tmux", "tmux-256color", "vt100", "xterm", "xterm-256color")


def stripped(program: Path, architecture: str) -> bytes:
    """Without its symbols, a fifth of it. Nobody has a debugger in the image; a core is read with the program as it
    was built, which has the same build id."""
    triplet = elf.TRIPLETS[architecture]
    strip = f"{triplet}-strip"
    if not shutil.which(strip):
        raise ValueError(f"there is no {strip}; install binutils-{triplet.replace('_', '-')}")
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        command = [strip, "--strip-all", "-o", str(bare), str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"{' '.join(command)}: {done.stderr.strip()}")
        return bare.read_bytes()


def etc(triplet: str, tree: debian.Tree) -> dict[str, Source]:
    version = tree.file("/etc/debian_version")
    return {
        "/etc/passwd": b"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
        "/etc/group": b"root:x:0:\nnonroot:x:65532:\n",
        "/etc/nsswitch.conf": b"hosts: files dns\n",
        # NVIDIA's toolkit puts the driver's libraries into the multiarch folder only where this file is, ...
        "/etc/debian_version": version.read_bytes() if version.exists() else b"12\n",
        # ... and names further folders in ld.so.conf.d.
        "/etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n",
        "/etc/ld.so.conf.d/libraries.conf": f"/lib/{triplet}\n/usr/lib/{triplet}\n".encode(),
        # Scanners tell the distribution by it.
        "/etc/os-release": b'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Tranche on Debian 12 libraries"\n',
    }


def skeleton() -> dict[str, Source]:
    links = {f"/{name}": Symlink(f"usr/{name}") for name in ("bin", "sbin", "lib", "lib64")}
    folders = {
        f"/{name}": Directory() for name in ("dev", "proc", "run", "sys", "usr/sbin", "usr/lib64", "var")
    }
    return {**folders, **links, "/var/run": Symlink("/run"), "/tmp": Directory(0o1777)}


def rootfs(
    program: Path,
    tree: debian.Tree,
    static: Iterable[debian.Package] = (),
    limit_library: Path | None = None,
    top: Path | None = None,
) -> dict[str, Source]:
    """Every file of the image. `tree`: where the shared libraries come from. `static`: packages linked into the
    program, for their copyright notices. `limit_library`: what containers with limits load; the program finds it
    beside its folder, and beside it the container runtime's hook. `top`: tranche-top, which needs no further library."""
    architecture = elf.read(program).architecture
    libraries = elf.libraries(program, (*DRIVER_NEEDS, *LOADED), tree)
    files: dict[str, Source] = {**skeleton(), **etc(elf.TRIPLETS[architecture], tree), **libraries}
    files["/usr/bin/tranche"] = Content(stripped(program, architecture), 0o755)
    files |= {f"/usr/bin/{name}": Symlink("tranche") for name in LINKS}
    described = terminals(tree) if top is not None else {}
    if top is not None:
        files["/usr/bin/tranche-top"] = Content(stripped(top, architecture), 0o755)
        files |= described
    if limit_library is not None:
        files["/usr/lib/libtranche-limit.so"] = beside(limit_library, architecture)
        hook = limit_library.with_name("tranche-limit-hook")
        if hook.exists():
            files["/usr/lib/tranche-limit-hook"] = beside(hook, architecture)
    shared = {package for file in (*libraries.values(), *described.values()) if (package := tree.owner(file))}
    for package in shared:
        files[f"/var/lib/dpkg/status.d/{package.name}"] = package.status().encode()
    for package in {*shared, *static}:
        if notice := package.copyright_file():
            files[f"/usr/share/doc/{package.name}/copyright"] = Content(notice.read_bytes())
    files["/usr/share/doc/tranche/copyright"] = Content((Path(__file__).parents[2] / "LICENSE").read_bytes())
    return files


def terminals(tree: debian.Tree) -> dict[str, Path]:
    found = {}
    for name in TERMINALS:
        path = f"/lib/terminfo/{name[0]}/{name}"
        if not tree.file(path).exists():
            raise ValueError(f"{tree.file(path)} does not exist; install ncurses-base")
        found[tree.place(path)] = tree.file(path)
    return found


def beside(file: Path, architecture: str) -> Content:
    if (found := elf.read(file).architecture) != architecture:
        raise ValueError(f"{file} is of {found}, and the program of {architecture}")
    return Content(file.read_bytes(), 0o755)
