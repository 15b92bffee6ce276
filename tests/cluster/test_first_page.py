"""The documentation as a new user follows it: README's first page installs, its first Pod runs and
has a quarter of the GPU; the runbook's first look shows what is wrong, its removal without Helm
clears the node."""

import json
import re
import subprocess

import pytest
from pods import ROOT, Applied, pod, wait_offer
from published import block, run
from release import Release, condition, label

from lab.cluster import paths


@pytest.fixture
def lab(labs):
    return labs.get(["l20"])


def commands(begins: str) -> list[str]:
    """The commands of README's page without comments, for the lab's node."""
    lines = block("README.md", "Install", begins).splitlines()
    return [line.split(" #")[0].strip().replace("GPU-NODE", "l20") for line in lines if line.strip()]


@pytest.fixture
def image(lab, tmp_path):
    """The image as README makes and imports it."""
    archive = tmp_path / "tranche.tar"
    program = paths.build_folder() / "bin/tranche"
    make = [ROOT / "deploy/image/build", "--tranche", program, "--output", archive]
    subprocess.run(make, check=True, capture_output=True)
    lab.load_archive(archive)


@pytest.mark.usefixtures("image")
def test_the_first_page_holds(lab, tmp_path):
    """Its commands unchanged, from the image's import to the uninstall."""
    first = block("README.md", "Install", "apiVersion: v1\nkind: Pod")
    (tmp_path / "first.yaml").write_text(first)
    (tmp_path / "values.yaml").write_text(block("README.md", "Install", "runtimeClassName: nvidia"))
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    lab.load_images(first)
    make, imported, label_node, install = commands("make && deploy/image/build")
    assert make == "make && deploy/image/build" and imported.startswith("ctr -n k8s.io images import")
    run(lab, label_node, tmp_path)
    run(lab, install, tmp_path)
    try:
        wait_offer(lab, "l20", 4)
        nodes, _, memory, node = (run(lab, command, tmp_path) for command in commands("kubectl get nodes"))
        with Applied(lab, first):
            query = ("nvidia-smi", "--query-gpu=memory.total,memory.reserved", "--format=csv,noheader,nounits")
            total, reserved = map(int, lab.node("l20").run(*query).out.split(","))
            (part,) = re.findall(r"(\d+) MiB", memory)
            # What programs can have of it: docs/decisions/0045-usable-memory.md.
            assert int(part) == (total - reserved - 32) // 4
            assert "NVIDIA-L20" in nodes
            assert "TrancheConfigured" in node and "nvidia.com/gpu:" in node
    finally:
        run(lab, "helm uninstall tranche -n tranche", timeout=300)
        lab.kubectl("label", "node", "l20", "nvidia.com/gpu.present-")
    assert "`helm uninstall tranche -n tranche`" in (ROOT / "README.md").read_text()
    assert left_on(lab, "l20") == ([], [], [])


def test_the_runbooks_first_look(lab):
    """A GPU fails and a label names no key: the six commands show both, and the agent stays
    ready."""
    look = block("docs/runbook.md", "First look", "kubectl -n NS get pods").splitlines()
    with Release(lab, "config.map.default=version: v1") as release:
        wait_offer(lab, "l20", 1)
        lab.node("l20").sim("xid", "--gpu", 0, "--xid", 79)
        lab.kubectl("label", "node", "l20", "nvidia.com/device-plugin.config=nosuch")
        wait_offer(lab, "l20", 0)
        lab.wait(lambda: condition(lab, "l20")[:2] == ("False", "ConfigRefused"), "the label is not refused")
        words = {"AGENT-POD": release.agents()["l20"]["metadata"]["name"], "NS": "kube-system", "NODE": "l20"}

        def told() -> list[str]:
            commands = [line.split("  #")[0].strip() for line in look if line.strip()]
            for word, value in words.items():
                commands = [command.replace(word, value) for command in commands]
            return [run(lab, command) for command in commands]

        pods, node, events, agents, log, ready = told()
        label(lab, "l20", "")
        lab.node("l20").sim("clear")
        assert words["AGENT-POD"] in pods and words["AGENT-POD"] in agents
        assert "ConfigRefused" in node and "ConfigRefused" in events
        assert "XID 79: the GPU must be reset" in log
        assert ready.startswith("ready")


def left_on(lab, node: str) -> tuple:
    """What an agent writes: labels, conditions, files of its state folder and CDI files."""
    found = lab.get("node", node)
    labels = [k for k in found["metadata"]["labels"] if k.startswith(("nvidia.com/gpu.", "tranche.dev/"))]
    conditions = [c["type"] for c in found["status"]["conditions"] if c["type"].startswith("Tranche")]
    folders = "/var/lib/tranche /var/run/cdi /etc/kubernetes/node-feature-discovery/features.d"
    files = lab.node(node).run("sh", "-c", f"find {folders} -type f 2>/dev/null || true").out.split()
    # The lock stays while its holder waits for its end.
    return labels, conditions, [name for name in files if not name.endswith(".lock")]


def removal(daemon_set: str) -> str:
    """The runbook's commands up to the deletion, for this DaemonSet."""
    script = block("docs/runbook.md", "Removal without Helm, on many nodes", "NS=")
    script, deletion = script.split("kubectl delete -f")
    assert "DS=tranche-agent" in script and "rollout status" in script and deletion
    return script.replace("DS=tranche-agent", f"DS={daemon_set}")


def test_removal_without_helm_clears_the_node(lab):
    """The runbook's commands, on a release that Helm's hooks do not clear."""
    values = ("gfd.enabled=true", "gfd.labelOutput=node", "deviceListStrategy=cdi-cri")
    with Release(lab, *values, "config.map.default=version: v1"):
        wait_offer(lab, "l20", 1)
        lab.wait(lambda: all(left_on(lab, "l20")), lambda: f"nothing to clear: {left_on(lab, 'l20')}")
        run(lab, removal("tranche"))
        assert left_on(lab, "l20") == ([], [], [])


@pytest.mark.usefixtures("image")
def test_removal_of_the_manifest_clears_the_node(lab):
    """The same for a user of deploy/daemonset.yaml."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"default": "version: v1"}}
    config["metadata"] = {"name": "tranche-config", "namespace": "kube-system"}
    holder = pod("holder", "sleep", "infinity", gpus=1, node="l20")
    with Applied(lab, json.dumps(config)), Applied(lab, (ROOT / "deploy/daemonset.yaml").read_text()):
        wait_offer(lab, "l20", 1)
        with Applied(lab, holder):
            lab.wait_pod("holder")
            lab.wait(lambda: any(left_on(lab, "l20")), "the agent has written nothing")
        run(lab, removal("tranche-agent"))
        assert left_on(lab, "l20") == ([], [], [])
