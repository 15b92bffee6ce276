"""What a script needs that drives a headless Chromium (browser.mjs)."""

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def modules(folder: str) -> str:
    """Where the npm packages of this folder's lock file are."""
    run = subprocess.run([ROOT / "tools" / "node_modules.sh", folder], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def find_chromium() -> str | None:
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def environment(**more: object) -> dict:
    chromium = find_chromium()
    assert chromium, "no Chromium: tools/setup.sh test installs it"
    packages = {"NODE_MODULES": modules("tests/web"), "CHROMIUM": chromium}
    return {**os.environ, **packages, **{name: str(value) for name, value in more.items()}}
