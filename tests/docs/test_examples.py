"""The examples of configuration in the documentation are YAML of their form."""

import pathlib
import re

import markdown
import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Of a file of mig-parted; tests/e2e/test_layout_apply.py tests that it can be applied.
LAYOUT_KEYS = {"devices", "device-filter", "mig-enabled", "mig-devices"}
KEYS = {"version", "flags", "sharing", "resources", "imex", "tranche"}


def examples():
    for page in PAGES:
        for line, block in markdown.code_blocks(page.read_text()):
            if re.match(r"(version: v1|(sharing|tranche|runtimeClassName|config):)", block):
                yield pytest.param(block, id=f"{page.relative_to(ROOT)}:{line}")


@pytest.mark.parametrize("block", list(examples()))
def test_is_a_configuration(block):
    read = yaml.safe_load(block)
    if "config" in read:  # values of the chart
        read = yaml.safe_load(read["config"]["map"]["default"])
    if "mig-configs" in read:
        entries = [entry for entries in read["mig-configs"].values() for entry in entries]
        assert entries and all({"devices", "mig-enabled"} <= set(entry) <= LAYOUT_KEYS for entry in entries)
        return
    assert set(read) <= KEYS
    for sharing in (read.get("sharing") or {}).values():
        assert all(set(entry) >= {"name", "replicas"} for entry in sharing["resources"])
    limits = read.get("tranche", {}).get("limits", {})
    assert all("name" in entry for entry in limits.get("resources", []))


def test_there_are_examples():
    assert len(list(examples())) >= 8


def test_readme_tells_which_kubernetes_the_chart_takes():
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "tranche" / "Chart.yaml").read_text())
    (least,) = re.findall(r">=(\d+\.\d+)\.", chart["kubeVersion"])
    told = dict(row[:2] for row in markdown.rows(markdown.section(PAGES[0].read_text(), "Install")))
    assert told["Kubernetes"].startswith(f"{least} or later")
