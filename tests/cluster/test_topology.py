"""GPUs and processors of one NUMA node or none: kubelet's topology manager with `single-numa-node`, and its
static CPU manager, on a simulated machine with two GPUs on each of two NUMA nodes."""

import re

import pytest
from pods import Applied, Serving, agent, pod, wait_offer

NODE = "a100"
LOOK = "nvidia-smi -L; grep Cpus_allowed_list /proc/self/status; exec sleep infinity"


@pytest.fixture(scope="module")
def lab(labs):
    nodes = ["a100-40gb-x4=a100"]
    return labs.get(nodes, topology_manager="single-numa-node", cpu_manager="static")


@pytest.fixture(scope="module", autouse=True)
def served(lab):
    # A lost GPU counts again soon after it is back.
    with Serving(lab, agent("--health-recovery=1s")):
        wait_offer(lab, NODE, 4)
        yield


def asks(name: str, gpus: int, **limits: object) -> str:
    return pod(name, "bash", "-c", LOOK, image="lab-glibc:1", gpus=gpus, limits=limits)


def numbers(text: str) -> set[int]:
    """"0,2-4" as processors are listed."""
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def processors(lab) -> dict[int, set[int]]:
    """NUMA node -> its processors, as the node shows them."""
    node = lab.node(NODE)
    shown = node.run("sh", "-c", "cd /sys/devices/system/node; grep -H . node*/cpulist").out
    return {int(node): numbers(text) for node, text in re.findall(r"node(\d+)/cpulist:(.*)", shown)}


def numa_of_gpus(lab) -> dict[str, int]:
    """As the machine file has it: GPUs 0 and 1 on NUMA node 0, 2 and 3 on 1."""
    return {uuid: number // 2 for number, uuid in enumerate(lab.node(NODE).uuids())}


def given(lab, name: str) -> tuple[set[int], set[int]]:
    """NUMA nodes of a running Pod's GPUs, and its processors."""
    lab.wait_pod(name)
    text = lab.wait(lambda: "Cpus_allowed_list" in lab.logs(name) and lab.logs(name), f"{name} says what it has")
    numa = numa_of_gpus(lab)
    nodes = {numa[uuid] for uuid in re.findall(r"UUID: (\S+?)\)", text)}
    [listed] = re.findall(r"Cpus_allowed_list:\s*(\S+)", text)
    return nodes, numbers(listed)


def refusal(lab, name: str) -> str:
    return lab.wait_pod(name, "Failed")["status"]["reason"]


def test_a_pod_gets_gpus_and_processors_of_one_numa_node(lab):
    with Applied(lab, asks("aligned", 2, cpu=1, memory="64Mi")):
        nodes, own = given(lab, "aligned")
        assert len(own) == 1, "a processor of its own"
        [numa] = nodes
        assert own <= processors(lab)[numa]


def test_a_pod_that_is_not_guaranteed_gets_aligned_gpus_alone(lab):
    with Applied(lab, asks("shared", 2)):
        nodes, _ = given(lab, "shared")
        assert len(nodes) == 1


def test_more_gpus_than_a_numa_node_has_are_refused(lab):
    """`restricted` would admit it: two NUMA nodes are the best possible."""
    with Applied(lab, asks("three", 3)):
        assert refusal(lab, "three") == "TopologyAffinityError"


def test_gpus_that_are_left_on_two_numa_nodes_are_refused(lab):
    node = lab.node(NODE)
    for gpu in (1, 3):
        node.sim("fault", "lost", "--gpu", gpu)
    try:
        wait_offer(lab, NODE, 2)
        with Applied(lab, asks("two", 2)):
            assert refusal(lab, "two") == "TopologyAffinityError"
        with Applied(lab, asks("one", 1)):
            nodes, _ = given(lab, "one")
            assert len(nodes) == 1
    finally:
        node.sim("clear")
        for gpu in (1, 3):
            node.sim("reset", "--gpu", gpu)
    wait_offer(lab, NODE, 4)
