"""What dpkg knows of the files of a tree: which package a file is of, and what that package is. The tree is this
machine (/), or one of unpacked packages with dpkg's records in it (tools/arm64_root.sh)."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import quote


@dataclass(frozen=True, order=True)
class Package:
    name: str
    version: str
    architecture: str
    source: str  # source package
    source_version: str
    tree: "Tree" = field(compare=False, repr=False)

    @property
    def purl(self) -> str:
        name, version = (quote(text, safe="~") for text in (self.name, self.version))
        return f"pkg:deb/debian/{name}@{version}?arch={self.architecture}&distro=debian-12"

    def status(self) -> str:
        """Its record, in the form of /var/lib/dpkg/status."""
        text = self.tree.dpkg("--status", self.name)
        # Which files of it are configuration is of no use where only some files are.
        return re.sub(r"^Conffiles:\n(?: .*\n)+", "", text, flags=re.M)

    def copyright_file(self) -> Path | None:
        file = self.tree.file(f"/usr/share/doc/{self.name}/copyright")
        return file if file.exists() else None


class Tree:
    """`remedy`: what to do when something is not in it."""

    def __init__(self, root: Path, remedy: str):
        if not (root / "var/lib/dpkg/info").is_dir():
            raise ValueError(f"{root} has no var/lib/dpkg/info: it is no tree of Debian packages; {remedy}")
        self.root = root.resolve()
        self.remedy = remedy

    def place(self, path: str) -> str:
        """A path inside the tree without links but the last: a library is looked for by the name of its link."""
        folder, _, name = path.rpartition("/")
        return str(PurePosixPath("/", self._follow(folder), name))

    def file(self, path: str) -> Path:
        """The file of this machine that a path inside the tree leads to; it need not exist."""
        return self.root / self._follow(path)

    def _follow(self, path: str) -> PurePosixPath:
        """Relative to the root, which links that begin with a slash mean as well: those of a tree that is not this
        machine's lead to its own files."""
        found, todo, links = PurePosixPath(), [*reversed(PurePosixPath(path).parts)], 0
        while todo:
            match todo.pop():
                case "/":
                    found = PurePosixPath()
                case "..":
                    found = found.parent
                case part if (self.root / found / part).is_symlink():
                    target = os.readlink(self.root / found / part)
                    todo += reversed(PurePosixPath(target).parts)
                    if (links := links + 1) > 40:  # as Linux
                        raise ValueError(f"{self.root}: {path} leads through too many links")
                case part:
                    found /= part
        return found

    def owner(self, file: Path) -> Package | None:
        """The package of a file; None when no package has it. Of a file outside of the tree, such as the cross
        compiler's own library, this machine is asked."""
        named, real = file.parent.resolve() / file.name, file.resolve()
        if not named.is_relative_to(self.root):
            return this_machine().owner(file)
        for path in (named, real):
            if path.is_relative_to(self.root):
                if name := self._owners.get(_merged(f"/{path.relative_to(self.root)}")):
                    return _package(self, name)
        return None

    @cached_property
    def _owners(self) -> dict[str, str]:
        """Path -> name of the package, of every file that dpkg installed."""
        owners = {}
        for listing in sorted((self.root / "var/lib/dpkg/info").glob("*.list")):
            name = listing.stem.split(":")[0]
            for line in listing.read_text().splitlines():
                owners[_merged(line)] = name
        return owners

    def dpkg(self, *arguments: str) -> str:
        command = ["dpkg-query", f"--admindir={self.root / 'var/lib/dpkg'}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout


@cache
def _package(tree: Tree, name: str) -> Package:
    fields = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}\\t${source:Version}\\n"
    text = tree.dpkg("--show", f"--showformat={fields}", name)
    return Package(*text.splitlines()[0].split("\t"), tree)


@cache
def this_machine() -> Tree:
    return Tree(Path("/"), "install its package")


def _merged(path: str) -> str:
    """With Debian's merged /usr a file has two names, and dpkg knows one."""
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", path)
