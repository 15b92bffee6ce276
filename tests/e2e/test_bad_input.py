"""What is wrong is refused with exit code 1, and the message says where and what to do."""

import json
import os

import pytest

from node import GPU, Node, Volume, sharing
from programs import wait_until

START = "error starting plugins: unable to load config: "
PARSE = START + "unable to finalize config: unable to parse config file: error parsing config file: "


@pytest.fixture(scope="module")
def here():
    """One node for all: nothing that is refused leaves a trace."""
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
FILES = [
    ("version", "version: v2", "config.yaml:1: version: unknown version: v2; "),
    ("no-yaml", "flags: [", "config.yaml:"),
    ("tab", "flags:\n\tmigStrategy: none", "config.yaml:2"),
    ("not-a-mapping", "- a", "config.yaml:1: is a list, expected a mapping; "),
    ("no-entries", "sharing:\n  timeSlicing:\n", "config.yaml:2: sharing.timeSlicing: no resources specified; "),
    ("no-name", entry("{replicas: 2}"), AT + ": no resource name specified; "),
    ("no-replicas", entry("{name: gpu}"), AT + ": no replicas specified; "),
    ("no-replicas-at-all", entry("{name: gpu, replicas: 0}"), AT + ".replicas: number of replicas must be >= 2, found 0; "),
    ("quoted-replicas", entry("{name: gpu, replicas: '4'}"), AT + ".replicas: is the string '4', expected a whole number; "),
    ("foreign-name", entry("{name: amd.com/gpu, replicas: 2}"), AT + ".name: resource name 'nvidia.com/amd.com/gpu' is not valid"),
    ("devices", entry("{name: gpu, replicas: 2, devices: [GPU-1]}"), AT + ".devices[0]: unsupported type for device in devices list; "),
    ("bool", "flags:\n  failOnInitError: 'yes'", "config.yaml:2: flags.failOnInitError: is the string 'yes'"),
    ("pattern", "resources:\n  gpus:\n  - pattern: '*'", "config.yaml:3: resources.gpus[0]: resources must have a 'name' field set; "),
]  # fmt: skip
VALUES = [
    ("list-strategy", "flags:\n  plugin:\n    deviceListStrategy: cdi", "config.yaml:3: flags.plugin.deviceListStrategy: invalid strategy: cdi; "),
    ("id-strategy", "flags:\n  plugin:\n    deviceIDStrategy: name", "config.yaml:3: flags.plugin.deviceIDStrategy: invalid --device-id-strategy option: name; "),
    ("policy", "flags:\n  plugin:\n    sharedDevicesAllocationPolicy: x", "config.yaml:3: flags.plugin.sharedDevicesAllocationPolicy: invalid"),
    ("mig-strategy", "flags:\n  migStrategy: double", "config.yaml:2: flags.migStrategy: unknown MIG strategy: double; "),
    ("discovery", "flags:\n  deviceDiscoveryStrategy: vfio", "config.yaml:2: flags.deviceDiscoveryStrategy: invalid --device-discovery-strategy option vfio; "),
    ("imex", "imex:\n  channelIDs: [1]", "config.yaml:2: imex.channelIDs: invalid IMEX channel IDs: [1]; "),
    ("mps-root", "sharing:\n  mps:\n    resources:\n    - {name: gpu, replicas: 2}", "flags.mpsRoot: using MPS requires --mps-root to be specified; "),
]  # fmt: skip


@pytest.mark.parametrize("text, message", [c[1:] for c in FILES], ids=[c[0] for c in FILES])
def test_files(here, text, message):
    log = here.refused(config=text)
    assert f"{PARSE}{here.dir}/{message}" in log


@pytest.mark.parametrize("text, message", [c[1:] for c in VALUES], ids=[c[0] for c in VALUES])
def test_values(here, text, message):
    log = here.refused(config=text)
    place = f"{here.dir}/{message}" if message.startswith("config.yaml") else message
    assert f"{START}unable to validate flags: {place}" in log


def test_all_errors_at_once(here):
    log = here.refused(config=entry("{name: gpu}") + "flags: {gdsEnabled: 1}\n")
    assert f"{AT}: no replicas specified" in log
    assert "config.yaml:6: flags.gdsEnabled" in log


FLAGS = [
    (["--mig-strategy=double"], {}, "flag --mig-strategy: unknown MIG strategy: double"),
    ([], {"MIG_STRATEGY": ""}, "environment MIG_STRATEGY: unknown MIG strategy: ;"),
    ([], {"DEVICE_LIST_STRATEGY": ""}, "invalid strategy: "),
    (["--device-list-strategy=envvar,cdi"], {}, "invalid strategy: cdi"),
    (["--pass-device-specs=yes"], {}, "--pass-device-specs"),
    ([], {"PASS_DEVICE_SPECS": "yes"}, "PASS_DEVICE_SPECS"),
    (["--imex-channel-ids=7"], {}, "invalid IMEX channel IDs: [7]"),
    (["--health-recovery=soon"], {}, "'soon' is no duration; write a duration such as 5m, or never"),
    (["--machine-interval=0s"], {}, "--machine-interval"),
    (["--grants-interval=infinite"], {}, "--grants-interval"),
    (["--labels=maybe"], {}, "'maybe' is none of auto"),
    (["--log-level=loud"], {}, "'loud' is no log level; write debug, info, warn or error"),
    (["--config-file"], {}, "flag needs an argument: -config-file"),
    (["--", "x"], {}, "unexpected argument 'x'"),
    (["--mig-strateg=none"], {}, "flag provided but not defined: -mig-strateg; did you mean --mig-strategy?"),
    (["--no-such-thing-at-all"], {}, "flag provided but not defined: -no-such-thing-at-all; --help lists"),
]  # fmt: skip


@pytest.mark.parametrize("arguments, env, message", FLAGS, ids=[str(c[0] or c[1]) for c in FLAGS])
def test_flags_and_environment(here, arguments, env, message):
    assert message in here.refused(*arguments, env=env)


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
    assert f"{here.dir}/nowhere.yaml: No such file" in log
    assert "check --config-file and what is mounted there" in log


def test_a_loop_of_links(here):
    a, b = here.dir / "a", here.dir / "b"
    a.symlink_to(b)
    b.symlink_to(a)
    log = here.refused(f"--config-file={a}")
    assert "its symbolic links go in a circle" in log


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


def test_text_of_no_sense(here):
    for text in ("\0\1\2", "\xff" * 100, "{" * 100_000, "a: &a [*a]", "[" * 10_000):
        assert "config.yaml:" in here.refused(config=text)


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
