"""The self-description of `tranche`: grouped help, the generated pages, the manual, completion in
real shells."""

import shutil
import subprocess

import pytest
from programs import ROOT, TRANCHE
from zsh import Zsh

SHELLS = ("bash", "zsh", "fish")


def tranche(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TRANCHE, *map(str, arguments)], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def script(shell: str) -> str:
    done = tranche("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    """Completes the words given, of which the last one is being written."""
    file = tmp_path_factory.mktemp("completion") / "tranche.bash"
    file.write_text(script("bash"))
    program = (
        'source "$1"; shift; function=$(complete -p "$1" | sed "s/.*-F //; s/ .*//"); '
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$function"; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    def complete(*words: str) -> set[str]:
        done = subprocess.run(
            ["bash", "--norc", "-c", program, "bash", file, *words], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return set(done.stdout.split())

    return complete


def test_help_groups_the_commands():
    done = tranche("--help")
    assert done.returncode == 0
    headings = [line[:-1] for line in done.stdout.splitlines() if line.endswith(":")]
    assert headings == ["Processes of a node and a cluster", "Look", "Change", "Tools", "Exit codes"]
    groups = dict(zip(headings, done.stdout.split(":\n")[1:], strict=True))
    assert "  agent  " in groups["Processes of a node and a cluster"]
    assert "  limit  " in groups["Change"]
    assert "  completion  " in groups["Tools"]
    assert tranche("help").stdout == done.stdout


@pytest.mark.parametrize("name", ["nvidia-device-plugin", "gpu-feature-discovery", "config-manager"])
def test_help_of_a_program_of_nvidias_is_its_flags(tmp_path, name):
    (tmp_path / name).symlink_to(TRANCHE)
    done = subprocess.run([tmp_path / name, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: {name} [flags]\n")


@pytest.mark.parametrize("name", ["tranche", "kubectl-tranche"])
def test_bash_completes_commands(bash, name):
    assert {"agent", "limit", "completion", "help"} <= bash(name, "")
    assert bash(name, "ag") == {"agent"}
    assert "reference" not in bash(name, "")


COMPLETIONS = [
    # name, words, what is offered
    ("words", ["limit", ""], {"set", "get", "reset", "list", "prune"}),
    ("shells", ["completion", ""], set(SHELLS)),
    ("flag", ["agent", "--mig-s"], {"--mig-strategy"}),
    ("short flags", ["limit", "set", "-n"], {"-n"}),
    ("flags of a verb", ["limit", "prune", "--"], {"--kubeconfig", "--context", "--output", "--help", "--version"}),
    ("no flags of another verb", ["limit", "get", "p", "--m"], set()),
    ("help", ["help", "ag"], {"agent"}),
    ("help of a verb", ["help", "limit", "r"], {"reset"}),
    ("choices", ["agent", "--mig-strategy", ""], {"none", "single", "mixed"}),
    ("choices after =", ["agent", "--mig-strategy", "=", "s"], {"single"}),
    ("choices after = alone", ["agent", "--mig-strategy", "="], {"none", "single", "mixed"}),
    ("choices after one dash", ["agent", "-log-level", "w"], {"warn"}),
    ("choices of a short flag", ["limit", "get", "-o", "j"], {"json"}),
    ("choices of a verb", ["layout", "pack", "-o", ""], {"table", "json", "yaml", "svg", "parted"}),
    ("choices of another verb", ["layout", "export", "--output", ""], {"json", "yaml"}),
    ("list", ["agent", "--device-list-strategy", "envvar,v"], {"envvar,volume-mounts"}),
    ("same flag, another program: choices", ["agent", "--check", ""], {"live", "ready"}),
    ("same flag, another program: switch", ["cleanup", "--check", "--st"], {"--stay", "--state-dir"}),
    ("a value that nobody knows", ["agent", "--pod-name", ""], set()),
    ("no such command", ["nothing", ""], set()),
]


@pytest.mark.parametrize("words,offered", [c[1:] for c in COMPLETIONS], ids=[c[0] for c in COMPLETIONS])
def test_bash_completes(bash, words, offered):
    assert bash("tranche", *words) == offered


def test_bash_completes_files_and_folders(bash, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "only.yaml").touch()
    assert bash("tranche", "agent", "--config-file", f"{tmp_path}/on") == {
        f"{tmp_path}/one",
        f"{tmp_path}/only.yaml",
    }
    assert bash("tranche", "agent", "--state-dir", f"{tmp_path}/on") == {f"{tmp_path}/one"}


@pytest.fixture(scope="module")
def zsh(tmp_path_factory):
    """Completes a line in an interactive zsh."""
    if not shutil.which("zsh"):
        pytest.skip("no zsh on this machine")
    shell = Zsh(tmp_path_factory.mktemp("zsh"), script("zsh"))
    yield shell.complete
    shell.close()


@pytest.mark.parametrize("words", [["layout", "list"], ["layout", "list", "-o", "json"], ["completion", "bash"]])
def test_output_that_does_not_arrive_is_an_error(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([TRANCHE, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "tranche: the output cannot be written: No space left on device\n")


@pytest.mark.parametrize("name", ["tranche", "kubectl-tranche"])
def test_zsh_completes_commands(zsh, name):
    assert {"agent", "limit", "completion", "help"} <= zsh(f"{name} ")
    assert zsh(f"{name} ag") == {"agent"}
    assert "reference" not in zsh(f"{name} ")


@pytest.mark.parametrize("words,offered", [c[1:] for c in COMPLETIONS], ids=[c[0] for c in COMPLETIONS])
def test_zsh_completes(zsh, words, offered):
    line = " ".join(words).replace(" = ", "=").replace(" =", "=")
    assert {word.rpartition("=")[2] for word in zsh(f"tranche {line}")} == offered


def test_zsh_completes_files_and_folders(zsh, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "only.yaml").touch()
    assert zsh(f"tranche agent --config-file {tmp_path}/on") == {
        f"{tmp_path}/one",
        f"{tmp_path}/only.yaml",
    }
    assert zsh(f"tranche agent --state-dir {tmp_path}/on") == {f"{tmp_path}/one"}


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_reads_its_script(tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} on this machine; completion_test checks the script's structure")
    (tmp_path / "script").write_text(script(shell))
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish on this machine")
def test_fish_completes(tmp_path):
    (tmp_path / "tranche.fish").write_text(script("fish"))
    program = f"source {tmp_path}/tranche.fish; complete -C 'tranche agent --mig-strategy '"
    done = subprocess.run(
        ["fish", "--no-config", "-c", program],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == {"none", "single", "mixed"}


@pytest.mark.parametrize(
    "arguments,message",
    [
        (["powershell"], 'unknown shell "powershell"; write bash, zsh or fish'),
        ([], "name one shell"),
        (["bash", "zsh"], "name one shell"),
    ],
)
def test_completion_of_a_bad_shell(arguments, message):
    done = tranche("completion", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize("arguments,folder", [([], "docs/reference"), (["--man"], "docs/man")])
def test_reference_pages_are_as_committed(tmp_path, arguments, folder):
    assert tranche("reference", *arguments, tmp_path).returncode == 0
    written = {page.name: page.read_text() for page in tmp_path.iterdir()}
    # Other pages of the folder are written by hand.
    committed = {page.name: page.read_text() for page in (ROOT / folder).iterdir()}
    generated = {name: text for name, text in committed.items() if name in written or "Made from " in text}
    assert written == generated, "run: make reference"


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff on this machine")
@pytest.mark.parametrize("page", sorted((ROOT / "docs/man").glob("*.1")), ids=lambda page: page.stem)
def test_groff_warns_of_nothing(page):
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert page.stem.upper() in done.stdout
