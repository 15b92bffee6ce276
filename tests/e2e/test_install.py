"""`make install` and the release archive: where files are, that they work from there, and are
removed again."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest
from programs import ROOT, clean_environment

sys.path.append(str(ROOT / "tests" / "chart"))
from helm import lab_program  # noqa: E402

TOOL = ROOT / "tools" / "install.py"
EPOCH = "1700000000"


def tool(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TOOL, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=clean_environment(SOURCE_DATE_EPOCH=EPOCH),
        check=False,
    )


def run(program: pathlib.Path, *arguments: str, **environment) -> str:
    env = clean_environment(**environment)
    return subprocess.run([program, *arguments], capture_output=True, text=True, env=env, check=True).stdout


def names(root: pathlib.Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    root = tmp_path_factory.mktemp("destdir")
    done = tool("--destdir", root, "--prefix", "/usr")
    assert done.returncode == 0, done.stderr
    return root / "usr"


def test_each_file_lies_where_its_readers_look(installed):
    assert {
        "bin/tranche",
        "bin/tranche-load",
        "bin/tranche-top",
        "bin/kubectl-tranche",
        "bin/kubectl_complete-tranche",
        "lib/libtranche-limit.so",
        "lib/tranche-limit-hook",
        "share/bash-completion/completions/tranche",
        "share/bash-completion/completions/kubectl-tranche",
        "share/zsh/site-functions/_tranche",
        "share/fish/vendor_completions.d/tranche.fish",
        "share/doc/tranche/LICENSE",
    } < names(installed)
    pages = {page.name for page in (ROOT / "docs/man").glob("*.1")} | {"kubectl-tranche.1"}
    assert {page.name for page in (installed / "share/man/man1").iterdir()} == pages
    for shell in ("bash-completion/completions/tranche", "zsh/site-functions/_tranche"):
        assert "_tranche" in (installed / "share" / shell).read_text()


def test_it_works_from_there(installed):
    assert run(installed / "bin/kubectl-tranche", "version").startswith("tranche ")
    assert run(installed / "bin/kubectl-tranche", "limit", "--help").startswith("Usage: kubectl tranche limit ")
    assert run(installed / "bin/kubectl_complete-tranche", "limit", "pr").splitlines() == [
        "prune\tremove what is set for Pods that are gone",
        ":4",
    ]


def test_kubectl_finds_the_plugin_and_completes_it(installed, tmp_path):
    kubectl = shutil.which("kubectl") or lab_program("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl on this machine")
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    assert run(kubectl, "tranche", "version", PATH=path, HOME=tmp_path).startswith("tranche ")
    offered = run(kubectl, "__complete", "tranche", "limit", "set", "p", "--mem", PATH=path, HOME=tmp_path)
    assert offered.startswith("--memory\t")
    offered = run(kubectl, "__complete", "tranche", "limit", "", PATH=path, HOME=tmp_path)
    assert {line.split("\t")[0] for line in offered.splitlines()} >= {"set", "get", "reset", "list", "prune"}


def test_a_second_install_replaces_and_uninstall_takes_all_away(tmp_path):
    for _ in range(2):
        assert tool("--destdir", tmp_path, "--prefix", "/opt/tranche").returncode == 0
    mine = tmp_path / "opt/tranche/bin/mine"
    mine.touch()
    assert tool("--uninstall", "--destdir", tmp_path, "--prefix", "/opt/tranche").returncode == 0
    assert names(tmp_path) == {"opt/tranche/bin/mine"}


def test_a_prefix_that_is_not_absolute_is_refused(tmp_path):
    done = tool("--destdir", tmp_path, "--prefix", "usr")
    assert done.returncode == 2
    assert "--prefix is not absolute" in done.stderr
    assert names(tmp_path) == set()


def test_the_archive_is_the_same_for_the_same_build_and_holds_all(tmp_path, installed):
    for folder in ("one", "two"):
        assert tool("--archive", tmp_path / folder).returncode == 0
    (file,) = (tmp_path / "one").glob("*.tar.gz")
    assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    digest, name = (tmp_path / "one" / f"{file.name}.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(file.read_bytes()).hexdigest(), file.name)

    with tarfile.open(file) as tar:
        members = tar.getmembers()
        tar.extractall(tmp_path, filter="data")
    assert {(one.uid, one.gid, one.uname, one.mtime) for one in members} == {(0, 0, "root", int(EPOCH))}
    top = tmp_path / file.name.removesuffix(".tar.gz")
    assert names(top) == names(installed) - {"share/doc/tranche/LICENSE"} | {"LICENSE", "SHA256SUMS"}
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=top, check=True)
    assert run(top / "bin/kubectl-tranche", "version").startswith("tranche ")
