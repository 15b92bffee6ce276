"""Limits with a real kubelet: what two limited resources in one container come to. What the limits do is
shown by tests/chart/test_lifecycle.py."""

import json
import subprocess

import pytest
from pods import Applied, pod, wait_offer
from release import Release

from lab.cluster import paths

SMALL, LARGE = "nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.10gb"
CONFIG = {
    "version": "v1",
    "flags": {"migStrategy": "mixed"},
    "tranche": {"limits": {"enforcement": "strict"}},
}


@pytest.fixture(scope="module")
def lab(labs):
    build = paths.build_folder()
    if not (build / "lib/libtranche-limit.so").exists():
        pytest.skip("libtranche-limit.so is not built")
    help_ = [build / "bin/tranche", "arbiter", "--help"]
    if subprocess.run(help_, capture_output=True, check=False).returncode != 0:
        pytest.skip("this build has no arbiter")
    return labs.get(["a100-40gb-mig=mig"])


def test_two_limited_resources_in_one_container(lab):
    """Each is a tenant of its own; the mounts that both answers name are there once."""
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "limited", "namespace": "kube-system"},
        "data": {"default": json.dumps(CONFIG)},
    }
    values = ("config.name=limited", "limits.enabled=true", "mig.monitor=true")
    with Applied(lab, json.dumps(config)), Release(lab, *values):
        wait_offer(lab, "mig", 2, SMALL)
        wait_offer(lab, "mig", 1, LARGE)
        sleep = ("sleep", "infinity")
        both = pod("both", *sleep, image="lab-glibc:1", limits={SMALL: 1, LARGE: 1}, node="mig")
        with Applied(lab, both):
            lab.wait_pod("both")
            preload = lab.exec("both", "cat", "/etc/ld.so.preload")
            assert preload == "/usr/local/tranche/libtranche-limit.so\n"
            tenants = lab.exec("both", "ls", "/run/tranche").split()
            assert len(tenants) == 2
            for tenant in tenants:
                assert lab.exec("both", "ls", f"/run/tranche/{tenant}").split() == ["arbiter.sock"]
            lines = lab.exec("both", "cat", "/proc/self/mountinfo").splitlines()
            mounts = [(line.split()[4], line.split()[5].split(",")) for line in lines]
            ours = ("/usr/local/tranche/", "/run/tranche/", "/etc/ld.so.preload")
            options = {point: options for point, options in mounts if point.startswith(ours)}
            assert len(options) == 4 == sum(point.startswith(ours) for point, _ in mounts)
            assert all("ro" in one for one in options.values()), options
            # A shell by exec has the library too.
            maps = lab.exec("both", "cat", "/proc/self/maps")
            assert "/usr/local/tranche/libtranche-limit.so" in maps
