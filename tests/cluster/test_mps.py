"""MPS on a real Kubernetes: the label brings the control daemons' Pod, the offer follows it, and
containers share a GPU through it, each process with its part."""

import json
import pathlib

import pytest
from pods import Applied, pod, wait_offer
from release import Release

from lab.cluster import paths

SHARED = "nvidia.com/gpu.shared"
NODE = "l20"
SLEEP = ("sleep", "infinity")


@pytest.fixture(scope="module")
def lab(labs):
    if not (paths.build_folder() / "sim/nvidia-cuda-mps-control").exists():
        pytest.skip("the simulated nvidia-cuda-mps-control is not built")
    return labs.get([NODE])


def config(replicas: int, **tranche) -> str:
    sharing = {
        "renameByDefault": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}],
    }
    text = json.dumps({"version": "v1", "sharing": {"mps": sharing}, "tranche": tranche})
    metadata = {"name": "mps", "namespace": "kube-system"}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": text}}
    )


def hold(lab, name: str, memory: str) -> int:
    """Exit code of a program in the Pod that takes this much GPU memory: 1 means refused."""
    command = f"tranche-load hold --memory {memory} --duration 100ms; echo code=$?"
    return int(lab.exec(name, "bash", "-c", command).rsplit("code=", 1)[1])


def daemons(lab) -> list:
    selector = "app.kubernetes.io/component=mps-control-daemon"
    return lab.get("pods", "-n", "kube-system", "-l", selector)["items"]


def test_from_the_configuration_to_the_clients(lab):
    values = ("config.name=mps", "mps.enabled=true", "gfd.enabled=true", "gfd.labelOutput=node")
    with Applied(lab, config(4)), Release(lab, *values):
        wait_offer(lab, NODE, 4, SHARED)
        [daemon] = daemons(lab)
        said = lab.kubectl("-n", "kube-system", "logs", daemon["metadata"]["name"])
        assert "25% of the threads, memory 11361M of GPU 0 for each client process" in said
        assert lab.get("node", NODE)["metadata"]["labels"]["nvidia.com/mps.capable"] == "true"

        users = [
            pod(name, *SLEEP, image="lab-glibc:1", limits={SHARED: 1}, node=NODE)
            for name in ("first", "second")
        ]
        with Applied(lab, *users):
            for name in ("first", "second"):
                lab.wait_pod(name)
                folder = lab.exec(name, "bash", "-c", "echo $CUDA_MPS_PIPE_DIRECTORY").strip()
                assert folder == f"/mps/{SHARED}/pipe"
                assert [hold(lab, name, size) for size in ("8Gi", "16Gi")] == [0, 1]
            # Larger parts at run time: the daemon's Pod and the containers continue.
            lab.apply(config(2))
            wait_offer(lab, NODE, 2, SHARED)
            lab.wait(lambda: hold(lab, "first", "16Gi") == 0, "the new limit is in force")
            assert [one["metadata"]["uid"] for one in daemons(lab)] == [daemon["metadata"]["uid"]]

        # Without its Pod the daemon is gone: nothing is handed out until there is another.
        lab.kubectl("-n", "kube-system", "delete", "pod", daemon["metadata"]["name"], timeout=120)
        events = lab.kubectl("get", "events", "-A", "--field-selector", "reason=MpsDaemonGone")
        assert "is unhealthy: its MPS control daemon does not serve" in events
        wait_offer(lab, NODE, 2, SHARED)
        [again] = daemons(lab)
        assert again["metadata"]["uid"] != daemon["metadata"]["uid"]


def arbiter_status(lab) -> dict:
    said = lab.node(NODE).run("cat", "/run/tranche-arbiter/status.json", check=False).out
    return json.loads(said)["status"] if said else {}


def test_the_arbiter_knows_the_servers_of_the_control_daemons(lab):
    """By the daemons' folder, which is mounted in their Pod and in the arbiter's."""
    values = ("config.name=mps", "mps.enabled=true", "limits.enabled=true", "gfd.enabled=true")
    limits = {"enforcement": "strict"}
    with Applied(lab, config(4, limits=limits)), Release(lab, *values, "gfd.labelOutput=node"):
        wait_offer(lab, NODE, 4, SHARED)
        work = ("tranche-load", "hold", "--memory", "1Gi", "--duration", "0s")
        with Applied(lab, pod("client", *work, image="lab-glibc:1", limits={SHARED: 1}, node=NODE)):
            lab.wait_pod("client")
            lab.wait(lambda: arbiter_status(lab).get("mpsServers"), "the server is known")
            status = arbiter_status(lab)
            assert status["findings"] == []
            [tenant] = status["tenants"]
            assert tenant["processes"] == 1, "the client registered"


R615 = "h100-r615"
PROTOCOLS = (pathlib.Path(__file__).parents[2] / "src/sharing/mps/protocols.def").read_text().splitlines()


def protocol_3(replicas: int, **rules) -> str:
    sharing = {"renameByDefault": True, "resources": [{"name": "nvidia.com/gpu", "replicas": replicas}]}
    text = {"version": "v1", "sharing": {"mps": sharing}, "tranche": {"mps": {"protocol": 3, **rules}}}
    metadata = {"name": "mps", "namespace": "kube-system"}
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"default": json.dumps(text)}}
    )


@pytest.mark.skipif("PROTOCOL(protocol3)" not in PROTOCOLS, reason="tranche has no protocol 3")
def test_protocol_3_and_sm_partitions(labs):
    """A container has only the folder of its namespace, and its own multiprocessors."""
    if not (paths.build_folder() / "sim/nvidia-cuda-mps-control").exists():
        pytest.skip("the simulated nvidia-cuda-mps-control is not built")
    lab = labs.get([R615])
    values = ("config.name=mps", "mps.enabled=true", "gfd.enabled=true", "gfd.labelOutput=node")
    with Applied(lab, protocol_3(4, smPartitions="equal")), Release(lab, *values):
        wait_offer(lab, R615, 4, SHARED)
        [daemon] = daemons(lab)
        said = lab.kubectl("-n", "kube-system", "logs", daemon["metadata"]["name"])
        assert "protocol 3, 1 namespaces, 4 static SM partitions" in said
        names = ("first", "second")
        users = [
            pod(name, *SLEEP, image="lab-glibc:1", limits={SHARED: 1}, node=R615)
            for name in names
        ]
        with Applied(lab, *users):
            partitions = set()
            for name in names:
                lab.wait_pod(name)
                script = "echo $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_SM_PARTITION; ls /mps/*/*/pipe"
                told, *there = lab.exec(name, "bash", "-c", script).splitlines()
                folder, partition = told.split()
                assert folder == f"/mps/{SHARED}/pipe/shared/default"
                assert there == ["shared"], "nothing beside its own"
                partitions.add(partition)
                assert [hold(lab, name, size) for size in ("16Gi", "32Gi")] == [0, 1]
            assert len(partitions) == 2
            # Without its partition a process gets nothing.
            script = "CUDA_MPS_SM_PARTITION= tranche-load hold --memory 1Gi --duration 100ms; echo code=$?"
            assert "code=0" not in lab.exec("first", "bash", "-c", script)
