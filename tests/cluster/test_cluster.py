"""The lab is a Kubernetes: Pods run, talk and come back, nodes restart and reboot."""

import json
import signal

from pods import Applied, pod

SLEEP = ("sleep", "infinity")


def container_id(lab, name: str) -> str:
    return lab.pod(name)["status"]["containerStatuses"][0]["containerID"]


def test_every_node_is_ready(lab):
    ready = lab.nodes_ready()
    assert set(ready) == {"l20", "t4", "a100", "mig", *(f"plain-{number}" for number in range(1, 7))}
    assert all(ready.values())
    version = json.loads(lab.kubectl("version", "-o", "json"))
    assert version["serverVersion"]["gitVersion"] == "v1.36.3"
    assert version["clientVersion"]["gitVersion"] == "v1.36.3"
    for node in lab.nodes:
        info = lab.get("node", node.name)["status"]["nodeInfo"]
        assert info["kubeletVersion"] == "v1.36.3"
        assert info["containerRuntimeVersion"] == "containerd://2.4.2"


def test_a_plain_pod_runs_with_logs_and_exec(lab):
    with Applied(lab, pod("hello", "sh", "-c", "echo from the pod; exec sleep infinity", node="l20")):
        lab.wait_pod("hello")
        assert lab.logs("hello") == "from the pod\n"
        assert lab.exec("hello", "cat", "/etc/hostname") == "hello\n"


def test_a_pod_without_a_gpu_sees_none(lab):
    with Applied(lab, pod("bare", *SLEEP, image="lab-glibc:1", node="l20")):
        lab.wait_pod("bare")
        assert lab.exec("bare", "bash", "-c", "ls /dev | grep -c nvidia || true") == "0\n"
        found = lab.exec("bare", "bash", "-c", "type -P nvidia-smi || echo none")
        assert found == "none\n"


def test_pods_reach_each_other_and_the_api_server(lab):
    server = pod("server", "httpd", "-f", "-p", "8080", "-h", "/etc", node="l20")
    with Applied(lab, server, pod("client", *SLEEP, node="t4")):
        address = lab.wait_pod("server")["status"]["podIP"]
        lab.wait_pod("client")
        assert lab.exec("client", "wget", "-q", "-O", "-", f"http://{address}:8080/hostname") == "server\n"
        # The usual in-cluster address, without kube-proxy.
        lab.exec("client", "sh", "-c", "nc -w 3 $KUBERNETES_SERVICE_HOST 443 </dev/null")
    node = lab.node("t4")
    command = ["kubectl", "--kubeconfig=/etc/kubernetes/kubelet.conf", "--server=https://10.96.0.1"]
    assert node.run(*command, "get", "node", "t4", "-o", "name").out == "node/t4\n"


def test_a_crashing_container_comes_back_within_seconds(lab):
    with Applied(lab, pod("crash", "sh", "-c", "exit 3", node="l20")):

        def restarts():
            states = lab.pod("crash")["status"].get("containerStatuses", [{}])
            return states[0].get("restartCount", 0) >= 4

        # Four back-offs of kubelet's usual 10 s doubling would be 150 s.
        lab.wait(restarts, "four restarts", timeout=60)


def test_containers_survive_restarts_of_kubelet_and_containerd(lab):
    node = lab.node("t4")
    with Applied(lab, pod("steady", *SLEEP, node="t4")):
        lab.wait_pod("steady")
        before = container_id(lab, "steady")
        node.restart_kubelet()
        node.restart_containerd()
        lab.wait(lambda: lab.nodes_ready()["t4"], "t4 Ready again")
        lab.wait(lambda: lab.exec("steady", "echo", "here", check=False) == "here\n", "exec works again")
        assert container_id(lab, "steady") == before
        assert lab.pod("steady")["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_reboot_keeps_the_disk_and_nothing_else(lab):
    node = lab.node("t4")
    with Applied(lab, pod("steady", *SLEEP, node="t4")):
        lab.wait_pod("steady")
        before = container_id(lab, "steady")
        node.run("sh", "-c", "echo kept > /var/lib/kept; echo lost > /run/lost")
        node.power_off()
        assert not node.client.answers()
        node.boot()
        node.start_kubelet()
        assert node.run("cat", "/var/lib/kept").out == "kept\n"
        assert node.run("cat", "/run/lost", check=False).code != 0

        def again():
            states = lab.pod("steady")["status"]["containerStatuses"]
            return states[0]["ready"] and states[0]["containerID"] != before

        lab.wait(again, "the Pod runs in a new container", timeout=120)
        lab.wait(lambda: lab.exec("steady", "echo", "here", check=False) == "here\n", "exec works again")


def test_what_dies_on_a_node_is_started_again(lab):
    """As systemd does with containerd and kubelet."""
    node = lab.node("t4")
    for program in ("containerd", "kubelet"):
        node.client.signal(program, signal.SIGKILL)
        restarts = lambda: node.client.programs()[program]["restarts"] > 0  # noqa: E731, B023
        lab.wait(restarts, f"{program} is started again")
    lab.wait(node.kubelet_is_healthy, "kubelet is healthy")


def test_the_api_server_can_be_away(lab):
    lab.restart_api_server()
    assert lab.kubectl("get", "--raw", "/readyz") == "ok"
