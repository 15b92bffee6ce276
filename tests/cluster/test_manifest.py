"""deploy/daemonset.yaml as its readers apply it: the image as the build gives it, imported on the nodes, and the lab
changes nothing of what is applied."""

import subprocess

import pytest
from pods import ROOT, Applied, Serving, pod, wait_offer

MANIFEST = ROOT / "deploy" / "daemonset.yaml"
CONFIG = "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}\n"
LIST = ("bash", "-c", "nvidia-smi -L; exec sleep infinity")


@pytest.fixture(scope="module")
def lab(two_gpu_lab):
    return two_gpu_lab


def test_the_lab_applies_what_it_is_given(lab):
    """An image that is named latest, or without a tag, is pulled anew by Kubernetes' own default."""
    for image in ("lab-nowhere", "lab-nowhere:latest"):
        with Applied(lab, pod("as-given", "true", image=image)):
            (container,) = lab.get("pod", "as-given")["spec"]["containers"]
            assert container["imagePullPolicy"] == "Always"
    assert lab.get("mutatingadmissionpolicies", "-A")["items"] == []
    assert lab.get("mutatingwebhookconfigurations", "-A")["items"] == []


def test_the_manifest_serves_as_it_stands(lab, tmp_path):
    archive, config = tmp_path / "tranche.tar", tmp_path / "config.yaml"
    program = lab.settings.build + "/bin/tranche"
    build = [ROOT / "deploy/image/build", "--tranche", program, "--output", archive]
    subprocess.run(build, check=True, capture_output=True)
    lab.load_archive(archive)
    config.write_text(CONFIG)
    # As the first lines of the manifest say.
    lab.kubectl("-n", "kube-system", "create", "configmap", "tranche-config", f"--from-file=default={config}")
    try:
        with Serving(lab, MANIFEST.read_text()):
            for node in ("l20", "t4"):
                wait_offer(lab, node, 3)
            with Applied(lab, pod("user", *LIST, image="lab-glibc:1", gpus=1, node="t4")):
                lab.wait_pod("user")
                lab.wait(lambda: lab.node("t4").uuids()[0] in lab.logs("user"), "it sees its GPU")
    finally:
        lab.kubectl("-n", "kube-system", "delete", "configmap", "tranche-config")
