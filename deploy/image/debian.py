"""What dpkg knows of files of this machine: which package a file is of, and what that package is."""

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str  # source package
    source_version: str

    @property
    def purl(self) -> str:
        name, version = (quote(text, safe="~") for text in (self.name, self.version))
        return f"pkg:deb/debian/{name}@{version}?arch={self.architecture}&distro=debian-12"


def owner(file: Path) -> str | None:
    """The package of a file; None when no package has it. With Debian's merged /usr a file has two names,
    and dpkg knows one."""
    for name in (str(file), str(file.resolve())):
        if found := _owners().get(_merged(name)):
            return found
    return None


@cache
def _owners() -> dict[str, str]:
    """Path -> package, of every file on this machine that dpkg installed."""
    owners = {}
    for listing in sorted(Path("/var/lib/dpkg/info").glob("*.list")):
        name = listing.stem.split(":")[0]
        for line in listing.read_text().splitlines():
            owners[_merged(line)] = name
    return owners


def _merged(path: str) -> str:
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)


@cache
def package(name: str) -> Package:
    fields = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n"
    text = _dpkg("--show", f"--showformat={fields}", name)
    return Package(*text.splitlines()[0].split("\t"))


@cache
def status(name: str) -> str:
    """The package's record, in the form of /var/lib/dpkg/status."""
    text = _dpkg("--status", name)
    # Which files of it are configuration is of no use where only some files are.
    return re.sub(r"^Conffiles:\n(?: .*\n)+", "", text, flags=re.M)


def copyright_file(name: str) -> Path | None:
    file = Path("/usr/share/doc") / name / "copyright"
    return file.resolve() if file.exists() else None


def _dpkg(*arguments: str) -> str:
    done = subprocess.run(["dpkg-query", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"dpkg-query {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
