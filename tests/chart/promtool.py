"""Prometheus' own program for rules."""

import os
import pathlib
import shutil
import subprocess


def find_promtool() -> str | None:
    """On PATH, or where tools/setup.sh puts it."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    cache = os.environ.get("TRANCHE_CACHE") or f"{caches}/tranche"
    return shutil.which("promtool") or shutil.which("promtool", path=f"{cache}/promtool")


def promtool(*words: str | pathlib.Path, text: str | None = None) -> subprocess.CompletedProcess:
    """text: its standard input."""
    return subprocess.run([find_promtool(), *words], input=text, capture_output=True, text=True, check=False)
