"""Claims end whatever the operator does while they run, on a real Kubernetes: DRA turned off, an uninstall refused and
forced, another name of the driver, an agent that only labels, a rollback to before claims."""

import json

import pytest
from claims import VALUES, InMode, claiming, share, template, wait_clean, wait_devices
from limited import can_hold
from pods import Applied, wait_offer
from release import Release

HALF = template("half", share("22722Mi", 50))


@pytest.fixture(scope="module")
def lab(labs):
    return labs.get(["l20"], runtime="cdi")


def drained(lab) -> dict:
    """The node's condition TrancheClaimsDrained; {} without it."""
    conditions = lab.get("node", "l20")["status"]["conditions"]
    return next((one for one in conditions if one["type"] == "TrancheClaimsDrained"), {})


def test_claims_run_and_end_after_dra_is_turned_off(lab):
    with InMode(lab, "l20"), Applied(lab, HALF):
        with Release(lab, *VALUES) as release:
            wait_devices(lab, "l20", "gpu-0")
            with Applied(lab, claiming("first", "half"), claiming("second", "half")):
                for name in ("first", "second"):
                    lab.wait_pod(name)
                release.upgrade("dra.enabled=false")
                lab.wait(lambda: drained(lab).get("status") == "False", "it is told")
                assert "claims are prepared on this node" in drained(lab)["message"]
                wait_offer(lab, "l20", 0)
                for name in ("first", "second"):
                    assert can_hold(lab, name, "20Gi"), "a new process of the container gets memory"
                    assert not can_hold(lab, name, "24Gi")
                with pytest.raises(AssertionError, match="claims are in use"):
                    release.helm("uninstall", release.name, "--timeout", "180s")
                assert release.agents(), "nothing was changed"
                lab.kubectl("delete", "pod", "first", "--wait", "--timeout=240s", timeout=250)
                assert can_hold(lab, "second", "20Gi")
                # Who insists uninstalls. Helm upgrades no release whose uninstall has failed.
                revision = json.loads(release.helm("history", release.name, "-o", "json"))[-1]["revision"]
                release.helm("rollback", release.name, str(revision), "--wait", "--timeout", "180s")
                release.upgrade("cleanup.force=true")
                release.uninstall()
                with Release(lab, *VALUES):
                    lab.kubectl("delete", "pod", "second", "--wait", "--timeout=240s", timeout=250)
                    wait_clean(lab, "l20")


def pools(lab, driver: str) -> list[tuple]:
    """The pool of each slice of that name, and its devices."""
    found = [one["spec"] for one in lab.get("resourceslices")["items"] if one["spec"]["driver"] == driver]
    return [(one["pool"]["name"], [device["name"] for device in one.get("devices", [])]) for one in found]


def test_claims_of_a_former_name_with_labels_alone_and_after_a_rollback(lab):
    other = "gpu.example.com"
    end = ("--wait", "--timeout=240s")
    with InMode(lab, "l20"), Applied(lab, HALF), Release(lab, "nvidiaDriverRoot=/") as release:
        wait_offer(lab, "l20", 1)
        release.upgrade("dra.enabled=true")
        wait_devices(lab, "l20", "gpu-0")
        with Applied(lab, claiming("first", "half"), claiming("second", "half")):
            for name in ("first", "second"):
                lab.wait_pod(name)
            release.upgrade(f"dra.driverName={other}")
            lab.wait(lambda: drained(lab).get("status") == "False", "it is told")
            lab.wait(lambda: pools(lab, other) == [(f"gpu-l20/{other}", [])], lambda: str(pools(lab, other)))
            assert can_hold(lab, "first", "20Gi")
            release.upgrade("dra.enabled=false", "devicePlugin.enabled=false", "gfd.enabled=true")
            lab.wait(lambda: "this agent takes none" in drained(lab).get("message", ""), lambda: release.log("l20"))
            assert can_hold(lab, "first", "20Gi") and not can_hold(lab, "first", "24Gi")
            lab.kubectl("delete", "pod", "first", *end, timeout=250)
            release.helm("rollback", release.name, "1", "--wait", "--timeout", "180s")
            lab.wait(lambda: "this agent takes none" in drained(lab).get("message", ""), lambda: str(drained(lab)))
            wait_offer(lab, "l20", 0)
            assert can_hold(lab, "second", "20Gi") and not can_hold(lab, "second", "24Gi")
            lab.kubectl("delete", "pod", "second", *end, timeout=250)
        wait_clean(lab, "l20")
        wait_offer(lab, "l20", 1)
