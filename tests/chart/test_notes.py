"""NOTES.txt says what to check, with commands that name what was installed."""

import pytest
from modes import MODES, MPS, TIME_SLICING, namespace


def test_defaults(helm):
    notes = helm.notes({})
    assert "kubectl -n tranche rollout status daemonset/gpu-tranche" in notes
    assert "get pods -l app.kubernetes.io/instance=gpu,app.kubernetes.io/component=agent" in notes
    assert "Configuration: none" in notes and "Feature labels are off" in notes
    assert "WARNING" not in notes


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"config": {"map": {"default": TIME_SLICING}}}, "Configuration: ConfigMap gpu-tranche-configs."),
        (
            {"config": {"name": "x"}},
            "The chart does not see what is in it. If a configuration uses MIG, set mig.monitor=true",
        ),
        ({"config": {"name": "x"}}, "if one has sharing.mps, set mps.enabled=true"),
        ({"config": {"map": {"default": MPS}}}, "WARNING: MPS' control daemons run where the node has"),
        (MODES["mps"], "rollout status daemonset/gpu-tranche-mps-control-daemon"),
        (
            {"gfd": {"enabled": True, "labelOutput": "nodefeature"}},
            "WARNING: this cluster has no node feature discovery",
        ),
        ({"gfd": {"enabled": True}}, "Feature labels: the agent writes them on its Node, as this cluster has no"),
        (
            {"compat": {"operatorNames": True}},
            "WARNING: compat.operatorNames is meant for namespace gpu-operator",
        ),
        ({"dra": {"enabled": True}}, "kubectl label node NODE tranche.dev/mode=dra"),
        ({"metrics": {"enabled": True}}, "curl http://localhost:9400/metrics"),
        (
            MODES["metrics"],
            'curl -k -H "Authorization: Bearer $(kubectl -n tranche get secret scrape -o '
            "go-template='{{.data.token|base64decode}}')\" https://localhost:9400/metrics",
        ),
        (MODES["metrics"], "No Prometheus is told of it: set metrics.podMonitor.enabled=true"),
        (
            {"metrics": {"enabled": True, "token": {"secretName": "t"}}},
            "WARNING: the token of metrics goes over the network in the clear",
        ),
        ({"migStrategy": "single"}, "The agent has CAP_SYS_ADMIN because of MIG."),
        ({"gfd": {"enabled": True, "vgpu": True}}, "The agent has CAP_SYS_ADMIN because of gfd.vgpu=true."),
        ({"compatWithCPUManager": True}, "The agent runs privileged because of compatWithCPUManager=true."),
    ],
)
def test_what_the_values_ask_for(helm, values, text):
    assert text in helm.notes(values)


def test_operators_names(helm):
    notes = helm.notes(MODES["operator"], namespace=namespace("operator"))
    assert "kubectl -n gpu-operator rollout status daemonset/nvidia-device-plugin-daemonset" in notes
    assert "-l app=nvidia-device-plugin-daemonset" in notes
    assert "kubectl patch clusterpolicies.nvidia.com/cluster-policy" in notes


# Keys of NVIDIA's charts before v0.20 (v0.7 to v0.14 had legacyDaemonsetAPI, and feature discovery as a chart
# of its own below gfd).
OLD = [
    ({"legacyDaemonsetAPI": False}, "legacyDaemonsetAPI: Kubernetes has no extensions/v1beta1 any more"),
    ({"gfd": {"migStrategy": "mixed"}}, "gfd.migStrategy: the agent labels by its own configuration; set migStrategy"),
    ({"gfd": {"failOnInitError": True}}, "gfd.failOnInitError: "),
    ({"gfd": {"image": {"repository": "x"}}}, "gfd.image: one container does both"),
    ({"gfd": {"tolerations": {}, "resources": {}}}, "gfd.resources, gfd.tolerations: one container does both"),
    ({"gfd": {"nfd": {"deploy": False}}}, "gfd.nfd: node feature discovery is yours to install"),
    ({"gfd": {"node-feature-discovery": {}}}, "gfd.node-feature-discovery: node feature discovery is yours"),
    ({"nfd": {"enableNodeFeatureApi": True}}, "nfd.enableNodeFeatureApi: gfd.labelOutput says how"),
]


@pytest.mark.parametrize(("values", "text"), OLD)
def test_old_keys_of_nvidias_chart_are_taken_with_a_warning(helm, values, text):
    notes = helm.notes(values)
    assert "WARNING: taken from an older chart of NVIDIA's, and without effect here:" in notes
    assert text in notes


def test_values_of_nvidias_chart_of_today_make_no_warning_of_old_keys(helm):
    gfd = {"nameOverride": "g", "namespaceOverride": "", "securityContext": {"privileged": True}}
    assert "older chart" not in helm.notes({"gfd": gfd, "nfd": {"master": {"config": {}}}})


@pytest.mark.parametrize(
    ("values", "said", "not_said"),
    [
        ({"migManager": {"enabled": True}}, "LAYOUT: all-disabled, all-balanced", "a name in ConfigMap"),
        ({"migManager": {"enabled": True}}, "NVIDIA's MIG manager must be off", "WARNING: MIG"),
        ({"migManager": {"enabled": True, "config": {"name": "own"}}}, "a name in ConfigMap own", "LAYOUT: all-"),
        ({}, "Configuration: none", "MIG manager"),
    ],
)
def test_what_the_mig_manager_has(helm, values, said, not_said):
    notes = helm.notes(values)
    assert said in notes and not_said not in notes
