"""The chart on a real Kubernetes, by a real Helm: installed, reconfigured, upgraded, rolled back,
uninstalled. Runs with the tests of the lab (TRANCHE_TEST_LAB)."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest
from helm import CHART, LAB_BUILD, ROOT, Helm, find_helm

sys.path.insert(0, str(ROOT))

NAMESPACE = "tranche"
GPU = "nvidia.com/gpu"
CDI = "/var/run/cdi"
STATE = "/var/lib/tranche"


def sharing(replicas: int) -> str:
    entry = f"    - name: {GPU}\n      replicas: {replicas}\n"
    return f"version: v1\nsharing:\n  timeSlicing:\n    resources:\n{entry}"


VALUES = {
    # The image of deploy/image/build, which users get.
    "image": {"repository": "tranche", "tag": "chart-test"},
    "runtimeClassName": "nvidia",
    "deviceListStrategy": "cdi-cri",
    # No node feature discovery here: the agent labels its Node itself.
    "gfd": {"enabled": True},
    "config": {"map": {"default": sharing(4), "two": sharing(2)}},
}


def build_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("TRANCHE_BUILD", ROOT / "build")).resolve()


LIMITER = build_folder() / "lib/libtranche-limit.so"
LIMITER_IN_CONTAINER = "/usr/local/tranche/libtranche-limit.so"
ARBITER_LABEL = "app.kubernetes.io/component=arbiter"


def knows(command: str, flag: str) -> bool:
    """Whether this build of the program has a command with that flag."""
    program = build_folder() / "bin/tranche"
    if not program.exists():
        return False
    done = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and flag in done.stdout + done.stderr


class Installed:
    """A lab with two GPU nodes, and Helm on it."""

    def __init__(self, lab, folder: pathlib.Path):
        self.lab = lab
        self._helm = Helm(find_helm(), folder)
        self._folder = folder

    def helm(self, *arguments: str, check=True) -> str:
        done = self._helm.run(*arguments, "--kubeconfig", str(self.lab.kubeconfig), "--namespace", NAMESPACE)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def install(self, values: dict) -> None:
        file = self._folder / "install.yaml"
        file.write_text(json.dumps(values))
        waiting = ("--create-namespace", "--wait", "--timeout", "3m")
        self.helm("upgrade", "--install", "gpu", str(CHART), *waiting, "--values", str(file))

    def uninstall(self) -> None:
        self.helm("uninstall", "gpu", "--wait", "--timeout", "4m", *self.without_hooks)

    # A build without cleanup is removed without cleaning.
    without_hooks = () if knows("cleanup", "--stay") else ("--no-hooks",)

    def agents(self) -> dict[str, str]:
        """Node -> uid of its agent's Pod."""
        found = self.lab.get("pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=agent")["items"]
        return {
            pod["spec"]["nodeName"]: pod["metadata"]["uid"]
            for pod in found
            if not pod["metadata"].get("deletionTimestamp")
        }

    def wait_offer(self, node: str, count: int) -> None:
        def told():
            logs = self.lab.kubectl(
                "-n", NAMESPACE, "logs", "-l", "app.kubernetes.io/component=agent", "--tail=40", check=False
            )
            return f"{node} offers {self.lab.allocatable(node, GPU)}, not {count}:\n{logs}"

        self.lab.wait(lambda: int(self.lab.allocatable(node, GPU) or 0) == count, told)

    def labels(self, node: str) -> dict[str, str]:
        return {
            k: v
            for k, v in self.lab.get("node", node)["metadata"]["labels"].items()
            if k.startswith(("nvidia.com/", "tranche.dev/"))
        }

    def files(self, node: str, folder: str) -> list[str]:
        text = self.lab.node(node).run("find", folder, "-mindepth", "1", "-type", "f").out
        return sorted(text.split())

    def container(self, pod: str) -> str:
        (status,) = self.lab.pod(pod)["status"]["containerStatuses"]
        assert status["restartCount"] == 0
        return status["containerID"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if not os.environ.get("TRANCHE_TEST_LAB"):
        pytest.skip("real-Kubernetes tests run with TRANCHE_TEST_LAB set")
    if find_helm() is None or not LAB_BUILD.exists():
        pytest.skip("no helm: lab/build/build makes one")
    from lab.cluster import paths
    from lab.cluster.errors import LabError
    from lab.cluster.lab import Lab

    try:
        paths.check_machine()
        paths.programs_folder()
        paths.build_folder()
    except LabError as error:
        pytest.skip(f"no lab here: {error.message()}")
    folder = tmp_path_factory.mktemp("chart")
    archive = folder / "tranche.tar"
    build = [
        ROOT / "deploy/image/build",
        "--tranche",
        build_folder() / "bin/tranche",
        "--output",
        archive,
        "--tag",
        "tranche:chart-test",
    ]
    subprocess.run(build, check=True, capture_output=True)
    with Lab.up(f"h{os.getpid() % 100000}", ["l20", "t4"], runtime="cdi", node_status="1s") as lab:
        lab.load_archive(archive)
        yield Installed(lab, folder)


@pytest.fixture
def installed(cluster):
    """The chart installed, both GPUs shared among four, a Pod that uses one; all removed
    afterwards."""
    cluster.install(VALUES)
    for node in ("l20", "t4"):
        cluster.wait_offer(node, 4)
    cluster.lab.apply(user_pod("user", "l20"))
    cluster.lab.wait_pod("user")
    yield cluster
    cluster.lab.kubectl("delete", "pod", "user", "--ignore-not-found", "--wait", timeout=120)
    if "gpu" in cluster.helm("list", "--short", "--all"):
        cluster.uninstall()


def user_pod(name: str, node: str) -> str:
    container = {
        "name": "main",
        "image": "lab-glibc:1",
        "command": ["bash", "-c", "nvidia-smi -L; exec sleep infinity"],
        "resources": {"limits": {GPU: 1}},
    }
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def needs(command: str, flag: str):
    return pytest.mark.skipif(
        not knows(command, flag), reason=f"no build of tranche with `{command} {flag}` here"
    )


pytestmark = needs("agent", "--check")


def test_installed(installed):
    assert installed.labels("l20")[f"{GPU}.replicas"] == "4"
    assert installed.labels("t4")["nvidia.com/gpu.product"] == "Tesla-T4-SHARED"
    assert installed.files("l20", CDI) == [f"{CDI}/k8s.device-plugin.nvidia.com-gpu.json"]
    assert installed.files("l20", f"{STATE}/grants")
    uuids = installed.lab.node("l20").uuids()
    assert uuids[0] in installed.lab.logs("user")
    (condition,) = [
        c
        for c in installed.lab.get("node", "l20")["status"]["conditions"]
        if c["type"] == "TrancheConfigured"
    ]
    assert condition["status"] == "True"


def test_a_changed_configuration_and_label_restart_nothing(installed):
    before, running = installed.agents(), installed.container("user")
    installed.install({**VALUES, "config": {"map": {"default": sharing(6), "two": sharing(2)}}})
    for node in ("l20", "t4"):
        installed.wait_offer(node, 6)
    installed.lab.kubectl("label", "node", "t4", "nvidia.com/device-plugin.config=two")
    installed.wait_offer("t4", 2)
    installed.lab.kubectl("label", "node", "t4", "nvidia.com/device-plugin.config-")
    installed.wait_offer("t4", 6)
    assert installed.agents() == before
    assert installed.container("user") == running


def test_upgrade_and_rollback_keep_grants_labels_and_pods(installed):
    before, running = installed.agents(), installed.container("user")
    labels = installed.labels("l20")
    installed.install({**VALUES, "logLevel": "debug"})
    upgraded = installed.agents()
    assert set(upgraded) == set(before) and not set(upgraded.values()) & set(before.values())
    installed.wait_offer("l20", 4)
    installed.helm("rollback", "gpu", "1", "--wait", "--timeout", "3m")
    assert not set(installed.agents().values()) & set(upgraded.values())
    installed.wait_offer("l20", 4)
    assert installed.container("user") == running
    assert installed.files("l20", f"{STATE}/grants")
    after = installed.labels("l20")
    assert {k: v for k, v in after.items() if k != "nvidia.com/gfd.timestamp"} == {
        k: v for k, v in labels.items() if k != "nvidia.com/gfd.timestamp"
    }


@needs("cleanup", "--stay")
def test_uninstall_leaves_nothing_but_running_pods(installed):
    lab = installed.lab
    running = installed.container("user")
    installed.uninstall()
    for node in ("l20", "t4"):
        assert installed.labels(node) == {}
        assert installed.files(node, CDI) == []
        assert installed.files(node, STATE) == []
        found = lab.get("node", node)
        assert not [c for c in found["status"]["conditions"] if c["type"].startswith("Tranche")]
        assert not [
            t for t in found["spec"].get("taints", []) if "nvidia" in t["key"] or "tranche" in t["key"]
        ]
        installed.wait_offer(node, 0)
    kinds = (
        "all,serviceaccounts,configmaps,leases,roles,rolebindings,clusterroles,clusterrolebindings,secrets"
    )
    kinds += ",validatingadmissionpolicies,validatingadmissionpolicybindings"
    kinds += ",validatingwebhookconfigurations,mutatingwebhookconfigurations"
    left = ("get", kinds, "-A", "-l", "app.kubernetes.io/instance=gpu", "-o", "name", "--ignore-not-found")
    # Pods end a moment after their DaemonSet.
    lab.wait(lambda: lab.kubectl(*left) == "", lambda: f"left: {lab.kubectl(*left)}")
    assert installed.container("user") == running
    assert lab.exec("user", "nvidia-smi", "-L")


@needs("cleanup", "--stay")
def test_it_can_be_installed_again(installed):
    installed.uninstall()
    installed.install(VALUES)
    installed.wait_offer("l20", 4)


SECOND = ("--namespace", "other")


def second(cluster, *arguments: str, check=True) -> subprocess.CompletedProcess:
    """Helm in another namespace than the serving release."""
    done = cluster._helm.run(*arguments, "--kubeconfig", str(cluster.lab.kubeconfig), *SECOND)
    assert not check or done.returncode == 0, done.stderr
    return done


@needs("cleanup", "--stay")
def test_a_mistaken_second_release(installed):
    """It is told who serves; it never takes the node, not even between two Pods of the first one;
    its uninstall works and leaves everything as it was."""
    lab = installed.lab
    running, grants = installed.container("user"), installed.files("l20", f"{STATE}/grants")
    file = installed._folder / "second.yaml"
    file.write_text(json.dumps({**VALUES, "config": {"map": {"default": sharing(2)}}}))
    second(installed, "install", "second", str(CHART), "--create-namespace", "--values", str(file))

    def waits():
        found = lab.get("pods", "-n", "other", "-l", "app.kubernetes.io/component=agent")["items"]
        texts = lab.kubectl("-n", "other", "get", "events", "-o", "jsonpath={.items[*].message}")
        return len(found) == 2 and texts.count("release tranche/gpu serves this node") >= 2

    lab.wait(waits, lambda: lab.kubectl("-n", "other", "get", "events"))
    told = lab.kubectl("-n", "default", "get", "events", "--field-selector", "reason=AnotherReleaseServes")
    assert "release other/second waits" in told
    before = installed.agents()
    lab.kubectl("-n", NAMESPACE, "rollout", "restart", "daemonset/gpu-tranche")
    lab.kubectl("-n", NAMESPACE, "rollout", "status", "daemonset/gpu-tranche", timeout=120)
    assert not set(installed.agents().values()) & set(before.values())
    for node in ("l20", "t4"):
        installed.wait_offer(node, 4)
    began = time.monotonic()
    second(installed, "uninstall", "second", "--timeout", "3m")
    print(f"uninstall of a second release: {time.monotonic() - began:.1f} s")
    assert installed.container("user") == running
    for node in ("l20", "t4"):
        installed.wait_offer(node, 4)
        assert installed.labels(node)[f"{GPU}.replicas"] == "4"
        conditions = lab.get("node", node)["status"]["conditions"]
        assert [c["status"] for c in conditions if c["type"] == "TrancheConfigured"] == ["True"]
    assert installed.files("l20", f"{STATE}/grants") == grants
    lab.kubectl("delete", "namespace", "other", "--wait", timeout=120)


def timed_uninstall(cluster, after: str, **options) -> str:
    began = time.monotonic()
    said = cluster.helm("uninstall", "gpu", "--timeout", "3m", **options)
    print(f"uninstall after {after}: {time.monotonic() - began:.1f} s: {said}")
    return said


def left_in(cluster) -> list[str]:
    """What a release made in its namespace and Helm has not removed; its Pods end a moment
    later."""
    kinds = "daemonsets,deployments,jobs,serviceaccounts,roles,rolebindings,configmaps,networkpolicies"
    return cluster.lab.kubectl(
        "-n", NAMESPACE, "get", kinds, "-l", "app.kubernetes.io/instance=gpu", "-o", "name"
    ).split()


@needs("cleanup", "--stay")
@pytest.mark.parametrize("value", ["runtimeClassName", "priorityClassName"])
def test_uninstall_after_a_failed_installation(cluster, value):
    """No Pod of it ever ran: nothing is cleared, and nothing is waited for."""
    lab = cluster.lab
    file = cluster._folder / "failed.yaml"
    file.write_text(json.dumps({**VALUES, value: "nosuch"}))
    cluster.helm("install", "gpu", str(CHART), "--create-namespace", "--values", str(file))
    lab.wait(
        lambda: "nosuch" in lab.kubectl("-n", NAMESPACE, "get", "events", "--field-selector", "reason=FailedCreate"),
        "Pods cannot be made",
    )
    timed_uninstall(cluster, f"{value}=nosuch")
    assert "gpu" not in cluster.helm("list", "--short", "--all")
    assert left_in(cluster) == []


@needs("cleanup", "--stay")
def test_uninstall_after_an_installation_without_an_image(cluster):
    """A hook needs the image to run: Helm fails with the job that would have shown that it can."""
    file = cluster._folder / "failed.yaml"
    file.write_text(json.dumps({**VALUES, "image": {"repository": "tranche", "tag": "nosuch"}}))
    cluster.helm("install", "gpu", str(CHART), "--create-namespace", "--values", str(file))
    before = left_in(cluster)
    said = timed_uninstall(cluster, "image.tag=nosuch", check=False)
    assert "gpu-tranche-cleanup-image" in said
    job = "job.batch/gpu-tranche-cleanup-image"
    assert sorted(left_in(cluster)) == sorted([*before, job]), "nothing else was begun"
    cluster.helm("uninstall", "gpu", "--no-hooks", "--wait", "--timeout", "2m")
    assert "gpu" not in cluster.helm("list", "--short", "--all")
    assert left_in(cluster) == [job]
    cluster.lab.kubectl("-n", NAMESPACE, "delete", "job", "--all", "--wait", timeout=60)


@needs("cleanup", "--stay")
def test_a_node_is_cleared_though_its_classes_are_gone(installed):
    """An upgrade to classes that do not exist: no agent can be started any more, but a cleaner
    needs none."""
    wrong = "runtimeClassName=nosuch,priorityClassName=nosuch"
    installed.helm("upgrade", "gpu", str(CHART), "--reuse-values", "--set", wrong)
    began = time.monotonic()
    installed.uninstall()
    print(f"uninstall after an upgrade to {wrong}: {time.monotonic() - began:.1f} s")
    for node in ("l20", "t4"):
        assert installed.labels(node) == {}
        assert installed.files(node, STATE) == []


@needs("cleanup", "--stay")
def test_a_rendered_cleanup_that_is_applied_by_hand_does_nothing(installed):
    """`helm template | kubectl apply` applies hooks as ordinary objects."""
    before = installed.agents()
    # As if Helm had not installed it.
    installed.lab.kubectl(
        "-n", NAMESPACE, "annotate", "daemonset", "gpu-tranche", "meta.helm.sh/release-name-"
    )
    hooks = installed.helm("get", "hooks", "gpu")
    installed.lab.apply(hooks)
    installed.lab.wait(
        lambda: installed.lab.get("job", "gpu-tranche-cleanup", "-n", NAMESPACE)["status"].get("succeeded"),
        "the job ends",
    )
    assert "helm" in installed.lab.kubectl("-n", NAMESPACE, "logs", "job/gpu-tranche-cleanup").lower()
    assert installed.agents() == before
    installed.lab.kubectl("delete", "-f", "-", text=hooks, timeout=120)
    installed.lab.kubectl(
        "-n", NAMESPACE, "annotate", "daemonset", "gpu-tranche", "meta.helm.sh/release-name=gpu"
    )


def limited(**limits) -> dict:
    """Values that share GPUs among four, and limit each to its part or as given."""
    ours = json.dumps({"limits": {"enforcement": "strict", **limits}})
    return {**VALUES, "config": {"map": {"default": f"{sharing(4)}tranche: {ours}\n"}}}


def hold(lab, pod: str, memory: str) -> int:
    """Exit code of a program in the Pod's container that takes this much GPU memory: 1 means
    refused."""
    command = f"tranche-load hold --memory {memory} --duration 100ms; echo code=$?"
    return int(lab.exec(pod, "bash", "-c", command).rsplit("code=", 1)[1])


@needs("arbiter", "--check")
@pytest.mark.skipif(not LIMITER.exists(), reason=f"{LIMITER} is not built")
def test_limits(cluster):
    """One of four tranches of an L20 is 11361 MiB of it."""
    lab = cluster.lab
    cluster.install(limited())
    try:
        cluster.wait_offer("l20", 4)
        for name in ("first", "second"):
            lab.apply(user_pod(name, "l20"))
            lab.wait_pod(name)
        (arbiter,) = lab.get(
            "pods", "-n", NAMESPACE, "--field-selector", "spec.nodeName=l20", "-l", ARBITER_LABEL
        )["items"]
        pod = arbiter["metadata"]["name"]
        lab.kubectl("-n", NAMESPACE, "exec", pod, "--", "tranche", "arbiter", "--check")
        assert cluster.labels("l20")["tranche.dev/gpu.limits"] == "strict"
        assert lab.exec("first", "cat", "/etc/ld.so.preload").strip() == LIMITER_IN_CONTAINER
        assert [hold(lab, "first", size) for size in ("8Gi", "16Gi")] == [0, 1]
        assert hold(lab, "second", "8Gi") == 0
        # The operator raises it, for running containers.
        running = {name: cluster.container(name) for name in ("first", "second")}
        cluster.install(limited(memory="20Gi", oversubscribe=True))
        lab.wait(lambda: hold(lab, "first", "16Gi") == 0, "the new limit is in force")
        assert hold(lab, "second", "24Gi") == 1
        # Another agent, and another arbiter, which waits for the previous one.
        cluster.install({**limited(memory="20Gi", oversubscribe=True), "logLevel": "debug"})
        lab.wait(lambda: hold(lab, "second", "16Gi") == 0, "the next arbiter serves")
        assert hold(lab, "second", "24Gi") == 1
        assert {name: cluster.container(name) for name in running} == running
        said = lab.kubectl("-n", NAMESPACE, "logs", "-l", ARBITER_LABEL, "--tail=-1")
        assert not [line for line in said.splitlines() if " E " in line or " W " in line], said
    finally:
        lab.kubectl("delete", "pod", "first", "second", "--ignore-not-found", "--wait", timeout=120)
        cluster.uninstall()
    assert cluster.files("l20", STATE) == []


@needs("controller", "--leader-elect")
def test_commands_written_for_the_operator(cluster):
    """Names, namespace and policy as in the time-slicing manual."""
    lab = cluster.lab
    values = {
        "image": VALUES["image"],
        "runtimeClassName": "nvidia",
        "compat": {"operatorNames": True},
        "clusterPolicy": {"installCRD": True, "create": True},
        "gfd": {"labelOutput": "node"},
    }
    lab.kubectl("create", "namespace", "gpu-operator")
    file = cluster._folder / "operator.yaml"
    file.write_text(json.dumps(values))
    options = ("--kubeconfig", str(lab.kubeconfig), "--namespace", "gpu-operator")
    done = cluster._helm.run(
        "install", "gpu", str(CHART), *options, "--wait", "--timeout", "3m", "--values", str(file)
    )
    assert done.returncode == 0, done.stderr
    try:
        manifest = ROOT / "tests/data/scenarios/time-slicing-manual/time-slicing-config.yaml"
        lab.kubectl("create", "-f", str(manifest))
        change = (
            '{"spec": {"devicePlugin": {"config": {"name": "time-slicing-config", "default": "tesla-t4"}}}}'
        )
        lab.kubectl(
            "patch",
            "clusterpolicies.nvidia.com/cluster-policy",
            "-n",
            "gpu-operator",
            "--type",
            "merge",
            "-p",
            change,
        )
        lab.kubectl("-n", "gpu-operator", "rollout", "restart", "daemonset/nvidia-device-plugin-daemonset")
        lab.kubectl(
            "-n", "gpu-operator", "rollout", "status", "daemonset/nvidia-device-plugin-daemonset", timeout=120
        )
        # The old ones may still be ending when the new ones serve.
        pods = ("get", "pods", "-n", "gpu-operator", "-l", "app=nvidia-device-plugin-daemonset", "-o", "name")
        lab.wait(lambda: lab.kubectl(*pods).count("pod/") == 2, "one Pod of the plugin on each node")
        lab.wait(lambda: int(lab.allocatable("t4", GPU) or 0) == 4, "the policy's configuration is in force")
    finally:
        cluster._helm.run("uninstall", "gpu", *options, "--wait", "--timeout", "4m", *cluster.without_hooks)
        lab.kubectl("delete", "crd", "clusterpolicies.nvidia.com", "--ignore-not-found")
        lab.kubectl("delete", "namespace", "gpu-operator", "--wait", timeout=120)
