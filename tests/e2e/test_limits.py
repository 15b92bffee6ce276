"""Limits from the configuration to the container: Allocate's answer, its files on the host, and how
both follow the configuration, the release and the Pod."""

import json
import os
import pathlib
import shutil

import pytest

from client import LIMITER, Client
from node import GPU, SHARED, sharing
from programs import TRANCHE, wait_until
from test_grants import checksum

LIBRARY = "/usr/local/tranche/libtranche-limit.so"
PRELOAD = "/etc/ld.so.preload"
# What programs can have of its 46068 MiB: the driver keeps 592, and 32 are nobody's.
L20_MEMORY_MIB = 46068 - 592 - 32
CONTEXT_MIB = 256  # of a program, on the simulated L20


def limited(replicas: int = 4, renamed: bool = False, **limits) -> str:
    """A configuration that shares nvidia.com/gpu and limits its holders."""
    config = json.loads(sharing(replicas, renameByDefault=renamed))
    config["tranche"] = {"limits": {"enforcement": "strict", **limits}}
    return json.dumps(config)


@pytest.fixture
def library(tmp_path) -> pathlib.Path:
    """Stands in for libtranche-limit.so: the agent does not look into it."""
    file = tmp_path / "libtranche-limit.so"
    file.write_bytes(b"\x7fELF of this release")
    return file


def limiting_agent(here, library: pathlib.Path, *arguments, **options):
    return here.agent(f"--limit-library={library}", *arguments, **options)


def held(here, pod: str, count: int = 1, resource: str = GPU) -> dict:
    """Ids and answer of a Pod's container."""
    return here.kubelet.admit(pod, {resource: count})["containers"]["c"][resource]


def mounts(answer: dict) -> dict:
    """Host path by container path; all are read-only."""
    assert all(one["read_only"] for one in answer["mounts"]), answer["mounts"]
    return {one["container_path"]: pathlib.Path(one["host_path"]) for one in answer["mounts"]}


def tenant(answer: dict) -> str:
    """The id of the tenant that the answer gives its container."""
    [path] = [path for path in mounts(answer) if path.startswith("/run/tranche/")]
    return path.removeprefix("/run/tranche/")


def test_a_plain_file_of_nvidias_changes_nothing(node, library):
    here = node("l20")
    agent = limiting_agent(here, library, config=sharing(4))
    here.kubelet.wait(GPU, allocatable=4)
    agent.wait_log("limits: off, as with NVIDIA's plugin: one container can take all of a shared GPU")
    [uuid] = here.uuids()
    answer = held(here, "a", 2)["answer"]
    assert answer.pop("envs") == {"NVIDIA_VISIBLE_DEVICES": uuid}
    assert not any(answer.values()), answer
    assert not (here.state / "tenants").exists()
    assert not (here.state / "lib").exists()


@pytest.mark.parametrize("strategy", ["envvar", "cdi-cri", "cdi-annotations"])
def test_what_a_container_gets(node, library, strategy):
    here = node("l20")
    driver = here.driver_root
    roots = (f"--driver-root={driver}", f"--driver-root-ctr-path={here.host}{driver}")
    config = limited(memory="25%", compute="10%")
    agent = limiting_agent(
        here, library, f"--device-list-strategy={strategy}", *roots, config=config
    )
    here.kubelet.wait(GPU, allocatable=4)
    agent.wait_log("limits: every resource strict: memory 25%, compute 10%")
    [uuid] = here.uuids()
    answer = held(here, "a", 2)["answer"]
    found = mounts(answer)
    mine = tenant(answer)
    assert set(found) == {LIBRARY, PRELOAD, f"/run/tranche/{mine}"}
    assert found[LIBRARY].read_bytes() == library.read_bytes()
    assert found[PRELOAD].read_text() == f"{LIBRARY}\n"
    folder = found[f"/run/tranche/{mine}"]
    assert folder == here.state / "tenants" / mine
    half = (L20_MEMORY_MIB // 2) << 20
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"part": f"tranche-part/v1\n{uuid} {half}\n"}
    assert here.promises() == {
        mine: {
            "id": mine,
            "resource": GPU,
            "enforcement": "strict",
            "priority": "normal",
            "devices": [
                {"uuid": uuid, "memoryBytes": half, "permille": 200, "weight": 200}
            ],
        }
    }
    [stored] = here.stored_grants()
    assert [one["hostPath"] for one in stored["record"]["mounts"]] == [
        one["host_path"] for one in answer["mounts"]
    ]


def test_volume_mounts_stand_beside_the_limits(node, library):
    here = node("l20")
    limiting_agent(here, library, "--device-list-strategy=volume-mounts", config=limited())
    here.kubelet.wait(GPU, allocatable=4)
    [uuid] = here.uuids()
    answer = held(here, "a")["answer"]
    read_only = {one["container_path"]: one["read_only"] for one in answer["mounts"]}
    assert read_only == {
        f"/var/run/nvidia-container-devices/{uuid}": False,
        LIBRARY: True,
        PRELOAD: True,
        f"/run/tranche/{next(iter(here.promises()))}": True,
    }


def test_each_container_is_a_tenant_of_its_own(node, library):
    here = node("l20")
    limiting_agent(here, library, config=limited())
    here.kubelet.wait(GPU, allocatable=4)
    first, second = (held(here, pod)["answer"] for pod in "ab")
    assert tenant(first) != tenant(second)
    assert mounts(first)[LIBRARY] == mounts(second)[LIBRARY]
    assert set(here.promises()) == {tenant(first), tenant(second)}


def test_entries_are_by_the_advertised_name(node, library):
    here = node("l20")
    entry = {"name": "gpu.shared", "memory": "4Gi", "compute": "none"}
    config = limited(renamed=True, enforcement="account", resources=[entry])
    limiting_agent(here, library, config=config)
    here.kubelet.wait(SHARED, allocatable=4)
    held(here, "a", resource=SHARED)
    [promise] = here.promises().values()
    assert promise["enforcement"] == "account"
    assert promise["devices"][0]["memoryBytes"] == 4 << 30
    assert "permille" not in promise["devices"][0]


def test_without_the_library_nothing_limited_is_advertised(node, library):
    here = node("l20")
    content = library.read_bytes()
    library.unlink()
    agent = limiting_agent(here, library, "--machine-interval=50ms", config=limited())
    agent.wait_log(f"not advertising {GPU}: its limits cannot be kept: read {library}: No such file.*--limit-library")
    assert here.kubelet.registered(GPU) == 0

    def probe() -> str:
        check = here.start("agent", *here.places(), "--check=ready")
        here.kubelet.watched.remove(check)
        assert check.wait() == 1
        return check.output

    wait_until(lambda: "limits cannot be kept" in probe(), "the probe says why")
    # Installed later: found at the next reading.
    library.write_bytes(content)
    here.kubelet.wait(GPU, allocatable=4)
    assert mounts(held(here, "a")["answer"])[LIBRARY].read_bytes() == content


def test_what_cannot_be_promised_is_not_advertised(node, library):
    here = node("l20")
    agent = limiting_agent(here, library, config=limited(4, memory="12Gi"))
    agent.wait_log(
        f"not advertising {GPU}: its limits .* cannot be kept: 4 tranches of 12Gi are more than the "
        f"{L20_MEMORY_MIB} MiB of GPU 0 .*oversubscribe: true"
    )
    here.write(limited(4, memory="12Gi", oversubscribe=True))
    here.kubelet.wait(GPU, allocatable=4)
    held(here, "a")
    [promise] = here.promises().values()
    assert promise["devices"][0]["memoryBytes"] == 12 << 30


@pytest.fixture
def programs(node, request):
    """Starts a CUDA program in a container's view, with one arbiter for the node. Its parameter: the machine."""
    here, started = node(getattr(request, "param", "l20")), []

    def start(tenant: pathlib.Path) -> Client:
        if not started:
            here.start("arbiter", f"--tenants={tenant.parent}", f"--state-dir={here.dir / 'arbiter'}")
        wait_until((tenant / "arbiter.sock").exists, "the arbiter serves")
        started.append(Client(here.env, tenant))
        return started[-1].joined()

    start.here = here
    yield start
    for program in started:
        program.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")
@pytest.mark.parametrize("memory", ["equal", "25%", f"{L20_MEMORY_MIB // 4}Mi"])
def test_every_one_of_four_can_hold_its_part(programs, memory):
    """The last one, too (tests/data/reports/04-last-of-four-has-less)."""
    here = programs.here
    limiting_agent(here, LIMITER, config=limited(4, memory=memory))
    here.kubelet.wait(GPU, allocatable=4)
    part = L20_MEMORY_MIB // 4
    clients = []
    for pod in "abcd":
        mine = tenant(held(here, pod)["answer"])
        assert here.promises()[mine]["devices"][0]["memoryBytes"] == part << 20
        clients.append(programs(here.state / "tenants" / mine))
        assert clients[-1]("allocate", part - CONTEXT_MIB) == 0, pod
        assert clients[-1]("allocate", 1) == 2, "also before NVML has told of its context"
    assert [client("allocate", 1) for client in clients] == [2] * 4, "out of memory: each has its part"


def test_all_of_a_gpu_twice_is_refused(node):
    log = node("l20").refused(config=limited(2, memory="100%"))
    assert "tranche.limits.memory: 2 tranches of 100% are more than the memory of a device" in log


def test_a_driver_that_does_not_tell_what_it_keeps(node, library):
    """Used memory that is nobody's counts as kept."""
    here = node("l20")
    here.sim("fault", "fail", "--function=nvmlDeviceGetMemoryInfo_v2", "--error=NOT_SUPPORTED")
    limiting_agent(here, library, config=limited(4))
    here.kubelet.wait(GPU, allocatable=4)
    held(here, "a")
    [promise] = here.promises().values()
    assert promise["devices"][0]["memoryBytes"] >> 20 == (L20_MEMORY_MIB - 2) // 4


def test_from_four_to_two_nobody_is_raised_into_what_others_keep(node, library):
    here = node("l20")
    agent = limiting_agent(here, library, config=limited(4))
    here.kubelet.wait(GPU, allocatable=4)
    for pod in "abcd":
        held(here, pod)
    parts = lambda: sorted(one["devices"][0]["memoryBytes"] >> 20 for one in here.promises().values())  # noqa: E731
    here.write(limited(2))
    agent.wait_log("2 containers are promised more than the others on the same GPU leave")
    assert parts() == [L20_MEMORY_MIB // 4] * 4
    permille = sum(one["devices"][0]["permille"] for one in here.promises().values())
    assert permille == 1000


def test_limits_change_under_a_running_container(node, library):
    here = node("l20")
    often = ("--grants-interval=500ms", "--machine-interval=200ms")  # until kubelet has named the container
    agent = limiting_agent(here, library, *often, config=limited(memory="8Gi"))
    here.kubelet.wait(GPU, allocatable=4)
    answer = held(here, "a")["answer"]
    sent = here.kubelet.ask("stream-count")["streams"][GPU]

    def promise() -> dict:
        return here.promises()[tenant(answer)]

    here.write(limited(memory="6Gi", compute="5%", enforcement="elastic"))
    wait_until(lambda: promise()["enforcement"] == "elastic", "the new limits")
    assert promise()["devices"][0]["memoryBytes"] == 6 << 30
    assert promise()["devices"][0]["permille"] == 50
    agent.wait_log("the limits of 1 container changed, without a restart")
    # Off limits nobody any more, and the container's files stay.
    here.write(sharing(4))
    wait_until(lambda: promise()["enforcement"] == "off", "no limits")
    assert all(path.exists() for path in mounts(answer).values())
    assert mounts(held(here, "b")["answer"]) == {}
    # On again: the container from in between is reported, the first is limited again.
    here.write(limited())
    wait_until(lambda: promise()["enforcement"] == "strict", "limits again")
    agent.wait_log(f"1 grant given out before there were limits, and not limited: .* of {GPU}; delete")
    # All the time kubelet saw one list.
    assert here.kubelet.ask("stream-count")["streams"][GPU] == sent
    assert here.kubelet.registered(GPU) == 1
    again = here.kubelet.ask("restart-container", pod="a", container="c")["resources"]
    assert again[GPU]["answer"] == answer


def test_a_killed_agent_finds_its_tenants_again(node, library):
    here = node("l20")
    agent = limiting_agent(here, library, config=limited())
    here.kubelet.wait(GPU, allocatable=4)
    answer = held(here, "a")["answer"]
    before = here.promises()
    agent.kill()
    (here.state / "tenants" / f"{tenant(answer)}.json").unlink()
    limiting_agent(here, library, config=limited())
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    wait_until(lambda: here.promises() == before, "what was promised")


def test_an_upgrade_leaves_running_containers_their_library(node, library):
    here = node("l20")
    agent = limiting_agent(here, library, config=limited())
    here.kubelet.wait(GPU, allocatable=4)
    old = mounts(held(here, "a")["answer"])
    content = library.read_bytes()
    assert agent.stop() == 0
    library.write_bytes(b"\x7fELF of the next release")
    limiting_agent(here, library, config=limited())
    here.kubelet.wait(GPU, registrations=2, allocatable=4)
    new = mounts(held(here, "b")["answer"])
    assert old[LIBRARY].read_bytes() == content
    assert new[LIBRARY].read_bytes() == library.read_bytes()
    # Kubelet replays the first one's mounts.
    replayed = here.kubelet.ask("restart-container", pod="a", container="c")["resources"][GPU]
    assert mounts(replayed["answer"]) == old


def test_a_tenant_and_its_library_go_with_the_pod(node, library):
    here = node("l20")
    agent = limiting_agent(here, library, config=limited())
    here.kubelet.wait(GPU, allocatable=4)
    gone = held(here, "gone")["answer"]
    kept = held(here, "kept")["answer"]
    here.kubelet.ask("remove", pod="gone")
    assert agent.stop() == 0
    # Time passes, and another release comes.
    file = here.state / "grants" / "grants.jsonl"
    records = here.stored_grants()
    for stored in records:
        stored["record"]["grantedAtMs"] -= 3_600_000
        stored["checksum"] = checksum(stored["record"])
    file.write_text("".join(json.dumps(stored) + "\n" for stored in records))
    library.write_bytes(b"\x7fELF of the next release")
    often = "--grants-interval=500ms"
    agent = limiting_agent(here, library, often, config=limited())
    wait_until(lambda: set(here.promises()) == {tenant(kept)}, "one tenant")
    wait_until(lambda: not mounts(gone)[f"/run/tranche/{tenant(gone)}"].exists(), "its folder gone")
    assert mounts(kept)[LIBRARY].exists()
    assert agent.stop() == 0
    here.kubelet.ask("remove", pod="kept")
    agent = limiting_agent(here, library, often, config=limited())
    wait_until(lambda: not mounts(kept)[LIBRARY].exists(), "its library gone")
    agent.wait_log("removed .*/lib/.*: no container mounts it any more")
    assert here.promises() == {}


def test_the_library_beside_the_program_is_the_default(node, tmp_path):
    """As in an image: <prefix>/bin/tranche and <prefix>/lib/libtranche-limit.so."""
    here = node("l20")
    prefix = tmp_path / "usr"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    shutil.copy(TRANCHE, prefix / "bin")
    (prefix / "lib" / "libtranche-limit.so").write_bytes(b"\x7fELF beside it")
    here.write(limited())
    here.start(
        "agent", *here.places(), f"--config-file={here.config}", executable=prefix / "bin" / "tranche"
    )
    here.kubelet.wait(GPU, allocatable=4)
    assert mounts(held(here, "a")["answer"])[LIBRARY].read_bytes() == b"\x7fELF beside it"


def test_a_mig_instance_is_the_device(node, library):
    here = node("a100-40gb-mig")
    small = "nvidia.com/mig-1g.5gb"
    config = {
        "sharing": {"timeSlicing": {"resources": [{"name": "mig-1g.5gb", "replicas": 2}]}},
        "tranche": {"limits": {"resources": [{"name": "mig-1g.5gb", "enforcement": "strict"}]}},
    }
    limiting_agent(here, library, "--mig-strategy=mixed", config=config)
    here.kubelet.wait(small, allocatable=4)
    one = held(here, "a", resource=small)
    [promise] = here.promises().values()
    [device] = promise["devices"]
    assert device["uuid"] == one["ids"][0].split("::")[0]
    assert device["uuid"].startswith("MIG-")
    assert 0 < device["memoryBytes"] < 3 << 30
    # Other profiles have no limits.
    other = "nvidia.com/mig-2g.10gb"
    here.kubelet.wait(other, allocatable=1)
    assert mounts(held(here, "b", resource=other)["answer"]) == {}


def test_the_runtimes_hook_is_given_by_kubelets_cdi_devices(node, library):
    here = node("l20")
    program = library.with_name("tranche-limit-hook")
    program.write_bytes(b"\x7fELF of this release's hook")
    agent = limiting_agent(here, library, config=limited(runtimeHook=True))
    here.kubelet.wait(GPU, allocatable=4)
    one = held(here, "a")["answer"]
    assert one["cdi_devices"] == ["tranche.dev/limits=hook"]
    assert len(mounts(one)) == 3
    spec = json.loads((here.cdi / "tranche.dev-limits.json").read_text())
    assert spec["kind"] == "tranche.dev/limits"
    (device,) = spec["devices"]
    (hook,) = device["containerEdits"]["hooks"]
    assert (device["name"], hook["hookName"]) == ("hook", "createRuntime")
    installed = pathlib.Path(hook["path"])
    assert installed.read_bytes() == program.read_bytes()
    assert installed.stat().st_mode & 0o777 == 0o755
    # It is the folder from which containers mount their tenant.
    tenants = pathlib.Path(hook["args"][hook["args"].index("--tenants") + 1])
    assert mounts(one)[f"/run/tranche/{tenant(one)}"] == tenants / tenant(one)
    # Containers with it keep it; later ones do not get it.
    here.write(limited())
    agent.wait_log("the configuration has changed")
    wait_until(lambda: held(here, "b")["answer"].get("cdi_devices", []) == [], "a grant without the hook")
    assert installed.exists() and (here.cdi / "tranche.dev-limits.json").exists()


def test_labels_tell_how_limits_are_kept(node, library):
    here = node("l20")
    here.features.mkdir()
    limiting_agent(here, library, config=limited(renamed=True), labels="true")
    wait_until(lambda: here.labels().get("tranche.dev/gpu.shared.limits") == "strict", "the label")
    assert here.labels()["tranche.dev/gpu.shared.limits-by"] == "limiter"
    here.write(sharing(4))
    wait_until(lambda: not [key for key in here.labels() if key.startswith("tranche.dev/")], "none")


def test_the_kernel_keeps_memory_where_node_and_driver_can(node, library):
    here = node("h200-r615")
    here.features.mkdir()
    config = limited(renamed=True, kernelLimits=True)
    agent = limiting_agent(here, library, config=config, labels="true")
    agent.wait_log("memory of nvidia.com/gpu.shared is kept by the limiter, not by kernel limits: .* version 2 alone")
    wait_until(lambda: here.labels().get("tranche.dev/gpu.shared.limits-by") == "limiter", "the label")
    assert agent.stop() == 0
    groups = here.host / "sys/fs/cgroup"
    groups.mkdir(parents=True)
    (groups / "cgroup.controllers").write_text("dmem\n")
    agent = limiting_agent(here, library, config=config, labels="true")
    wait_until(lambda: here.labels().get("tranche.dev/gpu.shared.limits-by") == "kernel", "the label")
    here.kubelet.wait(SHARED, allocatable=8)
    one = held(here, "a", resource=SHARED)
    promised = json.loads((here.state / "tenants" / f"{tenant(one['answer'])}.json").read_text())["limits"]
    assert [device["memoryBy"] for device in promised["devices"]] == ["kernel"]
    assert "not by kernel limits" not in agent.log


def test_a_part_that_is_kept_leaves_room_for_fewer_tranches(node, library):
    """Half a GPU is held under another name: of four quarters two are free."""
    here = node("l20")
    limiting_agent(here, library, config=limited(2, renamed=True))
    here.kubelet.wait(SHARED, allocatable=2)
    held(here, "a", resource=SHARED)
    here.write(limited(4))
    here.kubelet.wait(GPU, capacity=4, allocatable=2)
    here.kubelet.ask("remove", pod="a")
    here.kubelet.wait(GPU, capacity=4, allocatable=4)
