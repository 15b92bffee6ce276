"""What bounds the Pods of a release: memory, network, how many of the controller may end at once, and which
image they run."""

import pytest
from modes import MODES, MPS, namespace

DIGEST = "sha256:" + "5e" * 32


def pods(rendered) -> dict[str, dict]:
    """Component -> the Pod's template."""
    found = {}
    for item in rendered.objects:
        template = item.get("spec", {}).get("template") if item["kind"] != "ClusterPolicy" else None
        if template:
            found[template["metadata"]["labels"]["app.kubernetes.io/component"]] = template
    return found


def containers(template: dict) -> list[dict]:
    return [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]


@pytest.mark.parametrize("mode", MODES)
def test_a_digest_is_what_every_container_runs(helm, mode):
    values = MODES[mode] | {"image": {"repository": "r.example/tranche", "digest": DIGEST, "tag": "x"}}
    for component, template in pods(helm.template(values, namespace=namespace(mode))).items():
        images = {container["image"] for container in containers(template)}
        assert images == {f"r.example/tranche@{DIGEST}"}, component


# NVIDIA's server runs in the MPS daemons' container, and its end is that of its clients.
UNBOUNDED = {"mount-shm", "mps-control-daemon"}


@pytest.mark.parametrize("mode", MODES)
def test_memory_is_bounded_and_processor_time_is_not(helm, mode):
    for template in pods(helm.template(MODES[mode], namespace=namespace(mode))).values():
        for container in containers(template):
            limits = container.get("resources", {}).get("limits", {})
            assert set(limits) == (set() if container["name"] in UNBOUNDED else {"memory"}), container["name"]


def test_the_arbiter_asks_for_the_processor_time_that_it_takes(helm):
    """docs/performance.md: up to 6 % of a core with 48 busy tenants."""
    assert helm.template(MODES["limits"]).arbiter()["resources"]["requests"]["cpu"] == "100m"


@pytest.mark.parametrize(
    ("controller", "budget"),
    [
        ({}, None),
        ({"replicas": 2}, 1),
        ({"replicas": 3, "maxUnavailable": "50%"}, "50%"),
        ({"replicas": 2, "maxUnavailable": None}, None),
    ],
)
def test_several_controllers_have_a_disruption_budget(helm, controller, budget):
    rendered = helm.template(MODES["limits-evict"] | {"controller": controller})
    found = rendered.of("PodDisruptionBudget")
    assert [one["spec"]["maxUnavailable"] for one in found] == ([] if budget is None else [budget])
    for one in found:
        selector = one["spec"]["selector"]["matchLabels"].items()
        assert selector <= pods(rendered)["controller"]["metadata"]["labels"].items()
        assert not selector <= pods(rendered)["agent"]["metadata"]["labels"].items()


def bounds(rendered) -> dict[str, dict]:
    """Component -> the spec of the one NetworkPolicy that selects its Pods."""
    found = {}
    for component, template in pods(rendered).items():
        labels = template["metadata"]["labels"]
        selecting = [
            policy["spec"]
            for policy in rendered.of("NetworkPolicy")
            if policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
            and all(
                e["operator"] == "In" and labels[e["key"]] in e["values"]
                for e in policy["spec"]["podSelector"]["matchExpressions"]
            )
        ]
        assert len(selecting) == 1, component
        found[component] = selecting[0]
    return found


@pytest.mark.parametrize("mode", MODES)
def test_nothing_reaches_a_pod_and_only_callers_have_a_network(helm, mode):
    rendered = helm.template(MODES[mode], namespace=namespace(mode))
    for component, spec in bounds(rendered).items():
        calls = pods(rendered)[component]["spec"].get("automountServiceAccountToken", False)
        assert spec["policyTypes"] == (["Ingress"] if calls else ["Ingress", "Egress"]), component
        # Only the port of the webhook, of the page or of metrics, if there is one.
        port = {
            ("fractions", "controller"): "webhook",
            ("web", "controller"): "web",
            ("web", "agent"): "metrics",
            ("metrics", "agent"): "metrics",
        }.get((mode, component))
        ports = [{"ports": [{"port": port, "protocol": "TCP"}]}]
        assert spec.get("ingress", []) == (ports if port else [])
        assert "egress" not in spec


def test_the_webhook_can_be_held_to_callers(helm):
    cidrs = ["10.0.0.0/24", "fd00::/64"]
    values = MODES["fractions"] | {"networkPolicy": {"webhookCidrs": cidrs}}
    (rule,) = bounds(helm.template(values))["controller"]["ingress"]
    assert rule == {
        "ports": [{"port": "webhook", "protocol": "TCP"}],
        "from": [{"ipBlock": {"cidr": cidr}} for cidr in cidrs],
    }


def test_metrics_can_be_held_to_readers(helm):
    readers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    only = {"metricsFrom": readers, "apiServerOnly": {"enabled": True, "ports": [443]}}
    found = bounds(helm.template(MODES["metrics"] | {"networkPolicy": only}))
    assert found["agent"]["ingress"] == [{"ports": [{"port": "metrics", "protocol": "TCP"}], "from": readers}]
    # What the agent itself may reach is as without metrics, and others are asked by nobody.
    assert found["agent"]["egress"] == [{"ports": [{"port": 443, "protocol": "TCP"}]}] == found["cleanup"]["egress"]
    assert "ingress" not in found["cleanup"]


def test_mps_daemons_without_a_config_map_have_no_network(helm):
    rendered = helm.template({"mps": {"enabled": True}})
    assert bounds(rendered)["mps-control-daemon"]["policyTypes"] == ["Ingress", "Egress"]
    rendered = helm.template({"config": {"map": {"default": MPS}}})
    assert bounds(rendered)["mps-control-daemon"]["policyTypes"] == ["Ingress"]


@pytest.mark.parametrize("cidrs", [[], ["10.96.0.1/32", "fd00::1/128"]])
def test_callers_can_be_held_to_the_api_server(helm, cidrs):
    only = {"enabled": True, "ports": [443, 16443], "cidrs": cidrs}
    values = MODES["limits-evict"] | {"networkPolicy": {"apiServerOnly": only}}
    rule = {"ports": [{"port": port, "protocol": "TCP"} for port in (443, 16443)]}
    if cidrs:
        rule["to"] = [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]
    found = bounds(helm.template(values))
    for component in ("agent", "controller", "cleanup"):
        assert found[component]["policyTypes"] == ["Ingress", "Egress"]
        assert found[component]["egress"] == [rule]
    serves = bounds(helm.template(values | MODES["fractions"]))["controller"]
    assert serves["egress"] == [rule] and serves["ingress"]


def test_network_policies_can_be_left_to_others(helm):
    assert not helm.template({"networkPolicy": {"enabled": False}}).of("NetworkPolicy")
