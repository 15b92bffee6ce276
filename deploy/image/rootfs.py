"""The files of the agent's image: one program, the shared libraries it needs, and the little of /etc that
the C library and NVIDIA's container toolkit look for.

No shell, no package manager, no certificates (the API server's come with the Pod's token).
"""

import re
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import debian
from archive import Content, Directory, Source, Symlink

# Names by which the program takes the part of NVIDIA's.
LINKS = ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager", "mps-control-daemon")

# NVIDIA's driver libraries are loaded into this program by name and need these, which the program itself
# may not.
DRIVER_NEEDS = ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")

# The program loads these itself, when it needs them; Debian's package of each.
LOADED = {"libcurl.so.4": "libcurl4", "libssl.so.3": "libssl3"}

MACHINES = {0x3E: ("amd64", "x86_64-linux-gnu"), 0xB7: ("arm64", "aarch64-linux-gnu")}


def architecture(program: Path) -> tuple[str, str]:
    """Debian's name of the program's architecture, and its folder of libraries."""
    head = program.open("rb").read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        raise ValueError(f"{program} is not an ELF file")
    (machine,) = struct.unpack_from("<H", head, 18)
    if machine not in MACHINES:
        raise ValueError(f"{program}: machine {machine:#x} is neither amd64 nor arm64")
    return MACHINES[machine]


def stripped(program: Path) -> bytes:
    """Without its symbols, a fifth of it. Nobody has a debugger in the image; a core is read with the program as it
    was built, which has the same build id."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare"
        command = ["strip", "--strip-all", "-o", str(bare), str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"{' '.join(command)}: {done.stderr.strip()}")
        return bare.read_bytes()


def shared_libraries(program: Path) -> dict[str, Path]:
    """Path in the image -> file of this machine, of everything the loader would load, and the loader."""
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if (
        done.returncode != 0
        and "statically linked" not in done.stdout + done.stderr
        and "not a dynamic" not in done.stderr
    ):
        raise ValueError(
            f"ldd {program}: {done.stderr.strip() or done.stdout.strip()}; "
            "build the image on a machine of the program's architecture"
        )
    libraries = {}
    for line in done.stdout.splitlines():
        if "not found" in line:
            raise ValueError(
                f"{program} needs {line.split()[0]}, which this machine has not; install its package"
            )
        if found := re.search(r"(?:=> )?(/\S+) \(0x", line):
            file = Path(found[1])
            libraries[str(file.parent.resolve() / file.name)] = file.resolve()
    return libraries


def driver_libraries(triplet: str) -> dict[str, Path]:
    folder = Path("/usr/lib") / triplet
    missing = [name for name in DRIVER_NEEDS if not (folder / name).exists()]
    if missing:
        raise ValueError(f"{folder} has no {', '.join(missing)}; install libc6")
    return {str(folder / name): (folder / name).resolve() for name in DRIVER_NEEDS}


def loaded_libraries(triplet: str) -> dict[str, Path]:
    """What the program loads by name, and what that needs."""
    libraries = {}
    for name, package in LOADED.items():
        file = Path("/usr/lib") / triplet / name
        if not file.exists():
            raise ValueError(f"{file} does not exist; install {package}")
        libraries |= {str(file): file.resolve(), **shared_libraries(file)}
    return libraries


def etc(triplet: str) -> dict[str, Source]:
    version = Path("/etc/debian_version")
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
    program: Path, static_packages: Mapping[str, str] | tuple = (), limit_library: Path | None = None
) -> dict[str, Source]:
    """Every file of the image. `static_packages`: Debian packages linked into the program, for their
    copyright notices. `limit_library`: what containers with limits load; the program finds it beside its
    folder, and beside it the container runtime's hook."""
    _, triplet = architecture(program)
    libraries = {**driver_libraries(triplet), **loaded_libraries(triplet), **shared_libraries(program)}
    files: dict[str, Source] = {**skeleton(), **etc(triplet), **libraries}
    files["/usr/bin/tranche"] = Content(stripped(program), 0o755)
    files |= {f"/usr/bin/{name}": Symlink("tranche") for name in LINKS}
    if limit_library is not None:
        if architecture(limit_library) != architecture(program):
            raise ValueError(f"{limit_library} is of another architecture than {program}")
        files["/usr/lib/libtranche-limit.so"] = Content(limit_library.read_bytes(), 0o755)
        hook = limit_library.with_name("tranche-limit-hook")
        if hook.exists():
            files["/usr/lib/tranche-limit-hook"] = Content(hook.read_bytes(), 0o755)
    shared = sorted({name for file in libraries.values() if (name := debian.owner(file))})
    for name in shared:
        files[f"/var/lib/dpkg/status.d/{name}"] = debian.status(name).encode()
    for name in sorted({*shared, *static_packages}):
        if notice := debian.copyright_file(name):
            files[f"/usr/share/doc/{name}/copyright"] = Content(notice.read_bytes())
    files["/usr/share/doc/tranche/copyright"] = Content((Path(__file__).parents[2] / "LICENSE").read_bytes())
    return files
