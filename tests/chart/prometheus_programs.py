"""Prometheus' own programs: the server, and promtool for rules."""

import os
import pathlib
import shutil
import subprocess


def find_program(name: str) -> str | None:
    """On PATH, or where tools/setup.sh puts it."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    cache = os.environ.get("TRANCHE_CACHE") or f"{caches}/tranche"
    return shutil.which(name) or shutil.which(name, path=f"{cache}/prometheus")


def find_promtool() -> str | None:
    return find_program("promtool")


def promtool(*words: str | pathlib.Path, text: str | None = None) -> subprocess.CompletedProcess:
    """text: its standard input."""
    return subprocess.run([find_promtool(), *words], input=text, capture_output=True, text=True, check=False)
