"""A storm of Pods while the agents are replaced: kubelet refuses none of them."""

import pytest
from pods import wait_offer
from release import Release
from storm import replaced_under_storm
from test_faults import MAP, NAMESPACE, config_map


@pytest.fixture(scope="module")
def lab(two_gpu_lab):
    return two_gpu_lab


def test_no_admission_fails_while_the_agents_are_replaced(lab):
    lab.apply(config_map(default=40))
    with Release(lab, f"config.name={MAP}", "config.default=default") as release:
        for node in ("l20", "t4"):
            wait_offer(lab, node, 40)
        before = release.agents()
        assert replaced_under_storm(lab, release.namespace, release.name) == []
        assert not set(one["metadata"]["uid"] for one in before.values()) & set(
            one["metadata"]["uid"] for one in release.agents().values()
        )
    lab.kubectl("delete", "configmap", MAP, "-n", NAMESPACE)
