"""The chart's alerts, by Prometheus' own program: each fires on its fault, and none on a healthy day. And the
PrometheusRule that the chart makes of them."""

import re
import sys

import pytest
import yaml
from helm import CHART, ROOT
from modes import MODES
from prometheus_programs import find_promtool, promtool

sys.path.insert(0, str(ROOT / "tests/docs"))
import markdown  # noqa: E402

ALERTS = CHART / "files/alerts.yaml"
GROUPS = yaml.safe_load(ALERTS.read_text())["groups"]
RULES = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
CASES = sorted((ROOT / "tests/data/alerts").glob("*.yaml"))

API = ("--api-versions", "monitoring.coreos.com/v1/PrometheusRule")
RULE = {"prometheusRule": {"enabled": True}}
WITH_METRICS = {"metrics": RULE | {"enabled": True}}

needs_promtool = pytest.mark.skipif(find_promtool() is None, reason="no promtool: tools/setup.sh test gets it")


@needs_promtool
def test_prometheus_takes_the_alerts():
    done = promtool("check", "rules", ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(RULES)} rules found" in done.stdout


@needs_promtool
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_alerts_do_as_their_cases_say(case):
    done = promtool("test", "rules", case)
    assert done.returncode == 0, done.stdout + done.stderr


def alert_tests():
    for case in CASES:
        for test in yaml.safe_load(case.read_text())["tests"]:
            yield from test.get("alert_rule_test", [])


@pytest.mark.parametrize("alert", RULES)
def test_each_alert_has_a_case_in_which_it_fires(alert):
    assert [test for test in alert_tests() if test["alertname"] == alert and test["exp_alerts"]]


@needs_promtool
@pytest.mark.parametrize("alert", RULES)
def test_the_cases_notice_an_alert_that_does_not_fire(alert, tmp_path):
    """What the cases say is worth something: with a rule that is never true, one of them fails."""
    groups = yaml.safe_load(ALERTS.read_text())["groups"]
    for group in groups:
        for rule in group["rules"]:
            if rule["alert"] == alert:
                rule["expr"] = "vector(0) > 1"
    rules = tmp_path / "alerts.yaml"
    rules.write_text(yaml.safe_dump({"groups": groups}))
    case = next(c for c in CASES if f"alertname: {alert}\n" in c.read_text())
    changed = yaml.safe_load(case.read_text()) | {"rule_files": [str(rules)]}
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(changed))
    done = promtool("test", "rules", tmp_path / "case.yaml")
    assert done.returncode != 0 and alert in done.stdout + done.stderr


@pytest.mark.parametrize("alert", RULES)
def test_each_alert_says_what_to_do(alert):
    notes = RULES[alert]["annotations"]
    assert notes["summary"] and notes["description"]
    page, _, heading = notes["runbook"].partition("#")
    assert page == "docs/runbook.md"
    assert heading in markdown.anchors((ROOT / page).read_text())
    assert RULES[alert]["labels"]["severity"] in ("info", "warning", "critical")


def rule_of(rendered) -> dict:
    return rendered.one("PrometheusRule")


def test_the_file_is_the_rule_of_a_release_of_its_names(helm):
    rendered = helm.template(WITH_METRICS, *API, release="tranche", namespace="tranche")
    assert rule_of(rendered)["spec"]["groups"] == GROUPS


def selectors(rule: dict) -> set[str]:
    """The names of objects that its expressions look for."""
    text = " ".join(one["expr"] for group in rule["spec"]["groups"] for one in group["rules"])
    return {name for found in re.findall(r'\b(?:namespace|daemonset|deployment|created_by_name)=~?"([^"]*)"', text)
            for name in found.split("|")}


@pytest.mark.parametrize(
    "values",
    [{}, MODES["nvidia-names"], {"namespaceOverride": "gpu"}, {"fullnameOverride": "x"}, {"compat": {"operatorNames": True}}],
    ids=["default", "nvidia-names", "namespace", "name", "operator-names"],
)
def test_the_rule_has_the_names_of_the_release(helm, values):
    parts = {"limits": {"enabled": True}, "mps": {"enabled": True}, "fractions": {"enabled": True}}
    rendered = helm.template(values | WITH_METRICS | parts, *API)
    made = [o["metadata"] for kind in ("DaemonSet", "Deployment") for o in rendered.of(kind)]
    assert len(made) == 4
    assert selectors(rule_of(rendered)) == {m["name"] for m in made} | {m["namespace"] for m in made}


@needs_promtool
@pytest.mark.parametrize("host_pid", [True, False])
def test_prometheus_takes_the_rule_of_any_release(helm, tmp_path, host_pid):
    values = {"metrics": WITH_METRICS["metrics"] | {"hostPID": host_pid}}
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump(rule_of(helm.template(values, *API))["spec"]))
    done = promtool("check", "rules", rules)
    assert done.returncode == 0, done.stdout + done.stderr


def test_who_hides_the_nodes_processes_is_not_alerted_of_it(helm):
    def expression(host_pid: bool) -> str:
        values = {"metrics": WITH_METRICS["metrics"] | {"hostPID": host_pid}}
        groups = rule_of(helm.template(values, *API))["spec"]["groups"]
        return {r["alert"]: r["expr"] for g in groups for r in g["rules"]}["TrancheMetricsAttributionDegraded"]

    assert "host-processes" not in expression(True)
    assert 'tranche_check{check!="host-processes"}' in expression(False)


def test_without_metrics_there_are_no_alerts_about_them(helm):
    groups = rule_of(helm.template({"metrics": RULE}, *API))["spec"]["groups"]
    (group,) = groups
    (wanted,) = [one for one in GROUPS if one["name"] == "tranche"]
    assert [rule["alert"] for rule in group["rules"]] == [rule["alert"] for rule in wanted["rules"]]
    assert not any(re.search(r"\b(tranche_|DCGM_)", rule["expr"]) for rule in group["rules"])


def test_a_rule_only_where_it_is_wanted_and_known(helm):
    assert not helm.template({"metrics": {"enabled": True}}, *API).of("PrometheusRule")
    said = helm.refusal({"metrics": RULE})
    assert "this cluster has no PrometheusRule (monitoring.coreos.com/v1)" in said
    assert "--api-versions monitoring.coreos.com/v1/PrometheusRule" in said
    labels = {"additionalLabels": {"release": "kps", "app.kubernetes.io/instance": "theirs"}}
    found = rule_of(helm.template({"metrics": {"prometheusRule": {"enabled": True} | labels}}, *API))
    assert found["metadata"]["labels"]["release"] == "kps"
    assert found["metadata"]["labels"]["app.kubernetes.io/instance"] == "gpu"
