"""Feature labels: tranche labels, gpu-feature-discovery's part, and the agent's own writing."""

import os
import re
import signal
import subprocess
import time

import pytest
import yaml

from node import GPU, Node, sharing
from programs import ROOT, TRANCHE, wait_until

DEFAULT = "/etc/kubernetes/node-feature-discovery/features.d/gfd"


def parse(text: str) -> dict:
    return dict(line.split("=", 1) for line in text.splitlines())


def once(here: Node, *arguments: str, **options) -> dict:
    """What `tranche labels --oneshot` prints."""
    run = here.start(
        "labels", "--oneshot", "--output-file=", f"--host-root={here.host}", *arguments, **options
    )
    assert run.wait() == 0, run.log
    return parse(run.output)


def test_every_label_of_an_l20(node):
    here = node("l20")
    before = int(time.time())
    labels = once(here)
    assert before <= int(labels.pop("nvidia.com/gfd.timestamp")) <= time.time()
    assert labels == {
        "nvidia.com/cuda.driver-version.full": "570.158.01",
        "nvidia.com/cuda.driver-version.major": "570",
        "nvidia.com/cuda.driver-version.minor": "158",
        "nvidia.com/cuda.driver-version.revision": "01",
        "nvidia.com/cuda.driver.major": "570",
        "nvidia.com/cuda.driver.minor": "158",
        "nvidia.com/cuda.driver.rev": "01",
        "nvidia.com/cuda.runtime-version.full": "12.8",
        "nvidia.com/cuda.runtime-version.major": "12",
        "nvidia.com/cuda.runtime-version.minor": "8",
        "nvidia.com/cuda.runtime.major": "12",
        "nvidia.com/cuda.runtime.minor": "8",
        "nvidia.com/gpu.compute.major": "8",
        "nvidia.com/gpu.compute.minor": "9",
        "nvidia.com/gpu.count": "1",
        "nvidia.com/gpu.family": "ada-lovelace",
        "nvidia.com/gpu.machine": "CVM",
        "nvidia.com/gpu.memory": "46068",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.product": "NVIDIA-L20",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "false",
        "nvidia.com/mps.capable": "false",
        "nvidia.com/vgpu.present": "false",
    }


def test_the_display_card_of_a_dgx_station_does_not_count(node, tmp_path):
    machine = yaml.safe_load((ROOT / "sim/machines/a100-40gb.yaml").read_text())
    (model,) = machine["models"].values()
    display = {**model, "name": "NVIDIA DGX Display", "memory": "4096Mi", "pci_class": 0x030000}
    del display["mig"]
    machine["models"]["display"] = display
    machine["gpus"].append({"model": "display", "pci": "0000:c1:00.0"})
    (tmp_path / "dgx.yaml").write_text(yaml.safe_dump(machine))
    labels = once(node(str(tmp_path / "dgx")))
    assert labels["nvidia.com/gpu.mode"] == "compute"
    assert labels["nvidia.com/gpu.count"] == "1"


def test_once_to_a_file_that_stays(node):
    here = node("t4")
    here.features.mkdir()
    run = here.start(
        "labels",
        "--oneshot",
        "--no-timestamp",
        f"--output-file={here.label_file}",
        f"--host-root={here.host}",
    )
    assert run.wait() == 0, run.log
    assert here.labels()["nvidia.com/gpu.product"] == "Tesla-T4"
    assert "nvidia.com/gfd.timestamp" not in here.labels()
    assert here.label_file.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in here.features.iterdir() if not one.name.startswith(".")] == ["gfd"]


@pytest.mark.difference("config-relative-path")
@pytest.mark.parametrize("name", ["tranche labels", "gpu-feature-discovery"])
def test_files_are_found_from_the_working_folder(node, name, tmp_path):
    here = node("l20")
    here.write(sharing(4))
    arguments = [*name.split(), "--oneshot", f"--config-file={os.path.relpath(here.config, tmp_path)}"]
    env = {
        **here.env,
        "GFD_OUTPUT_FILE": "labels.txt",
        "TRANCHE_HOST_ROOT": str(here.host),
        "USE_NODE_FEATURE_API": "false",
    }
    run = subprocess.run(
        arguments, executable=TRANCHE, cwd=tmp_path, env=env, capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert parse((tmp_path / "labels.txt").read_text())["nvidia.com/gpu.replicas"] == "4"


def test_a_folder_that_is_missing_is_an_error(node):
    here = node("t4")
    run = here.start("labels", "--oneshot", f"--output-file={here.label_file}")
    assert run.wait() == 1
    assert str(here.features) in run.log


def test_gpu_feature_discovery_with_its_own_flags_and_environment(node):
    here = node("l20")
    here.features.mkdir()
    here.write(sharing(4))
    run = here.start(
        "--sleep-interval=100ms",
        f"--output={here.label_file}",
        "--use-node-feature-api=false",
        f"--config-file={here.config}",
        argv0="/usr/bin/gpu-feature-discovery",
        env={"GFD_NO_TIMESTAMP": "true", "TRANCHE_HOST_ROOT": here.host},
    )
    wait_until(here.labels, "labels")
    assert here.labels()["nvidia.com/gpu.product"] == "NVIDIA-L20-SHARED"
    # It writes again and again.
    here.label_file.unlink()
    wait_until(here.labels, "labels again")
    here.write(sharing(7))
    run.signal(signal.SIGHUP)
    wait_until(lambda: here.labels().get("nvidia.com/gpu.replicas") == "7", "7 replicas")
    assert run.stop() == 0
    assert list(here.features.iterdir()) == []


def test_without_a_driver(node):
    here = node("broken-driver")
    arguments = ("labels", "--oneshot", "--output-file=", f"--host-root={here.host}")
    run = here.start(*arguments)
    assert run.wait() == 1
    assert "nvmlInit_v2" in run.log and run.output == ""
    run = here.start(*arguments, "--fail-on-init-error=false")
    assert run.wait() == 0
    labels = parse(run.output)
    assert set(labels) == {"nvidia.com/gfd.timestamp", "nvidia.com/vgpu.present"}


def test_without_a_gpu(node):
    labels = once(node("none"))
    assert set(labels) == {"nvidia.com/gfd.timestamp", "nvidia.com/vgpu.present"}


def test_a_vgpu_machine(node):
    labels = once(node("t4-vgpu"))
    assert labels["nvidia.com/vgpu.present"] == "true"
    assert labels["nvidia.com/vgpu.host-driver-version"] == "570.158.02"
    assert labels["nvidia.com/vgpu.host-driver-branch"] == "r570_00"
    assert labels["nvidia.com/gpu.mode"] == "graphics"
    assert labels["nvidia.com/gpu.product"] == "GRID-T4-16C"


def mig(here: Node, *profiles: str) -> None:
    here.sim("mig", "enable")
    here.sim("reset")
    for profile in profiles:
        here.sim("mig", "create", "--profile", profile)


def test_mig_single(node):
    here = node("a100-40gb")
    mig(here, "2g.10gb", "2g.10gb", "2g.10gb")
    here.write(sharing(3))
    labels = once(here, "--mig-strategy=single", f"--config-file={here.config}")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-2g.10gb-SHARED"
    assert labels["nvidia.com/gpu.count"] == "3"
    assert labels["nvidia.com/gpu.replicas"] == "3"
    assert labels["nvidia.com/gpu.multiprocessors"] == "28"
    assert labels["nvidia.com/gpu.slices.gi"] == "2"
    assert labels["nvidia.com/gpu.slices.ci"] == "2"
    assert labels["nvidia.com/mig.strategy"] == "single"


def test_mig_single_beside_whole_gpus(node):
    here = node("a100-40gb-x4")
    mig(here, "3g.20gb")
    labels = once(here, "--mig-strategy=single")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-INVALID"
    assert labels["nvidia.com/gpu.count"] == "0"
    agent = here.agent("--mig-strategy=single")
    agent.wait_log(r"same migEnabled value \(1 of 4 GPUs have MIG enabled\)")
    assert here.kubelet.node() == {}


@pytest.mark.parametrize("profiles", [(), ("1g.5gb", "2g.10gb")], ids=["empty", "two-profiles"])
def test_mig_single_that_is_invalid(node, profiles):
    here = node("a100-40gb")
    mig(here, *profiles)
    labels = once(here, "--mig-strategy=single")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-INVALID"
    for key in ("count", "replicas", "memory"):
        assert labels[f"nvidia.com/gpu.{key}"] == "0"
    # The agent advertises nothing then, says why, and uses a good layout when there is one.
    wrong = "no MIG devices configured" if not profiles else "more than one MIG device type"
    agent = here.agent("--mig-strategy=single", "--machine-interval=50ms")
    agent.wait_log(wrong)
    assert here.kubelet.node() == {}
    here.sim("mig", "destroy", "--all") if profiles else None
    here.sim("mig", "create", "--profile", "3g.20gb")
    here.kubelet.wait(GPU, allocatable=1)


def test_the_agent_without_nfds_folder_warns_once(node):
    here = node("l20")
    agent = here.agent(config=sharing(2), labels="auto")
    here.kubelet.wait(GPU, allocatable=2)
    for replicas in (3, 4):
        here.write(sharing(replicas))
        here.kubelet.wait(GPU, allocatable=replicas)
    agent.wait_log("labels are not written: ")
    assert agent.log.count("labels are not written") == 1
    assert not here.features.exists()
    # The folder comes: written with the next change.
    here.features.mkdir()
    here.write(sharing(5))
    wait_until(lambda: here.labels().get("nvidia.com/gpu.replicas") == "5", "labels")


def test_the_agent_writes_where_the_folder_is(node):
    here = node("l20")
    here.features.mkdir()
    agent = here.agent(config=sharing(2), labels="auto")
    wait_until(here.labels, "labels")
    assert here.labels()["nvidia.com/gpu.product"] == "NVIDIA-L20-SHARED"
    # What a killed agent left behind is its successor's.
    agent.kill()
    here.agent(config=sharing(3), labels="auto")
    wait_until(lambda: here.labels()["nvidia.com/gpu.replicas"] == "3", "3 replicas")


def test_another_writers_fresh_file_is_left_alone(node):
    here = node("l20")
    here.features.mkdir()
    theirs = "nvidia.com/gpu.count=7\n"
    here.label_file.write_text(theirs)
    agent = here.agent(config=sharing(2), labels="auto")
    agent.wait_log("labels are left to the other writer of .*; --labels=true takes them over")
    here.kubelet.wait(GPU, allocatable=2)
    assert agent.stop() == 0
    assert here.label_file.read_text() == theirs


def test_another_writers_file_is_taken_when_told_so_or_stale(node):
    for labels, age in (("true", 0), ("auto", 3600)):
        here = node("l20")
        here.features.mkdir()
        here.label_file.write_text("nvidia.com/gpu.count=7\n")
        os.utime(here.label_file, (time.time() - age, time.time() - age))
        here.agent(config=sharing(2), labels=labels)
        wait_until(lambda: here.labels().get("nvidia.com/gpu.count") == "1", "our labels")


def test_no_labels_when_told_so(node):
    here = node("l20")
    here.features.mkdir()
    agent = here.agent(config=sharing(2), labels="false")
    here.kubelet.wait(GPU, allocatable=2)
    assert agent.stop() == 0
    assert list(here.features.iterdir()) == []
    assert not re.search("labels are", agent.log)
