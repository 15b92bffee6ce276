"""The chart's PodMonitor and PrometheusRule with a real Prometheus operator, on a real API server: its definitions take
them, and by the configuration that it makes of them a real Prometheus scrapes an agent. Debian's Prometheus is built
without Kubernetes, so the test looks up the Pods for it. Skipped where these programs are not built (lab/build/build,
lab/build/optional/build)."""

import base64
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

from programs import ROOT, Process, wait_until
from prometheus_server import Prometheus
from test_metrics import metrics_agent

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import free_port, running_server  # noqa: E402
from helm import YAML_LOADER, Helm, find_helm  # noqa: E402
from prometheus_programs import find_program  # noqa: E402

BUILDER = ROOT / "lab/build/optional/build"
NS = "gpu"
API = [word for kind in ("PodMonitor", "PrometheusRule")
       for word in ("--api-versions", f"monitoring.coreos.com/v1/{kind}")]
# The Prometheus that the operator configures; it exists as these objects alone.
SECRET = f"/api/v1/namespaces/{NS}/secrets/prometheus-p"
MAPS = f"/api/v1/namespaces/{NS}/configmaps"


class Definitions(YAML_LOADER):
    """Takes a plain = for text, as they do."""


Definitions.add_constructor("tag:yaml.org,2002:value", Definitions.construct_yaml_str)


def operator_folder() -> pathlib.Path:
    lines = subprocess.run([BUILDER, "--where"], capture_output=True, text=True, check=True).stdout.splitlines()
    folder = pathlib.Path(dict(line.split() for line in lines)["prometheus-operator"])
    if not folder.is_dir():
        pytest.skip("the Prometheus operator is not built: run lab/build/optional/build")
    return folder


@pytest.fixture(scope="module")
def folder():
    if find_program("prometheus") is None or find_helm() is None:
        pytest.skip("no prometheus, or no helm")
    return operator_folder()


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    """With the operator's kinds."""
    with running_server(tmp_path_factory.mktemp("server")) as server:
        for name in ("default", NS):
            server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for file in sorted((folder / "crd").glob("*.yaml")):
            server.apply(yaml.load(file.read_text(), Loader=Definitions))
        kinds = "/apis/monitoring.coreos.com/v1"
        wanted = {"PodMonitor", "PrometheusRule", "Prometheus"}
        server.wait(lambda: wanted <= {one["kind"] for one in server.request("GET", kinds)["resources"]}, "its kinds")
        yield server


@pytest.fixture(scope="module")
def operator(folder, server, tmp_path_factory):
    words = ["operator", f"--web.listen-address=127.0.0.1:{free_port()}", "--prometheus-config-reloader=none"]
    env = dict(os.environ) | {"KUBECONFIG": str(server.kubeconfig())}
    log = tmp_path_factory.mktemp("operator") / "log"
    process = Process(words, log, env, executable=str(folder / "bin/operator"))
    yield process
    process.kill()


def rendered(tmp_path, **metrics) -> dict:
    """The chart's objects by kind."""
    values = {"metrics": {"enabled": True, "podMonitor": {"enabled": True, "interval": "1s"},
                          "prometheusRule": {"enabled": True}} | metrics}
    objects = Helm(find_helm(), tmp_path).template(values, *API, namespace=NS)
    return {kind: objects.one(kind) for kind in ("PodMonitor", "PrometheusRule", "DaemonSet")}


def as_pod(daemon_set: dict, **labels: str) -> dict:
    """A Pod of the DaemonSet on this machine, under the names that Prometheus gives what it finds in Kubernetes."""
    template = daemon_set["spec"]["template"]
    (port,) = [port for one in template["spec"]["containers"] for port in one.get("ports", [])]
    found = {"namespace": NS, "pod_name": "agent-of-n1", "pod_node_name": "n1", "pod_phase": "Running",
             "pod_container_name": "agent", "pod_container_port_name": port["name"]}
    component = {f"app.kubernetes.io/{name}": value for name, value in labels.items()}
    for name, value in (template["metadata"]["labels"] | component).items():
        safe = re.sub(r"[^a-zA-Z0-9_]", "_", name)
        found |= {f"pod_label_{safe}": value, f"pod_labelpresent_{safe}": "true"}
    return {"targets": [f"127.0.0.1:{port['containerPort']}"],
            "labels": {f"__meta_kubernetes_{name}": value for name, value in found.items()}}


def as_in_its_pod(config: dict, rules: pathlib.Path, pods: list[dict]) -> dict:
    """The configuration with what its Pod would put into it; pods: what is found in Kubernetes."""
    config = json.loads(json.dumps(config).replace("$(SHARD)", "0").replace("$(POD_NAME)", "p"))
    config.pop("alerting", None)
    for scrape in config["scrape_configs"]:
        [looked_for] = scrape.pop("kubernetes_sd_configs")
        assert looked_for["role"] == "pod" and looked_for["namespaces"]["names"] == [NS]
        scrape["static_configs"] = pods
    return config | {"rule_files": [str(rules)]}


def test_its_definitions_take_what_the_chart_makes(server, tmp_path):
    tls = {"serverName": "m", "ca": {"secret": {"name": "c", "key": "ca.crt"}}}
    monitor = {"enabled": True, "tlsConfig": tls, "relabelings": [{"action": "drop", "sourceLabels": ["a"], "regex": "b"}]}
    for metrics in ({}, {"podMonitor": monitor, "tls": {"secretName": "c"}, "token": {"secretName": "t"}}):
        made = rendered(tmp_path, **metrics)
        for kind in ("PodMonitor", "PrometheusRule"):
            server.apply(made[kind], dry_run=True)  # unknown fields are refused


def configuration(server) -> dict:
    data = server.request("GET", SECRET)["data"]["prometheus.yaml.gz"]
    return yaml.safe_load(gzip.decompress(base64.b64decode(data)))


def rules_of(server) -> list[str]:
    found = [one for one in server.request("GET", MAPS)["items"] if "rulefiles" in one["metadata"]["name"]]
    return [text for one in found for text in (one.get("data") or {}).values()]


def test_its_prometheus_finds_an_agent_and_scrapes_it(server, operator, node, tmp_path):
    here = node("h200")
    agent = metrics_agent(here, env={"NODE_NAME": "n1"})
    made = rendered(tmp_path, port=agent.port)
    prometheus = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "metadata": {"name": "p", "namespace": NS},
        "spec": {"version": "v2.42.0", "podMonitorSelector": {}, "ruleSelector": {}},
    }
    for one in (made["PodMonitor"], made["PrometheusRule"], prometheus):
        server.apply(one)
    server.wait(lambda: configuration(server)["scrape_configs"], "a configuration with a scrape")
    server.wait(lambda: rules_of(server), "its rules")
    [rules] = rules_of(server)
    assert yaml.safe_load(rules) == made["PrometheusRule"]["spec"]
    (tmp_path / "rules.yaml").write_text(rules)
    pods = [as_pod(made["DaemonSet"]), as_pod(made["DaemonSet"], component="arbiter")]
    config = as_in_its_pod(configuration(server), tmp_path / "rules.yaml", pods)
    scraping = Prometheus(tmp_path / "prometheus", config=config)
    try:
        wait_until(lambda: scraping.answers('tranche_build_info{node="n1"}'), "the agent's figures", deadline=90)
        [up] = scraping.ask("up")  # the other Pod is no target
        assert up["value"] == 1 and up["job"] == f"{NS}/{made['PodMonitor']['metadata']['name']}"
        # The node's name is on GPUs too, and no figure of one has a Pod.
        gpus = scraping.ask("DCGM_FI_DEV_FB_USED")
        assert {one["node"] for one in gpus} == {"n1"} and len(gpus) == 8
        assert not any({"namespace", "pod", "container"} & set(one) for one in gpus)
    finally:
        scraping.process.kill()
