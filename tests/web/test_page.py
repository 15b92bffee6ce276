"""The web page in headless Chromium: each *.test.mjs here is one test, run by Node.js' own test runner. They are
shown the files that the program carries and fleets of fleets.py."""

import json
import os
import pathlib
import re
import subprocess

import fleets
import pytest
from browser import ROOT, environment, modules

HERE = pathlib.Path(__file__).resolve().parent
BUILD = ROOT / os.environ.get("TRANCHE_BUILD", "build")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Folders small and big: the page's files, fleet.json, and report.html of it."""
    folder = tmp_path_factory.mktemp("page")
    for name, fleet in ("small", fleets.small()), ("big", fleets.big()):
        (folder / name).mkdir()
        (folder / name / "fleet.json").write_text(json.dumps(fleet))
        subprocess.run(
            [BUILD / "tests" / "web_files", folder / name, folder / name / "fleet.json"], check=True
        )
    return folder


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("*.test.mjs")))
def test_page(name, files):
    run = subprocess.run(
        ["node", "--test", "--test-reporter=spec", HERE / name],
        env=environment(WEB_MODULES=modules("web"), FILES=files), capture_output=True, text=True, timeout=600,
    )
    print(run.stdout)  # its figures
    assert run.returncode == 0, run.stdout + run.stderr
    assert "\u2714" in run.stdout


def test_types(tmp_path):
    settings = {
        "extends": str(ROOT / "web" / "tsconfig.json"),
        "compilerOptions": {"paths": {"uplot": [f"{modules('web')}/uplot/dist/uPlot.d.ts"]}},
        "include": [str(ROOT / "web" / "src")],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings))
    run = subprocess.run(
        ["node", f"{modules('tests/web')}/typescript/bin/tsc", "-p", tmp_path],
        capture_output=True, text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def words(source, kind):
    """Of an enum, as fleet/v1 has them."""
    return set(re.findall(rf'pair{{{kind}::k\w+, std::string_view\("([\w-]+)"\)', (ROOT / source).read_text()))


def test_every_word_of_the_fleet_has_words_for_people():
    page = (ROOT / "web" / "src" / "words.ts").read_text()
    sampler = (ROOT / "src/programs/agent/metrics/node_sampler.cpp").read_text()
    found = words("src/kubernetes/fleet/fleet.cpp", "Cause")
    found |= words("src/kubernetes/usage/node_usage.cpp", "Mechanism")
    found |= set(re.findall(r'\{"([a-z-]+)", ', sampler)) | {"driver"}
    assert len(found) >= 24
    assert not [word for word in found if not re.search(rf'^ *"?{word}"?:\s+[{{"]', page, re.M)]


def test_lock_files_name_no_host():
    for folder in "web", "tests/web":
        lock = json.loads((ROOT / folder / "package-lock.json").read_text())
        assert all("resolved" not in package for package in lock["packages"].values())
        assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_sources_name_no_other_host():
    # SVG's name is no address that is asked.
    for path in (ROOT / "web").rglob("*"):
        if path.is_file() and path.name != "package-lock.json":
            text = path.read_text().replace("http://www.w3.org/2000/svg", "")
            assert "://" not in text, path
