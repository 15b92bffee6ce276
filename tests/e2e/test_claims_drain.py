"""Claims on a node whose agent was not told to serve them: what they hold is held, and they end."""

import json
import pathlib
import re
import uuid

import pytest

from claims import API, Claims
from node import GPU, sharing
from programs import Process, wait_until
from test_claims import library, server  # noqa: F401 (fixtures)

# Kubelet forgets a driver's slices 30 s after it has gone, and the agent waits for that.
PATIENCE = 90


@pytest.fixture
def prepared(server, node, library):  # noqa: F811
    """A node with a prepared claim for a quarter of its only GPU, after the agent's end."""
    here = node("l20")
    claims = Claims(server, here, f"drained-{uuid.uuid4().hex[:8]}")
    agent = claims.agent(f"--limit-library={library}", config=json.dumps({"version": "v1"}))
    claims.wait_taints()
    claim = claims.allocate(f"{claims.name}-quarter", "10Gi", 25)
    claims.prepare(claim)
    assert agent.stop() == 0
    yield here, claims, claim
    claims.forget(claim)


def without_dra(here, *arguments: object) -> Process:
    return here.agent("--limit-library=none", *arguments, config=sharing(4))


def test_an_agent_without_dra_withholds_what_claims_hold_until_they_have_ended(prepared):
    here, claims, claim = prepared
    tenants = set(here.promises())
    agent = without_dra(here)
    agent.wait_log("claims are prepared on this node, and this agent takes none.*default/drained-.*-quarter")
    here.kubelet.wait(GPU, capacity=4, allocatable=0)
    # Kubelet asks again after its restart, and the container may start again.
    assert claims.prepare(claim, patience=PATIENCE)
    assert set(here.promises()) == tenants
    assert all(pathlib.Path(path).exists() for path in claims.mounts_of(claim).values() if path.startswith(str(here.state)))
    claims.unprepare(claim)
    here.kubelet.wait(GPU, capacity=4, allocatable=4)
    assert not here.promises()
    assert not list((here.state / "claims").glob("*.json"))
    assert not list(here.cdi.glob("*claim*"))


def test_a_claim_that_cannot_be_read_is_held(prepared):
    here, claims, claim = prepared
    [record] = (here.state / "claims").glob("*.json")
    record.write_text("torn")
    agent = without_dra(here)
    agent.wait_log("the record .* cannot be read")
    here.kubelet.wait(GPU, capacity=4, allocatable=0)
    claims.unprepare(claim, patience=PATIENCE)
    here.kubelet.wait(GPU, capacity=4, allocatable=4)
    assert agent.stop() == 0
    agent = without_dra(here)
    here.kubelet.wait(GPU, capacity=4, allocatable=4)


def test_no_new_claim_is_prepared_there(prepared, server):  # noqa: F811
    here, claims, claim = prepared
    without_dra(here)
    late = claims.allocate(f"{claims.name}-late", "1Gi", 1)
    with pytest.raises(Exception, match="takes no claims any more"):
        claims.prepare(late, patience=PATIENCE)
    claims.unprepare(late)
    claims.forget(late)
    wait_until(lambda: here.kubelet.ids(GPU, healthy=False), "withheld")


def published(server, claims: Claims, driver: str) -> dict:  # noqa: F811
    """The node's devices under that name of the driver, each with its pool, without those for adminAccess."""
    slices = server.request("GET", f"{API}/resourceslices")["items"]
    return {
        device["name"]: one["spec"]["pool"]["name"]
        for one in slices
        if (one["spec"].get("nodeName"), one["spec"]["driver"]) == (claims.name, driver)
        for device in one["spec"].get("devices", [])
        if not device["name"].endswith("-admin")
    }


def test_a_driver_of_another_name_ends_the_claims_of_the_former_one(prepared, server, library):  # noqa: F811
    here, claims, claim = prepared
    name = "gpu.example.com"
    agent = claims.agent(f"--limit-library={library}", f"--dra-driver-name={name}")
    agent.wait_log("under a name that the driver had before.*-quarter .gpu.nvidia.com.")
    folder = here.dir / "k" / "plugins" / name
    wait_until((folder / "dra.sock").exists, "the new name is served")
    [former] = wait_until(lambda: [s for s in folder.glob("*.sock") if s.name not in ("dra.sock", "handover.sock")], "the former name is served", PATIENCE)
    assert not published(server, claims, name), "the GPU is held under the former name"
    claims.unprepare(claim, socket=former)
    server.wait(
        lambda: published(server, claims, name) == {"gpu-0": f"gpu-{claims.name}/{name}"}, "the GPU is given out"
    )
    assert not here.promises()


def test_an_instance_stays_for_others_when_no_more_are_made(server, node):  # noqa: F811
    here = node("h100")
    claims = Claims(server, here, f"cut-{uuid.uuid4().hex[:8]}")
    place = "gpu-0-mig-1g10gb-19-6"
    agent = claims.agent("--dra-dynamic-mig", "--limit-library=none", config=json.dumps({"version": "v1"}))
    claims.server.wait(lambda: place in claims.devices(), "places are published")
    claim = claims.allocate_whole(f"{claims.name}-first", place)
    [device] = claims.prepare(claim)
    assert agent.stop() == 0
    agent = claims.agent("--limit-library=none")
    assert claims.prepare(claim) == [device], "kubelet asks again"
    claims.unprepare(claim)
    agent.wait_log("its MIG instance stays")
    assert not list((here.state / "claims").glob("*.json"))

    def left() -> list[str]:
        return [name for name in claims.devices() if re.fullmatch(r"gpu-0-mig-1g10gb-gi\d+-ci0", name)]

    claims.server.wait(left, "others can have it")
    assert "memorySlice6" in claims.devices()[left()[0]]["capacity"]
    assert place not in claims.devices()
    other = claims.allocate_whole(f"{claims.name}-second", left()[0])
    assert claims.prepare(other)
    claims.unprepare(other)
    claims.forget(claim)
    claims.forget(other)
