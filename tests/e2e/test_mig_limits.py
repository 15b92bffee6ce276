"""Limits inside a GPU instance, with CUDA programs under the limiter and a real arbiter."""

import os
import pathlib

import pytest

from client import CLIENT, LIMITER, Client
from node import Node
from programs import wait_until

OUT_OF_MEMORY = 2

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="makes mount namespaces: needs root"),
    pytest.mark.skipif(not (LIMITER.exists() and CLIENT.exists()), reason="no libtranche-limit.so is built"),
]


class Serving:
    """A machine in MIG mode, an agent and an arbiter; programs run with its grants."""

    def __init__(self, here: Node, config: dict):
        self.here = here
        self.programs = []
        here.agent(f"--limit-library={LIMITER}", "--mig-strategy=mixed", config=config)

    def container(self, resource: str, device: str) -> Client:
        answer = self.here.kubelet.allocate(resource, [device])
        [tenant] = [
            pathlib.Path(one["host_path"])
            for one in answer["mounts"]
            if one["container_path"].startswith("/run/tranche/")
        ]
        if not self.programs:
            self.here.start("arbiter", f"--tenants={tenant.parent}", f"--state-dir={self.here.dir / 'arbiter'}")
        wait_until((tenant / "arbiter.sock").exists, "the arbiter serves")
        self.programs.append(Client({**self.here.env, **answer["envs"]}, tenant))
        return self.programs[-1].joined()


@pytest.fixture
def serving(node):
    made = []

    def serve(machine: str, config: dict, *create: list) -> Serving:
        here = node(machine)
        here.sim("mig", "enable")
        here.sim("reset")
        for words in create:
            here.sim("mig", "create", "--profile", *words)
        here.sim("root", here.host, "--driver-root", here.driver_root)
        made.append(Serving(here, config))
        return made[-1]

    yield serve
    for one in made:
        for program in one.programs:
            program.end()


def test_two_containers_share_an_instance_and_each_has_its_half(serving):
    profile = "1g.12gb"
    config = {
        "flags": {"migStrategy": "mixed"},
        "sharing": {"timeSlicing": {"renameByDefault": True, "resources": [{"name": f"mig-{profile}", "replicas": 2}]}},
        "tranche": {"limits": {"resources": [{"name": f"mig-{profile}.shared", "enforcement": "strict"}]}},
    }
    one = serving("h20", config, [profile], [profile])
    resource = f"nvidia.com/mig-{profile}.shared"
    one.here.kubelet.wait(resource, allocatable=4)
    [first, other] = one.here.gpus()[0]["mig"]["devices"]
    containers = [one.container(resource, f"{first['uuid']}::{number}") for number in (0, 1)]
    half = {promise["devices"][0]["memoryBytes"] >> 20 for promise in one.here.promises().values()}
    [half] = half
    for container in containers:
        assert container("allocate", half) == OUT_OF_MEMORY, "its context counts too"
        assert container("allocate", half - 1000) == 0
        assert container("allocate", 1000) == OUT_OF_MEMORY
    for container in containers:
        assert (container("spin", 1_000_000), container("synchronize")) == (0, 0)
    # The other instance's holder loses nothing of it.
    neighbour = one.container(resource, f"{other['uuid']}::1")
    assert neighbour("allocate", half - 1000) == 0


def test_two_compute_instances_have_the_memory_of_their_slices(serving):
    config = {"tranche": {"limits": {"enforcement": "strict"}}}
    one = serving("a100-40gb", config, ["3g.20gb", "--compute", 1, "--compute", 2])
    parts = {"1c.3g.20gb": 20096 // 3, "2c.3g.20gb": 20096 * 2 // 3}
    containers = {}
    for device in one.here.gpus()[0]["mig"]["devices"]:
        resource = f"nvidia.com/mig-{device['profile']}"
        one.here.kubelet.wait(resource, allocatable=1)
        containers[device["profile"]] = one.container(resource, device["uuid"])
    for profile, part in parts.items():
        container = containers[profile]
        assert container("allocate", part) == OUT_OF_MEMORY, "its context counts too"
        assert container("allocate", part - 1000) == 0, "its neighbour has taken its own part alone"


def test_without_limits_a_compute_instance_can_take_all_of_its_gpu_instance(serving):
    """As the hardware does; see docs/mig.md."""
    one = serving("a100-40gb", {}, ["3g.20gb", "--compute", 1, "--compute", 2])
    one.here.kubelet.wait("nvidia.com/mig-2c.3g.20gb", allocatable=1)
    small, large = one.here.gpus()[0]["mig"]["devices"]

    def program(device: dict) -> Client:
        one.programs.append(Client({**one.here.env, "NVIDIA_VISIBLE_DEVICES": device["uuid"]}))
        return one.programs[-1].joined()

    assert program(small)("allocate", 19000) == 0
    assert program(large)("allocate", 1000) == OUT_OF_MEMORY
