"""tranche report as a process: a saved fleet in words, as JSON and as a page, and what it refuses."""

import json
import subprocess

import pytest

from programs import DEADLINE, ROOT, TRANCHE, clean_environment

FLEET = ROOT / "tests" / "data" / "fleet-v1.json"
NOBODY = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def report(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, "report", *map(str, arguments)],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        **options,
    )


def test_a_saved_fleet_in_words():
    done = report("--fleet", FLEET)
    assert done.returncode == 0, done.stderr
    fleet = json.loads(FLEET.read_text())
    for row in fleet["capacity"]:
        assert row["resource"] in done.stdout and row["mechanism"] in done.stdout
    assert f"of {len(fleet['nodes'])} nodes reporting" in done.stdout


def test_json_is_read_again():
    first = report("--fleet", FLEET, "-o", "json")
    assert first.returncode == 0, first.stderr
    again = report("--fleet", "-", "-o", "json", input=first.stdout)
    assert again.stdout == first.stdout
    assert json.loads(first.stdout)["version"] == "fleet/v1"


def test_the_page_is_written_whole_or_not_at_all(tmp_path):
    page = tmp_path / "fleet.html"
    done = report("--fleet", FLEET, "--html", page)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert page.read_text().lower().startswith("<!doctype html")
    assert page.stat().st_mode & 0o777 == 0o600
    before = page.read_text()
    broken = tmp_path / "broken.json"
    broken.write_text('{"version":"fleet/v1"')
    assert report("--fleet", broken, "--html", page).returncode == 2
    assert page.read_text() == before
    assert "--html: " in report("--fleet", FLEET, "--html", tmp_path).stderr


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["--fleet", "/nowhere"], 2, "/nowhere"),
        (["--kubeconfig", "/nowhere"], 2, "/nowhere"),
        (["--fleet", FLEET, "--snapshot", "x"], 2, "leave out one of them"),
        (["more"], 2, "unexpected argument"),
    ],
)
def test_what_is_refused(arguments, code, said):
    done = report(*arguments)
    assert done.returncode == code and said in done.stderr, done.stderr


@pytest.mark.parametrize("more", [(), ("--service", "tranche/tranche-controller-web:web")])
def test_a_cluster_that_is_away(tmp_path, more):
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(NOBODY)
    assert report("--kubeconfig", kubeconfig, *more).returncode == 3
