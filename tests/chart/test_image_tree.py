"""deploy/image: the libraries of an image and what dpkg says of them come from one tree, which need not be this
machine's, and nothing of it is run."""

import os
import pathlib
import re
import subprocess

import debian
import elf
import pytest
import rootfs
from archive import Content, Directory, Symlink

OWN, OTHER = {"x86_64": ("amd64", "arm64"), "aarch64": ("arm64", "amd64")}[os.uname().machine]
TRIPLET = elf.TRIPLETS[OWN]
LOADER = {"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}[OWN]
NAMES = (*rootfs.DRIVER_NEEDS, *rootfs.LOADED)


def compiled(file, *flags) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    source = "void start(void) { for (;;); }"
    command = ["cc", "-nostdlib", "-Wl,--no-as-needed", "-o", file, "-x", "c", "-", "-x", "none", *flags]
    subprocess.run(list(map(str, command)), input=source, text=True, check=True)


def library(file, *flags) -> None:
    compiled(file, "-shared", "-fPIC", f"-Wl,-soname,{file.name}", *flags)


@pytest.fixture
def root(tmp_path):
    """A tree with every name of the image's libraries, of package `small`."""
    root = tmp_path / "tree"
    folder = root / "usr/lib" / TRIPLET
    for name in ("lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for name in NAMES:
        library(folder / name)
    library(folder / "loader-1")
    # Like Debian's own, a link from the root: to the tree's, not to this machine's.
    (root / f"usr/{LOADER}").symlink_to(f"/lib/{TRIPLET}/loader-1")
    records = root / "var/lib/dpkg"
    (records / "info").mkdir(parents=True)
    files = sorted(f"/lib/{TRIPLET}/{file.name}" for file in folder.iterdir())
    (records / "info/small.list").write_text("\n".join(["/.", *files, LOADER]) + "\n")
    (records / "status").write_text(
        "Package: small\nStatus: install ok installed\nMaintainer: Nobody <nobody@example.com>\n"
        f"Architecture: {OTHER}\nSource: smalls (7)\nVersion: 7-1\nDescription: as small as it goes\n\n"
    )
    (root / "usr/share/doc/small").mkdir(parents=True)
    (root / "usr/share/doc/small/copyright").write_text("the tree's notice")
    (root / "etc").mkdir()
    (root / "etc/debian_version").write_text("12.tree\n")
    return root


@pytest.fixture
def tree(root):
    return debian.Tree(root, "run what makes it")


def program(root, *needed):
    """A program that needs these libraries of the tree."""
    file = root.parent / "program"
    compiled(file, "-Wl,-e,start", f"-Wl,--dynamic-linker={LOADER}", *needed)
    return file


def test_libraries_are_found_as_the_loader_finds_them(root, tree):
    folder = root / "usr/lib" / TRIPLET
    library(folder / "own/libinner.so.1", folder / "libc.so.6")
    library(folder / "libouter.so.1", folder / "own/libinner.so.1", "-Wl,-rpath,$ORIGIN/own")
    outer = (folder / "libouter.so.1", "-Wl,--allow-shlib-undefined")
    found = elf.libraries(program(root, *outer), ["libm.so.6"], tree)
    assert found == {
        f"/usr{LOADER}": folder / "loader-1",
        f"/usr/lib/{TRIPLET}/libouter.so.1": folder / "libouter.so.1",
        f"/usr/lib/{TRIPLET}/own/libinner.so.1": folder / "own/libinner.so.1",
        f"/usr/lib/{TRIPLET}/libc.so.6": folder / "libc.so.6",
        f"/usr/lib/{TRIPLET}/libm.so.6": folder / "libm.so.6",
    }


def test_a_library_may_need_the_loader_which_the_program_names(root, tree):
    """libc.so.6 does; next to it is a link of the same name, which the loader never reads."""
    folder = root / "usr/lib" / TRIPLET
    name = LOADER.rpartition("/")[2]
    library(folder / name)
    library(folder / "libneeds.so.1", folder / name)
    found = elf.libraries(program(root, folder / "libneeds.so.1"), [], tree)
    assert set(found) == {f"/usr{LOADER}", f"/usr/lib/{TRIPLET}/libneeds.so.1"}


def test_nothing_of_this_machine_is_in_the_image(root, tree):
    files = rootfs.rootfs(program(root), tree)
    made = (bytes, Content, Symlink, Directory)
    taken = {path: file for path, file in files.items() if not isinstance(file, made)}
    assert {path.rpartition("/")[2] for path in taken} == {*NAMES, LOADER.rpartition("/")[2]}
    assert all(file.is_relative_to(tree.root) for file in taken.values())
    assert files["/etc/debian_version"] == b"12.tree\n"
    records = [path for path in files if path.startswith("/var/lib/dpkg/")]
    assert records == ["/var/lib/dpkg/status.d/small"]
    assert f"Architecture: {OTHER}\n".encode() in files[records[0]]
    assert files["/usr/share/doc/small/copyright"] == Content(b"the tree's notice")


def test_the_package_of_a_file(root, tree):
    package = tree.owner(root / "lib" / TRIPLET / "libc.so.6")
    assert package.purl == f"pkg:deb/debian/small@7-1?arch={OTHER}&distro=debian-12"
    assert (package.source, package.source_version) == ("smalls", "7")
    assert tree.owner(root / "etc/debian_version") is None
    # Such as a library of the cross compiler.
    assert tree.owner(pathlib.Path("/usr/bin/env")).name == "coreutils"


def set_machine(file, number: int) -> None:
    data = bytearray(file.read_bytes())
    data[18:20] = number.to_bytes(2, "little")
    file.write_bytes(data)


MACHINES = {"amd64": 0x3E, "arm64": 0xB7}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda file: file.unlink(),
            r"program needs libcurl.so.4, which is not in .*tree; run what makes it",
        ),
        (
            lambda file: set_machine(file, MACHINES[OTHER]),
            f"libcurl.so.4 is of {OTHER}, and .*program of {OWN}",
        ),
        (
            lambda file: set_machine(file, 8),
            "libcurl.so.4: its machine is MIPS R3000, neither amd64 nor arm64",
        ),
        (lambda file: file.write_text("GROUP (x)"), "libcurl.so.4 is not an ELF file"),
        (lambda file: (file.unlink(), file.symlink_to(file.name)), "leads through too many links"),
    ],
)
def test_a_library_that_will_not_do(root, tree, change, message):
    """This machine has each of them, which must not help."""
    change(root / "usr/lib" / TRIPLET / "libcurl.so.4")
    with pytest.raises(ValueError, match=message):
        rootfs.rootfs(program(root), tree)


def test_a_limiters_library_of_another_architecture(root, tree):
    limiter = root.parent / "libtranche-limit.so"
    library(limiter)
    set_machine(limiter, MACHINES[OTHER])
    with pytest.raises(ValueError, match=f"libtranche-limit.so is of {OTHER}, and the program of {OWN}"):
        rootfs.rootfs(program(root), tree, limit_library=limiter)


def test_no_tree(tmp_path):
    message = re.escape(
        f"{tmp_path / 'no'} has no var/lib/dpkg/info: it is no tree of Debian packages; run it"
    )
    with pytest.raises(ValueError, match=message):
        debian.Tree(tmp_path / "no", "run it")


def test_no_strip_of_that_architecture(root, tree, monkeypatch):
    monkeypatch.setenv("PATH", str(root))
    with pytest.raises(
        ValueError, match=r"there is no aarch64-linux-gnu-strip; install binutils-aarch64-linux-gnu"
    ):
        rootfs.stripped(root / "program", "arm64")
