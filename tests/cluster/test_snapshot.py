"""`tranche snapshot` of a running cluster: what commands find in the file, and what nobody must
find."""

import json
import os
import subprocess

import pytest
from pods import GPU, Applied, Serving, agent, pod, wait_offer

from lab.cluster import paths


@pytest.fixture(scope="module")
def lab(two_gpu_lab):
    return two_gpu_lab


def tranche(lab, *words: object) -> subprocess.CompletedProcess:
    program = paths.build_folder() / "bin" / "tranche"
    env = {**os.environ, "KUBECONFIG": str(lab.kubeconfig)}
    return subprocess.run(
        [program, *map(str, words)], env=env, capture_output=True, text=True, timeout=120, check=False
    )


def test_commands_answer_from_a_snapshot_as_from_the_cluster(lab, tmp_path):
    holder = pod("holder", "sleep", "infinity", gpus=1, node="l20", env={"PASSWORD": "hunter2"})
    fits, wrong = tmp_path / "fits.json", tmp_path / "wrong.json"
    fits.write_text(pod("fits", "true", gpus=1))
    wrong.write_text(pod("wrong", "true", gpus=1, resource="nvidia.com/mig-1g.10gb"))
    with Serving(lab, agent()), Applied(lab, holder):
        wait_offer(lab, "l20", 1)
        wait_offer(lab, "t4", 1)
        lab.wait_pod("holder")
        file, anonymous = tmp_path / "snapshot.json", tmp_path / "anonymous.json"
        for done in (
            tranche(lab, "snapshot", "-o", file),
            tranche(lab, "snapshot", "--anonymize", "-o", anonymous),
        ):
            assert done.returncode == 0, done.stderr
        for name, manifest, code in (("fits", fits, 0), ("wrong", wrong, 1)):
            asked = tranche(lab, "lint", "--kubeconfig", lab.kubeconfig, manifest)
            assert asked.returncode == code, f"{name}: {asked.stdout}{asked.stderr}"
            for read in (file, anonymous):
                found = tranche(lab, "lint", "--snapshot", read, manifest)
                assert (found.returncode, found.stdout) == (asked.returncode, asked.stdout), name
        shown = tranche(lab, "layout", "show", "--node", "l20", "--snapshot", file)
        assert shown.stdout == tranche(lab, "layout", "show", "--node", "l20").stdout

    content = json.loads(file.read_text())["snapshot"]
    assert {node["node"]["metadata"]["name"] for node in content["nodes"]} >= {"l20", "t4"}
    (held,) = [one for one in content["pods"] if one["metadata"]["name"] == "holder"]
    assert held["spec"]["nodeName"] == "l20" and held["spec"]["containers"][0]["resources"]["requests"] == {GPU: 1}
    assert "hunter2" not in file.read_text()
    text = anonymous.read_text()
    assert "holder" not in text and lab.get("node", "l20")["metadata"]["uid"] not in text
