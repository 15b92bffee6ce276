"""Metrics of the agents: what the chart tells the agent, Prometheus and its operator, and what it refuses."""

import pytest
from modes import MODES

API = ("--api-versions", "monitoring.coreos.com/v1/PodMonitor")


def metrics(**values) -> dict:
    return {"metrics": {"enabled": True} | values}


def monitored(**monitor) -> dict:
    return {"podMonitor": {"enabled": True} | monitor}


def ports(rendered) -> list[dict]:
    return rendered.agent().get("ports", [])


def annotations(rendered) -> dict:
    return rendered.one("DaemonSet")["spec"]["template"]["metadata"].get("annotations", {})


def settings(rendered) -> dict:
    return {name: value for name, value in rendered.env().items() if name.startswith("TRANCHE_METRICS_")}


def test_by_default_nothing_listens(helm):
    rendered = helm.template()
    assert not settings(rendered) and not ports(rendered) and not annotations(rendered)
    assert not rendered.pod().get("hostPID")


def test_the_agent_is_told_where_to_serve(helm):
    rendered = helm.template(metrics())
    assert settings(rendered) == {"TRANCHE_METRICS_ADDRESS": ":9400", "TRANCHE_METRICS_NAMES": "both"}
    assert ports(rendered) == [{"name": "metrics", "containerPort": 9400, "protocol": "TCP"}]
    assert rendered.pod()["hostPID"] is True
    assert rendered.env()["TRANCHE_METRICS_ADDRESS"] == ":9400"


def test_port_and_names_are_the_users(helm):
    rendered = helm.template(metrics(port=19400, names="4.9"))
    assert settings(rendered) == {"TRANCHE_METRICS_ADDRESS": ":19400", "TRANCHE_METRICS_NAMES": "4.9"}
    assert ports(rendered)[0]["containerPort"] == 19400


@pytest.mark.parametrize("names", [4.8, 4.9])
def test_a_version_is_taken_without_quotes(helm, names):
    assert settings(helm.template(metrics(names=names)))["TRANCHE_METRICS_NAMES"] == str(names)


def test_certificate_and_token_are_mounted_and_named(helm):
    rendered = helm.template(MODES["metrics"])
    assert settings(rendered)["TRANCHE_METRICS_TLS_DIR"] == "/metrics-tls"
    assert settings(rendered)["TRANCHE_METRICS_TOKEN_FILE"] == "/metrics-token/token"
    assert rendered.mounts()["/metrics-tls"] == "Secret metrics-cert ro"
    assert rendered.mounts()["/metrics-token"] == "Secret scrape ro"
    # A Secret that is not there yet must not keep a node from serving its GPUs.
    secrets = [v["secret"] for v in rendered.pod()["volumes"] if "secret" in v]
    assert len(secrets) == 2 and all(one["optional"] is True for one in secrets)


def test_without_metrics_no_secret_is_mounted(helm):
    values = MODES["metrics"]["metrics"] | {"enabled": False}
    assert not any("secret" in volume for volume in helm.template({"metrics": values}).pod()["volumes"])


def test_metrics_need_no_right_on_the_node_but_to_see_processes(helm):
    with_them, without = helm.template(metrics()), helm.template()
    assert with_them.agent()["securityContext"] == without.agent()["securityContext"]
    assert with_them.mounts() == without.mounts()
    assert not helm.template(metrics(hostPID=False)).pod().get("hostPID")


def test_beside_layouts_that_are_changed_processes_are_seen_either_way(helm):
    manager = {"migManager": {"enabled": True}}
    rendered = helm.template(manager | metrics(hostPID=False))
    assert rendered.pod()["hostPID"] is True
    assert "SYS_PTRACE" in rendered.agent()["securityContext"]["capabilities"]["add"]


def test_alone_metrics_write_nothing_but_events(helm):
    rendered = helm.template(metrics() | {"gpuNode": {"enabled": False}})
    read = {"pods": ("list", "watch")} | dict.fromkeys(("nodes", "gputiers.tranche.dev"), ("get", "list", "watch"))
    rules = {f"cluster {verb} {kind}" for kind, verbs in read.items() for verb in verbs}
    events = {f"default {verb} events.events.k8s.io" for verb in ("create", "patch")}
    assert rendered.rules("gpu-tranche-agent") - events == rules
    assert rendered.pod()["automountServiceAccountToken"] is True
    names = [o["metadata"]["name"] for o in rendered.of("ValidatingAdmissionPolicy")]
    assert any("own-node" in name for name in names)


def test_pod_resources_for_other_exporters(helm):
    def of(values):
        pod = helm.template(values).pod()
        [container] = [one for one in pod["containers"] if one["name"].startswith("tranche")] or pod["containers"][:1]
        mount = next(one for one in container["volumeMounts"] if one["name"] == "pod-resources")
        env = {one["name"]: one.get("value") for one in container["env"]}
        return mount.get("readOnly", False), env.get("TRANCHE_POD_RESOURCES_SOCKET")

    assert of({}) == (True, None)
    values = {"metrics": {"podResourcesSocket": True}}
    assert of(values) == (False, "/var/lib/kubelet/pod-resources/tranche.sock")


SCRAPED = {
    "prometheus.io/scrape": "true",
    "prometheus.io/scheme": "http",
    "prometheus.io/port": "9400",
    "prometheus.io/path": "/metrics",
}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (metrics(), SCRAPED),
        (metrics(port=19400), SCRAPED | {"prometheus.io/port": "19400"}),
        (metrics(tls={"secretName": "c"}), SCRAPED | {"prometheus.io/scheme": "https"}),
        (metrics(annotations=False), {}),
        (metrics(token={"secretName": "t"}), {}),
        (metrics(**monitored()), {}),
        (
            metrics() | {"podAnnotations": {"a": "b", "prometheus.io/scrape": "false"}},
            SCRAPED | {"a": "b", "prometheus.io/scrape": "false"},
        ),
        ({"podAnnotations": {"a": "b"}}, {"a": "b"}),
    ],
    ids=["default", "port", "tls", "off", "token", "monitored", "theirs-win", "no-metrics"],
)
def test_annotations_for_a_scraper_that_looks_for_them(helm, values, wanted):
    assert annotations(helm.template(values, *API)) == wanted


def endpoint(helm, values) -> dict:
    spec = helm.template(values, *API).one("PodMonitor")["spec"]
    (found,) = spec["podMetricsEndpoints"]
    return found


def test_the_operator_finds_the_agents_and_keeps_whose_series_are(helm):
    found = endpoint(helm, metrics(**monitored()))
    assert {k: found[k] for k in ("port", "path", "scheme", "interval", "honorLabels")} == {
        "port": "metrics",
        "path": "/metrics",
        "scheme": "http",
        "interval": "15s",
        "honorLabels": True,
    }
    assert found["relabelings"] == [
        {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"},
        {"action": "labeldrop", "regex": "namespace|pod|container"},
    ]
    assert not {"tlsConfig", "authorization", "metricRelabelings"} & set(found)


def test_the_operator_is_told_certificate_and_token(helm):
    tls = {"serverName": "metrics.example", "ca": {"secret": {"name": "metrics-cert", "key": "ca.crt"}}}
    values = {"metrics": MODES["metrics"]["metrics"] | monitored(tlsConfig=tls)}
    found = endpoint(helm, values)
    assert found["scheme"] == "https" and found["tlsConfig"] == tls
    assert found["authorization"] == {"type": "Bearer", "credentials": {"name": "scrape", "key": "token"}}


def test_the_users_rules_come_after_ours(helm):
    rule = {"action": "drop", "sourceLabels": ["a"], "regex": "b"}
    found = endpoint(helm, metrics(**monitored(interval="1m", relabelings=[rule], metricRelabelings=[rule])))
    assert found["interval"] == "1m"
    assert len(found["relabelings"]) == 3 and found["relabelings"][-1] == rule
    assert found["metricRelabelings"] == [rule]


@pytest.mark.parametrize(
    "values",
    [
        {},
        MODES["nvidia-names"],
        {"compat": {"operatorNames": True}},
        {"selectorLabelsOverride": {"name": "x"}},
        {"nameOverride": "mine"},
        {"limits": {"enabled": True}, "mps": {"enabled": True}, "fractions": {"enabled": True}},
    ],
    ids=["default", "nvidia-names", "operator-names", "selector", "name", "all-parts"],
)
def test_it_selects_the_agents_pods_alone(helm, values):
    rendered = helm.template(values | metrics(**monitored()), *API)
    monitor = rendered.one("PodMonitor")
    assert monitor["metadata"]["namespace"] == rendered.one("DaemonSet")["metadata"]["namespace"]
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    made = [o for kind in ("DaemonSet", "Deployment", "Job") for o in rendered.of(kind)]
    selected = [o for o in made if wanted <= o["spec"]["template"]["metadata"]["labels"].items()]
    assert selected == [rendered.one("DaemonSet")]


def test_labels_by_which_prometheus_selects(helm):
    labels = {"release": "kps", "app.kubernetes.io/instance": "theirs"}
    found = helm.template(metrics(**monitored(additionalLabels=labels)), *API).one("PodMonitor")["metadata"]["labels"]
    assert found["release"] == "kps" and found["app.kubernetes.io/instance"] == "gpu"


HOST = {"devicePlugin": {"enableHostNetwork": True}}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            metrics(**monitored()),
            [
                "this cluster has no PodMonitor (monitoring.coreos.com/v1)",
                "'metrics.podMonitor.enabled=false'",
                "--api-versions monitoring.coreos.com/v1/PodMonitor",
            ],
        ),
        ({"metrics": monitored()}, ["with 'metrics.enabled=false' no agent serves any"]),
        (
            metrics(tls={"secretName": "c"}, **monitored()),
            ["Set 'metrics.podMonitor.tlsConfig'", "serverName"],
        ),
        (
            metrics() | {"devicePlugin": {"enabled": False}, "gfd": {"enabled": True}},
            ["'metrics.enabled=true' needs 'devicePlugin.enabled=true'"],
        ),
        (metrics() | HOST, ["the two cannot both have it", "maxSurge: 0"]),
        (metrics() | HOST | {"updateStrategy": {"rollingUpdate": {"maxSurge": "10%"}}}, ["maxSurge: 0"]),
        ({"metrics": None}, ["'metrics' is empty"]),
        (metrics(tls=None), ["'metrics.tls' is empty"]),
        (metrics(podMonitor=None), ["'metrics.podMonitor' is empty"]),
        (metrics(port=80), ["/metrics/port"]),
        (metrics(port="9400"), ["/metrics/port"]),
        (metrics(names="4.7"), ["/metrics/names", "'both'"]),
        (metrics(token={"secretName": "A b"}), ["/metrics/token/secretName"]),
        (metrics(**monitored(interval="15")), ["/metrics/podMonitor/interval"]),
        (metrics(**monitored(interval="1s1m")), ["/metrics/podMonitor/interval"]),
        (metrics(**monitored(interval="")), ["/metrics/podMonitor/interval"]),
        (metrics(enable=True), ["/metrics", "enable"]),
    ],
)
def test_what_cannot_be_is_refused(helm, values, words):
    said = helm.refusal(values)
    assert all(word in said for word in words), said


@pytest.mark.parametrize(
    "strategy",
    [{"type": "OnDelete"}, {"rollingUpdate": {"maxUnavailable": 1}}, {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}],
)
def test_a_port_of_the_node_is_taken_where_one_agent_at_a_time_has_it(helm, strategy):
    rendered = helm.template(metrics() | HOST | {"updateStrategy": strategy})
    assert rendered.pod()["hostNetwork"] is True and ports(rendered)
