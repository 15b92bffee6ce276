"""Two Pods have a GPU by halves, and work all the time: whatever is killed, restarted or rebooted,
neither gets more than its half, and neither notices what the other one is refused."""

import json

from pods import GPU, Applied, wait_offer
from release import Release
from test_faults import end_agent
from test_limits import config_map, lab  # noqa: F401

NODE = "l20"
CONFIG = {
    "version": "v1",
    "sharing": {"timeSlicing": {"resources": [{"name": GPU, "replicas": 2}]}},
    "tranche": {"limits": {"enforcement": "strict"}},
}
# Half of an L20 is 22722 MiB; this much of it is held from the container's start.
LOAD = "tranche-load storm --memory 8Gi --kernel 1ms --depth 4 --duration 0s"
FITS, TOO_MUCH = "12Gi", "16Gi"


def deployment() -> str:
    container = {"name": "main", "image": "lab-glibc:1", "command": LOAD.split()}
    container["resources"] = {"limits": {GPU: 1}}
    spec = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    spec["nodeSelector"] = {"kubernetes.io/hostname": NODE}
    template = {"metadata": {"labels": {"app": "half"}}, "spec": spec}
    body = {"replicas": 2, "selector": {"matchLabels": {"app": "half"}}, "template": template}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "half"}, "spec": body})


def containers(lab) -> dict:  # noqa: F811
    """Pod -> its container, of those that run."""
    found = {}
    for pod in lab.get("pods", "-l", "app=half")["items"]:
        statuses = pod["status"].get("containerStatuses", [])
        if pod["metadata"].get("deletionTimestamp") or not statuses or not statuses[0]["ready"]:
            continue
        found[pod["metadata"]["name"]] = statuses[0]["containerID"]
    return found


def hold(lab, pod: str, memory: str) -> int | None:  # noqa: F811
    """Exit code of a program in the Pod that takes this much more: 1 means refused. None: it cannot
    be started."""
    command = f"tranche-load hold --memory {memory} --duration 100ms; echo code=$?"
    said = lab.exec(pod, "bash", "-c", command, check=False)
    return int(said.rsplit("code=", 1)[1]) if "code=" in said else None


def check(lab) -> None:  # noqa: F811
    """Each has its half, and no more."""
    pods = containers(lab)
    assert len(pods) == 2, pods
    for pod in pods:
        # What was just killed may be restarting; too much is never given.
        lab.wait(lambda pod=pod: hold(lab, pod, FITS) == 0, f"{pod} gets its half")
        assert hold(lab, pod, TOO_MUCH) == 1, pod
    assert containers(lab) == pods, "nobody was disturbed"


def kill(lab, pattern: str) -> None:  # noqa: F811
    def pids() -> list:
        return lab.node(NODE).run("pgrep", "-f", pattern, check=False).out.split()

    lab.node(NODE).run("kill", "-9", *lab.wait(pids, f"{pattern} runs"), check=False)


def test_limits_hold_whatever_ends(lab):  # noqa: F811
    values = ("config.name=limited", "limits.enabled=true", f"nodeSelector.kubernetes\\.io/hostname={NODE}")
    with Applied(lab, config_map(CONFIG)), Release(lab, *values):
        wait_offer(lab, NODE, 2)
        with Applied(lab, deployment()):
            before = lab.wait(lambda: containers(lab) if len(containers(lab)) == 2 else None, "both run")
            check(lab)

            kill(lab, "^tranche arbiter")
            for pod in before:
                assert hold(lab, pod, TOO_MUCH) == 1, "while no arbiter may run"
            check(lab)
            end_agent(lab, NODE)
            check(lab)
            assert containers(lab) == before, "who works does not notice"

            kill(lab, "^tranche-load storm")
            lab.wait(
                lambda: len(after := containers(lab)) == 2 and not set(after.values()) & set(before.values()),
                "the containers have been started again",
                timeout=90,
            )
            check(lab)

            lab.reboot(NODE)
            lab.wait(
                lambda: len(now := containers(lab)) == 2 and all(hold(lab, pod, "1Mi") == 0 for pod in now),
                lambda: f"both run after the reboot: {containers(lab)}",
                timeout=240,
            )
            check(lab)
