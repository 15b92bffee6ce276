"""Rows of docs/differences.md without another test: what ours does, on a simulated machine. What
NVIDIA's programs do was seen by running v0.20.0 on the same machines, and is in the table.
tests/docs/test_difference_table.py compares the table with the marks."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from mps import Mps, entry, mps
from node import GPU, sharing
from programs import ROOT, TRANCHE, wait_until
from test_cdi import cdi_agent, spec_file
from test_controller import FLAGS, KUBECONFIG

difference = pytest.mark.difference
MACHINES = ROOT / "sim" / "machines"


def served_by(here, agent, count: int) -> str:
    """The log of an agent that advertises `count` of nvidia.com/gpu."""
    here.kubelet.wait(GPU, allocatable=count)
    return agent.log


def machine(folder: pathlib.Path, base: str, *changes: tuple) -> str:
    """The name of a machine that is a shipped one with words changed."""
    text = (MACHINES / f"{base}.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    (folder / "machine.yaml").write_text(text)
    return str(folder / "machine")


# The configuration.

TAKEN = [
    pytest.param("config-replicas-one", sharing(1), [], {}, 1, "W .*1 replica", id="one"),
    pytest.param(
        "config-both-sharings",
        {"sharing": {kind: {"resources": [{"name": GPU, "replicas": n}]} for kind, n in (("timeSlicing", 4), ("mps", 1))}},
        [], {}, 1, "W .*sharing.timeSlicing", id="both",
    ),
    pytest.param(
        "config-sleep-interval", {"flags": {"gfd": {"sleepInterval": 60}}}, [], {}, 1,
        "W .*60 ns is too short and taken as 1s", id="nanoseconds",
    ),
    pytest.param("config-unknown-keys", "null: 2\nversion: v1", [], {}, 1, "W .*null", id="null"),
    pytest.param(
        "config-pattern-null", "resources: {gpus: [{pattern: null, name: gpu}]}", [], {}, 1, "W .*resources", id="pattern"
    ),
    pytest.param(
        "config-one-flag-twice", None, ["--gds-enabled=true", "--driver-root=/a", "--nvidia-driver-root=/b"], {}, 1,
        '"nvidiaDriverRoot": "/b"', id="twice",
    ),
    pytest.param(
        "config-variable-beside-flag", None, ["--pass-device-specs=false"], {"PASS_DEVICE_SPECS": "maybe"}, 1,
        '"passDeviceSpecs": false', id="variable",
    ),
]  # fmt: skip


@pytest.mark.parametrize("row, config, flags, env, count, said", TAKEN)
@difference(*(one.values[0] for one in TAKEN))
def test_what_ours_takes(node, row, config, flags, env, count, said):
    here = node("l20")
    agent = here.agent(*flags, config=config, env=env)
    agent.wait_log(said)
    served_by(here, agent, count)


REFUSED = [
    pytest.param("config-most-replicas", sharing(65537), "65537 replicas of one device are more than kubelet can be told", id="replicas"),
    pytest.param("config-sleep-interval", "flags: {gfd: {sleepInterval: 1e30}}", 'invalid duration "1e30"', id="interval"),
    pytest.param("config-discovery", "flags: {deviceDiscoveryStrategy: tegra}", "tegra is not supported yet", id="tegra"),
]  # fmt: skip


@pytest.mark.parametrize("row, config, said", REFUSED)
@difference(*(one.values[0] for one in REFUSED))
def test_what_ours_refuses(node, row, config, said):
    assert said in node("l20").refused(config=config)


@difference("config-mig-strategy")
def test_feature_discovery_ends_at_once_on_an_unknown_strategy(node):
    here = node("l20", kubelet=False)
    run = here.start("--use-node-feature-api=false", "--mig-strategy=double", argv0="gpu-feature-discovery")
    assert run.wait() == 1
    assert "unknown MIG strategy: double" in run.log


# What both accept, and ours once refused.

AS_NVIDIAS = [
    ("a-null-item", {}, {"devices": [None]}, []),
    ("help-false", {}, {}, ["--help=false", "-v=false"]),
    ("a-fraction-of-a-nanosecond", {"flags": {"gfd": {"sleepInterval": 1.5}}}, {}, []),
    ("more-devices-than-there-are", {}, {"devices": 3000000000}, []),
    ("an-underscore", {}, {}, ["--imex-channel-ids=0_0"]),
    ("a-null-channel", {"imex": {"channelIDs": [None]}}, {}, []),
]  # fmt: skip


@pytest.mark.parametrize("top, entry, flags", [one[1:] for one in AS_NVIDIAS], ids=[one[0] for one in AS_NVIDIAS])
def test_what_nvidias_plugin_takes_is_taken(node, top, entry, flags):
    here = node("l20")
    config = {**json.loads(sharing(2)), **top}
    config["sharing"]["timeSlicing"]["resources"][0].update(entry)
    here.agent(*flags, config=config)
    here.kubelet.wait(GPU, allocatable=2)


# Devices and their health.


@difference("devices-preferred-mig")
def test_instances_count_for_the_gpu_that_they_are_on(node):
    here = node("a100-40gb-x4")
    for gpu in (0, 1):
        here.smi("-i", gpu, "-mig", 1)
        here.smi("mig", "-i", gpu, "-cgi", "19,19,19,19", "-C")
    here.agent("--mig-strategy=mixed", "--shared-devices-allocation-policy=packed")
    name = "nvidia.com/mig-1g.5gb"
    here.kubelet.wait(name, allocatable=8)
    gpus = [re.findall(r"UUID: (MIG-[^)]+)", text) for text in here.smi("-L").split("GPU ")[1:3]]
    assert [len(instances) for instances in gpus] == [4, 4]
    for gpu in gpus:
        for taken in gpu:
            free = [one for one in here.kubelet.ids(name) if one != taken]
            [picked] = here.kubelet.preferred(name, free, 1)
            assert picked in gpu, "beside the one that is taken"


@difference("devices-order")
def test_indices_keep_the_order_of_the_request(node):
    here = node("a100-40gb-x4")
    here.agent("--device-id-strategy=index", config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    uuids = here.uuids()
    for order in ([3, 1, 2], [0, 2, 3], [2, 0, 1]):
        answer = here.kubelet.allocate(GPU, [f"{uuids[i]}::0" for i in order])
        assert answer["envs"]["NVIDIA_VISIBLE_DEVICES"] == ",".join(map(str, order))


@difference("health-xid-0")
def test_xid_0_in_the_list_is_xid_0(node):
    here = node("l20")
    here.agent(env={"DP_DISABLE_HEALTHCHECKS": "0"})
    here.kubelet.wait(GPU, allocatable=1)

    def unhealthy() -> bool:
        here.sim("xid", "--gpu", 0, "--xid", 79)
        return here.kubelet.ids(GPU, healthy=False) != []

    wait_until(unhealthy, "checks are on")


@difference("health-wait-fails")
def test_a_failing_wait_says_nothing_about_a_gpu(node):
    here = node("a100-40gb-x4")
    agent = here.agent()
    here.kubelet.wait(GPU, allocatable=4)
    here.sim("fault", "fail", "--function", "nvmlEventSetWait_v2", "--error", "UNKNOWN")
    agent.wait_log("cannot listen for GPU errors: .*trying again until it works")
    assert here.kubelet.node()[GPU] == 4
    here.sim("clear")

    def unhealthy() -> bool:
        here.sim("xid", "--gpu", 2, "--xid", 79)
        return here.kubelet.node()[GPU] == 3

    wait_until(unhealthy, "it listens again")
    assert agent.log.count("cannot listen for GPU errors") == 1


@difference("health-event-types")
def test_event_types_that_cannot_be_read(node):
    here = node("a100-40gb-x4")
    here.sim("fault", "fail", "--function", "nvmlDeviceGetSupportedEventTypes", "--error", "UNKNOWN")
    here.agent()
    here.kubelet.wait(GPU, allocatable=4)

    def unhealthy() -> bool:
        here.sim("xid", "--gpu", 2, "--xid", 79)
        return here.kubelet.node()[GPU] == 3

    wait_until(unhealthy, "XIDs count all the same")


# CDI.


def without(here, pattern: str) -> None:
    for root in (here.host, here.host / here.driver_root.lstrip("/")):
        for file in root.glob(pattern):
            file.unlink()


def gpu_file(here) -> dict:
    wait_until(spec_file(here).exists, "the CDI file")
    return json.loads(spec_file(here).read_text())


def nodes(edits: dict) -> dict:
    return {one["path"]: one for one in edits.get("deviceNodes", [])}


@difference("cdi-missing-gpu-node")
def test_a_gpu_whose_node_is_missing_has_its_path_in_the_file(node):
    here = node("a100-40gb-x4")
    without(here, "dev/nvidia2")
    agent = cdi_agent(here)
    here.kubelet.wait(GPU, allocatable=4)
    devices = {one["name"]: nodes(one["containerEdits"]) for one in gpu_file(here)["devices"]}
    assert list(devices) == sorted(here.uuids())
    host = f"{here.driver_root}/dev/nvidia2"
    assert devices[here.uuids()[2]] == {"/dev/nvidia2": {"path": "/dev/nvidia2", "hostPath": host}}
    agent.wait_log("W CDI: device nodes are missing: /dev/nvidia2; .*nvidia-modprobe")
    # If the driver's own root has no nodes at all, those of the host's /dev are named.
    there = node("l20")
    for file in (there.host / there.driver_root.lstrip("/")).glob("dev/nvidia*"):
        file.unlink() if not file.is_dir() else [one.unlink() for one in file.iterdir()] and file.rmdir()
    cdi_agent(there, "--dev-root=/elsewhere")
    there.kubelet.wait(GPU, allocatable=1)
    assert nodes(gpu_file(there)["containerEdits"])["/dev/nvidiactl"]["hostPath"] == "/elsewhere/dev/nvidiactl"


@difference("cdi-missing-capability")
def test_capability_nodes_that_are_missing_have_their_numbers(node):
    here = node("a100-40gb-mig")
    without(here, "dev/nvidia-caps/*")
    major = next(
        int(line.split()[0])
        for line in (here.host / "proc/devices").read_text().splitlines()
        if line.endswith(" nvidia-caps")
    )
    cdi_agent(here, "--mig-strategy=mixed")
    here.kubelet.wait("nvidia.com/mig-1g.5gb", allocatable=2)
    for device in gpu_file(here)["devices"]:
        caps = [one for path, one in nodes(device["containerEdits"]).items() if "nvidia-cap" in path]
        assert len(caps) == 2
        assert {(one["type"], one["major"]) for one in caps} == {("c", major)}


def test_nodes_of_a_driver_container_are_named_below_its_root(node):
    """As NVIDIA's plugin names them: --dev-root is for nodes of the host's own /dev."""
    here = node("l20")
    cdi_agent(here, "--dev-root=/")
    here.kubelet.wait(GPU, allocatable=1)
    spec = gpu_file(here)
    [device] = spec["devices"]
    for edits in (spec["containerEdits"], device["containerEdits"]):
        for path, one in nodes(edits).items():
            assert one["hostPath"] == here.driver_root + path


@difference("cdi-mig-under-none", "cdi-host-path")
def test_the_file_names_what_is_advertised(node):
    here = node("a100-40gb-mig")
    here.agent(
        "--device-list-strategy=cdi-cri",
        f"--driver-root-ctr-path={here.host}{here.driver_root}",
    )
    here.kubelet.wait(GPU, allocatable=1)
    spec = gpu_file(here)
    assert [one["name"] for one in spec["devices"]] == here.kubelet.ids(GPU)
    # The driver's root is /: what is at the container's own path needs no second one.
    assert spec["cdiVersion"] == "0.3.0"
    assert all("hostPath" not in one for one in nodes(spec["containerEdits"]).values())


@difference("cdi-empty-root")
def test_an_empty_root_of_the_driver_is_the_hosts(node):
    here = node("l20")
    driver = f"--driver-root-ctr-path={here.host}{here.driver_root}"
    here.agent("--device-list-strategy=cdi-cri", "--driver-root=", driver)
    here.kubelet.wait(GPU, allocatable=1)
    mounts = gpu_file(here)["containerEdits"]["mounts"]
    assert mounts and all(one["hostPath"] == one["containerPath"] for one in mounts)


@difference("cdi-driver-version")
def test_without_the_drivers_version_there_is_no_file(node):
    here = node("l20")
    here.sim("fault", "fail", "--function", "nvmlSystemGetDriverVersion", "--error", "UNKNOWN")
    agent = cdi_agent(here, "--machine-interval=100ms")
    agent.wait_log("E unable to create cdi spec file: the driver does not tell its version")
    assert here.kubelet.node() == {}
    here.sim("clear")
    here.kubelet.wait(GPU, allocatable=1)


@difference("cdi-no-gpus")
def test_without_gpus_there_is_no_file_and_the_agent_waits(node):
    here = node("none")
    agent = cdi_agent(here)
    agent.wait_log("No devices found. Waiting indefinitely.")
    assert agent.running() and not spec_file(here).exists()


@difference("cdi-links", "cdi-sandboxutils", "cdi-xorg", "cdi-coherent", "cdi-more-files")
def test_which_files_of_the_driver_the_file_names(node):
    here = node("l20")
    root = here.host / here.driver_root.lstrip("/")
    [cuda] = root.rglob("libcuda.so.570.158.01")
    for name in ("libnvidia-sandboxutils.so.1", "libnvidia-made-up.so.570.158.01"):
        (cuda.parent / name).write_bytes(b"no library at all")
    (cuda.parent / "libnvidia-made-up.so.7").symlink_to("libnvidia-made-up.so.570.158.01")
    module = root / "usr/lib/xorg/modules/drivers/nvidia_drv.so"
    module.parent.mkdir(parents=True)
    module.write_bytes(b"a module")
    (root / "usr/bin/nvidia-xconfig").write_text("may not be executed")
    (root / "tmp/nvidia-mps").mkdir(parents=True)
    agent = cdi_agent(here, "--cdi-feature-flags=enable-coherent-annotations")
    here.kubelet.wait(GPU, allocatable=1)
    text = spec_file(here).read_text()
    # Of the links in the folder, not of names inside the libraries.
    assert "libnvidia-made-up.so.570.158.01::" in text and "/libnvidia-made-up.so.7" in text
    assert "nvidia_drv.so" not in text and "annotations" not in text
    places = {one["containerPath"] for one in json.loads(text)["containerEdits"]["mounts"]}
    assert {"/usr/bin/nvidia-xconfig", "/tmp/nvidia-mps"} <= places
    agent.wait_log("CDI feature flag enable-coherent-annotations: not supported")


# Labels.


@difference("labels-two-models")
def test_labels_of_two_models_are_those_of_the_lowest_index(node, tmp_path):
    models = (MACHINES / "t4.yaml").read_text().split("models:\n")[1].split("gpus:\n")[0]
    two = machine(
        tmp_path, "l20", ("gpus:\n", f"{models}gpus:\n  - {{model: t4, pci: \"0000:00:07.0\", numa: 0}}\n")
    )  # fmt: skip
    here = node(two)
    here.features.mkdir()
    agent = here.agent(labels="true")
    here.kubelet.wait(GPU, allocatable=2)
    agent.wait_log("wrote .* labels")
    assert here.labels()["nvidia.com/gpu.product"] == "Tesla-T4"
    assert " W " in agent.log and "NVIDIA L20" in agent.log


@difference("labels-entry-twice")
def test_an_entry_that_stands_twice_is_labelled_as_it_is_served(node):
    here = node("l20")
    here.features.mkdir()
    resources = [{"name": GPU, "replicas": 2}, {"name": GPU, "replicas": 3}]
    agent = here.agent(labels="true", config={"sharing": {"timeSlicing": {"resources": resources}}})
    here.kubelet.wait(GPU, allocatable=3)
    agent.wait_log("wrote .* labels")
    assert here.labels()["nvidia.com/gpu.replicas"] == "3"


@difference("labels-no-value")
def test_what_is_no_label_value_is_left_out(node, tmp_path):
    here = node(machine(tmp_path, "l20", ("name: NVIDIA L20", "name: Foo-"), ("product: CVM", "product: -x-")), kubelet=False)
    run = here.start("labels", "--oneshot", "--output-file=", f"--host-root={here.host}")
    assert run.wait() == 0
    assert "nvidia.com/gpu.count=1" in run.output
    for label in ("gpu.product", "gpu.machine"):
        assert f"nvidia.com/{label}=" not in run.output
        assert f"label nvidia.com/{label} left out" in run.log


@difference("labels-later-errors")
def test_an_error_in_a_later_pass_is_said_and_tried_again(node):
    here = node("l20", kubelet=False)
    run = here.start(
        "--sleep-interval=1s",
        "--use-node-feature-api=false",
        f"--output-file={here.dir / 'gfd'}",
        f"--host-root={here.host}",
        argv0="gpu-feature-discovery",
    )
    wait_until((here.dir / "gfd").exists, "labels")
    here.sim("fault", "fail", "--function", "nvmlDeviceGetCount_v2", "--error", "UNKNOWN")
    run.wait_log(" E .*nvmlDeviceGetCount")
    (here.dir / "gfd").unlink()
    here.sim("clear")
    wait_until((here.dir / "gfd").exists, "labels again")
    assert run.stop() == 0


# config-manager.


def manager(here, files: dict, *flags: str, labels: str = "a=b\n"):
    folder = here.dir / "available"
    if not folder.exists():
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        (here.dir / "labels").write_text(labels)
    return here.start(
        f"--config-file-srcdir={folder}",
        f"--config-file-dst={here.dir / 'link'}",
        "--node-name=n1",
        *flags,
        argv0="config-manager",
        env={"TRANCHE_NODE_LABELS_FILE": here.dir / "labels"},
    )


@difference("manager-no-files")
def test_the_fallback_empty_needs_no_files(node):
    here = node("l20", kubelet=False)
    run = manager(here, {}, "--oneshot", "--fallback-strategies=named,empty", "--send-signal=false")
    assert run.wait() == 0, run.log
    assert os.readlink(here.dir / "link") == "/dev/null"


@difference("manager-nobody")
def test_nobody_to_signal_is_said_and_gone_on_from(node):
    here = node("l20", kubelet=False)
    run = manager(here, {"a": ""}, "--default-config=a", "--process-to-signal=nobody-is-called-so")
    run.wait_log("no process is called 'nobody-is-called-so'")
    assert os.readlink(here.dir / "link").endswith("/a")
    assert run.running() and run.stop() == 0


@difference("manager-names")
def test_names_with_a_dot_count_and_folders_do_not(node):
    here = node("l20", kubelet=False)
    run = manager(here, {".a": ""}, "--oneshot", "--send-signal=false", "--fallback-strategies=single")
    assert run.wait() == 0, run.log
    (here.dir / "available" / "folder").mkdir()
    (here.dir / "available" / "link").symlink_to("folder")
    run = manager(here, {}, "--oneshot", "--send-signal=false", "--fallback-strategies=single")
    assert run.wait() == 0, run.log
    assert os.readlink(here.dir / "link").endswith("/.a")


@difference("manager-signals")
def test_the_manager_ends_orderly_and_not_by_sighup(node):
    here = node("l20", kubelet=False)
    run = manager(here, {"a": "", "b": ""}, "--send-signal=false", "--default-config=a")
    wait_until((here.dir / "link").is_symlink, "the link")
    run.signal(signal.SIGHUP)
    (here.dir / "labels").write_text("nvidia.com/device-plugin.config=b\n")
    wait_until(lambda: os.readlink(here.dir / "link").endswith("/b"), "it goes on")
    assert run.stop() == 0


# MPS.


@difference("mps-volta")
def test_volta_has_48_clients(node, tmp_path):
    here = Mps(node(machine(tmp_path, "t4", ('"7.5"', '"7.0"'))))
    agent = here.agent(config=mps(entry("gpu", 48)))
    here.supervisor()
    try:
        here.node.kubelet.wait(GPU, allocatable=48)
        assert agent.running()
    finally:
        here.node.end_programs()
        here.kill_daemons()


@difference("mps-start-fails")
def test_a_start_that_fails_is_tried_again(node):
    here = Mps(node("t4"))
    (here.home / "refuse-start").touch()
    supervisor = here.supervisor(config=mps(entry("gpu", 2)))
    try:
        supervisor.wait_log("cannot be started|does not start|start")
        (here.home / "refuse-start").unlink()
        here.wait_ready()
        assert supervisor.running()
    finally:
        here.node.end_programs()
        here.kill_daemons()


@difference("mps-prints")
def test_the_supervisor_prints_what_holds(node, tmp_path):
    here = node("l20", kubelet=False)
    run = here.start(
        f"--mps-dir={tmp_path / 'mps'}", f"--host-root={here.host}", argv0="mps-control-daemon", env={"CONFIG_FILE": ""}
    )  # fmt: skip
    shown = json.loads(run.wait_log(r"(?s)Running with config:\n(\{\n.*?\n\})\n").group(1))
    assert shown["flags"]["failOnInitError"] is True and shown["flags"]["nvidiaDriverRoot"] == "/"


# Signals.


@difference("process-faults")
def test_what_tells_of_a_fault_ends_by_that_signal(node):
    here = node("l20", kubelet=False)
    run = manager(here, {"a": ""}, "--send-signal=false", "--default-config=a")
    wait_until((here.dir / "link").is_symlink, "the link")
    run.signal(signal.SIGSYS)
    assert run.wait() == -signal.SIGSYS


@difference("process-log-reader")
def test_a_reader_of_the_log_that_has_gone_ends_nobody(node):
    here = node("l20")
    here.write(sharing(2))
    agent = subprocess.Popen(
        ["tranche", "agent", *map(str, here.places()), f"--config-file={here.config}"],
        executable=str(TRANCHE),
        env={name: str(value) for name, value in here.env.items()},
        stderr=subprocess.PIPE,
    )
    try:
        here.kubelet.wait(GPU, allocatable=2)
        agent.stderr.close()
        here.write(sharing(3))
        here.kubelet.wait(GPU, allocatable=3)
        assert agent.poll() is None
    finally:
        agent.terminate()
        assert agent.wait(timeout=30) == 0


# Each was sent to NVIDIA's programs, which survived.
SURVIVED = ["USR1", "USR2", "PIPE", "ALRM", "VTALRM", "PROF", "XCPU", "XFSZ", "IO", "PWR", "URG", "WINCH", "CHLD", "CONT"]


def programs_of(here, tmp_path):
    """Every program that keeps running, and its log line when it listens."""
    yield here.agent(config=sharing(2), labels="false"), "registered"
    (here.dir / "t").mkdir()
    yield here.start("arbiter", f"--tenants={here.dir / 't'}", f"--state-dir={here.dir / 'a'}", f"--host-root={here.host}"), "serving 0 tenants"
    yield here.start(f"--mps-dir={tmp_path / 'mps'}", f"--host-root={here.host}", argv0="mps-control-daemon"), "no daemon is needed"
    yield here.start("--use-node-feature-api=false", f"--output-file={here.dir / 'gfd'}", f"--host-root={here.host}", argv0="gpu-feature-discovery"), "Running with config"
    yield manager(here, {"a": ""}, "--send-signal=false", "--default-config=a"), "points at"
    kubeconfig = here.dir / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    yield here.start("controller", *FLAGS, f"--kubeconfig={kubeconfig}"), "cannot follow"


def test_every_program_survives_what_nvidias_survive(node, tmp_path):
    here = node("l20")
    started = list(programs_of(here, tmp_path))
    for program, said in started:
        program.wait_log(said)
    for name in SURVIVED:
        for program, _ in started:
            program.signal(getattr(signal, f"SIG{name}"))
    for program, _ in started:
        program.signal(signal.SIGRTMAX)
    for program, _ in started:
        assert program.running(), f"{program.command}: {program.wait()}\n{program.log}"
        assert program.stop() == 0, program.log


def test_output_to_a_reader_that_has_gone_ends_as_a_go_program(node):
    here = node("l20", kubelet=False)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        ["tranche", "labels", "--oneshot", "--output-file=", f"--host-root={here.host}"],
        executable=str(TRANCHE),
        env={name: str(value) for name, value in here.env.items()},
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=30,
    )
    os.close(write)
    assert done.returncode == -signal.SIGPIPE
