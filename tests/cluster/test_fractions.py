"""The scenario fractions as written: `nvidia.com/gpu: 0.5` on a real Kubernetes, by the webhook,
the scheduler and the DRA driver."""

import json
import subprocess

import pytest
from claims import (
    VALUES,
    InMode,
    claim_of,
    claiming,
    devices,
    memory_of,
    results,
    template,
    wait_clean,
    wait_devices,
)
from halves import HALF, WHOLE, answers, waiting
from limited import can_hold, limit
from pods import GPU, ROOT, SCENARIOS, Applied, wait_offer
from release import Release

LATER = (ROOT / "tests/data/reports/03-nodes-come-later/halves.yaml").read_text()
PUBLISHED = SCENARIOS / "platform" / "dra-as-published.yaml"
# The scenario does not say what its images do; here they wait.
WAIT = ["sleep", "infinity"]


@pytest.fixture(scope="module")
def lab(labs):
    lab = labs.get(["l20", "t4"], runtime="cdi")
    lab.load_images(HALF)
    lab.load_images(WHOLE)
    return lab


@pytest.fixture(scope="module")
def release(lab):
    values = (*VALUES, "fractions.enabled=true")
    # The webhook leaves its own namespace and kube-system alone; the Pods of these tests are in `default`.
    with Release(lab, *values) as release, InMode(lab, "l20"):
        wait_devices(lab, "l20", "gpu-0")
        lab.wait(lambda: answers(lab), "the webhook answers and knows the fleet")
        yield release


def has_started(lab, name: str) -> bool:
    [status] = lab.pod(name)["status"].get("containerStatuses", [{}])
    return bool(status.get("started") or status.get("restartCount") or "terminated" in status.get("state", {}))


def workload(kind: str, group: str, name: str, **spec: object) -> str:
    """A workload whose container asks for a quarter."""
    labels = {"app": name}
    container = {
        "name": "main",
        "image": "lab-glibc:1",
        "command": WAIT if kind != "Job" else ["nvidia-smi", "-L"],
        "resources": {"limits": {GPU: "0.25"}},
    }
    pod = {"terminationGracePeriodSeconds": 0, "containers": [container]}
    if kind == "Job":
        pod["restartPolicy"] = "Never"
    else:
        spec["selector"] = {"matchLabels": labels}
    manifest = {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {**spec, "template": {"metadata": {"labels": labels}, "spec": pod}},
    }
    return json.dumps(manifest)


def running(lab) -> list[str]:
    """The nodes of the Pods that run."""
    return sorted(p["spec"]["nodeName"] for p in lab.get("pods")["items"] if p["status"]["phase"] == "Running")


def unscheduled(lab) -> str:
    """The scheduler's reasons why Pods wait."""
    conditions = [one for p in lab.get("pods")["items"] for one in p["status"].get("conditions", [])]
    return "\n".join(one.get("message", "") for one in conditions if one["type"] == "PodScheduled")


def test_a_node_that_comes_later_gets_the_pod_that_waits(lab, release):
    """Report 03: also of a model that the cluster did not have when the Pod's claim was made, and from zero."""
    with Applied(lab, LATER):
        lab.wait(lambda: running(lab) == ["l20", "l20"], lambda: f"run on {running(lab)}")
        lab.wait(lambda: "cannot allocate all claims" in unscheduled(lab), lambda: f"it waits: {unscheduled(lab)}")
        with InMode(lab, "t4"):
            lab.wait(lambda: running(lab) == ["l20", "l20", "t4"], lambda: f"run on {running(lab)}", timeout=60)
            lab.kubectl("scale", "deployment", "half", "--replicas=0")
            lab.wait(lambda: not lab.get("pods")["items"], "nothing is left")
    wait_clean(lab, "l20")


@pytest.mark.short
def test_half_pods_as_written(lab, release):
    """Two share the GPU, each limited to half; the third waits, and has its half when one has
    gone."""
    with Applied(lab, HALF):
        lab.wait(lambda: has_started(lab, "vgpu-pod"), "the Pod as it is written starts")
        [given] = results(lab, claim_of(lab, "vgpu-pod"))
        assert given["consumedCapacity"] == {"memory": "22722Mi", "compute": "50"}
        # Applying the manifest again changes nothing of the Pod.
        before = lab.pod("vgpu-pod")["spec"]
        lab.apply(HALF)
        assert lab.pod("vgpu-pod")["spec"] == before
    with Applied(lab, waiting(HALF, "first"), waiting(HALF, "second")):
        for name in ("first", "second"):
            lab.wait_pod(name)
            assert memory_of(lab, name) == 22722
            [given] = results(lab, claim_of(lab, name))
            assert given["device"] == "gpu-0"
            assert given["consumedCapacity"] == {"memory": "22722Mi", "compute": "50"}
        hold = "tranche-load hold --duration 100ms --memory 24Gi 2>&1; echo rc=$?"
        assert "rc=1" in lab.exec("second", "bash", "-c", hold)
        done = limit(lab, "set", "second", "--memory", "4Gi")
        assert done.returncode == 0, done.stderr
        lab.wait(lambda: not can_hold(lab, "second", "6Gi"), "the operator lowers the fraction")
        with Applied(lab, waiting(HALF, "third")):
            lab.wait(lambda: "cannot allocate all claims" in lab.kubectl("describe", "pod", "third"), "it waits")
            lab.kubectl("delete", "pod", "second", "--wait", "--grace-period=1")
            lab.wait_pod("third", timeout=120)
    wait_clean(lab, "l20")


def test_the_exclusive_pod_has_the_gpu_alone(lab, release):
    with InMode(lab, "t4"):
        wait_devices(lab, "t4", "gpu-0")
        wait_offer(lab, "t4", 0)
        with Applied(lab, waiting(WHOLE, "alone"), waiting(WHOLE, "beside")):
            nodes = set()
            for name in ("alone", "beside"):
                lab.wait_pod(name)
                nodes.add(lab.pod(name)["spec"]["nodeName"])
            assert nodes == {"l20", "t4"}
            with Applied(lab, waiting(HALF, "half")):
                lab.wait(
                    lambda: "cannot allocate all claims" in lab.kubectl("describe", "pod", "half"),
                    "nothing shares them",
                )
    wait_clean(lab, "l20")


def test_workloads_ask_for_fractions(lab, release):
    deployment = workload("Deployment", "apps/v1", "deployment", replicas=2)
    stateful = workload("StatefulSet", "apps/v1", "stateful", replicas=1, serviceName="none")
    with Applied(lab, deployment, stateful):

        def running() -> int:
            pods = lab.get("pods")["items"]
            return sum(one["status"]["phase"] == "Running" for one in pods)

        lab.wait(lambda: running() == 3, lambda: f"{running()} Pods run, not 3")
        assert set(devices(lab, "l20")) == {"gpu-0"}
        with Applied(lab, workload("Job", "batch/v1", "job")):
            lab.wait(lambda: lab.get("job", "job")["status"].get("succeeded") == 1, "the Job is done")
            assert "NVIDIA L20" in lab.logs("job/job")
    wait_clean(lab, "l20")


def test_the_published_claim_runs_as_lint_corrects_it(lab, release):
    """Refused as published; lint's output is accepted, and its Pod gets a GPU of 40000 MiB or
    more."""
    program = ROOT / "build" / "bin" / "tranche"
    done = subprocess.run(
        [str(program), "lint", "-o", "json", str(PUBLISHED)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    corrected = json.loads(done.stdout)["files"][0]["corrected"]
    lab.load_images(corrected)
    # The scenario's image has a program of its own; here it waits.
    waiting = corrected.replace("  - name: trainer\n", "  - name: trainer\n    command: [sleep, infinity]\n")
    lab.kubectl("create", "namespace", "ml-team")
    try:
        with Applied(lab, waiting):
            lab.wait_pod("training-job", namespace="ml-team")
            query = "nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits"
            seen = lab.exec("training-job", "bash", "-c", query, namespace="ml-team")
            assert int(seen) >= 40000
    finally:
        lab.kubectl("delete", "namespace", "ml-team", "--wait", timeout=120)
    wait_clean(lab, "l20")


def test_a_claim_of_a_model_that_nobody_has_waits_with_a_reason(lab, release):
    other = "device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100'"
    wish = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu.nvidia.com", "selectors": [{"cel": {"expression": other}}]},
    }
    with Applied(lab, template("h100", wish), claiming("nowhere", "h100")):
        lab.wait(
            lambda: "cannot allocate all claims" in lab.kubectl("describe", "pod", "nowhere"), "the reason is told"
        )


QUOTA = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus"},
        "spec": {"hard": {f"requests.{GPU}": "1"}},
    }
)


def quotas(lab) -> dict[str, dict]:
    """What each ResourceQuota has left and has given, by name."""
    items = json.loads(lab.kubectl("get", "resourcequotas", "-o", "json"))["items"]
    return {q["metadata"]["name"]: q.get("status", {}) for q in items}


def test_a_namespaces_quota_is_for_whole_gpus_and_shares_together(lab, release):
    """Kubernetes' own controllers count and retry."""
    whole = waiting(WHOLE, "whole")
    with Applied(lab, QUOTA):
        lab.wait(lambda: quotas(lab).get("gpus", {}).get("used"), "the quota is counted")
        with Applied(lab, waiting(HALF, "first"), waiting(HALF, "second")):
            for name in ("first", "second"):
                lab.wait_pod(name)
            ours = quotas(lab)["tranche-gpu-shares"]
            assert ours == {"hard": {f"requests.{GPU}": "0"}, "used": {f"requests.{GPU}": "0"}}
            said = lab.kubectl("create", "-f", "-", text=whole, check=False)
            assert f"exceeded quota: tranche-gpu-shares, requested: requests.{GPU}=1" in said
            with Applied(lab, waiting(HALF, "third")):
                why = "shares 1; end Pods that hold some (kubectl get resourceclaims -n default)"
                lab.wait(lambda: why in lab.kubectl("describe", "pod", "third"), "its Event says why")
                assert "FailedResourceClaimCreation" in lab.kubectl("describe", "pod", "third")
                lab.kubectl("delete", "pod", "second", "--wait", "--grace-period=1")
                lab.wait_pod("third", timeout=240)
        lab.wait(lambda: quotas(lab)["tranche-gpu-shares"]["hard"][f"requests.{GPU}"] == "1", "all is given back")
    lab.wait(lambda: "tranche-gpu-shares" not in quotas(lab), "ours goes with the quota")
    wait_clean(lab, "l20")
