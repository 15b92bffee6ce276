"""A feature gate that is on at the API server, and off at the scheduler or at kubelet, is
reported."""

import pytest
from claims import VALUES, InMode, wait_devices
from halves import HALF, dry_run, waiting
from pods import Applied
from release import Release
from test_gates import minor_version, told


@pytest.fixture(scope="module")
def lab(labs):
    off = {"kube-scheduler:DRAConsumableCapacity": False, "kubelet:ResourceHealthStatus": False}
    # A gate of 1.36 needs the other one.
    if minor_version() >= 36:
        off["kubelet:ResourceHealthStatusMessage"] = False
    lab = labs.get(["l20"], runtime="cdi", gates=off)
    lab.load_images(HALF)
    return lab


def notes(lab, pod: str) -> str:
    """Of the Pod's Events about gates that are off."""
    fields = f"reason=FeatureGatesOff,involvedObject.name={pod}"
    return "\n".join(event["message"] for event in lab.get("events", "--field-selector", fields)["items"])


def test_a_gate_that_only_the_scheduler_or_kubelet_has_off(lab):
    with Release(lab, *VALUES, "fractions.enabled=true"), InMode(lab, "l20"):
        wait_devices(lab, "l20", "gpu-0")
        lab.wait(lambda: "created" in dry_run(lab), lambda: dry_run(lab))
        with Applied(lab, waiting(HALF, "half")):
            said = "kube-scheduler --feature-gates=DRAConsumableCapacity=true"
            lab.wait(lambda: said in notes(lab, "half"), lambda: lab.kubectl("describe", "pod", "half"))
        # Kubelet has a minute to ask.
        lab.wait(
            lambda: "ResourceHealthStatus, off at this node's kubelet" in told(lab, "l20"),
            lambda: f"told: {told(lab, 'l20')}",
            timeout=150,
        )
        assert "DRAConsumableCapacity" not in told(lab, "l20")
