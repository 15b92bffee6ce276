"""Kubelet's pod-resources as the agent serves them once more, read as NVIDIA's dcgm-exporter reads
them: one List over gRPC."""

import subprocess

from node import GPU, sharing
from programs import wait_until

EMPTY = bytes(5)  # a gRPC message without content


def pod_list(socket) -> tuple[bytes, bytes]:
    """Headers with trailers, and the answer's bytes; b"", b"": nobody answers."""
    done = subprocess.run(
        ["curl", "-s", "--max-time", "20", "--http2-prior-knowledge", "--unix-socket", socket, "-D", "/dev/stderr"]
        + ["-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@-"]
        + ["http://localhost/v1.PodResourcesLister/List"],
        input=EMPTY,
        capture_output=True,
    )
    return done.stderr, done.stdout


def test_a_container_with_two_replicas_has_the_gpu_once(node):
    here = node("t4")
    socket = here.dir / "pods.sock"
    agent = here.agent(f"--pod-resources-socket={socket}", config=sharing(4, renameByDefault=True))
    shared = "nvidia.com/gpu.shared"
    here.kubelet.wait(shared, allocatable=4)
    agent.wait_log("pod-resources with GPUs' UUIDs are served")
    here.kubelet.admit("train", {shared: 2})
    [gpu] = here.gpus()
    wait_until(lambda: b"train" in pod_list(socket)[1], "the Pod is listed")
    answer = pod_list(socket)[1]
    assert answer.count(gpu["uuid"].encode()) == 1 and b"::" not in answer
    assert GPU.encode() in answer and shared.encode() not in answer
    # Its file is removed, as kubelet does with all in its folders at a start.
    socket.unlink()
    wait_until(lambda: b"train" in pod_list(socket)[1], "it is served again")


def test_without_kubelets_answer_there_is_no_list(node):
    here = node("t4")
    socket = here.dir / "pods.sock"
    agent = here.agent(f"--pod-resources-socket={socket}", f"--kubelet-root={here.dir / 'nowhere'}", config=sharing(2))
    agent.wait_log("pod-resources with GPUs' UUIDs are served")
    headers, answer = pod_list(socket)
    assert b"grpc-status: 14" in headers and answer == b""
