"""The chart as Helm's own checks see it, and its values compared with their schema."""

import json

import pytest
import yaml
from helm import CHART
from modes import MODES


@pytest.mark.parametrize("mode", MODES)
def test_lint_finds_nothing(helm, mode):
    done = helm.lint(MODES[mode])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout and "[ERROR]" not in done.stdout


def names(schema: dict, path: str = "") -> set[str]:
    """Every value that the schema knows, dotted."""
    found = set()
    for name, below in schema.get("properties", {}).items():
        found |= {f"{path}{name}"} | names(below, f"{path}{name}.")
    return found


def values(tree: dict, path: str = "") -> set[str]:
    found = set()
    for name, below in tree.items():
        found.add(f"{path}{name}")
        if isinstance(below, dict):
            found |= values(below, f"{path}{name}.")
    return found


# Accepted for compatibility and documented in words instead of a default.
UNWRITTEN = {
    "global",
    "namespace",
    "noTimestamp",
    "sleepInterval",
    "mps.enableHostNetwork",
}
UNWRITTEN |= {
    f"gfd.{name}" for name in ("nameOverride", "namespaceOverride", "securityContext", "enableHostNetwork")
}
# Taken from NVIDIA's older charts with a warning (test_notes.py).
UNWRITTEN |= {"legacyDaemonsetAPI"}
OLD_GFD = json.loads((CHART / "values.schema.json").read_text())["properties"]["gfd"]["properties"]
UNWRITTEN |= {f"gfd.{name}" for name, of in OLD_GFD.items() if "before v0.15" in of.get("description", "")}


def test_every_value_of_the_schema_is_in_the_values_file():
    known = names(json.loads((CHART / "values.schema.json").read_text()))
    written = values(yaml.safe_load((CHART / "values.yaml").read_text()))
    probes = {n for n in known if n.startswith(("probes.", "limits.livenessProbe.")) and n.count(".") == 2}
    assert known - written - UNWRITTEN - probes == set()


# The values that users of NVIDIA's chart set (its values.yaml of v0.20, and the keys its templates read).
NVIDIAS = """
config.name config.map config.default config.fallbackStrategies compatWithCPUManager migStrategy
failOnInitError deviceListStrategy deviceIDStrategy nvidiaDriverRoot
nvidiaDevRoot gdrcopyEnabled gdsEnabled mofedEnabled deviceDiscoveryStrategy nameOverride fullnameOverride
namespaceOverride selectorLabelsOverride
allowDefaultNamespace imagePullSecrets image.repository image.pullPolicy image.tag updateStrategy
podAnnotations podSecurityContext securityContext
resources nodeSelector affinity tolerations priorityClassName runtimeClassName devicePlugin.enabled
devicePlugin.enableHostNetwork gfd.enabled
gfd.nameOverride gfd.namespaceOverride gfd.noTimestamp gfd.sleepInterval gfd.securityContext
gfd.enableHostNetwork mps.root mps.enableHostPID
mps.enableHostNetwork cdi.nvidiaHookPath cdi.featureFlags noTimestamp sleepInterval nfd
""".split()


# What only its older charts read.
NVIDIAS += """
legacyDaemonsetAPI gfd.migStrategy gfd.failOnInitError gfd.image gfd.imagePullSecrets gfd.updateStrategy
gfd.podAnnotations gfd.podSecurityContext gfd.resources gfd.nodeSelector gfd.affinity gfd.tolerations
gfd.priorityClassName gfd.runtimeClassName gfd.fullnameOverride gfd.selectorLabelsOverride gfd.namespace
gfd.allowDefaultNamespace gfd.nfd gfd.node-feature-discovery
""".split()


@pytest.mark.parametrize("name", NVIDIAS)
def test_nvidias_values_are_known(name):
    assert name in names(json.loads((CHART / "values.schema.json").read_text()))
