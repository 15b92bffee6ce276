"""`tranche` for a question, a mistake and an unknown word."""

import re
import subprocess

import pytest
from programs import ROOT, TRANCHE, clean_environment

LOAD, SIM, DEMO = (ROOT / "build" / "bin" / name for name in ("tranche-load", "tranche-sim", "tranche-demo"))
HOOK = ROOT / "build" / "lib" / "tranche-limit-hook"

LIMIT_VERBS = ("set", "get", "reset", "list", "prune")
PAGES = [
    *([name] for name in ("agent", "arbiter", "controller", "labels", "cleanup", "completion", "version")),
    *(["mps-control-daemon", *verb] for verb in ([], ["mount-shm"], ["check"])),
    *(["limit", *verb] for verb in ([], *([verb] for verb in LIMIT_VERBS))),
    *(["incident", *verb] for verb in ([], ["list"], ["show"])),
    *(["completion", shell] for shell in ("bash", "zsh", "fish")),
]
PARTS = ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager", "mps-control-daemon")


def run(program, *arguments: str, **environment) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=clean_environment(**environment),
        timeout=30,
    )


def tranche(*arguments: str, **environment) -> subprocess.CompletedProcess:
    return run(TRANCHE, *arguments, **environment)


def examples(text: str) -> list[str]:
    """The command lines under the heading Examples."""
    part = re.search(r"^Examples:\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    return [line.strip() for line in part[1].splitlines() if line.strip() and "#" not in line] if part else []


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_is_the_same_before_and_after_the_words(words):
    asked = tranche(*words, "--help")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith(f"Usage: tranche {' '.join(words)}")
    for other in (["help", *words], [*words, "-h"]):
        done = tranche(*other)
        assert (done.returncode, done.stdout, done.stderr) == (0, asked.stdout, ""), other


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_has_examples(words):
    lines = examples(tranche(*words, "--help").stdout)
    assert 2 <= len(lines) <= 4
    assert any(f"tranche {' '.join(words)}" in line for line in lines)


@pytest.mark.parametrize("name", PARTS)
def test_help_of_a_part_has_examples_under_its_name(tmp_path, name):
    (tmp_path / name).symlink_to(TRANCHE)
    lines = examples(run(tmp_path / name, "--help").stdout)
    assert 2 <= len(lines) <= 4
    assert all(line.startswith(name) for line in lines)


def test_help_of_a_command_lists_its_verbs():
    text = tranche("limit", "--help").stdout
    for verb in LIMIT_VERBS:
        assert re.search(rf"^  {verb}  ", text, re.MULTILINE), verb
    assert "--memory" not in text.replace(" --memory 8Gi", ""), "a verb's own flag is in the help of the verb"
    assert "'tranche limit COMMAND --help'" in text


def test_help_of_a_verb_has_its_flags_alone():
    flags = {verb: set(re.findall(r"^  --([a-z]+)", tranche("limit", verb, "--help").stdout, re.MULTILINE))
             for verb in LIMIT_VERBS}
    assert {"memory", "compute", "class", "container", "timeout", "output"} <= flags["set"]
    assert {"memory", "timeout"} & flags["get"] == set()
    assert {"container", "timeout"} <= flags["reset"]
    assert {"namespace", "output"} <= flags["list"]
    assert {"namespace", "container", "memory"} & flags["prune"] == set()


def test_as_a_plugin_of_kubectl_help_names_kubectl(tmp_path):
    (tmp_path / "kubectl-tranche").symlink_to(TRANCHE)
    text = run(tmp_path / "kubectl-tranche", "limit", "set", "--help").stdout
    assert text.startswith("Usage: kubectl tranche limit set POD ")
    assert all(line.startswith("kubectl tranche limit set ") for line in examples(text))


UNKNOWN = [
    # words, message
    (["agnt"], "tranche: unknown command \"agnt\"; did you mean \"agent\"?"),
    (["limt"], "tranche: unknown command \"limt\"; did you mean \"limit\"?"),
    (["explain", "pod", "p"], "\"explain\" is planned, and not in this release; meanwhile kubectl -n NAMESPACE describe pod POD"),
    (["free"], "meanwhile tranche report shows"),
    (["cost"], "meanwhile kubectl get gpunodes -o json"),
    (["help", "agnt"], "tranche help: unknown command \"agnt\"; did you mean \"agent\"?"),
    (["help", "limit", "sett"], "tranche help limit: unknown command \"sett\"; did you mean \"set\"?"),
    (["limit", "sett", "p"], "tranche limit: unknown command \"sett\"; did you mean \"set\"?"),
    (["limit", "frobnicate"], "tranche limit: unknown command \"frobnicate\"; write set, get, reset, list or prune"),
    (["limit", "--frobnicate"], "flag provided but not defined: -frobnicate"),
    (["limit", "set", "p", "--memry=1Gi"], "did you mean --memory?"),
    (["limit", "get", "p", "--memory=1Gi"], "'tranche limit set' takes it"),
    (["limit", "set", "p", "--class=best-efort"], "did you mean \"best-effort\"?"),
    (["limit", "list", "-o", "jsn"], "did you mean \"json\"?"),
    (["limit", "list", "-o", "toml"], "write table"),
    (["completion", "bsh"], "unknown shell \"bsh\"; did you mean \"bash\"?"),
    (["mps-control-daemon", "chek"], "unknown command \"chek\"; did you mean \"check\"?"),
    (["arbiter", "--log-level=wrn"], "did you mean \"warn\"?"),
    (["controller", "--namspace=x"], "did you mean --namespace?"),
    (["cleanup", "extra"], "unexpected argument 'extra'"),
    (["version", "extra"], "unexpected argument 'extra'"),
    (["version", "--shrt"], "flag provided but not defined: -shrt"),
]


NVIDIAS_VALUES = [
    ("--mig-strategy=singel", 'unknown MIG strategy: singel (flag --mig-strategy); did you mean "single"? write none'),
    ("--device-list-strategy=env-var", 'invalid strategy: env-var (flag --device-list-strategy); did you mean "envvar"? write'),
    ("--device-id-strategy=uid", 'did you mean "uuid"? write uuid or index'),
    ("--shared-devices-allocation-policy=paked", 'did you mean "packed"? write distributed or packed'),
    ("--log-level=wrn", 'did you mean "warn"? write debug'),
]


@pytest.mark.parametrize(("flag", "said"), NVIDIAS_VALUES)
def test_values_of_nvidias_flags_are_named_with_the_nearest_known_one(flag, said):
    done = tranche("agent", flag)
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.parametrize("words,said", UNKNOWN, ids=[" ".join(words) for words, _ in UNKNOWN])
def test_unknown_words_are_named_with_the_nearest_known_one(words, said):
    done = tranche(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


MISTAKES = [
    ["labels", "--bogus"],
    ["arbiter", "--tenants=here"],
    ["controller"],
    ["controller", "--leader-elect=maybe"],
    ["cleanup", "--patch={}"],
    ["cleanup", "--daemonset=nothing"],
    ["mps-control-daemon", "--mps-dir=here"],
    ["mps-control-daemon", "mount-shm", "--mps-dir=here"],
    ["limit"],
    ["limit", "set", "p"],
    ["reference"],
    ["completion"],
    [],
]


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_of_usage_ends_with_2(words):
    assert tranche(*words).returncode == 2


@pytest.mark.parametrize("name", PARTS)
def test_nvidias_programs_keep_their_exit_code(tmp_path, name):
    (tmp_path / name).symlink_to(TRANCHE)
    assert run(tmp_path / name, "--bogus").returncode == 1
    assert tranche("agent", "--bogus").returncode == 1
    assert tranche("agent", "--labels=maybe").returncode == 1


WRONG_VALUES = [
    (["set", "p", "--memory=8Gx"], "--memory"),
    (["set", "p", "--compute=300%"], "--compute"),
    (["set", "p", "--class=high"], "--class"),
    (["set", "p", "q", "--memory=8Gi"], "one Pod"),
    (["set", "P_1", "--memory=8Gi"], "P_1"),
    (["get", "p", "-n", "Shop/"], "--namespace"),
    (["get", "p", "--timeout=1s"], "'tranche limit set'"),
    (["list", "p"], "unexpected argument 'p'"),
]


@pytest.mark.parametrize("words,said", WRONG_VALUES, ids=[" ".join(words) for words, _ in WRONG_VALUES])
def test_arguments_are_checked_before_the_cluster_is_asked(tmp_path, words, said):
    """There is no kubeconfig here: a command that looks for one first would end with 3."""
    done = tranche("limit", *words, HOME=str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr
    assert "kubeconfig" not in done.stderr


OTHERS = [
    # program, arguments, message
    (LOAD, ["strom"], 'unknown command "strom"; did you mean "storm"?'),
    (LOAD, ["hold", "--memry=1Gi"], 'unknown flag "--memry"; did you mean "--memory"?'),
    (LOAD, ["hold", "-o", "xml"], "yaml"),
    (SIM, ["shw"], 'unknown command "shw"; did you mean "show"?'),
    (SIM, ["fault", "lst"], 'unknown command "lst"; did you mean "lost"?'),
    (DEMO, ["--pauze"], "did you mean --pause?"),
    (HOOK, ["--tenant", "/x"], 'unknown argument "--tenant"; did you mean "--tenants"?'),
    (HOOK, ["--wait", "5"], "--tenants is missing"),
    (HOOK, ["--tenants", "here"], "no absolute path"),
    (HOOK, ["--tenants", "/x", "--wait", "soon"], "no number of seconds"),
]


@pytest.mark.parametrize(("program", "words", "said"), OTHERS, ids=[f"{o[0].name} {' '.join(o[1])}" for o in OTHERS])
def test_the_other_programs_name_unknown_words_too(program, words, said):
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("words", [[], ["hold"], ["compute"], ["graph"], ["latency"], ["storm"], ["compare"]], ids=" ".join)
def test_examples_of_the_load_generator_are_read(words):
    """Without a driver a valid example ends with 3, and an invalid one with 2."""
    lines = examples(run(LOAD, *words, "--help").stdout)
    assert len(lines) >= 2
    for line in lines:
        arguments = line.split()
        assert arguments[0] == "tranche-load"
        done = run(LOAD, *arguments[1:], "--driver", "/no/such/libcuda.so")
        assert done.returncode in (1, 3), (line, done.stderr)


def test_help_of_the_other_programs_has_examples():
    for program in (SIM, DEMO):
        assert len(examples(run(program, "--help").stdout)) >= 2, program
    assert "Example: tranche-limit-hook " in run(HOOK, "--help").stdout
