"""The effective configuration in the log, as NVIDIA's plugin v0.20 prints it."""

import json
import re

import pytest

MIG_OF_A100 = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", "1g.5gb+me", "1g.10gb"]


def effective(agent) -> dict:
    return json.loads(agent.wait_log(r"(?s)Running with config:\n(\{\n.*?\n\})\n").group(1))


def named(profiles: list) -> list:
    return [{"pattern": one, "name": f"nvidia.com/mig-{one.replace('+', '.')}"} for one in profiles]


@pytest.mark.parametrize(
    ("strategy", "mig"),
    [
        ("none", None),
        ("single", [{"pattern": "*", "name": "nvidia.com/gpu"}]),
        ("mixed", named(MIG_OF_A100)),
    ],
)
def test_resources_by_mig_strategy(node, strategy, mig):
    agent = node("a100-40gb-mig").agent(f"--mig-strategy={strategy}")
    resources = effective(agent)["resources"]
    assert resources["gpus"] == [{"pattern": "*", "name": "nvidia.com/gpu"}]
    assert resources.get("mig") == mig


def test_mixed_on_a_machine_without_mig_lists_none(node):
    assert "mig" not in effective(node("t4").agent("--mig-strategy=mixed"))["resources"]


def test_mps_refuses_more_than_one_unless_told_otherwise(node):
    shared = {"resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}
    for more, wanted in (({}, True), ({"failRequestsGreaterThanOne": False}, False)):
        config = {"version": "v1", "sharing": {"mps": {**shared, **more}}}
        agent = node("t4").agent("--mps-root=/run/nvidia/mps", config=config)
        assert effective(agent)["sharing"]["mps"]["failRequestsGreaterThanOne"] is wanted
