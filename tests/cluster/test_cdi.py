"""Pods get GPUs by the CDI files that the agent writes: plain runc, without NVIDIA's runtime."""

import json
import re

import pytest
from pods import Applied, agent, pod, wait_offer

LIST = ("bash", "-c", "nvidia-smi -L; ls -1 /dev | grep nvidia; env | grep ^NVIDIA; exec sleep infinity")


def cdi_agent() -> str:
    arguments = ["--device-list-strategy=cdi-cri", "--driver-root-ctr-path=/driver-root"]
    return agent(*arguments, driver_root=True)


@pytest.mark.short
def test_a_pod_sees_exactly_what_its_cdi_device_has(cdi_lab):
    lab = cdi_lab
    node = lab.node("a100")
    with Applied(lab, cdi_agent()):
        wait_offer(lab, "a100", 4)
        spec = json.loads(node.run("cat", "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json").out)
        common = {one["path"] for one in spec["containerEdits"]["deviceNodes"]}
        own = {
            device["name"]: {one["path"] for one in device["containerEdits"]["deviceNodes"]}
            for device in spec["devices"]
        }
        assert sorted(own) == sorted(node.uuids())
        with Applied(lab, pod("one", *LIST, image="lab-glibc:1", gpus=1)):
            lab.wait_pod("one")
            text = lab.wait(lambda: "NVIDIA_" in lab.logs("one") and lab.logs("one"), "its variables")
            [uuid] = re.findall(r"UUID: (\S+?)\)", text)
            nodes = {f"/dev/{line}" for line in text.splitlines() if line.startswith("nvidia")}
            assert nodes == common | own[uuid], text
            variables = set(re.findall(r"^NVIDIA_\w+=.*$", text, re.MULTILINE))
            assert variables == {one for one in spec["containerEdits"]["env"] if one.startswith("NVIDIA_")}
            assert "NVIDIA_VISIBLE_DEVICES=void" in variables
            # The stand-in of NVIDIA's hook made the links that the file names.
            link = lab.exec("one", "readlink", "/usr/lib/x86_64-linux-gnu/libcuda.so")
            assert link == "libcuda.so.1\n"
            # A program finds the driver by its name, and its kernels run.
            done = json.loads(lab.exec("one", "tranche-load", "compute", "--count", 5, "-o", "json"))
            assert [process["launches"] for process in done["processes"]] == [5]
    wait_offer(lab, "a100", 0)


def test_a_pod_without_a_gpu_gets_nothing(cdi_lab):
    with Applied(cdi_lab, pod("bare", "sleep", "infinity", image="lab-glibc:1")):
        cdi_lab.wait_pod("bare")
        assert cdi_lab.exec("bare", "bash", "-c", "ls /dev | grep -c nvidia || true") == "0\n"
        assert cdi_lab.exec("bare", "bash", "-c", "type -P nvidia-smi || echo none") == "none\n"


def test_the_wrapper_is_there_by_its_runtime_class(cdi_lab):
    env = {"NVIDIA_VISIBLE_DEVICES": "1"}
    asks = pod("classy", *LIST, image="lab-glibc:1", env=env, runtimeClassName="nvidia")
    with Applied(cdi_lab, asks):
        cdi_lab.wait_pod("classy")
        text = cdi_lab.wait(lambda: "NVIDIA_" in cdi_lab.logs("classy") and cdi_lab.logs("classy"), "it lists")
        assert re.findall(r"UUID: (\S+?)\)", text) == [cdi_lab.node("a100").uuids()[1]]
