"""The lab's images, made of files of this machine without a registry, as docker archives.

tranche-lab/pause   the sandbox of every Pod
lab-static          busybox: whatever needs no C library
lab-glibc           a shell, the usual tools, the C library and tranche-load, with stand-ins of the programs
                    that published GPU manifests call; it also goes by the names in such manifests
tranche             the agent's own (deploy/image)
"""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

from . import containerd
from .errors import LabError
from .paths import ROOT

STATIC = "lab-static:1"
GLIBC = "lab-glibc:1"
AGENT = "tranche:lab"
_BUSYBOX = "/bin/busybox"
_TOOLS = (
    *("bash", "cat", "chmod", "cp", "cut", "date", "env", "find", "grep", "head", "id", "ls", "mkdir"),
    *("mv", "nproc", "readlink", "rm", "sed", "seq", "sleep", "sort", "stat", "tail", "tee", "timeout"),
    *("touch", "tr", "true", "uname", "wc", "ps", "kill", "ldd", "getconf"),
)
_C_LIBRARY = ("libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2")
# Programs of published test images, as far as simulated GPUs can stand in for them.
_DEVICE_QUERY = """#!/bin/bash
# Stands in for CUDA's deviceQuery: what NVML tells of the GPUs this container sees.
set -e
lines=$(nvidia-smi --query-gpu=uuid,name,memory.total --format=csv,noheader)
[ -n "$lines" ] || { echo "no CUDA-capable device is detected"; exit 1; }
count=0
while IFS=, read -r uuid name memory; do
  echo "Device $count: \\"${name# }\\""
  echo "  UUID: $uuid"
  echo "  Total amount of global memory: ${memory# }"
  count=$((count + 1))
done <<<"$lines"
echo "Result = PASS"
"""
_DCGM_TESTER = """#!/bin/bash
# Stands in for DCGM's load generator: keeps the GPU busy for the time that -d asks for. The 60 MiB and
# a context are what one process of NVIDIA's holds where the manual shows it.
set -e
seconds=300
while [ $# -gt 0 ]; do
  [ "$1" != -d ] || seconds=$2
  shift
done
nvidia-smi -L
exec tranche-load storm --memory 60Mi --kernel 20ms --depth 4 --duration "${seconds}s"
"""
_STAND_INS = {
    "/usr/local/cuda-12.5/extras/demo_suite/deviceQuery": _DEVICE_QUERY,
    "/usr/bin/dcgmproftester11": _DCGM_TESTER,
}
_IMAGE_LINE = re.compile(r"""^\s*(?:-\s+)?image:\s*["']?([^\s"'#]+)""", re.MULTILINE)


def _archive():
    """deploy/image/archive.py, which is no package."""
    name = "tranche_image_archive"
    if name not in sys.modules:
        file = ROOT / "deploy" / "image" / "archive.py"
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def write_pause(path: pathlib.Path, build: pathlib.Path) -> None:
    program = build / "bin" / "tranche-lab-pause"
    files = {"/pause": program}
    _archive().write_archive(path, tags=[containerd.PAUSE], files=files, entrypoint=["/pause"])


def write_static(path: pathlib.Path) -> None:
    archive = _archive()
    done = subprocess.run([_BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    files = {"/bin/busybox": _BUSYBOX, "/tmp": archive.Directory(0o1777)}
    files["/etc/passwd"] = b"root:x:0:0:root:/root:/bin/sh\n"
    files["/etc/group"] = b"root:x:0:\n"
    for applet in done.stdout.split():
        if applet != "busybox":
            files[f"/bin/{applet}"] = archive.Symlink("busybox")
    archive.write_archive(path, tags=[STATIC], files=files, cmd=["/bin/sh"], env=_PATH)


def write_glibc(path: pathlib.Path, tags: list[str], build: pathlib.Path) -> None:
    archive = _archive()
    programs = [found for name in _TOOLS if (found := shutil.which(name, path="/usr/bin:/bin"))]
    programs.append(str(build / "bin" / "tranche-load"))
    files = {f"/usr/bin/{pathlib.Path(one).name}": one for one in programs}
    libraries = libraries_of(programs)
    files |= libraries | _rest_of_c_library(libraries)
    files["/usr/bin/sh"] = archive.Symlink("bash")
    for link in ("bin", "lib", "lib64", "sbin"):
        files[f"/{link}"] = archive.Symlink(f"usr/{link}")
    files["/etc/passwd"] = b"root:x:0:0:root:/root:/bin/sh\n"
    files["/etc/group"] = b"root:x:0:\n"
    files["/tmp"] = archive.Directory(0o1777)
    files["/usr/sbin"] = archive.Directory()
    for name, text in _STAND_INS.items():
        files[name] = archive.Content(text.encode(), 0o755)
    # A separate id for each set of names. Kubelet does not accept another name for an id that it
    # pulled (its record of pulled images), so it would try to pull lab-glibc, which no registry
    # has.
    labels = {"tranche.dev/lab-names": " ".join(tags)}
    archive.write_archive(path, tags=tags, files=files, cmd=["/bin/bash"], env=_PATH, labels=labels)


_PATH = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


def write_program(path: pathlib.Path, tags: list[str], files: dict[str, pathlib.Path]) -> None:
    """An image of programs that are linked statically, and nothing else. `files`: place: file."""
    _archive().write_archive(path, tags=tags, files=files, env=_PATH)


def libraries_of(programs: list[str]) -> dict[str, str]:
    """Shared libraries and the loader, by the place where the programs look for them."""
    files = {}
    for program in programs:
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            continue  # a script, or linked statically
        for path in re.findall(r"(/\S+) \(0x", done.stdout):
            place = path if path.startswith("/usr/") else f"/usr{path}"
            files[place] = path
    return files


def _rest_of_c_library(libraries: dict[str, str]) -> dict[str, str]:
    """The other parts of the C library next to libc.so.6, which programs from elsewhere, like the
    driver's, need."""
    [libc] = [place for place in libraries if place.endswith("/libc.so.6")]
    places = [f"{libc.rpartition('/')[0]}/{name}" for name in _C_LIBRARY]
    return {place: place for place in places if pathlib.Path(place).exists()}


def write_agent(path: pathlib.Path, build: pathlib.Path) -> None:
    """The agent's image as it is shipped, tagged AGENT."""
    program = [ROOT / "deploy" / "image" / "build", "--tranche", build / "bin" / "tranche"]
    command = [*program, "--output", path, "--tag", AGENT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(done.stderr.strip() or "deploy/image/build failed", "see docs/lab.md")


def names_in(manifest: str) -> list[str]:
    """The image names of a manifest, each with a tag."""
    names = dict.fromkeys(_IMAGE_LINE.findall(manifest))
    digests = [name for name in names if "@" in name]
    if digests:
        raise LabError(
            f"image {digests[0]} is named by digest, and another image cannot go by its name",
            "name it by a tag",
        )
    return [name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest" for name in names]
