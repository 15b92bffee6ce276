"""The agent's image for arm64, made on a machine of another architecture: all of it is of that architecture and of
one tree of packages, it needs nothing else, and its programs run on an emulated processor."""

import json
import os
import pathlib
import re
import subprocess
import tarfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / "build/arm64-root"
LIBRARIES = "usr/lib/aarch64-linux-gnu"
LOADER = "usr/lib/ld-linux-aarch64.so.1"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """A folder with the image's content, its configuration and its bill of materials."""
    folder = tmp_path_factory.mktemp("image")
    out = folder / "tranche.tar"
    command = [ROOT / "deploy/image/build", "--platform", "linux/arm64", "--output", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and out.stat().st_size <= 44 << 20
    with tarfile.open(out) as archive:
        (manifest,) = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(manifest["Config"]))
        with tarfile.open(fileobj=archive.extractfile(manifest["Layers"][0])) as layer:
            layer.extractall(folder / "root", filter="fully_trusted")
    return folder / "root", config, json.loads((folder / "tranche.spdx.json").read_text())


def elf_files(root: pathlib.Path) -> list[pathlib.Path]:
    files = [file for file in root.rglob("*") if file.is_file() and not file.is_symlink()]
    return [file for file in files if file.open("rb").read(4) == b"\x7fELF"]


def readelf(file: pathlib.Path) -> str:
    command = ["readelf", "--wide", "--file-header", "--dynamic", "--program-headers", file]
    env = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


def test_every_program_and_library_is_of_that_architecture(image):
    root, config, _ = image
    assert (config["architecture"], config["os"]) == ("arm64", "linux")
    files = elf_files(root)
    for name in ("usr/bin/tranche", "usr/lib/libtranche-limit.so", "usr/lib/tranche-limit-hook", LOADER):
        assert root / name in files
    assert [file for file in files if not re.search(r"Machine: +AArch64", readelf(file))] == []


def test_what_is_needed_is_in_the_image(image):
    root = image[0]
    wanted = {
        (file.name, name)
        for file in elf_files(root)
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]|interpreter: /lib/(.*)\]", readelf(file))
        for name in filter(None, name)
    }
    assert {("tranche", "libc.so.6"), ("libcurl.so.4", "libnghttp2.so.14")} <= wanted
    there = {file.name for folder in (LIBRARIES, "usr/lib") for file in (root / folder).iterdir()}
    assert {(file, name) for file, name in wanted if name not in there} == set()


def test_all_of_it_is_of_the_tree(image):
    root, _, bill = image
    for file in (root / LIBRARIES).iterdir():
        assert file.read_bytes() == (TREE / LIBRARIES / file.name).read_bytes()
    assert (root / "etc/debian_version").read_bytes() == (TREE / "etc/debian_version").read_bytes()
    for record in (root / "var/lib/dpkg/status.d").iterdir():
        assert "\nArchitecture: arm64\n" in record.read_text()
        assert (root / "usr/share/doc" / record.name / "copyright").exists()
    references = [package["externalRefs"][0]["referenceLocator"] for package in bill["packages"][2:]]
    kinds = dict(re.match(r"pkg:deb/debian/(.*)@.*[?]arch=(\w+)&", text).groups() for text in references)
    shared = {record.name for record in (root / "var/lib/dpkg/status.d").iterdir()}
    assert {"libc6", "libcurl4", "libssl3"} <= shared <= set(kinds)
    # What is linked in, what has headers alone, ...
    assert {"libgrpc%2B%2B-dev", "libssl-dev"} <= set(kinds)
    # ... and headers of every architecture; the cross compiler's library of C++ is a package of none.
    every = {"nlohmann-json3-dev", "libgcc-12-dev-arm64-cross", "libstdc%2B%2B-12-dev-arm64-cross"}
    assert {name: kind for name, kind in kinds.items() if kind != "arm64"} == dict.fromkeys(every, "all")


def emulated(
    root: pathlib.Path, program: str, *arguments: str, text: str = ""
) -> subprocess.CompletedProcess:
    """Files are looked for in the image first; the program does not fit this machine's
    architecture."""
    command = ["qemu-aarch64-static", "-L", root, root / program, *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("arguments", "begins"),
    [(["--version"], "tranche "), (["agent", "--help"], "Usage: "), (["controller", "--help"], "Usage: ")],
)
def test_the_program_runs(image, arguments, begins):
    done = emulated(image[0], "usr/bin/tranche", *arguments)
    assert done.returncode == 0 and done.stdout.startswith(begins), done.stdout + done.stderr


def test_it_takes_the_part_of_nvidias_by_its_name(image):
    link = image[0] / "usr/bin/nvidia-device-plugin"
    assert os.readlink(link) == "tranche"
    done = emulated(image[0], "usr/bin/nvidia-device-plugin", "--help")
    assert done.returncode == 0 and "--mig-strategy" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("library", ["libcurl.so.4", "libssl.so.3"])
def test_what_it_loads_by_name_finds_what_it_needs(image, library):
    """The image's own loader resolves it."""
    done = emulated(image[0], LOADER, "--list", f"/{LIBRARIES}/{library}")
    assert done.returncode == 0 and "not found" not in done.stdout, done.stdout + done.stderr
    for path in re.findall(r"=> (/\S+) \(0x", done.stdout):
        assert (image[0] / path[1:]).exists()


def test_the_runtimes_hook_runs(image, tmp_path):
    hook = "usr/lib/tranche-limit-hook"
    done = emulated(image[0], hook, "--help")
    assert done.returncode == 0 and done.stdout.startswith("Usage: tranche-limit-hook"), done.stderr
    done = emulated(image[0], hook, "--tenants", str(tmp_path), text="no state")
    assert done.returncode == 1 and done.stderr.startswith("tranche: "), done.stderr


def test_the_archive_of_both(tmp_path):
    if not (ROOT / "build/bin/tranche").exists():
        pytest.skip("build/bin/tranche is not built")
    out = tmp_path / "tranche.tar"
    platforms = "linux/amd64,linux/arm64"
    command = [ROOT / "deploy/image/build", "--platform", platforms, "--output", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(out) as archive:
        said = json.load(archive.extractfile("index.json"))["manifests"][0]
        index = json.load(archive.extractfile("blobs/" + said["digest"].replace(":", "/")))
    found = [image["platform"] for image in index["manifests"]]
    assert ",".join(f"{one['os']}/{one['architecture']}" for one in found) == platforms
    bills = [json.loads((tmp_path / f"tranche-{one}.spdx.json").read_text()) for one in ("amd64", "arm64")]
    assert [bill["name"].rpartition("-")[2] for bill in bills] == ["amd64", "arm64"]
