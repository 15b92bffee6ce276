"""The cluster's page: what the chart tells the controller, how it is reached, and what it refuses."""

import pytest
from modes import MODES

API = ("--api-versions", "monitoring.coreos.com/v1/PodMonitor")
CONTROLLER = "gpu-tranche-controller"
AGENT = "app.kubernetes.io/component=agent,app.kubernetes.io/instance=gpu,app.kubernetes.io/name=tranche"


def web(**values) -> dict:
    return {"web": {"enabled": True} | values}


def pod(rendered) -> dict:
    return rendered.one("Deployment", CONTROLLER)["spec"]["template"]["spec"]


def args(rendered) -> list[str]:
    ours = ("--web-", "--agent-", "--cluster-")
    return [one for one in pod(rendered)["containers"][0]["args"] if one.startswith(ours)]


def component(peer: dict) -> str:
    return peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]


def policy(rendered, name: str) -> dict:
    return rendered.one("NetworkPolicy", f"gpu-tranche-{name}")["spec"]


def test_by_default_nothing_is_served(helm):
    rendered = helm.template()
    assert not rendered.of("Deployment") and not rendered.of("Service")


def test_the_page_alone_has_the_controller_run(helm):
    rendered = helm.template(web())
    assert args(rendered) == ["--web-address=:9401"], "no agent serves anything that could be asked"
    container = pod(rendered)["containers"][0]
    assert container["ports"] == [{"name": "web", "containerPort": 9401}]
    assert "volumeMounts" not in container and "volumes" not in pod(rendered)
    service = rendered.one("Service", "gpu-tranche-controller-web")["spec"]
    assert service["ports"] == [{"name": "web", "port": 9401, "targetPort": "web"}]
    labels = rendered.one("Deployment", CONTROLLER)["spec"]["template"]["metadata"]["labels"]
    assert service["selector"].items() <= labels.items()


def test_agents_are_asked_as_scrapers_ask_them(helm):
    rendered = helm.template(MODES["web"])
    assert args(rendered) == [
        "--web-address=:9401",
        "--cluster-name=prod",
        "--web-tls-dir=/web-tls",
        "--web-token-file=/web-token/token",
        f"--agent-selector={AGENT}",
        "--agent-port=9400",
        "--agent-ca-file=/agent-tls/ca.crt",
        "--agent-server-name=agents",
        "--agent-token-file=/agent-token/token",
    ]
    labels = rendered.one("DaemonSet", "gpu-tranche")["spec"]["template"]["metadata"]["labels"]
    assert dict(one.split("=") for one in AGENT.split(",")).items() <= labels.items()
    mounts = {m["name"]: m["mountPath"] for m in pod(rendered)["containers"][0]["volumeMounts"]}
    assert mounts == {n: f"/{n}" for n in ("web-tls", "web-token", "agent-tls", "agent-token")}
    volumes = {v["name"]: v["secret"] for v in pod(rendered)["volumes"]}
    # The controller checks agents' certificates: it has their authority, and not their key.
    assert volumes["agent-tls"] == {
        "secretName": "metrics-cert",
        "optional": True,
        "items": [{"key": "ca.crt", "path": "ca.crt"}],
    }
    assert volumes["web-tls"] == {"secretName": "web-cert", "optional": True}


def test_who_may_read_it(helm):
    assert not [b for b in helm.template(web()).of("ClusterRoleBinding") if "viewer" in b["metadata"]["name"]]
    rendered = helm.template(MODES["web"])
    role = rendered.one("ClusterRole", "gpu-tranche-viewer")
    assert role["rules"] == [{"nonResourceURLs": ["/v1/fleet"], "verbs": ["get"]}]
    assert rendered.one("ClusterRoleBinding", "gpu-tranche-viewer")["subjects"] == MODES["web"]["web"]["viewers"]


def test_only_the_port_is_reached(helm):
    anybody = [{"namespaceSelector": {}}]
    closed = {"webFrom": anybody, "metricsFrom": anybody, "apiServerOnly": {"enabled": True}}
    rendered = helm.template(MODES["web"] | {"networkPolicy": closed})
    spec = policy(rendered, "web")
    assert spec["ingress"] == [{"ports": [{"port": "web", "protocol": "TCP"}], "from": anybody}]
    agents = [rule for rule in spec["egress"] if rule["ports"] == [{"port": 9400, "protocol": "TCP"}]]
    [rule] = agents
    assert component(rule["to"][0]) == "agent"
    # The controller is let in where others are not.
    froms = policy(rendered, "metrics")["ingress"][0]["from"]
    assert component(froms[1]) == "controller"
    others = policy(rendered, "api-server-only")["podSelector"]["matchExpressions"][1]["values"]
    assert "controller" not in others


def test_prometheus_finds_the_controller(helm):
    def annotations(values):
        rendered = helm.template(values)
        return rendered.one("Deployment", CONTROLLER)["spec"]["template"]["metadata"].get("annotations", {})

    assert annotations(web())["prometheus.io/port"] == "9401"
    assert annotations(MODES["web"]) == {}, "a token is needed"
    values = MODES["web"]["web"] | {"podMonitor": {"enabled": True, "tlsConfig": {"serverName": "web"}}}
    rendered = helm.template({"web": values}, *API)
    endpoint = rendered.one("PodMonitor", CONTROLLER)["spec"]["podMetricsEndpoints"][0]
    assert endpoint["scheme"] == "https" and endpoint["tlsConfig"] == {"serverName": "web"}
    assert endpoint["authorization"]["credentials"] == {"name": "web-scrape", "key": "token"}


@pytest.mark.parametrize(
    "values, said",
    [
        ({"podMonitor": {"enabled": True}}, "web.enabled=true"),
        ({"enabled": True, "podMonitor": {"enabled": True}, "tls": {"secretName": "s"}}, "web.podMonitor.tlsConfig"),
        ({"enabled": True, "port": 80}, "port"),
        ({"enabled": True, "viewers": [{"kind": "Group"}]}, "name"),
    ],
)
def test_what_contradicts_itself_is_refused(helm, values, said):
    assert said in helm.refusal({"web": values}, *API)
