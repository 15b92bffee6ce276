"""The chart's Grafana dashboard: what its file says, and the ConfigMap that Grafana's sidecar finds. That its queries
have data: tests/e2e/test_prometheus.py."""

import json
import re
import subprocess
import sys

import pytest
import yaml
from helm import CHART, ROOT

FILE = CHART / "files/dashboard.json"
BOARD = json.loads(FILE.read_text())
PANELS = [one for one in BOARD["panels"] if one["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
ALERTS = yaml.safe_load((CHART / "files/alerts.yaml").read_text())
EXPRESSIONS = [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]
# Who serves them says so: the agents' page, the controller's.
SERVED = [*(ROOT / "src").rglob("*.cpp"), *(ROOT / "src").rglob("*.def"), ROOT / "tests/data/boards/controller.prom"]
# Those of kube-state-metrics, and Prometheus' own words.
THEIRS = re.compile(r"kube_\w+|ALERTS")


def test_the_file_is_what_the_tool_writes():
    made = subprocess.run([sys.executable, ROOT / "tools/dashboard.py"], capture_output=True, text=True, check=True)
    assert FILE.read_text() == made.stdout, "tools/dashboard.py > deploy/helm/tranche/files/dashboard.json"


def test_its_panels_do_not_overlap_and_say_what_they_show():
    taken = set()
    for panel in BOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    assert [one["title"] for one in BOARD["panels"] if one["type"] == "row"] == ["Fleet", "GPUs", "Pods", "Tiers", "Health"]


@pytest.mark.parametrize(
    ("title", "metric"),
    [
        ("Who uses the card", "tranche_container_memory_used_bytes"),
        ("Which Pod is close to its limit", "tranche_container_memory_limit_bytes"),
        ("How much is free of each kind", "tranche_capacity_tranches"),
        ("Why Pods wait", "tranche_pending_pods"),
    ],
)
def test_each_question_has_its_panel(title, metric):
    (panel,) = [one for one in PANELS if one["title"] == title]
    assert any(metric in target["expr"] for target in panel["targets"])


def test_every_query_asks_the_chosen_source_by_known_variables():
    names = {one["name"] for one in BOARD["templating"]["list"]}
    assert names == {"datasource", "node", "namespace", "pod"}
    for panel in PANELS:
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    used = set(re.findall(r"\$(\w+)", " ".join(QUERIES)))
    assert used == names - {"datasource"}


def metrics_of(expression: str) -> set[str]:
    without_text = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:tranche_|DCGM_|container_gpu_|node_gpu_|kube_)\w+", without_text))


def test_every_metric_of_dashboard_and_alerts_is_served():
    text = "\n".join(path.read_text() for path in SERVED)
    known = set(re.findall(r"\b(?:tranche_|DCGM_|container_gpu_|node_gpu_)\w+", text))
    # DCGM's names stand in the list without their beginning.
    known |= {f"DCGM_FI_{name}" for name in re.findall(r"\b(?:DEV|PROF)_\w+", text)}
    asked = set().union(*(metrics_of(one) for one in QUERIES + EXPRESSIONS))
    assert len(asked) > 30
    missing = {name for name in asked - known if not THEIRS.fullmatch(name)}
    assert not missing


def test_no_query_sums_figures_of_gpus_by_pod():
    """They stand under no Pod; a sum by one would count a shared GPU for each of its Pods."""
    for query in QUERIES:
        if "DCGM_" in query:
            assert not re.search(r"\b(?:namespace|pod|container)\b", query), query
            assert not re.search(r"\b(?:sum|avg|count)\b", query), query


def board_map(rendered) -> dict:
    (found,) = [o for o in rendered.of("ConfigMap") if o["metadata"]["name"].endswith("-dashboard")]
    return found


def values(**board) -> dict:
    return {"metrics": {"enabled": True, "grafanaDashboard": {"enabled": True} | board}}


def test_the_sidecar_finds_it(helm):
    found = board_map(helm.template(values()))
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert "annotations" not in found["metadata"]
    assert json.loads(found["data"]["tranche.json"]) == BOARD


def test_label_and_folder_are_the_users(helm):
    wanted = values(labels={"grafana_dashboard": None, "boards": "yes"}, annotations={"grafana_folder": "GPUs"})
    metadata = board_map(helm.template(wanted))["metadata"]
    assert metadata["labels"]["boards"] == "yes" and "grafana_dashboard" not in metadata["labels"]
    assert metadata["annotations"] == {"grafana_folder": "GPUs"}


def test_only_where_it_is_wanted_and_there_are_metrics(helm):
    assert not [o for o in helm.template({"metrics": {"enabled": True}}).of("ConfigMap") if "dashboard" in o["metadata"]["name"]]
    assert "with 'metrics.enabled=false' no agent serves any" in helm.refusal({"metrics": values()["metrics"] | {"enabled": False}})
    assert "'metrics.grafanaDashboard' is empty" in helm.refusal({"metrics": {"enabled": True, "grafanaDashboard": None}})
