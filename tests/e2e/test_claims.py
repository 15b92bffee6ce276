"""What limits a claim's containers to their share: the driver's kernel limits, MPS, the limiter. On
a real API server and simulated GPUs; skipped where the lab's programs are not built
(lab/build/build)."""

import json
import os
import pathlib
import shutil
import sys

import pytest
import yaml

from claims import Claims
from client import CLIENT, LIMITER, Client
from mps import ROOT_ON_HOST, Mps, entry, mps
from node import GPU, sharing
from programs import BUILD, ROOT, KubeletError, wait_until

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import running_server  # noqa: E402

CONTROL = BUILD / "sim" / "nvidia-cuda-mps-control"
OUT_OF_MEMORY, DEVICE_UNAVAILABLE = 2, 46
CONTEXT_MIB = 256  # of a program, on the simulated L20
REPORTS = ROOT / "tests" / "data" / "reports"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server


def notes(server, node: str, reason: str) -> list:
    return [
        event["note"]
        for event in server.request("GET", EVENTS)["items"]
        if event["reason"] == reason and event["regarding"]["name"] == node
    ]


@pytest.fixture
def library(tmp_path) -> pathlib.Path:
    """Stands in for libtranche-limit.so and the hook's program: the agent does not look into
    them."""
    file = tmp_path / "libtranche-limit.so"
    file.write_bytes(b"\x7fELF of this release")
    shutil.copy(file, tmp_path / "tranche-limit-hook")
    return file


def test_the_kernel_keeps_a_share_where_node_and_driver_can(server, node, library):
    here = node("h200-r615")
    claims = Claims(server, here, "kernel")
    limits = {"enforcement": "off", "kernelLimits": True, "runtimeHook": True}
    config = json.dumps({"version": "v1", "tranche": {"limits": limits}})
    library = f"--limit-library={library}"
    agent = claims.agent(library, config=config)
    agent.wait_log("memory of claims is kept by the limiter, not by kernel limits: .* version 2 alone")
    claims.wait_taints()
    claim = claims.allocate("kernel-half", "40Gi", 50)
    claims.prepare(claim)
    assert "memoryBy" not in claims.part(claim)
    server.wait(lambda: notes(server, "kernel", "NoKernelLimits"), "the Event")
    [hook] = claims.edits(claim)["hooks"]
    assert (hook["hookName"], hook["args"][1]) == ("createRuntime", "--tenants")
    assert pathlib.Path(hook["path"]).exists()
    assert agent.stop() == 0

    # The next agent has what the kernel needs.
    groups = here.host / "sys/fs/cgroup"
    groups.mkdir(parents=True)
    (groups / "cgroup.controllers").write_text("dmem\n")
    agent = claims.agent(library, config=config)
    claims.wait_taints()
    more = claims.allocate("kernel-more", "20Gi", 10)
    claims.prepare(more)
    assert claims.part(more)["memoryBy"] == "kernel"
    assert claims.part(more)["permille"] == 100
    assert "not by kernel limits" not in agent.log

    # When it is not wanted both go, also the hook of prepared claims.
    claims.configure({"version": "v1"})
    wait_until(lambda: "hooks" not in claims.edits(more), "the claim's file is made anew")
    for one in (claim, more):
        claims.unprepare(one)
    assert not here.promises()
    claims.forget(claim, more)


def test_what_a_damaged_record_had_stays_until_its_claim_ends(server, node, library):
    here = node("l20")
    claims = Claims(server, here, "damaged")
    library = f"--limit-library={library}"
    agent = claims.agent(library, config={"version": "v1"})
    claims.wait_taints()
    claim = claims.allocate("damaged-half", "20Gi", 50)
    claims.prepare(claim)
    before = claims.edits(claim), claims.part(claim)
    assert agent.stop() == 0
    [record] = here.dir.rglob(f"claims/{claim['metadata']['uid']}.json")
    record.write_text(record.read_text()[:100])
    other = record.with_name("0b51bcc7-6a6c-4c0f-9e0e-9c2bd53d2b1a.json")
    os.mkfifo(other)

    agent = claims.agent(library)
    agent.wait_log(f"the record {record} cannot be read: torn .*; what its containers have stays")
    agent.wait_log(f"the record {other} cannot be read: it is no file")
    more = claims.allocate("damaged-more", "10Gi", 10)
    claims.prepare(more)
    assert (claims.edits(claim), claims.part(claim)) == before
    for one in (claim, more):
        claims.unprepare(one)
    assert not here.promises()
    assert not record.exists()
    claims.forget(claim, more)


def test_an_agent_without_a_config_map_records_events_too(server, node):
    claims = Claims(server, node("l20"), "no-config-map")
    claims.set_mode("both")
    claims.agent()
    server.wait(lambda: notes(server, "no-config-map", "NodeModeUnknown"), "the Event")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")
def test_every_quarter_of_a_gpu_can_be_held(server, node):
    """The amount that the scheduler divides exists: each part of an L20, by the share of the
    report's Pods."""
    here, name = node("l20"), "quarters"
    claims = Claims(server, here, name)
    claims.agent(f"--limit-library={LIMITER}", config=json.dumps({"version": "v1"}))
    claims.wait_taints()
    workload = yaml.safe_load((REPORTS / "04-last-of-four-has-less" / "quarters.yaml").read_text())
    replicas = workload["spec"]["replicas"]
    [container] = workload["spec"]["template"]["spec"]["containers"]
    share = float(container["resources"]["limits"][GPU])
    capacity = claims.devices()["gpu-0"]["capacity"]["memory"]["value"]
    part = int(int(capacity.removesuffix("Mi")) * share)  # as the template of a fraction has it
    prepared, clients = [], []
    for number in range(replicas):
        prepared.append(claims.allocate(f"q-{number}", f"{part}Mi", int(100 * share)))
        claims.prepare(prepared[-1])
    tenants = claims.tenant(prepared[0]).parent
    here.start("arbiter", f"--tenants={tenants}", f"--state-dir={here.dir / 'arbiter'}")
    try:
        for claim in prepared:
            wait_until((claims.tenant(claim) / "arbiter.sock").exists, "the arbiter serves")
            clients.append(Client(here.env, claims.tenant(claim)).joined())
            assert clients[-1]("allocate", part - CONTEXT_MIB) == 0, claim["metadata"]["name"]
        assert [client("allocate", 1) for client in clients] == [OUT_OF_MEMORY] * replicas
    finally:
        for client in clients:
            client.end()
    for claim in prepared:
        claims.unprepare(claim)
    claims.forget(*prepared)


@pytest.fixture
def shared(server, node, request):
    if not (CONTROL.exists() and CLIENT.exists()):
        pytest.skip("no simulated nvidia-cuda-mps-control is built")
    one = Mps(node(getattr(request, "param", "l20")), CONTROL)
    # A separate node: slices of an agent that has gone stay.
    one.name = f"node-{abs(hash(request.node.name)):x}"
    one.claims = Claims(server, one.node, one.name)
    one.clients = []

    def serve(*arguments: object, **options):
        mine = (f"--mps-dir={one.dir}", f"--mps-root={ROOT_ON_HOST}", f"--limit-library={LIMITER}")
        arbiter = f"--arbiter-state-dir={one.node.dir / 'arbiter'}"
        return one.claims.agent(*mine, arbiter, *arguments, **options)

    def client(claim: dict) -> Client:
        envs = one.claims.environment_of(claim)
        envs["CUDA_MPS_PIPE_DIRECTORY"] = envs["CUDA_MPS_PIPE_DIRECTORY"].replace("/mps", str(one.dir), 1)
        one.clients.append(Client({**one.node.env, **envs}, one.claims.tenant(claim)))
        return one.clients[-1]

    one.serve, one.client = serve, client
    yield one
    for program in one.clients:
        program.end()
    one.node.end_programs()
    one.kill_daemons()


def test_claims_get_what_mps_serves_as_its_clients(server, shared):
    claims, kubelet = shared.claims, shared.node.kubelet
    config = mps(entry("gpu", 4))
    agent = shared.serve(config=config)
    claims.wait_taints("tranche.dev/mps")
    first = claims.allocate("mps-first", "10Gi", 25)
    with pytest.raises(KubeletError, match="gpu-0: nvidia.com/gpu: its MPS control daemon does not serve"):
        claims.prepare(first)

    supervisor = shared.supervisor()
    claims.wait_taints()
    supervisor.wait_log("100% of the threads, memory all of GPU 0")
    assert not kubelet.node().get(GPU), "nothing is the device plugin's"
    claims.prepare(first)
    [uuid] = shared.node.uuids()
    pipe = f"/mps/{GPU}/pipe"
    told = claims.environment_of(first)
    assert told["CUDA_MPS_PIPE_DIRECTORY"] == pipe
    assert told["CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"] == f"{uuid}=10240M"
    assert told["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] == "25"
    mounts = claims.mounts_of(first)
    assert (mounts[pipe], mounts["/dev/shm"]) == (f"{ROOT_ON_HOST}/{GPU}/pipe", f"{ROOT_ON_HOST}/shm")
    part = claims.part(first)
    assert (part["memoryBy"], part["memoryBytes"], part["priority"]) == ("mps", 10 << 30, "latency-critical")
    assert "permille" not in part

    # The daemon dies: its GPU takes no claim until it is back, and what is prepared stays.
    os.kill(shared.pid(GPU), 9)
    supervisor.wait_log("is started anew")
    assert supervisor.stop() == 0
    claims.wait_taints("tranche.dev/mps")
    second = claims.allocate("mps-second", "20Gi", 50)
    with pytest.raises(KubeletError, match="does not serve"):
        claims.prepare(second)
    assert claims.prepare(first), "kubelet may ask again"
    supervisor = shared.supervisor()
    claims.wait_taints()

    # So does the agent.
    assert agent.stop() == 0
    agent = shared.serve()
    claims.wait_taints()
    assert claims.prepare(first) and claims.prepare(second)

    # Without MPS the limiter keeps both parts, and new containers are no clients.
    claims.configure({"version": "v1"})
    wait_until(lambda: "CUDA_MPS_PIPE_DIRECTORY" not in claims.environment_of(first), "the files are made anew")
    server.wait(lambda: notes(server, shared.name, "MpsGrantStale"), "the Event")
    [note] = notes(server, shared.name, "MpsGrantStale")
    assert "default/mps-first, default/mps-second" in note
    for one, permille in ((first, 250), (second, 500)):
        wait_until(
            lambda one=one, permille=permille: claims.part(one).get("permille") == permille,
            "the limiter has the compute again",
        )
    for one in (first, second):
        claims.unprepare(one)
    claims.forget(first, second)


NEWER = {"mps": {"protocol": 3, "smPartitions": "equal"}}


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace: needs root")
@pytest.mark.parametrize(("shared", "rules"), [("l20", None), ("h100-r615", NEWER)], indirect=["shared"])
def test_two_claims_run_at_once_and_each_is_held_to_its_memory(shared, rules):
    claims = shared.claims
    shared.serve(config=mps(entry("gpu", 4), tranche=rules))
    supervisor = shared.supervisor()
    claims.wait_taints()
    if rules:
        supervisor.wait_log("tranche.mps.smPartitions: not for claims, .* limited by percentages")
    sizes = {"one": 10, "two": 20}
    both = {name: claims.allocate(f"at-once-{name}", f"{gib}Gi", gib) for name, gib in sizes.items()}
    for claim in both.values():
        claims.prepare(claim)
    tenants = claims.tenant(both["one"]).parent
    arbiter = shared.node.start(
        "arbiter", f"--tenants={tenants}", f"--state-dir={shared.node.dir / 'arbiter'}"
    )
    for claim in both.values():
        wait_until((claims.tenant(claim) / "arbiter.sock").exists, "the arbiter serves")
    clients = {name: shared.client(claim).joined() for name, claim in both.items()}
    assert {client("mps") for client in clients.values()} == {(0, 1)}
    for name, gib in sizes.items():
        assert clients[name]("allocate", (gib << 10) - 1000) == 0, name
    for name in sizes:
        assert clients[name]("allocate", 2000) == OUT_OF_MEMORY, name
        assert clients[name]("spin", 1_000_000) == 0
    # A second process of a container has what the first one left.
    other = shared.client(both["two"]).joined()
    assert other("allocate", 10000) == OUT_OF_MEMORY
    # Without MPS the GPU is taken.
    shared.clients.append(Client(shared.node.env))
    assert (shared.clients[-1]("init"), shared.clients[-1]("context")) == (0, DEVICE_UNAVAILABLE)
    assert arbiter.stop() == 0
    for claim in both.values():
        claims.unprepare(claim)
    claims.forget(*both.values())


def test_the_daemons_limits_change_hands_with_the_mode(shared):
    claims, node = shared.claims, shared.node
    claims.set_mode("device-plugin")
    shared.serve(config=mps(entry("gpu", 4)))
    supervisor = shared.supervisor()
    node.kubelet.wait(GPU, allocatable=4)
    quarter = "25% of the threads, memory 11361M of GPU 0"
    supervisor.wait_log(quarter)

    # A container of the device plugin keeps its limits until it has ended.
    node.kubelet.admit("plugin", {GPU: 1})
    claims.set_mode("dra")
    node.kubelet.wait(GPU, allocatable=0)
    assert claims.devices() == {}
    node.kubelet.ask("remove", pod="plugin")
    claims.wait_taints()
    supervisor.wait_log("has new limits.*100% of the threads")

    claim = claims.allocate("hands", "30Gi", 60)
    claims.prepare(claim)
    claims.set_mode("device-plugin")
    claims.wait_taints("tranche.dev/mode")
    assert not node.kubelet.ids(GPU, healthy=True)
    assert claims.part(claim)["memoryBy"] == "mps"
    claims.unprepare(claim)
    claims.forget(claim)
    node.kubelet.wait(GPU, allocatable=4)
    assert supervisor.log.count(quarter) == 2


def test_a_config_that_shares_by_mps_names_the_claims_from_before(server, shared):
    claims = shared.claims
    shared.serve(config=sharing(4))
    claims.wait_taints()
    claim = claims.allocate("before", "10Gi", 25)
    claims.prepare(claim)
    claims.configure(mps(entry("gpu", 4)))
    server.wait(lambda: notes(server, shared.name, "GrantBeforeMps"), "the Event")
    assert "default/before" in notes(server, shared.name, "GrantBeforeMps")[0]
    # New containers are clients; the limiter keeps limiting running ones.
    wait_until(lambda: "CUDA_MPS_PIPE_DIRECTORY" in claims.environment_of(claim), "the file is made anew")
    assert claims.part(claim)["permille"] == 250
    claims.unprepare(claim)
    claims.forget(claim)


def test_the_pod_of_a_claim_is_told_that_its_gpu_is_unhealthy(server, node):
    """Kubelet's list of devices does not name it; the claim does."""
    claims = Claims(server, node("l20"), "unhealthy")
    claims.agent(f"--arbiter-state-dir={claims.node.dir / 'arbiter'}")
    server.wait(lambda: "gpu-0" in claims.devices(), "gpu-0 is published")
    claim = claims.allocate_whole("whole-gpu")
    container = {"name": "main", "image": "none", "resources": {"claims": [{"name": "gpu"}]}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trainer", "namespace": "default"},
        "spec": {
            "nodeName": "unhealthy",
            "containers": [container],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "whole-gpu"}],
        },
    }
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}})
    server.apply(pod)
    claims.prepare(claim)
    assert not notes(server, "trainer", "GpuUnhealthy")
    # The driver reports XIDs only once somebody listens.
    for _ in range(3):
        claims.node.sim("xid", "--gpu", 0, "--xid", 79)
    server.wait(lambda: notes(server, "trainer", "GpuUnhealthy"), "the Event on the Pod")
    [note] = notes(server, "trainer", "GpuUnhealthy")
    assert note.startswith("container main holds a part of GPU 0"), note


def devices_free(server, node: str) -> tuple:
    """Status and message of the condition."""
    conditions = server.request("GET", f"/api/v1/nodes/{node}").get("status", {}).get("conditions", [])
    return next(
        ((one["status"], one["message"]) for one in conditions if one["type"] == "TrancheDevicesFree"), ("", "")
    )


def test_a_change_of_mode_says_who_holds_what_of_the_mode_before(server, node):
    """Kubelet's capacity stays and its allocatable drops, so something must say why."""
    claims = Claims(server, node("l20"), "moved")
    claims.set_mode("device-plugin")
    claims.agent(config={"version": "v1"})
    kubelet = claims.node.kubelet
    kubelet.wait(GPU, allocatable=1)
    kubelet.admit("plugin", {GPU: 1})
    claims.set_mode("dra")
    server.wait(lambda: devices_free(server, "moved")[0] == "False", "the condition")
    assert "was in mode dra (tranche.dev/mode): by default/plugin" in devices_free(server, "moved")[1]
    assert notes(server, "moved", "DevicesHeld")
    kubelet.ask("remove", pod="plugin")
    server.wait(lambda: devices_free(server, "moved")[0] == "True", "the GPU is free")
    claims.wait_taints()

    claim = claims.allocate_whole("moved-claim")
    claims.prepare(claim)
    claims.set_mode("device-plugin")
    server.wait(lambda: devices_free(server, "moved")[0] == "False", "the condition again")
    assert "mode device-plugin (tranche.dev/mode): by claim default/moved-claim" in devices_free(server, "moved")[1]
    claims.unprepare(claim)
    claims.forget(claim)
    server.wait(lambda: devices_free(server, "moved")[0] == "True", "the GPU is free again")
    kubelet.wait(GPU, allocatable=1)


def pod_of_claims(name: str, node: str, claims: list, container: dict) -> dict:
    container = {"name": "main", "image": "none", **container}
    spec = {"nodeName": node, "containers": [container], "resourceClaims": claims}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_each_pod_of_claims_on_an_ill_gpu_is_told(server, node, library):
    """By a template, by an extended resource, and two by one claim."""
    claims = Claims(server, node("l20"), "ill")
    claims.agent(f"--arbiter-state-dir={claims.node.dir / 'arbiter'}", f"--limit-library={library}")
    server.wait(lambda: "gpu-0" in claims.devices(), "gpu-0 is published")
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}})
    by_claim = {"resources": {"claims": [{"name": "gpu"}]}}
    joint = [{"name": "gpu", "resourceClaimName": "ill-joint"}]
    template = [{"name": "gpu", "resourceClaimTemplateName": "half"}]
    extended = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    mapping = {"containerName": "main", "resourceName": "nvidia.com/gpu", "requestName": "gpu"}
    pods = [
        (pod_of_claims("ill-a", "ill", joint, by_claim), {}),
        (pod_of_claims("ill-b", "ill", joint, by_claim), {}),
        (
            pod_of_claims("ill-template", "ill", template, by_claim),
            {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "ill-of-template"}]},
        ),
        (
            pod_of_claims("ill-extended", "ill", [], extended),
            {"extendedResourceClaimStatus": {"resourceClaimName": "ill-extended", "requestMappings": [mapping]}},
        ),
    ]
    for pod, status in pods:
        made = server.apply(pod)
        made["status"] = {**made.get("status", {}), **status}
        path = f"/api/v1/namespaces/default/pods/{pod['metadata']['name']}/status"
        assert status.items() <= server.request("PUT", path, made)["status"].items()
    for name in ("ill-joint", "ill-of-template", "ill-extended"):
        claims.prepare(claims.allocate(name, "8Gi", 20))
    for _ in range(3):
        claims.node.sim("xid", "--gpu", 0, "--xid", 79)
    for pod, _ in pods:
        name = pod["metadata"]["name"]
        server.wait(lambda name=name: notes(server, name, "GpuUnhealthy"), f"the Event on {name}")
        [note] = notes(server, name, "GpuUnhealthy")
        assert note.startswith("container main holds a part of GPU 0"), note
