"""Memory limited by the kernel, with the arbiter as a process, the simulated driver r615 and
programs without the limiter. Control groups are folders, and /proc is the test's, which defines who
is in which container."""

import os

import pytest

from arbiter import MEMORY_LIMIT, MiB, Registered
from programs import wait_until
from r615 import OUT_OF_MEMORY, Node

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the driver takes limits from root alone")

@pytest.fixture
def node(tmp_path):
    node = Node(tmp_path)
    yield node
    for process in reversed(node.processes):
        process.kill()


def test_a_program_without_the_limiter_is_held_from_its_containers_first_registration(node):
    node.promise(2000)
    node.serve()
    static, neighbour = node.program(), node.program()
    node.contain(static.pid)
    node.contain(os.getpid())
    assert static.say(3000) == 0
    assert static.say("free") == 0
    first = Registered(node.tenants.socket("a"))
    assert first.policy(MEMORY_LIMIT) == 2000 * MiB
    # Limited when the answer comes, not some time later.
    assert static.say(3000) == OUT_OF_MEMORY
    assert static.say(1000) == 0
    assert static.say("view") == 2000
    assert neighbour.say(3000) == 0
    tenant = wait_until(lambda: (t := node.tenant()) and t["processes"] and t, "the registration in the status")
    assert tenant["devices"][0]["memoryBy"] == "kernel"
    assert tenant["degraded"] == []
    said = node.smi("memory-limits", "--get", "-n", node.group, "-i", "0")
    assert "hard limit: 2000 MiB" in said
    # Limits change while it runs.
    node.promise(5000)
    wait_until(lambda: static.say(3000) == 0, "the larger limit")
    first.close()
    assert static.say(3000) == OUT_OF_MEMORY


def test_a_limit_that_somebody_else_clears_is_set_again_and_told(node):
    node.promise(2000)
    process = node.serve()
    static = node.program()
    node.contain(static.pid)
    node.contain(os.getpid())
    first = Registered(node.tenants.socket("a"))
    assert static.say(3000) == OUT_OF_MEMORY
    # As an administrator does it by hand: cleared.
    node.smi("memory-limits", "--set", "-n", node.group, "-i", "0")

    def is_held() -> bool:
        error = static.say(3000)
        return error == OUT_OF_MEMORY or static.say("free") != 0

    wait_until(is_held, "the limit again")
    assert "hard limit: 2000 MiB" in node.smi("memory-limits", "--get", "-n", node.group, "-i", "0")
    process.wait_log("changed by somebody else, from 2000 MiB to none: it is set again")
    (finding,) = wait_until(node.findings, "the finding")
    assert (finding["kind"], finding["tenant"], finding["device"]) == ("kernel-limit-changed", "a", node.gpu)
    assert finding["cgroup"] == str(node.group)
    assert "pid" not in finding
    first.close()


def test_a_container_in_which_nobody_ever_registers_is_held_when_the_driver_shows_it(node):
    node.promise(2000)
    static = node.program()
    mount = "31 30 259:2 /var/lib/tranche/tenants/a /run/tranche/a ro - ext4 /dev/nvme0n1p2 rw\n"
    node.contain(static.pid, mount)
    assert static.say(3000) == 0
    node.serve()

    def is_held():
        error = static.say(100)
        return error == OUT_OF_MEMORY or (error == 0 and static.say("free"))

    wait_until(is_held, "the limit")


def test_as_long_as_the_driver_refuses_the_tenant_gets_no_memory(node):
    node.sim("fault", "fail", "--function", "nvmlDeviceSetMemoryLimits_v1", "--error", "NO_PERMISSION")
    node.promise(2000)
    process = node.serve()
    node.contain(os.getpid())
    first = Registered(node.tenants.socket("a"))
    assert first.policy(MEMORY_LIMIT) == 0
    process.wait_log("tenant a: the kernel does not limit its memory of GPU-.*CAP_SYS_ADMIN")
    wait_until(lambda: (t := node.tenant()) and t["degraded"] == ["kernel-limit-failed"], "it is in the status")
    node.sim("clear")
    wait_until(lambda: first.policy(MEMORY_LIMIT) == 2000 * MiB, "the limit")
    wait_until(lambda: node.tenant()["degraded"] == [], "nothing is degraded")
    assert process.log.count("the kernel does not limit") == 1
