"""MPS from the configuration to the container: control daemons, what is offered, what is granted,
and what happens when a configuration changes or a daemon dies."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

from mps import ROOT_ON_HOST, Mps, entry, mps
from node import GPU, SHARED, config_map
from programs import DEADLINE, TRANCHE, wait_until

MPS_CONFIG = config_map("platform/device-plugin-config.yaml")["mps-config"]


@pytest.fixture
def mps_node(node):
    opened = []

    def open_node(machine: str = "a100-40gb-x4") -> Mps:
        opened.append(Mps(node(machine)))
        return opened[-1]

    yield open_node
    for one in opened:
        one.node.end_programs()
        one.kill_daemons()


@pytest.mark.difference("mps-compute-mode", "mps-memory")
def test_the_published_configuration(mps_node):
    here = mps_node()
    agent = here.agent(config=MPS_CONFIG)
    agent.wait_log(f"not advertising {SHARED}: sharing.mps: .*mps-control-daemon.*mps.enabled=true")
    supervisor = here.supervisor()
    here.wait_ready()

    # NVIDIA's commands in NVIDIA's order: (40960 - 521 - 32) MiB / 8, 100 / 8.
    limits = [f"set_default_device_pinned_mem_limit {i} 5050M" for i in range(4)]
    assert here.told() == ["-d", *limits, "set_default_active_thread_percentage 12"]
    [environment] = {json.dumps(call["env"], sort_keys=True) for call in here.calls()}
    assert json.loads(environment) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_MPS_LOG_DIRECTORY": str(here.dir / SHARED / "log"),
        "CUDA_MPS_PIPE_DIRECTORY": str(here.dir / SHARED / "pipe"),
    }
    assert here.modes() == {"Exclusive_Process"}
    assert "Start of gpu.shared" in wait_until(lambda: supervisor.output, "the daemon's log")

    here.node.kubelet.wait(SHARED, capacity=32, allocatable=32)
    uuid = here.node.uuids()[0]
    assert here.node.kubelet.allocate(SHARED, [f"{uuid}::3"]) == {
        "envs": {
            "CUDA_MPS_PIPE_DIRECTORY": f"/mps/{SHARED}/pipe",
            "NVIDIA_VISIBLE_DEVICES": uuid,
        },
        "mounts": [
            {
                "container_path": f"/mps/{SHARED}/pipe",
                "host_path": f"{ROOT_ON_HOST}/{SHARED}/pipe",
                "read_only": False,
            },
            {"container_path": "/dev/shm", "host_path": f"{ROOT_ON_HOST}/shm", "read_only": False},
        ],
        "devices": [],
        "annotations": {},
        "cdi_devices": [],
    }
    assert "maximum request size for shared resources is 1; found 2" in here.node.kubelet.refusal(
        SHARED, [f"{uuid}::0", f"{uuid}::1"]
    )
    assert agent.stop() == 0

    assert supervisor.stop() == 0
    assert here.told()[-1] == "quit"
    assert here.modes() == {"Default"}
    assert not here.is_ready() and not here.is_started()
    assert here.pipe().is_dir() and not (here.dir / SHARED / "log").exists()


@pytest.mark.parametrize("strategy", ["volume-mounts", "cdi-annotations", "cdi-cri"])
def test_every_device_list_strategy_grants_the_same_of_mps(mps_node, strategy):
    here = mps_node("t4")
    driver = here.node.host / here.node.driver_root.lstrip("/")
    here.agent(
        f"--device-list-strategy={strategy}",
        f"--driver-root-ctr-path={driver}",
        f"--driver-root={here.node.driver_root}",
        config=MPS_CONFIG,
    )
    here.supervisor()
    here.node.kubelet.wait(SHARED, allocatable=8)
    [uuid] = here.node.uuids()
    answer = here.node.kubelet.allocate(SHARED, [f"{uuid}::0"])
    assert answer["envs"]["CUDA_MPS_PIPE_DIRECTORY"] == f"/mps/{SHARED}/pipe"
    assert [one["host_path"] for one in answer["mounts"][:2]] == [
        f"{ROOT_ON_HOST}/{SHARED}/pipe",
        f"{ROOT_ON_HOST}/shm",
    ]
    assert ("NVIDIA_VISIBLE_DEVICES" in answer["envs"]) == (strategy == "volume-mounts")


TWO = {"honorIgnoredFields": True}


def two_resources(small: int, large: int, small_gpus=("0", "1")) -> str:
    return mps(
        entry("gpu", small, rename="gpu.small", devices=list(small_gpus)),
        entry("gpu", large, rename="gpu.large", devices=["2"]),
        tranche=TWO,
    )


@pytest.mark.difference("mps-change", "mps-own-gpus")
def test_a_change_of_one_resource_leaves_the_other_alone(mps_node):
    small, large = "nvidia.com/gpu.small", "nvidia.com/gpu.large"
    here = mps_node()
    here.agent(config=two_resources(4, 2))
    supervisor = here.supervisor()
    here.wait_ready()
    here.node.kubelet.wait(small, allocatable=8)
    here.node.kubelet.wait(large, allocatable=2)
    pids = {name: here.pid(name) for name in (small, large)}
    uuids = here.node.uuids()
    [seen] = {
        call["env"]["CUDA_VISIBLE_DEVICES"]
        for call in here.calls()
        if call["env"]["CUDA_MPS_PIPE_DIRECTORY"] == str(here.pipe(small))
    }
    assert seen == f"{uuids[0]},{uuids[1]}"

    # New limits are set at the daemon and at the running server; nobody is ended.
    (here.home / "servers").write_text("4711\n")
    untouched = here.told(small)
    here.node.write(two_resources(4, 4))
    supervisor.wait_log(f"{large} has new limits")
    assert here.told(large)[-4:] == [
        "set_default_device_pinned_mem_limit 0 10101M",
        "set_default_active_thread_percentage 25",
        "set_device_pinned_mem_limit 4711 0 10101M",
        "set_active_thread_percentage 4711 25",
    ]
    here.node.kubelet.wait(large, allocatable=4)
    assert {name: here.pid(name) for name in (small, large)} == pids
    assert here.told(small) == untouched

    # SIGHUP, with which NVIDIA's ends every client, finds nothing to do.
    mark = supervisor.mark()
    supervisor.signal(signal.SIGHUP)
    supervisor.wait_log("reading everything anew", after=mark)
    # Other GPUs mean a new daemon, only for that resource.
    here.node.write(two_resources(4, 4, ("0", "1", "3")))
    wait_until(lambda: here.told(small).count("-d") == 2 and here.is_ready(), "gpu.small is back")
    here.node.kubelet.wait(small, allocatable=12)
    assert here.pid(large) == pids[large]
    assert here.pid(small) != pids[small]

    # What is no longer shared is ended, and its GPUs are free again.
    here.node.write(json.dumps({"version": "v1"}))
    here.node.kubelet.wait(GPU, allocatable=4)
    wait_until(lambda: not here.is_started(large) and not here.is_started(small), "both ended")
    wait_until(lambda: here.modes() == {"Default"}, "GPUs are free")
    here.wait_ready()


@pytest.mark.difference("mps-daemon-dies")
def test_a_daemon_that_dies_is_started_anew_and_its_devices_recover(mps_node):
    here = mps_node("t4")
    agent = here.agent(config=MPS_CONFIG)
    supervisor = here.supervisor()
    here.node.kubelet.wait(SHARED, allocatable=8)
    first = here.pid()

    (here.home / "refuse-start").touch()
    os.kill(first, signal.SIGKILL)
    here.node.kubelet.wait(SHARED, capacity=8, allocatable=0)
    supervisor.wait_log(f"daemon of {SHARED} has ended or does not answer, and is started anew")
    supervisor.wait_log("cannot be started: .* the GPU is busy")
    agent.wait_log("its MPS control daemon does not serve")
    assert not here.is_ready() and not here.is_started()
    assert here.modes() == {"Default"}

    (here.home / "refuse-start").unlink()
    here.node.kubelet.wait(SHARED, capacity=8, allocatable=8)
    here.wait_ready()
    assert here.pid() != first
    assert here.node.kubelet.registered(SHARED) == 1


def test_a_supervisor_that_is_killed_is_no_daemon_that_serves(mps_node):
    here = mps_node("t4")
    here.agent(config=MPS_CONFIG)
    supervisor = here.supervisor()
    here.node.kubelet.wait(SHARED, allocatable=8)
    left = here.pid()
    here.node.kubelet.watched.remove(supervisor)
    supervisor.kill()
    # Nobody has removed the file; nobody holds its lock.
    here.node.kubelet.wait(SHARED, capacity=8, allocatable=0)
    assert here.is_started()

    again = here.supervisor()
    again.wait_log("left by a supervisor that was killed; it is ended")
    here.node.kubelet.wait(SHARED, allocatable=8)
    assert here.pid() != left


def test_gpus_of_one_that_was_killed_are_freed(mps_node):
    """By the next one, though the configuration has no MPS any more."""
    here = mps_node("t4")
    supervisor = here.supervisor(config=MPS_CONFIG)
    here.wait_ready()
    waiting = here.supervisor()
    waiting.wait_log("another mps-control-daemon serves")
    here.node.kubelet.watched.clear()
    supervisor.kill()
    waiting.wait_log("left by a supervisor that was killed; it is ended")
    waiting.wait_log("serves: 12%")
    assert here.modes() == {"Exclusive_Process"}

    waiting.kill()
    assert here.modes() == {"Exclusive_Process"}
    last = here.supervisor(config=json.dumps({"version": "v1"}))
    last.wait_log("no daemon is needed")
    assert here.modes() == {"Default"}
    assert here.told()[-1] == "quit" and not here.is_started()


def test_nvidias_own_supervisor_is_believed(mps_node):
    here = mps_node("t4")
    here.agent(config=MPS_CONFIG)
    (here.dir / SHARED).mkdir(parents=True)
    (here.dir / SHARED / ".started").touch()
    here.node.kubelet.wait(SHARED, allocatable=8)


def test_more_replicas_than_mps_has_clients(mps_node):
    here = mps_node("l20")
    here.node.write(mps(entry("gpu", 49)))
    agent = here.agent()
    supervisor = here.supervisor()
    for program in (agent, supervisor):
        program.wait_log("maximum allowed replicas exceeded: 49 > 48; .*lower `replicas`")
    here.wait_ready()  # no daemon is wanted
    assert here.calls() == [] and here.node.kubelet.node() == {}
    here.node.write(mps(entry("gpu", 48)))
    here.node.kubelet.wait(GPU, allocatable=48)


@pytest.mark.parametrize("several", [False, True])
def test_limits_hold_for_the_container_with_mps_below(mps_node, several):
    here = mps_node("l20")
    config = mps(
        entry("gpu", 4),
        failRequestsGreaterThanOne=not several,
        tranche={"limits": {"enforcement": "strict", "memory": "8Gi", "compute": "20%"}},
    )
    library = here.node.dir / "libtranche-limit.so"
    library.write_bytes(b"any")
    here.node.features.mkdir()
    agent = here.agent(f"--limit-library={library}", config=config, labels="true")
    here.supervisor()
    here.node.kubelet.wait(GPU, allocatable=4)
    [uuid] = here.node.uuids()
    ids = [f"{uuid}::0", f"{uuid}::1"][: 1 + several]
    answer = here.node.kubelet.allocate(GPU, ids)
    paths = [mount["container_path"] for mount in answer["mounts"]]
    assert paths[:4] == [
        f"/mps/{GPU}/pipe",
        "/dev/shm",
        "/usr/local/tranche/libtranche-limit.so",
        "/etc/ld.so.preload",
    ]
    # Each process by MPS, all of them together by the limiter; compute only by MPS.
    if several:
        assert answer["envs"]["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == f"{uuid}=16384M"
        assert answer["envs"]["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "40"
        assert here.told(GPU)[1:] == ["set_default_active_thread_percentage 100"]
    else:
        assert not any("LIMIT" in name or "PERCENT" in name for name in answer["envs"])
        assert here.told(GPU)[1:] == [
            "set_default_device_pinned_mem_limit 0 8192M",
            "set_default_active_thread_percentage 20",
        ]
    [promise] = here.node.promises().values()
    assert promise["devices"] == [
        {"uuid": uuid, "memoryBy": "mps", "memoryBytes": len(ids) * (8 << 30), "weight": len(ids) * 200}
    ]
    assert promise["priority"] == "latency-critical"
    agent.wait_log("wrote .* labels")
    assert here.node.labels()["tranche.dev/gpu.limits-by"] == "mps"


def test_mount_shm(mps_node):
    here = mps_node("t4")
    half = int(pathlib.Path("/proc/meminfo").read_text().split()[1]) // 2
    tranche = f"{TRANCHE} mps-control-daemon mount-shm --mps-dir={here.dir}"
    # Twice: the second replaces what the first mounted.
    script = f"{tranche} && {tranche} && grep ' {here.dir}/shm ' /proc/self/mounts"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        env=here.node.env,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    if "unshare" in done.stderr:
        pytest.skip(f"no user namespaces here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    *said, mount = done.stdout.splitlines()
    assert said == [f"mounted a tmpfs of {half}k at {here.dir}/shm"] * 2
    kind, options = mount.split()[2:4]
    assert kind == "tmpfs"
    assert {"rw", "nosuid", "nodev", "noexec", "relatime"} <= set(options.split(","))


def test_help_tells_the_subcommands():
    done = subprocess.run(
        [TRANCHE, "mps-control-daemon", "--help"], capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode == 0
    for word in ("--config-file", "--mig-strategy", "--mps-dir", "mount-shm", "check"):
        assert word in done.stdout


def test_check_for_a_probe(mps_node):
    here = mps_node("t4")
    here.dir.mkdir()

    def check() -> tuple:
        done = subprocess.run(
            [TRANCHE, "mps-control-daemon", "check", f"--mps-dir={here.dir}"],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        return done.returncode, done.stdout + done.stderr

    assert check() == (1, "waiting: an MPS control daemon does not serve yet, see the log\n")
    (here.dir / ".ready").touch()
    assert check() == (0, "ready\n")
