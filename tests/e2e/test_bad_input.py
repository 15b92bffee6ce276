"""Wrong input is refused with exit code 1, and the message has the place and the remedy."""

import json
import os
import subprocess

import pytest

from node import GPU, Node, Volume, sharing
from programs import ROOT, TRANCHE, wait_until

START = "error starting plugins: "
READ = START + "unable to load config: unable to finalize config: unable to parse config file: "
PARSE = READ + "error parsing config file: "
YAML = "unmarshal error: error converting YAML to JSON: yaml: "
DECODE = "unmarshal error: error unmarshaling JSON: while decoding JSON: "
VALIDATE = START + "unable to validate flags: "


@pytest.fixture(scope="module")
def here():
    """One node for all: a refusal leaves no trace."""
    one = Node("l20")
    try:
        yield one
        assert one.kubelet.registrations() == []
        assert one.sockets() == set()
    finally:
        one.close()


def entry(text: str) -> str:
    return f"version: v1\nsharing:\n  timeSlicing:\n    resources:\n    - {text}\n"


AT = "config.yaml:5: sharing.timeSlicing.resources[0]"

# Name, configuration, beginning of the message after the file's folder.
BROKEN = [
    ("no-yaml", "flags: [", "config.yaml:"),
    ("tab", "flags:\n\tmigStrategy: none", "config.yaml:2"),
]
FILES = [
    ("not-a-mapping", "- a", "config.yaml:1: cannot unmarshal array into a mapping; "),
    ("no-entries", "sharing:\n  timeSlicing:\n", "config.yaml:2: sharing.timeSlicing: no resources specified; "),
    ("no-name", entry("{replicas: 2}"), AT + ": no resource name specified; "),
    ("no-replicas", entry("{name: gpu}"), AT + ": no replicas specified; "),
    ("no-replicas-at-all", entry("{name: gpu, replicas: 0}"), AT + ".replicas: number of replicas must be >= 2, found 0; "),
    ("quoted-replicas", entry("{name: gpu, replicas: '4'}"), AT + ".replicas: cannot unmarshal string into a whole number, found '4'; "),
    ("foreign-name", entry("{name: amd.com/gpu, replicas: 2}"), AT + ".name: incorrect format for resource name 'nvidia.com/amd.com/gpu': "),
    ("devices", entry("{name: gpu, replicas: 2, devices: [GPU-1]}"), AT + ".devices[0]: unsupported type for device in devices list; "),
    ("bool", "flags:\n  failOnInitError: 'yes'", "config.yaml:2: flags.failOnInitError: cannot unmarshal string into a bool, found 'yes'"),
    ("pattern", "resources:\n  gpus:\n  - pattern: '*'", "config.yaml:3: resources.gpus[0]: resources must have a 'name' field set; "),
]  # fmt: skip
# NVIDIA's phrase is kept whole with its chain of causes; the place follows.
VALUES = [
    ("list-strategy", "flags:\n  plugin:\n    deviceListStrategy: cdi", "invalid --device-list-strategy option: invalid strategy: cdi (", "config.yaml:3: flags.plugin.deviceListStrategy); "),
    ("id-strategy", "flags:\n  plugin:\n    deviceIDStrategy: name", "invalid --device-id-strategy option: name (", "config.yaml:3: flags.plugin.deviceIDStrategy); "),
    ("policy", "flags:\n  plugin:\n    sharedDevicesAllocationPolicy: x", "invalid --shared-devices-allocation-policy option: x (", "config.yaml:3: flags.plugin.sharedDevicesAllocationPolicy); "),
    ("mig-strategy", "flags:\n  migStrategy: double", "unknown MIG strategy: double (", "config.yaml:2: flags.migStrategy); "),
    ("discovery", "flags:\n  deviceDiscoveryStrategy: vfio", "invalid --device-discovery-strategy option vfio (", "config.yaml:2: flags.deviceDiscoveryStrategy); "),
    ("imex", "imex:\n  channelIDs: [1]", "invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; found [1] (", "config.yaml:2: imex.channelIDs); "),
    ("mps-root", "sharing:\n  mps:\n    resources:\n    - {name: gpu, replicas: 2}", "using MPS requires --mps-root to be specified (", "flags.mpsRoot); "),
]  # fmt: skip


@pytest.mark.parametrize("text, message", [c[1:] for c in FILES], ids=[c[0] for c in FILES])
def test_files(here, text, message):
    log = here.refused(config=text)
    assert f"{PARSE}{DECODE}{here.dir}/{message}" in log


@pytest.mark.parametrize("text, message", [c[1:] for c in BROKEN], ids=[c[0] for c in BROKEN])
def test_files_that_are_no_yaml(here, text, message):
    log = here.refused(config=text)
    assert f"{PARSE}{YAML}{here.dir}/{message}" in log


def test_a_file_of_another_version(here):
    log = here.refused(config="version: v2")
    assert f"{PARSE}unknown version: v2 ({here.dir}/config.yaml:1: version); write v1" in log


@pytest.mark.parametrize("text, phrase, place", [c[1:] for c in VALUES], ids=[c[0] for c in VALUES])
def test_values(here, text, phrase, place):
    log = here.refused(config=text)
    folder = f"{here.dir}/" if place.startswith("config.yaml") else ""
    assert f"{VALIDATE}{phrase}{folder}{place}" in log


# Of ours: the place comes first, as in `tranche lint`.
OURS = [
    ("mps-root", "06-lint-passes-what-is-refused/mps-root.yaml", "config.yaml:2: flags.mpsRoot: /tmp/mps is in no folder from which a file may name one"),
    ("memory-hard", "06-lint-passes-what-is-refused/memory-hard.yaml", "config.yaml:2: tranche.limits.memoryHard: `memoryHard` 4Gi is less than `memory` 8Gi; raise it, or remove it"),
]  # fmt: skip


@pytest.mark.parametrize("file, message", [c[1:] for c in OURS], ids=[c[0] for c in OURS])
def test_what_lint_says_the_agent_says(here, file, message):
    text = (ROOT / "tests/data/reports" / file).read_text()
    assert f"{VALIDATE}{here.dir}/{message}" in here.refused(config=text)
    done = subprocess.run([TRANCHE, "lint", here.config], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    place, what = message.split(": ", 2)[0::2]
    assert f"{here.dir}/{place}: error: {what.split('; ')[0]}" in done.stdout.replace("\n    ", " ")


@pytest.mark.difference("config-all-errors")
def test_all_errors_at_once(here):
    log = here.refused(config=entry("{name: gpu}") + "flags: {gdsEnabled: 1}\n")
    assert f"{AT}: no replicas specified" in log
    assert "config.yaml:6: flags.gdsEnabled" in log


FLAGS = [
    (["--mig-strategy=double"], {}, VALIDATE + "unknown MIG strategy: double (flag --mig-strategy); "),
    ([], {"MIG_STRATEGY": ""}, VALIDATE + "unknown MIG strategy:  (environment MIG_STRATEGY); "),
    ([], {"DEVICE_LIST_STRATEGY": ""}, VALIDATE + "invalid --device-list-strategy option: invalid strategy: "),
    (["--device-list-strategy=envvar,cdi"], {}, "invalid strategy: cdi"),
    (["--pass-device-specs=yes"], {}, 'E invalid boolean value "yes" for -pass-device-specs'),
    ([], {"PASS_DEVICE_SPECS": "yes"}, 'E could not parse "yes" as bool value from environment variable "PASS_DEVICE_SPECS" for flag pass-device-specs'),
    (["--imex-channel-ids=7"], {}, "invalid IMEX channel IDs: invalid IMEX config: channelIDs must be [] or [0]; found [7]"),
    (["--health-recovery=soon"], {}, "'soon' is no duration; write a duration such as 5m, or never"),
    (["--machine-interval=0s"], {}, "--machine-interval"),
    (["--grants-interval=infinite"], {}, "--grants-interval"),
    (["--driver-root=run/nvidia"], {}, "flag --driver-root: 'run/nvidia' is no absolute path; write it from /"),
    ([], {"NVIDIA_DRIVER_ROOT": "run/nvidia"}, "environment NVIDIA_DRIVER_ROOT: 'run/nvidia' is no absolute path"),
    (["--labels=maybe"], {}, "'maybe' is none of auto"),
    (["--log-level=loud"], {}, "'loud' is no log level; write debug, info, warn or error"),
    (["--config-file"], {}, "flag needs an argument: -config-file"),
    (["--device-list-strategy=cdi-cri", "--nvidia-cdi-hook-path="], {}, VALIDATE + "invalid --nvidia-cdi-hook-path option: it is empty"),
    (["--mig-strateg=none"], {}, "flag provided but not defined: -mig-strateg; did you mean --mig-strategy?"),
    (["--no-such-thing-at-all"], {}, "flag provided but not defined: -no-such-thing-at-all; --help lists"),
]  # fmt: skip


@pytest.mark.difference("config-relative-path")
@pytest.mark.parametrize("arguments, env, message", FLAGS, ids=[str(c[0] or c[1]) for c in FLAGS])
def test_flags_and_environment(here, arguments, env, message):
    assert message in here.refused(*arguments, env=env)


def test_the_mps_control_daemon_ignores_words_as_nvidias_does(node, tmp_path):
    there = node("l20")
    where = {"TRANCHE_MPS_DIR": tmp_path / "mps", "TRANCHE_HOST_ROOT": there.host}
    daemon = there.start("x", "--bogus", argv0="mps-control-daemon", env=where)
    daemon.wait_log("ignored, as NVIDIA's programs do, .*: x --bogus")
    daemon.wait_log("no daemon is needed")


DISCOVERY = [
    (["--device-discovery-strategy=vfio"], {}, "unable to load config: unable to validate flags: device discovery strategy vfio is not supported yet"),
    (["--output-file=/nonexistent/gfd"], {}, "error atomically writing file '/nonexistent/gfd': "),
    (["--sleep-interval=soon"], {}, 'invalid value "soon" for flag -sleep-interval: time: invalid duration "soon"'),
    (["--kubeconfig=/nonexistent"], {"NODE_NAME": "n1", "USE_NODE_FEATURE_API": "true"}, "failed to create clientsets: create client configuration: read /nonexistent: No such file or directory; write a file"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, env, message", DISCOVERY, ids=[c[0][0] for c in DISCOVERY])
def test_feature_discovery(node, arguments, env, message):
    there = node("l20", kubelet=False)
    environment = {"GFD_USE_NODE_FEATURE_API": "false", **env}
    if env:
        environment.pop("GFD_USE_NODE_FEATURE_API")
    run = there.start("--oneshot", *arguments, argv0="gpu-feature-discovery", env=environment)
    assert run.wait() == 1, run.log
    assert message in run.log


@pytest.mark.parametrize("words", [["true"], ["true", "--mig-strategy=bogus"], ["--", "-x"]])
def test_what_follows_the_flags_is_ignored_as_by_nvidias_programs(node, words):
    there = node("l20")
    agent = there.agent("--pass-device-specs", *words)
    there.kubelet.wait(GPU, allocatable=1)
    assert " W ignored, as NVIDIA's programs do" in agent.log
    assert "write a flag's value after '='" in agent.log


def test_nvidias_programs_help_by_a_word(here):
    for name in ("nvidia-device-plugin", "gpu-feature-discovery"):
        run = here.start("help", argv0=f"/usr/bin/{name}")
        assert run.wait() == 0
        assert "--mig-strategy" in run.output


def test_commands_of_ours_refuse_words(here):
    for command in ("labels", "cleanup", "arbiter"):
        run = here.start(command, "more")
        assert run.wait() == 2
        assert "unexpected argument 'more'" in run.log


def test_feature_discovery_without_a_nodes_name(here):
    """Called by NVIDIA's name it writes a NodeFeature by default."""
    run = here.start("--oneshot", f"--host-root={here.host}", argv0="gpu-feature-discovery")
    assert run.wait() == 1
    assert "E failed to create label outputer: required flag node-name not set; " in run.log
    asked = here.start("labels", "--oneshot", "--use-node-feature-api", f"--host-root={here.host}")
    assert asked.wait() == 1
    assert "required flag node-name not set" in asked.log


def test_the_same_for_the_other_names(here):
    for name in ("nvidia-device-plugin", "gpu-feature-discovery", "config-manager"):
        run = here.start("--mig-strategyy=none", argv0=f"/usr/bin/{name}")
        assert run.wait() == 1
        assert "flag provided but not defined: -mig-strategyy" in run.log
        assert f"Run '{name} --help' for flags and examples." in run.log


def test_unknown_commands(here):
    run = here.start("agnet")
    assert run.wait() == 2
    assert 'unknown command "agnet"; did you mean "agent"?' in run.log
    assert here.start().wait() == 2


def test_help_and_version(here):
    for arguments, words in (
        (["help"], "agent "),
        (["agent", "--help"], "--device-list-strategy"),
        (["labels", "--help"], "--output-file"),
        (["version"], "tranche "),
        (["agent", "--version"], "tranche "),
    ):
        run = here.start(*arguments)
        assert run.wait() == 0
        assert words in run.output and run.log == ""


def test_a_missing_file(here):
    log = here.refused(f"--config-file={here.dir}/nowhere.yaml")
    assert f"{READ}error opening config file: configuration {here.dir}/nowhere.yaml: No such file" in log
    assert "check --config-file and what is mounted there" in log


def test_a_loop_of_links(here):
    a, b = here.dir / "a", here.dir / "b"
    a.symlink_to(b)
    b.symlink_to(a)
    log = here.refused(f"--config-file={a}")
    assert "its symbolic links go in a circle" in log


@pytest.mark.difference("config-folder")
def test_folders(here):
    empty = here.dir / "empty"
    empty.mkdir()
    assert str(empty) in here.refused(f"--config-file={empty}")
    volume = Volume(here.dir / "volume", {"a": "", "b": ""})
    log = here.refused(f"--config-file={volume.path}")
    assert "a, b" in log and "--config-name" in log
    log = here.refused(f"--config-file={volume.path}", "--config-name=c")
    assert "c" in log and "a, b" in log


def test_files_that_are_none(here):
    pipe = here.dir / "pipe"
    os.mkfifo(pipe)
    assert "is no file" in here.refused(f"--config-file={pipe}")
    huge = here.dir / "huge"
    with open(huge, "wb") as file:
        file.truncate(1 << 40)  # no space is used
    assert "at most 1 MiB" in here.refused(f"--config-file={huge}")


@pytest.mark.difference("config-text")
def test_text_of_no_sense(here):
    for text in ("\0\1\2", "\xff" * 100, "{" * 100_000, "a: &a [*a]", "[" * 10_000):
        assert "config.yaml:" in here.refused(config=text)


@pytest.mark.difference("config-unknown-keys")
def test_strict(node):
    one = node("l20")
    for text, what in (
        ("flags: {migStrategi: none}", "migStrategy"),
        ("flags:\n  migStrategy: none\n  migStrategy: single", "migStrategy"),
        ("sharding: {}", "sharing"),
    ):
        log = one.refused("--strict-config", config=text)
        assert "config.yaml:" in log and what in log
        agent = one.agent(config=text)
        one.kubelet.wait(GPU, allocatable=1, connected=True)
        agent.wait_log(f"W .*config.yaml:.*{what}")
        assert agent.stop() == 0
        one.kubelet.wait(GPU, allocatable=0)


@pytest.mark.difference("config-ignored-fields")
def test_what_nvidia_ignores_is_told_with_the_switch(node):
    one = node("a100-40gb-x4")
    config = json.loads(sharing(3))
    [shared] = config["sharing"]["timeSlicing"]["resources"]
    shared.update(rename="gpu-small", devices=[0, 1])
    agent = one.agent(config=config)
    one.kubelet.wait(GPU, allocatable=12)
    agent.wait_log("W .*rename.*honorIgnoredFields")
    agent.wait_log("W .*devices.*honorIgnoredFields")
    # The switch: two GPUs shared under another name, two whole.
    one.write({**config, "tranche": {"honorIgnoredFields": True}})
    one.kubelet.wait("nvidia.com/gpu-small", allocatable=6)
    one.kubelet.wait(GPU, allocatable=2)


def test_an_empty_file_means_the_defaults(node):
    one = node("l20")
    agent = one.agent(config="")
    one.kubelet.wait(GPU, allocatable=1)
    text = agent.wait_log(r"Running with config:\n(\{\n(.|\n)*?\n\})").group(1)
    shown = json.loads(text)
    assert shown["version"] == "v1"
    assert shown["flags"]["migStrategy"] == "none"
    assert shown["flags"]["plugin"]["deviceListStrategy"] == ["envvar"]


def test_requests_of_no_sense(node):
    one = node("l20")
    agent = one.agent(config=sharing(2))
    one.kubelet.wait(GPU, allocatable=2)
    [first, _] = one.kubelet.ids(GPU)
    for ids in (["", ""], ["x" * 100_000], [first + "::0"], [f"{first}x"], ["::"], ["\u0000"]):
        assert "invalid allocation request" in one.kubelet.refusal(GPU, ids)
    assert "invalid allocation request" in one.kubelet.refusal(GPU, [f"i{i}" for i in range(50_000)])
    wait_until(agent.running, "the agent")
    assert one.kubelet.allocate(GPU, [first])
