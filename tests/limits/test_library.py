"""libtranche-limit.so as a file: what it needs of the C library, what it exports, and programs that
have nothing to do with GPUs."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import cuda_hooks  # noqa: E402

LIBRARY = pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve() / "lib" / "libtranche-limit.so"
LOOKUPS = {"dlsym", "dlvsym", "dlmopen"}


def dynamic_symbols() -> list[tuple[bool, str, str]]:
    """(defined, name, version)."""
    lines = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", str(LIBRARY)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    found = []
    for line in lines:
        fields = line.split()
        if len(fields) < 8 or fields[3] == "SECTION" or not fields[0].endswith(":") or not fields[0][:-1].isdigit():
            continue
        name, _, version = fields[7].partition("@")
        if name:
            found.append((fields[6] != "UND", name, version.strip("@")))
    return found


def header_folder() -> pathlib.Path:
    import importlib.util

    package = importlib.util.find_spec("nvidia")
    assert package is not None and package.submodule_search_locations, "nvidia-cuda-runtime is missing"
    for place in package.submodule_search_locations:
        for header in pathlib.Path(place).glob("cu*/include/cudaTypedefs.h"):
            return header.parent
    raise AssertionError("cudaTypedefs.h is not in the package")


def test_it_needs_libc_alone():
    text = subprocess.run(["readelf", "-d", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"NEEDED.*\[(.*)\]", text) == ["libc.so.6"]
    assert "TEXTREL" not in text


def test_nothing_of_ours_runs_when_a_program_starts():
    """One function of the compiler's own start files is in the list. Another one would be a
    constructor, with time and memory in each program of the container."""
    text = subprocess.run(["readelf", "--sections", "--wide", str(LIBRARY)], capture_output=True, text=True, check=True)
    (size,) = re.findall(r" \.init_array +INIT_ARRAY +\w+ \w+ (\w+)", text.stdout)
    assert int(size, 16) == 8


def test_it_asks_for_no_newer_libc_than_2_17():
    wanted = [(name, version) for defined, name, version in dynamic_symbols() if not defined and version]
    assert wanted
    for name, version in wanted:
        number = tuple(int(n) for n in re.findall(r"\d+", version))
        assert number <= (2, 17), f"{name}@{version}"


def test_it_binds_nothing_that_moved_between_libraries():
    """pthread_create and dlopen have new versions since glibc 2.34, in another library."""
    wanted = {name for defined, name, _ in dynamic_symbols() if not defined}
    assert not {name for name in wanted if name.startswith(("pthread_", "dl")) and name != "dl_iterate_phdr"}


def test_it_shows_the_drivers_names_and_the_lookups_alone():
    shown = {name for defined, name, _ in dynamic_symbols() if defined}
    others = {name for name in shown if not name.startswith(("cu", "nvml", "GLIBC_"))}
    assert others == LOOKUPS
    versions = {(name, version) for defined, name, version in dynamic_symbols() if defined and name in LOOKUPS}
    assert {version for _, version in versions} >= {"GLIBC_2.34"}
    assert len(versions) == 2 * len(LOOKUPS)


def test_it_stands_before_every_interface_of_every_hooked_function():
    table = cuda_hooks.table(header_folder())
    assert (ROOT / "src" / "container" / "interpose" / "symbols.def").read_text() == table, "tools/cuda_hooks.py makes it"
    shown = {name for defined, name, _ in dynamic_symbols() if defined}
    wanted = set(re.findall(r"^(?:OWN|GATED|LOADS|LATER)\((\w+),", table, re.M))
    assert wanted <= shown


def test_what_is_not_hooked_takes_nothing():
    """The exceptions in tools/cuda_hooks.py name existing functions that take no memory
    themselves."""
    names = set(re.findall(r"^HOOK\((\w+), (\w+)\)$", (ROOT / "src/container/interpose/hooks.def").read_text(), re.M))
    assert cuda_hooks.UNHOOKED <= {name for name, _ in names}
    assert not {n for n, kind in names if n in cuda_hooks.UNHOOKED and kind == "kAlloc"} - {"cuGraphAddMemAllocNode"}


PROGRAMS = {
    "cat": ["cat", "/proc/self/maps"],
    "bash": ["bash", "-c", "(cat /proc/self/maps) | tee >(cat) ; wait"],
    "python": [
        sys.executable,
        "-c",
        "import threading, subprocess, ctypes, os\n"
        "threads = [threading.Thread(target=subprocess.run, args=(['true'],)) for _ in range(8)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "if os.fork() == 0: os.execvp('true', ['true'])\n"
        "assert os.wait()[1] == 0\n"
        "ctypes.CDLL(None).malloc\n"
        "print(open('/proc/self/maps').read())",
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_a_gpu_do_not_notice(name):
    environment = {**os.environ, "LD_PRELOAD": str(LIBRARY), "LD_BIND_NOW": "1"}
    done = subprocess.run(PROGRAMS[name], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert LIBRARY.name in done.stdout


@pytest.mark.soak
def test_an_older_distribution(tmp_path):
    """Debian 11 (glibc 2.31), as an image would be: listed in /etc/ld.so.preload, for setuid
    programs too."""
    sources = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    site = next((line.split()[0] for line in sources.splitlines() if line.endswith(" bookworm")), None)
    if site is None or os.geteuid() != 0:
        pytest.skip("needs root, and a source of Debian packages")
    root = tmp_path / "bullseye"
    subprocess.run(
        ["debootstrap", "--variant=minbase", "--include=python3-minimal", "bullseye", str(root), site],
        check=True,
        capture_output=True,
        timeout=600,
    )
    (root / "opt" / LIBRARY.name).write_bytes(LIBRARY.read_bytes())
    (root / "etc" / "ld.so.preload").write_text(f"/opt/{LIBRARY.name}\n")
    for command in (
        "cat /proc/self/maps",
        "bash -c '(cat /proc/self/maps)'",
        "python3 -c 'import threading, os; t = threading.Thread(target=print); t.start(); t.join();"
        ' os.fork() or os._exit(0); os.wait(); print(open("/proc/self/maps").read())\'',
        "su -s /bin/cat nobody /proc/self/maps",
    ):
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"mount -t proc proc {root}/proc && exec chroot {root} /bin/sh -c \"$0\"", command],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LD_BIND_NOW": "1"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, (command, done.stderr)
        assert done.stderr == "", command
        assert LIBRARY.name in done.stdout, command
