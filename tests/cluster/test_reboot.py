"""A node is rebooted under everything that Tranche keeps: kubelet and agent see another boot, MIG
instances are gone, and all that was promised is there again. (Halves of a GPU: test_limits_hold.)"""

import json
import re

import pytest
from claims import VALUES, InMode, claim_of, claiming, devices, memory_of, records, results, share, template, wait_clean, wait_devices
from pods import GPU, Applied, pod, wait_offer
from release import Release
from test_claims_mig import layout, profile, wait_layout, wait_places

BOOT_ID = "/proc/sys/kernel/random/boot_id"
CONFIG, STATE = "nvidia.com/mig.config", "nvidia.com/mig.config.state"


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["l20", "h100", "a100-40gb"], runtime="cdi")


@pytest.fixture(scope="module")
def release(lab):
    values = ("dra.dynamicMig=true", "migManager.enabled=true", "migStrategy=single")
    with Release(lab, *VALUES, *values) as release:
        yield release


def record(lab, node: str, uid: str) -> dict:
    return json.loads(lab.node(node).run("cat", f"/var/lib/tranche/claims/{uid}.json").out)


def restarted(lab, name: str) -> bool:
    statuses = lab.pod(name)["status"].get("containerStatuses", [])
    return bool(statuses) and statuses[0]["restartCount"] > 0 and "running" in statuses[0]["state"]


def wait_restarted(lab, name: str) -> None:
    lab.wait(
        lambda: restarted(lab, name),
        lambda: f"{name} runs again:\n" + lab.kubectl("describe", "pod", name)[-3000:],
        timeout=180,
    )


def boot_of(lab, node: str) -> str:
    return lab.get("node", node)["status"]["nodeInfo"]["bootID"]


def test_a_share_of_a_claim(lab, release):
    with InMode(lab, "l20"), Applied(lab, template("half", share("22722Mi", 50)), claiming("stays", "half")):
        lab.wait_pod("stays")
        [uid] = records(lab, "l20")
        before = record(lab, "l20", uid)
        lab.reboot("l20")
        wait_restarted(lab, "stays")
        assert memory_of(lab, "stays") == 22722
        after = record(lab, "l20", uid)
        # What the container, the agent, kubelet and the record take for this boot.
        boots = {lab.exec("stays", "cat", BOOT_ID).strip(), boot_of(lab, "l20"), after["claim"]["boot"]}
        assert len(boots) == 1 and before["claim"]["boot"] not in boots
        assert {**after["claim"], "boot": ""} == {**before["claim"], "boot": ""}
        wait_devices(lab, "l20", "gpu-0")
    wait_clean(lab, "l20")


def test_instances_made_for_claims(lab, release):
    with InMode(lab, "h100"), Applied(lab, profile("1g.10gb"), profile("3g.40gb")):
        wait_places(lab, "h100")
        users = {"large": "3g.40gb", "small": "1g.10gb"}
        with Applied(lab, *[claiming(name, of.replace(".", "-")) for name, of in users.items()]):
            for name in users:
                lab.wait_pod(name)
            given = {name: results(lab, claim_of(lab, name)) for name in users}
            lab.reboot("h100")
            for name, wanted in users.items():
                wait_restarted(lab, name)
                assert re.findall(r"MIG (\S+)", lab.exec(name, "nvidia-smi", "-L")) == [wanted]
            assert sorted(layout(lab, "h100", 0)) == sorted(users.values())
            assert {name: results(lab, claim_of(lab, name)) for name in users} == given
        wait_layout(lab, "h100", 0)
        wait_clean(lab, "h100")
        lab.wait(lambda: "gpu-0" in devices(lab, "h100"), "the GPU is whole again")


def test_instances_whose_claims_end_while_the_node_is_down(lab, release):
    with InMode(lab, "h100"), Applied(lab, profile("1g.10gb")):
        wait_places(lab, "h100")
        with Applied(lab, claiming("brief", "1g-10gb")):
            lab.wait_pod("brief")
            lab.node("h100").power_off()
            lab.kubectl("delete", "pod", "brief", "--force", "--grace-period=0")
        lab.node("h100").boot()
        lab.node("h100").start_kubelet()
        wait_clean(lab, "h100")
        wait_layout(lab, "h100", 0)
        with Applied(lab, claiming("next", "1g-10gb")):
            lab.wait_pod("next")
            assert layout(lab, "h100", 0) == ["1g.10gb"]
        wait_layout(lab, "h100", 0)


def on_instances(node: str) -> str:
    inner = json.loads(pod("on", "sleep", "infinity", image="lab-glibc:1", gpus=1, node=node, runtimeClassName="nvidia"))
    body = {"replicas": 2, "selector": {"matchLabels": {"app": "on"}}}
    body["template"] = {"metadata": {"labels": {"app": "on"}}, "spec": inner["spec"]}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "on"}, "spec": body})


def running(lab) -> list[str]:
    pods = lab.get("pods", "-l", "app=on")["items"]
    return [
        one["metadata"]["name"]
        for one in pods
        if not one["metadata"].get("deletionTimestamp")
        and any("running" in status["state"] for status in one["status"].get("containerStatuses", []))
    ]


def test_a_layout_and_who_has_its_instances(lab, release):
    """Kubelet refuses the Pods that it had, as after each reboot under a device plugin: their Deployment makes
    others."""
    node = "a100-40gb"
    lab.kubectl("annotate", "node", node, "tranche.dev/mig-accept-outage=all-1g.5gb")
    lab.kubectl("label", "node", node, f"{CONFIG}=all-1g.5gb")
    wait_offer(lab, node, 7, timeout=90)
    with Applied(lab, on_instances(node)):
        before = lab.wait(lambda: two if len(two := running(lab)) == 2 else None, "both run")
        lab.reboot(node)
        wait_offer(lab, node, 7, GPU, timeout=120)
        lab.wait(
            lambda: lab.get("node", node)["metadata"]["labels"].get(STATE) == "success",
            lambda: lab.kubectl("describe", "node", node),
        )
        lab.wait(
            lambda: len(running(lab)) == 2 and not set(running(lab)) & set(before),
            lambda: lab.kubectl("describe", "pods", "-l", "app=on")[-3000:],
            timeout=120,
        )
        seen = set()
        for name in running(lab):
            seen |= set(re.findall(r"UUID: (MIG\S+?)\)", lab.exec(name, "nvidia-smi", "-L")))
        assert len(seen) == 2


def test_power_is_lost_in_the_middle_of_a_change(lab, release):
    node = "a100-40gb"
    lab.kubectl("annotate", "--overwrite", "node", node, "tranche.dev/mig-accept-outage=all-2g.10gb")
    lab.kubectl("label", "--overwrite", "node", node, f"{CONFIG}=all-2g.10gb")

    def begun() -> bool:
        changing = lab.node(node).run("nvidia-smi", "-L").out.count("MIG ")
        return lab.get("node", node)["metadata"]["labels"].get(STATE) == "pending" and changing != 7

    lab.wait(begun, "instances are being removed or made", timeout=90)
    lab.reboot(node)
    wait_offer(lab, node, 3, GPU, timeout=180)
    lab.wait(
        lambda: lab.get("node", node)["metadata"]["labels"].get(STATE) == "success",
        lambda: lab.kubectl("describe", "node", node),
    )
    assert layout(lab, node, 0) == ["2g.10gb"] * 3
