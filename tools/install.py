#!/usr/bin/env python3
"""Installs the programs for a machine from which a cluster is operated, or packs them into an archive.

    tools/install.py [--destdir DIR] [--prefix DIR]      # make install
    tools/install.py --uninstall [--destdir DIR] [--prefix DIR]
    tools/install.py --archive FOLDER                    # make dist

Both have the same files: programs, libtranche-limit.so with its hook, manual pages, completions. The same
build gives the same archive, byte for byte: names are sorted, owners are root, times are SOURCE_DATE_EPOCH,
else the commit's, else zero.
"""

import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
COMPLETIONS = {
    "bash": "share/bash-completion/completions/tranche",
    "zsh": "share/zsh/site-functions/_tranche",
    "fish": "share/fish/vendor_completions.d/tranche.fish",
}
# kubectl finds its plugins, and how to complete them, by these names.
LINKS = {
    "bin/kubectl-tranche": "tranche",
    "bin/kubectl_complete-tranche": "tranche",
    "share/bash-completion/completions/kubectl-tranche": "tranche",
    "share/man/man1/kubectl-tranche.1": "tranche.1",
}
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


class Problem(Exception):
    pass


def built(path: str) -> bytes:
    try:
        return (BUILD / path).read_bytes()
    except FileNotFoundError:
        raise Problem(f"{BUILD / path} is not there: run make first") from None


def completion(shell: str) -> bytes:
    return subprocess.run([BUILD / "bin/tranche", "completion", shell], check=True, capture_output=True).stdout


def files() -> dict[str, tuple[bytes, int]]:
    """Path below the prefix -> content and mode."""
    found = {name: (built(name), 0o755) for name in ("bin/tranche", "bin/tranche-load", "bin/tranche-top")}
    # The agent looks for both beside its own folder.
    found["lib/libtranche-limit.so"] = (built("lib/libtranche-limit.so"), 0o644)
    if (BUILD / "lib/tranche-limit-hook").exists():  # a room that may be taken out
        found["lib/tranche-limit-hook"] = (built("lib/tranche-limit-hook"), 0o755)
    for page in (ROOT / "docs/man").glob("*.1"):
        found[f"share/man/man1/{page.name}"] = (page.read_bytes(), 0o644)
    for shell, path in COMPLETIONS.items():
        found[path] = (completion(shell), 0o644)
    found["share/doc/tranche/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    return found


def place(path: pathlib.Path) -> pathlib.Path:
    """A place that is free, in a folder that exists. What is there is replaced, and never written through."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path


def install(root: pathlib.Path) -> None:
    for name, (content, mode) in files().items():
        path = place(root / name)
        path.write_bytes(content)
        path.chmod(mode)
    for name, target in LINKS.items():
        place(root / name).symlink_to(target)
    print(f"installed into {root}")


def uninstall(root: pathlib.Path) -> None:
    for name in [*files(), *LINKS]:
        (root / name).unlink(missing_ok=True)
    print(f"removed from {root}")


def epoch() -> int:
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    asked = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    return int(asked.stdout) if asked.returncode == 0 and asked.stdout.strip() else 0


def version() -> str:
    found = re.search(r"project\(tranche VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    return found[1]


def entry(name: str, mode: int, time: int, content: bytes = b"", link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime, info.size = mode, time, len(content)
    info.uname = info.gname = "root"
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    return info


def archive(folder: pathlib.Path) -> pathlib.Path:
    machine = os.uname().machine
    top = f"tranche-{version()}-linux-{MACHINES.get(machine, machine)}"
    content = files()
    content["LICENSE"] = content.pop("share/doc/tranche/LICENSE")
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, (data, _) in sorted(content.items()))
    content["SHA256SUMS"] = (sums.encode(), 0o644)
    time = epoch()
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=time) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name in sorted([*content, *LINKS]):
                if name in LINKS:
                    tar.addfile(entry(f"{top}/{name}", 0o777, time, link=LINKS[name]))
                else:
                    data, mode = content[name]
                    tar.addfile(entry(f"{top}/{name}", mode, time, data), io.BytesIO(data))
    file = folder / f"{top}.tar.gz"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_bytes(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    file.with_name(file.name + ".sha256").write_text(f"{digest}  {file.name}\n")
    print(f"wrote {file}")
    return file


def main() -> int:
    parser = argparse.ArgumentParser(description="Installs the programs, or packs them into an archive.")
    parser.add_argument("--destdir", default="", help="put before every path, for packages")
    parser.add_argument("--prefix", default="/usr/local", help="where to [/usr/local]")
    parser.add_argument("--uninstall", action="store_true", help="remove the same files")
    parser.add_argument("--archive", type=pathlib.Path, metavar="FOLDER", help="write an archive there instead")
    asked = parser.parse_args()
    if not asked.prefix.startswith("/"):
        parser.error("--prefix is not absolute")
    try:
        if asked.archive:
            archive(asked.archive)
            return 0
        root = pathlib.Path(asked.destdir + asked.prefix)
        (uninstall if asked.uninstall else install)(root)
    except (Problem, OSError) as error:
        print(f"install.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
