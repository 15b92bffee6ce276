"""The lab from the shell: faults, images, and manifests that are stored as applied."""

import json
import pathlib
import subprocess
import sys

from pods import GPU, SCENARIOS, Applied, Serving, agent, pod, wait_offer

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.cluster import images  # noqa: E402


def shell(lab, program: str, *arguments: object) -> subprocess.CompletedProcess:
    command = [ROOT / "lab" / program, "--name", lab.name, "--dir", lab.folder, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_fault_from_the_shell_takes_a_gpu_out_and_back(lab):
    with Serving(lab, agent()):
        wait_offer(lab, "t4", 1)
        done = shell(lab, "fault", "t4", "no-driver")
        assert (done.returncode, done.stdout) == (0, "lab: t4: no-driver\n")
        wait_offer(lab, "t4", 0)
        assert lab.get("node", "t4")["status"]["capacity"][GPU] == "1"
        assert shell(lab, "fault", "t4", "driver-back").returncode == 0
        wait_offer(lab, "t4", 1)


def test_what_cannot_fail_is_said(lab):
    done = shell(lab, "fault", "nosuch", "lost")
    assert (done.returncode, "has no node 'nosuch'" in done.stderr) == (1, True)
    done = shell(lab, "fault", "t4", "lost", "--gpu", 7)
    assert (done.returncode, "7" in done.stderr) == (1, True)


def test_a_published_manifest_is_stored_and_runs_as_it_stands(lab):
    published = SCENARIOS / "fractions" / "exclusive-pod.yaml"
    assert shell(lab, "load-image", published).stdout == "lab: my-gpu-image:latest\n"
    always = json.loads(pod("always", "sleep", "infinity", image="my-gpu-image", node="l20"))
    with Applied(lab, json.dumps(always)):
        stored = lab.wait_pod("always")["spec"]["containers"][0]
        assert stored["imagePullPolicy"] == "Always"
        assert stored["image"] == "my-gpu-image"


def test_an_image_that_was_imported_is_not_in_the_registry(lab, tmp_path):
    archive = tmp_path / "own.tar"
    images._archive().write_archive(
        archive, tags=["own:latest"], files={"/bin/busybox": "/bin/busybox"}, cmd=["/bin/busybox", "sleep", "1000"]
    )
    done = shell(lab, "load-image", archive, "l20")
    assert (done.returncode, done.stdout) == (0, "lab: own.tar is on l20\n"), done.stderr
    imported = json.loads(pod("imported", "/bin/busybox", "sleep", "1000", image="own:latest", node="l20"))
    imported["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
    pulled = json.loads(pod("pulled", "/bin/busybox", "sleep", "1000", image="own:latest", node="l20"))
    with Applied(lab, json.dumps(imported), json.dumps(pulled)):
        lab.wait_pod("imported")

        def reason():
            states = lab.pod("pulled")["status"].get("containerStatuses", [{}])
            return states[0].get("state", {}).get("waiting", {}).get("reason", "")

        lab.wait(lambda: reason() in ("ErrImagePull", "ImagePullBackOff"), "the pull is refused")
