"""Which npm packages the web page in a program has: those of its lock file that are no tools. Asked of the build
folder, as linked.py does."""

import json
from pathlib import Path
from typing import NamedTuple

import linked

PAGE = "web/app.js"  # in the build folder


class Npm(NamedTuple):
    name: str
    version: str
    licence: str

    @property
    def purl(self) -> str:
        return f"pkg:npm/{self.name.replace('@', '%40')}@{self.version}"


def npm_packages(build: Path, target: str, lock: Path) -> list[Npm]:
    if PAGE not in linked.inputs(build, target):
        return []
    packages = json.loads(lock.read_text())["packages"]
    return [
        Npm(path.rpartition("node_modules/")[2], entry["version"], entry["license"])
        for path, entry in sorted(packages.items())
        if path and not entry.get("dev") and not entry.get("devOptional")
    ]
