"""deploy/daemonset.yaml as a reader applies it: the image as built, imported on the nodes, and the
lab changes nothing of what is applied."""

import subprocess

import pytest
from pods import ROOT, Applied, Serving, pod, wait_offer
from storm import replaced_under_storm

MANIFEST = ROOT / "deploy" / "daemonset.yaml"
IN = ("-n", "kube-system")
CONFIG = "version: v1\nsharing: {{timeSlicing: {{resources: [{{name: nvidia.com/gpu, replicas: {replicas}}}]}}}}\n"
LIST = ("bash", "-c", "nvidia-smi -L; exec sleep infinity")


@pytest.fixture(scope="module")
def lab(two_gpu_lab):
    return two_gpu_lab


def test_the_lab_applies_what_it_is_given(lab):
    """Kubernetes' default is to pull an image named latest, or without a tag."""
    for image in ("lab-nowhere", "lab-nowhere:latest"):
        with Applied(lab, pod("as-given", "true", image=image)):
            (container,) = lab.get("pod", "as-given")["spec"]["containers"]
            assert container["imagePullPolicy"] == "Always"
    assert lab.get("mutatingadmissionpolicies", "-A")["items"] == []
    assert lab.get("mutatingwebhookconfigurations", "-A")["items"] == []


@pytest.fixture
def image(lab, tmp_path):
    """The manifest's image, as built, on the nodes."""
    archive = tmp_path / "tranche.tar"
    program = lab.settings.build + "/bin/tranche"
    build = [ROOT / "deploy/image/build", "--tranche", program, "--output", archive]
    subprocess.run(build, check=True, capture_output=True)
    lab.load_archive(archive)


@pytest.fixture
def shared_by(lab, image, tmp_path):
    """A function that makes the manifest's ConfigMap, by its first lines, and applies it."""
    applied = []

    def apply(replicas: int) -> None:
        config = tmp_path / "config.yaml"
        config.write_text(CONFIG.format(replicas=replicas))
        lab.kubectl(*IN, "create", "configmap", "tranche-config", f"--from-file=default={config}")
        applied.append(Serving(lab, MANIFEST.read_text()).__enter__())
        for node in ("l20", "t4"):
            wait_offer(lab, node, replicas)
        # Kubernetes replaces a Pod that is not Ready yet without waiting for the next one.
        lab.kubectl(*IN, "rollout", "status", "daemonset/tranche-agent", "--timeout=60s", timeout=90)

    yield apply
    for one in applied:
        one.__exit__()
    lab.kubectl(*IN, "delete", "--ignore-not-found", "configmap", "tranche-config")


def test_the_manifest_serves_as_it_stands(lab, shared_by):
    shared_by(3)
    with Applied(lab, pod("user", *LIST, image="lab-glibc:1", gpus=1, node="t4")):
        lab.wait_pod("user")
        lab.wait(lambda: lab.node("t4").uuids()[0] in lab.logs("user"), "it sees its GPU")


def test_no_admission_fails_while_its_agents_are_replaced(lab, shared_by):
    shared_by(40)
    assert replaced_under_storm(lab, "kube-system", "tranche-agent") == []
