"""Topology: NUMA hints in the device list, and which GPUs are preferred together."""

import itertools

import pytest

from node import GPU, sharing
from programs import wait_until


def test_numa_hints(node):
    here = node("a100-80gb-x8")
    here.agent()
    here.kubelet.wait(GPU, allocatable=8)
    devices = here.kubelet.devices(GPU)
    hints = [devices[gpu["uuid"]]["numa_nodes"] for gpu in here.gpus()]
    assert hints == [[0]] * 4 + [[1]] * 4


def test_numa_hints_of_tranches_and_instances(node):
    here = node("a100-40gb-x4")
    here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    nodes = {gpu["uuid"]: gpu["numa"] for gpu in here.gpus()}
    for name, device in here.kubelet.devices(GPU).items():
        assert device["numa_nodes"] == [nodes[name.split("::")[0]]]
    mig = node("a100-40gb-mig")
    mig.agent("--mig-strategy=mixed")
    mig.kubelet.wait("nvidia.com/mig-1g.5gb", allocatable=2)
    for device in mig.kubelet.devices("nvidia.com/mig-1g.5gb").values():
        assert device["numa_nodes"] == [0]


def test_no_hint_where_the_node_is_unknown(node):
    here = node("a100-passthrough")
    here.agent()
    here.kubelet.wait(GPU, allocatable=2)
    assert all(one["numa_nodes"] == [] for one in here.kubelet.devices(GPU).values())


@pytest.mark.difference("devices-preferred-many")
def test_sixteen_gpus_stay_on_one_socket(node):
    here = node("gpus-16")
    here.agent()
    here.kubelet.wait(GPU, allocatable=16)
    uuids = here.uuids()
    index = {uuid: i for i, uuid in enumerate(uuids)}

    def preferred(size: int, must: list = (), free: list = range(16)) -> list:
        ids = here.kubelet.preferred(GPU, [uuids[i] for i in free], size, [uuids[i] for i in must])
        return sorted(index[one] for one in ids)

    # The links are read at the time of the first device list; from then on pairs share a PCIe
    # switch.
    wait_until(lambda: preferred(2, [5]) == [4, 5], "the links known")
    assert preferred(2, [11]) == [10, 11]
    # Four: the two switches of one host bridge.
    assert preferred(4) == [0, 1, 2, 3]
    assert preferred(4, [14]) == [12, 13, 14, 15]
    # Eight: a socket.
    assert preferred(8, [9]) == list(range(8, 16))
    # What is taken determines what is best.
    assert preferred(2, free=[0, 3, 8, 9]) == [8, 9]
    for size in range(1, 17):
        assert len(preferred(size)) == size
    assert here.kubelet.preferred(GPU, uuids[:2], 3) == []


def test_four_of_eight_a100_under_switches(node):
    here = node("a100-80gb-x8")
    here.agent()
    here.kubelet.wait(GPU, allocatable=8)
    uuids = here.uuids()

    def preferred(available: list, size: int, must: list = ()) -> list:
        ids = here.kubelet.preferred(
            GPU, [uuids[i] for i in available], size, [uuids[i] for i in must]
        )
        return sorted(uuids.index(one) for one in ids)

    # Without the links it would be 1, 2, 4 and 5.
    wait_until(lambda: preferred([1, 2, 4, 5, 6, 7], 4) == [4, 5, 6, 7], "the links known")
    # NVLink is the same between all: PCIe and the socket decide.
    assert preferred(range(8), 4) == [0, 1, 2, 3]
    assert preferred(range(8), 4, [4]) == [4, 5, 6, 7]
    assert preferred(range(8), 2, [6]) == [6, 7]
    assert preferred(range(8), 8) == list(range(8))


def test_four_gpu_pods_get_one_socket_each(node):
    here = node("a100-80gb-x8")
    here.agent()
    here.kubelet.wait(GPU, allocatable=8)
    uuids = here.uuids()
    # Without the links it would be the first four of these six.
    some = [*uuids[1:3], *uuids[4:]]
    wait_until(
        lambda: set(here.kubelet.preferred(GPU, some, 4)) == set(uuids[4:]), "the links known"
    )
    for pod, expected in (("a", uuids[:4]), ("b", uuids[4:])):
        held = here.kubelet.admit(pod, {GPU: 4})["containers"]["c"][GPU]["ids"]
        assert sorted(held) == sorted(expected)


def test_tranches_are_spread_or_packed(node):
    for policy, per_gpu in (("distributed", {1}), ("packed", {4})):
        here = node("a100-40gb-x4")
        here.agent(f"--shared-devices-allocation-policy={policy}", config=sharing(4))
        here.kubelet.wait(GPU, allocatable=16)
        ids = here.kubelet.ids(GPU)
        picked = [one.split("::")[0] for one in here.kubelet.preferred(GPU, ids, 4)]
        assert {len(list(group)) for _, group in itertools.groupby(sorted(picked))} == per_gpu


def test_a_preference_that_cannot_be_met(node):
    here = node("a100-40gb-x4")
    here.agent(config=sharing(2))
    here.kubelet.wait(GPU, allocatable=8)
    ids = here.kubelet.ids(GPU)
    try:
        answer = here.kubelet.preferred(GPU, ids[:2], 3)
    except AssertionError as error:
        assert "not enough available devices to satisfy allocation" in str(error)
    else:
        raise AssertionError(f"granted {answer}")
