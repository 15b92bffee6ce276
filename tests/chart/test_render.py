"""The chart's result for each mode. tests/chart/golden/MODE.yaml has it in short;
TRANCHE_UPDATE_GOLDEN=1 writes it again, for review of the difference."""

import json
import os
import pathlib

import pytest
import yaml
from modes import EVICT, LIMITS, MODES, MPS, TIME_SLICING, namespace

LABELS = {"enabled": True, "labelOutput": "file"}
GOLDEN = pathlib.Path(__file__).parent / "golden"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def in_short(rendered) -> dict:
    pod = rendered.pod()
    daemonset = rendered.one("DaemonSet")
    arbiter = rendered.arbiter()
    also = {}
    if arbiter is not None:
        also["arbiter"] = {
            "command": arbiter["command"],
            "environment": rendered.env(arbiter),
            "mounts": rendered.mounts(arbiter),
            "security context": arbiter["securityContext"],
            "service account": rendered.pod("arbiter")["serviceAccountName"],
            "token": rendered.pod("arbiter")["automountServiceAccountToken"],
        }
    return {
        "objects": rendered.named(),
        "selector": daemonset["spec"]["selector"]["matchLabels"],
        "pod labels": daemonset["spec"]["template"]["metadata"]["labels"],
        "command": rendered.agent()["command"],
        "environment": rendered.env(),
        "mounts": rendered.mounts(),
        "security context": rendered.agent()["securityContext"],
        "service account": pod["serviceAccountName"],
        "token": pod["automountServiceAccountToken"],
        **also,
    }


@pytest.mark.parametrize("mode", MODES)
def test_golden(helm, mode):
    found = in_short(helm.template(MODES[mode], namespace=namespace(mode)))
    file = GOLDEN / f"{mode}.yaml"
    if os.environ.get("TRANCHE_UPDATE_GOLDEN"):
        file.write_text(yaml.safe_dump(found, sort_keys=False))
    assert found == yaml.safe_load(file.read_text())


@pytest.mark.parametrize("mode", MODES)
def test_objects_are_whole(helm, mode):
    rendered = helm.template(MODES[mode], namespace=namespace(mode))
    assert len(rendered.named()) == len(set(rendered.named()))
    for item in rendered.objects:
        labels = item["metadata"].get("labels", {})
        hook = item["metadata"].get("annotations", {}).get("helm.sh/hook", "")
        assert labels.get("app.kubernetes.io/instance") == "gpu" or hook.startswith("post-install"), item[
            "metadata"
        ]["name"]
        assert len(item["metadata"]["name"]) <= 63
    selector = rendered.one("DaemonSet")["spec"]["selector"]["matchLabels"].items()
    assert selector <= rendered.one("DaemonSet")["spec"]["template"]["metadata"]["labels"].items()
    for deployment in rendered.of("Deployment"):  # the two must not count each other's Pods
        assert not selector <= deployment["spec"]["template"]["metadata"]["labels"].items()


@pytest.mark.difference("chart-one-container", "chart-no-restart")
def test_one_container_and_no_checksum(helm):
    template = helm.template({"config": {"map": {"default": TIME_SLICING}}}).one("DaemonSet")["spec"][
        "template"
    ]
    assert "annotations" not in template["metadata"]
    assert [c["name"] for c in template["spec"]["containers"]] == ["agent"]
    assert "shareProcessNamespace" not in template["spec"]


@pytest.mark.parametrize(
    ("values", "limited"),
    [
        ({}, False),
        ({"config": {"map": {"default": TIME_SLICING}}}, False),
        ({"config": {"map": {"default": TIME_SLICING, "l20": LIMITS}}}, True),
        ({"config": {"map": {"default": LIMITS}}, "limits": {"enabled": False}}, False),
        ({"config": {"name": "elsewhere"}}, False),
        ({"config": {"name": "elsewhere"}, "limits": {"enabled": True}}, True),
        ({"limits": {"enabled": True}, "devicePlugin": {"enabled": False}, "gfd": LABELS}, False),
        ({"config": {"map": {"default": "tranche: {limits: {}}\n"}}}, False),
    ],
)
def test_the_arbiter_is_there_when_something_may_be_limited(helm, values, limited):
    rendered = helm.template(values)
    assert (rendered.arbiter() is not None) == limited
    # Without one the agent offers nothing that has limits.
    assert rendered.env().get("TRANCHE_LIMIT_LIBRARY") == (None if limited else "none")


LABELLED = {"key": "tranche.dev/mode", "operator": "Exists"}


@pytest.mark.parametrize("affinity", [None, {}, {"podAffinity": {}}])
def test_where_nothing_is_limited_an_arbiter_stays_for_earlier_claims(helm, affinity):
    values = {} if affinity is None else {"affinity": affinity}
    rendered = helm.template(values)
    assert rendered.keeps_arbiter()
    found = rendered.pod("arbiter")["affinity"]
    required = found["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert all(LABELLED in term["matchExpressions"] for term in required)
    # Each of the agents' nodes that has the label, and no other.
    agents = rendered.pod().get("affinity", {})
    terms = agents.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    others = [[e for e in term["matchExpressions"] if e != LABELLED] for term in required]
    assert others == [term["matchExpressions"] for term in terms.get("nodeSelectorTerms", [{"matchExpressions": []}])]
    assert ("podAffinity" in found) == ("podAffinity" in agents)


@pytest.mark.parametrize("values", [{"limits": {"enabled": False}}, {"dra": {"enabled": True}}, {"config": {"map": {"default": LIMITS}}}])
def test_who_says_what_is_limited_has_that(helm, values):
    assert not helm.template(values).keeps_arbiter()


def test_before_kubernetes_had_claims_no_arbiter_stays(helm):
    assert not helm.template({}, "--kube-version", "1.33.0").keeps_arbiter()


CLAIMS = {
    "/var/lib/kubelet/plugins_registry",
    "/var/lib/kubelet/plugins/gpu.nvidia.com",
    "/var/run/cdi",
}


@pytest.mark.parametrize(
    ("values", "served"),
    [
        ({"dra": {"enabled": True}}, "true"),
        ({"dra": {"enabled": False}}, None),
        ({"devicePlugin": {"enabled": False}, "gfd": LABELS}, None),
    ],
)
def test_earlier_claims_end_whether_claims_are_served_or_not(helm, values, served):
    """`helm rollback` applies an old manifest, and looks for nothing in the cluster."""
    rendered = helm.template(values)
    assert rendered.arbiter() or rendered.keeps_arbiter()
    assert set(rendered.mounts()) >= CLAIMS
    environment = rendered.env()
    assert environment.get("TRANCHE_DRA") == served
    assert environment["TRANCHE_DRA_DRIVER_NAME"] == "gpu.nvidia.com"
    assert environment["POD_UID"] == "metadata.uid"
    kinds = {v["name"]: v["hostPath"]["type"] for v in rendered.pod()["volumes"] if "hostPath" in v}
    assert kinds["plugins-registry"] == kinds["dra-plugin"] == kinds["cdi-root"] == "DirectoryOrCreate"


ENTRY = TIME_SLICING + """\
tranche:
  limits:
    resources:
    - {name: gpu, enforcement: strict, unregistered: evict}
"""


@pytest.mark.parametrize(
    ("values", "evicts"),
    [
        ({"config": {"map": {"default": LIMITS}}}, False),
        ({"config": {"map": {"default": EVICT}}}, True),
        ({"config": {"map": {"default": TIME_SLICING, "l20": ENTRY}}}, True),
        ({"config": {"map": {"default": EVICT}}, "limits": {"evict": False}}, False),
        ({"config": {"map": {"default": EVICT}}, "limits": {"enabled": False}}, False),
        ({"config": {"name": "elsewhere"}, "limits": {"enabled": True}}, False),
        ({"config": {"name": "elsewhere"}, "limits": {"enabled": True, "evict": True}}, True),
    ],
)
def test_a_controller_evicts_where_a_configuration_says_so(helm, values, evicts):
    rendered = helm.template(values)
    assert rendered.env().get("TRANCHE_ASK_EVICTIONS") == ("true" if evicts else None)
    assert bool(rendered.of("Deployment")) == evicts
    if evicts:
        container = rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]
        assert "--evict-unregistered" in container["args"]
        assert not any(word.startswith("--config-map-out") for word in container["args"])


def test_mig_layouts_are_changed_only_where_that_is_wanted(helm):
    values = {"migManager": {"enabled": True, "drainTimeout": "90s"}}
    rendered = helm.template(values)
    wanted = {"MIG_MANAGER": "true", "MIG_DRAIN_TIMEOUT": "90s"}
    wanted |= {"NVIDIA_MIG_CONFIG_DEVICES": "all", "NVIDIA_MIG_MONITOR_DEVICES": "all"}
    assert rendered.env().items() >= wanted.items()
    # Without a ConfigMap the agent makes the layouts itself.
    assert "MIG_CONFIG_FILE" not in rendered.env()
    words = rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--mig-changes" in words and "--evict-unregistered" not in words
    named = helm.template({"migManager": {"enabled": True, "config": {"name": "layouts"}}})
    assert named.env()["MIG_CONFIG_FILE"] == "/mig-parted-config/config.yaml"
    without = helm.template({"migStrategy": "mixed"})
    assert not without.of("Deployment")
    assert not {"MIG_MANAGER", "NVIDIA_MIG_CONFIG_DEVICES"} & set(without.env())


def test_mig_instances_are_made_for_claims_only_where_that_is_wanted(helm):
    wanted = {"TRANCHE_DRA_DYNAMIC_MIG": "true", "NVIDIA_MIG_CONFIG_DEVICES": "all", "NVIDIA_MIG_MONITOR_DEVICES": "all"}
    with_it = helm.template({"dra": {"enabled": True, "dynamicMig": True}})
    assert with_it.env().items() >= wanted.items()
    assert with_it.agent()["securityContext"]["capabilities"].get("add") == ["SYS_ADMIN"]
    assert "MIG_MANAGER" not in with_it.env()
    for values in ({"dra": {"enabled": True}}, {"dra": {"dynamicMig": True}}):
        without = helm.template(values)
        assert not set(wanted) & set(without.env())
        assert not without.agent()["securityContext"]["capabilities"].get("add")


def test_the_webhook_runs_the_controller_and_blocks_nobody(helm):
    rendered = helm.template(MODES["fractions"])
    (container,) = rendered.one("Deployment")["spec"]["template"]["spec"]["containers"]
    name = "gpu-tranche-webhook"
    wanted = {"--fractions", f"--webhook-hosts={name}.tranche.svc", f"--webhook-secret={name}"}
    assert wanted <= set(container["args"])
    assert container["readinessProbe"]["httpGet"] == {"scheme": "HTTPS", "port": "webhook", "path": "/readyz"}
    (webhook,) = rendered.one("MutatingWebhookConfiguration", name)["webhooks"]
    assert webhook["failurePolicy"] == "Ignore" and webhook["timeoutSeconds"] == 5
    assert webhook["sideEffects"] == "NoneOnDryRun"
    (spared,) = webhook["namespaceSelector"]["matchExpressions"]
    assert spared["operator"] == "NotIn" and set(spared["values"]) == {"kube-system", "tranche"}
    assert webhook["matchConditions"]
    # The controller writes these; an upgrade leaves unknown fields alone.
    assert "caBundle" not in webhook["clientConfig"]
    assert "data" not in rendered.one("Secret", name)
    selector = rendered.one("Service", name)["spec"]["selector"].items()
    assert selector <= rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"].items()
    assert not helm.template().of("MutatingWebhookConfiguration")


def test_models_that_are_to_come_are_named_to_the_controller(helm):
    def arguments(values) -> list[str]:
        return helm.template(values).one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]

    models = [{"product": "Tesla T4", "memory": 14917}, {"product": "NVIDIA L20", "memory": 45476}]
    values = {"fractions": {"enabled": True, "models": models}}
    assert "--fractions-models=Tesla T4=14917,NVIDIA L20=45476" in arguments(values)
    assert not [one for one in arguments(MODES["fractions"]) if "fractions-models" in one]


def test_shares_are_counted_by_a_webhook_that_fails_closed_for_their_class_alone(helm):
    name = "gpu-tranche-webhook"
    rendered = helm.template(MODES["fractions"])
    assert "--fractions-quota" in rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    (webhook,) = rendered.one("ValidatingWebhookConfiguration", name)["webhooks"]
    assert webhook["failurePolicy"] == "Fail" and webhook["sideEffects"] == "NoneOnDryRun"
    (rule,) = webhook["rules"]
    assert (rule["resources"], rule["operations"]) == (["resourceclaims"], ["CREATE"])
    (condition,) = webhook["matchConditions"]
    assert '"gpu-share"' in condition["expression"]
    assert "caBundle" not in webhook["clientConfig"]
    off = helm.template({"fractions": {"enabled": True, "quota": {"enabled": False}}})
    assert not off.of("ValidatingWebhookConfiguration")
    assert not helm.template().of("ValidatingWebhookConfiguration")


def test_pools_are_a_config_map_that_the_controller_follows(helm):
    rendered = helm.template(MODES["mig-pools"])
    pools = rendered.one("ConfigMap", "gpu-tranche-mig-pools")["data"]["pools.yaml"]
    assert yaml.safe_load(pools) == {"pools": MODES["mig-pools"]["migManager"]["pools"]}
    assert "data" not in rendered.one("ConfigMap", "gpu-tranche-mig-pools-status")
    words = rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--mig-pools=gpu-tranche-mig-pools" in words


def test_only_a_node_whose_layout_is_changed_may_say_so(helm):
    """The agent's admission policy allows more with the manager."""
    plain = json.dumps(helm.template({"config": {"name": "c"}}).of("ValidatingAdmissionPolicy"))
    with_manager = json.dumps(helm.template(MODES["mig-manager"]).of("ValidatingAdmissionPolicy"))
    for word in ("strategy|config", "evict-requests|mig-change", '"tranche.dev/mig-change'):
        assert word.replace('"', '\\"') in with_manager and word.replace('"', '\\"') not in plain


def test_a_policys_controller_evicts_too(helm):
    values = MODES["operator"] | {"limits": {"enabled": True, "evict": True}}
    container = helm.template(values, namespace="gpu-operator").one("Deployment")["spec"]["template"]["spec"]
    words = container["containers"][0]["args"]
    assert "--evict-unregistered" in words
    assert "--config-map-out=gpu-tranche-policy" in words


def test_a_policys_controller_knows_where_mps_is(helm):
    values = MODES["operator"] | {"mps": {"root": "/srv/mps"}}
    rendered = helm.template(values, namespace="gpu-operator")
    container = rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]
    assert "--mps-root=/srv/mps" in container["args"]
    assert f"--agents={rendered.one('DaemonSet')['metadata']['name']}" in container["args"]
    assert rendered.env()["MPS_ROOT"] == "/srv/mps"


def test_keys_of_a_configuration_are_read_without_case_as_by_the_agent(helm):
    text = (
        "FLAGS: {MigStrategy: single, Plugin: {DeviceListStrategy: [cdi-cri]}}\n"
        "Sharing: {MPS: {resources: [{name: gpu, replicas: 2}]}}\n"
        "Tranche: {Limits: {Enforcement: strict, Resources: [{Name: gpu, KernelLimits: true}]}}\n"
    )
    capitals = helm.template({"config": {"map": {"a": text}}})
    assert capitals.mps() and capitals.arbiter()
    assert capitals.agent()["securityContext"]["capabilities"].get("add") == ["SYS_ADMIN"]
    usual = helm.template({
        "config": {
            "map": {
                "a": "flags: {migStrategy: single, plugin: {deviceListStrategy: [cdi-cri]}}\n"
                "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}\n"
                "tranche: {limits: {enforcement: strict, resources: [{name: gpu, kernelLimits: true}]}}\n"
            }
        }
    })
    assert capitals.named() == usual.named() and capitals.mounts() == usual.mounts()
    assert capitals.env() == usual.env()
    assert capitals.env(capitals.arbiter()) == usual.env(usual.arbiter())


@pytest.mark.parametrize(
    ("values", "served"),
    [
        ({}, False),
        ({"config": {"map": {"default": TIME_SLICING}}}, False),
        ({"config": {"map": {"default": TIME_SLICING, "steady": MPS}}}, True),
        ({"config": {"map": {"default": MPS}}, "mps": {"enabled": False}}, False),
        ({"config": {"map": {"default": "sharing: {mps: null}\n"}}}, False),
        ({"config": {"name": "elsewhere"}}, False),
        ({"config": {"name": "elsewhere"}, "mps": {"enabled": True}}, True),
        ({"mps": {"enabled": True}, "devicePlugin": {"enabled": False}, "gfd": LABELS}, False),
    ],
)
@pytest.mark.difference("chart-mps")
def test_control_daemons_are_there_when_something_may_be_shared_by_mps(helm, values, served):
    rendered = helm.template(values)
    assert (rendered.mps() is not None) == served
    assert rendered.mounts().get("/mps") == ("/run/nvidia/mps ro" if served else None)


def test_the_control_daemons_pods(helm):
    values = {
        "config": {"map": {"default": MPS}, "default": "default"},
        "migStrategy": "none",
        "mps": {"root": "/data/mps"},
        "nvidiaDriverRoot": "/run/nvidia/driver",
        "nodeSelector": {"pool": "gpu"},
    }
    rendered = helm.template(values)
    daemonset = rendered.mps()
    assert daemonset["metadata"]["name"] == "gpu-tranche-mps-control-daemon"
    spec = daemonset["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"nvidia.com/mps.capable": "true", "pool": "gpu"}
    assert spec["hostPID"] is True and "hostNetwork" not in spec
    # Neither DaemonSet selects the other's Pods (NVIDIA's two do).
    for one, other in ((daemonset, rendered.one("DaemonSet")), (rendered.one("DaemonSet"), daemonset)):
        selector = one["spec"]["selector"]["matchLabels"].items()
        assert selector <= one["spec"]["template"]["metadata"]["labels"].items()
        assert not selector <= other["spec"]["template"]["metadata"]["labels"].items()

    [mount], [control] = spec["initContainers"], spec["containers"]
    assert mount["command"] == ["tranche", "mps-control-daemon", "mount-shm"]
    assert mount["volumeMounts"] == [
        {"name": "mps-root", "mountPath": "/mps", "mountPropagation": "Bidirectional"}
    ]
    assert control["command"] == ["tranche", "mps-control-daemon"]
    assert control["securityContext"]["privileged"] and mount["securityContext"]["privileged"]
    env = rendered.env(control)
    assert env["CONFIG_MAP"] == rendered.env()["CONFIG_MAP"]
    assert env["DEFAULT_CONFIG"] == "default" and env["MIG_STRATEGY"] == "none"
    assert env["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    folders = {v["name"]: v["hostPath"]["path"] for v in spec["volumes"]}
    assert {m["mountPath"]: folders[m["name"]] for m in control["volumeMounts"]} == {
        "/mps": "/data/mps",
        "/dev/shm": "/data/mps/shm",
        "/driver-root": "/run/nvidia/driver",
    }
    assert rendered.mounts()["/mps"] == "/data/mps ro"
    assert rendered.env()["MPS_ROOT"] == "/data/mps"
    values["mps"]["enableHostPID"] = False
    assert "hostPID" not in helm.template(values).mps()["spec"]["template"]["spec"]


def test_an_agent_that_changes_mig_layouts_can_ask_the_control_daemons_to_end(helm):
    """It locks a file of theirs, which takes write permission."""
    values = {"config": {"map": {"default": MPS}, "default": "default"}, "migManager": {"enabled": True}}
    assert helm.template(values).mounts()["/mps"] == "/run/nvidia/mps"


def test_the_arbiters_probe(helm):
    values = {"limits": {"enabled": True}}
    probe = helm.template(values).arbiter()["livenessProbe"]
    assert probe["exec"] == {"command": ["tranche", "arbiter", "--check"]}
    assert probe["periodSeconds"] == 20
    values["limits"]["livenessProbe"] = None
    assert "livenessProbe" not in helm.template(values).arbiter()


def test_the_state_folder_has_one_path_on_both_sides(helm):
    """Containers with limits mount from it, by the path that the agent knows."""
    rendered = helm.template({"stateDir": "/data/tranche", "limits": {"enabled": True}})
    assert rendered.mounts()["/data/tranche"] == "/data/tranche"
    assert rendered.env()["TRANCHE_STATE_DIR"] == "/data/tranche"
    arbiter = rendered.arbiter()
    assert rendered.mounts(arbiter)["/data/tranche/tenants"] == "/data/tranche/tenants"
    assert rendered.env(arbiter)["TRANCHE_TENANTS"] == "/data/tranche/tenants"


def test_config_map_holds_what_was_written(helm):
    configs = {"default": TIME_SLICING, "l20.8": "version: v1\n# äöü: {}\n"}
    data = helm.template({"config": {"map": configs}}).one("ConfigMap")["data"]
    assert {k: v.rstrip("\n") for k, v in data.items()} == {k: v.rstrip("\n") for k, v in configs.items()}


def test_every_setting_reaches_the_agent(helm):
    values = {
        "migStrategy": "none",
        "failOnInitError": False,
        "compatWithCPUManager": False,
        "deviceListStrategy": ["envvar", "cdi-cri"],
        "deviceIDStrategy": "index",
        "deviceDiscoveryStrategy": "nvml",
        "sharedDevicesAllocationPolicy": "packed",
        "nvidiaDriverRoot": "/run/nvidia/driver",
        "nvidiaDevRoot": "/run/nvidia/dev",
        "cdi": {"nvidiaHookPath": "/usr/bin/nvidia-cdi-hook", "featureFlags": "disable-ipc-discoverer"},
        "gdrcopyEnabled": True,
        "gdsEnabled": True,
        "mofedEnabled": True,
        "mps": {"root": "/mps"},
        "gfd": {"enabled": True, "labelOutput": "file", "noTimestamp": True, "sleepInterval": "30s"},
        "healthRecovery": "never",
        "logLevel": "debug",
        "strictConfig": True,
        "takeOver": True,
        "config": {"name": "c", "default": "any", "fallbackStrategies": ["single", "empty"]},
        "extraEnv": [{"name": "DP_DISABLE_HEALTHCHECKS", "value": "43"}],
    }
    wanted = {
        "MIG_STRATEGY": "none",
        "FAIL_ON_INIT_ERROR": "false",
        "PASS_DEVICE_SPECS": "false",
        "DEVICE_LIST_STRATEGY": "envvar,cdi-cri",
        "DEVICE_ID_STRATEGY": "index",
        "DEVICE_DISCOVERY_STRATEGY": "nvml",
        "SHARED_DEVICES_ALLOCATION_POLICY": "packed",
        "NVIDIA_DRIVER_ROOT": "/run/nvidia/driver",
        "NVIDIA_DEV_ROOT": "/run/nvidia/dev",
        "NVIDIA_CDI_HOOK_PATH": "/usr/bin/nvidia-cdi-hook",
        "CDI_FEATURE_FLAGS": "disable-ipc-discoverer",
        "GDRCOPY_ENABLED": "true",
        "GDS_ENABLED": "true",
        "MOFED_ENABLED": "true",
        "MPS_ROOT": "/mps",
        "GFD_NO_TIMESTAMP": "true",
        "GFD_SLEEP_INTERVAL": "30s",
        "TRANCHE_LABELS": "on",
        "LABEL_OUTPUT": "file",
        "TRANCHE_HEALTH_RECOVERY": "never",
        "TRANCHE_LOG_LEVEL": "debug",
        "TRANCHE_STRICT_CONFIG": "true",
        "TRANCHE_TAKE_OVER": "true",
        "TRANCHE_LIMIT_LIBRARY": "none",
        "TRANCHE_GPU_NODE": "true",
        "CONFIG_MAP": "c",
        "NODE_LABEL": "nvidia.com/device-plugin.config",
        "DEFAULT_CONFIG": "any",
        "FALLBACK_STRATEGIES": "single,empty",
        "DP_DISABLE_HEALTHCHECKS": "43",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "utility",
        "TRANCHE_RELEASE": "tranche/gpu",
        "NODE_NAME": "spec.nodeName",
        "NAMESPACE": "metadata.namespace",
        "POD_NAME": "metadata.name",
        "POD_UID": "metadata.uid",
        "TRANCHE_DRA_DRIVER_NAME": "gpu.nvidia.com",
        "KUBELET_PLUGINS_DIRECTORY_PATH": "/var/lib/kubelet/plugins",
        "KUBELET_REGISTRAR_DIRECTORY_PATH": "/var/lib/kubelet/plugins_registry",
    }
    assert helm.template(values).env() == wanted


def test_pod_settings(helm):
    values = {
        "runtimeClassName": "nvidia",
        "priorityClassName": "",
        "imagePullSecrets": [{"name": "s"}],
        "nodeSelector": {"a": "b"},
        "affinity": {},
        "tolerations": [{"operator": "Exists"}],
        "updateStrategy": {"type": "OnDelete"},
        "podAnnotations": {"a": "b"},
        "podSecurityContext": {"fsGroup": 0},
        "devicePlugin": {"enableHostNetwork": True},
        "image": {"repository": "here/tranche", "tag": "1"},
        "resources": {"limits": {"memory": "64Mi"}},
        "probes": {"liveness": None, "readiness": {"periodSeconds": 3}},
        "kubeletRoot": "/var/lib/k0s/kubelet",
    }
    rendered = helm.template(values)
    pod, agent = rendered.pod(), rendered.agent()
    assert pod["runtimeClassName"] == "nvidia" and "priorityClassName" not in pod
    assert pod["imagePullSecrets"] == [{"name": "s"}]
    assert pod["nodeSelector"] == {"a": "b"}
    # Helm merges maps: an empty one keeps the default.
    assert "nodeAffinity" in pod["affinity"]
    assert pod["tolerations"] == [{"operator": "Exists"}]
    assert pod["securityContext"] == {"fsGroup": 0}
    assert pod["hostNetwork"] is True and pod["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert agent["image"] == "here/tranche:1"
    assert agent["resources"]["limits"] == {"memory": "64Mi"}
    assert "livenessProbe" not in agent and agent["readinessProbe"]["periodSeconds"] == 3
    assert rendered.mounts()["/var/lib/kubelet/device-plugins"] == "/var/lib/k0s/kubelet/device-plugins"
    assert rendered.one("DaemonSet")["spec"]["updateStrategy"] == {"type": "OnDelete"}
    assert rendered.one("DaemonSet")["spec"]["template"]["metadata"]["annotations"] == {"a": "b"}


NFD = ("--api-versions", "nfd.k8s-sigs.io/v1alpha1")


@pytest.mark.parametrize(
    ("arguments", "values", "output"),
    [
        ((), {}, "node"),
        (NFD, {}, "nodefeature"),
        (NFD, {"gfd": {"enabled": True, "labelOutput": "node"}}, "node"),
        # Nobody gets the right to patch every Node unasked.
        ((), {"admissionPolicy": {"enabled": False}}, "nodefeature"),
        ((), {"admissionPolicy": {"enabled": False}, "gfd": {"enabled": True, "labelOutput": "node"}}, "node"),
    ],
)
@pytest.mark.difference("chart-labels")
def test_labels_reach_the_node_with_and_without_node_feature_discovery(helm, arguments, values, output):
    rendered = helm.template({"gfd": {"enabled": True}, **values}, *arguments)
    assert rendered.env()["LABEL_OUTPUT"] == output
    rights = rendered.rules("gpu-tranche-agent")
    assert ("cluster patch nodes" in rights) == (output == "node")
    assert ("tranche create nodefeatures.nfd.k8s-sigs.io" in rights) == (output == "nodefeature")


def test_labels_of_the_users_are_on_the_pods_and_select_nothing(helm):
    values = {
        "podLabels": {"team": "gpu", "app.kubernetes.io/component": "mine"},
        "config": {"map": {"default": LIMITS, "steady": MPS}},
    }
    daemonsets = helm.template(values).of("DaemonSet")
    assert len(daemonsets) == 3
    for daemonset in daemonsets:
        labels = daemonset["spec"]["template"]["metadata"]["labels"]
        assert labels["team"] == "gpu" and labels["app.kubernetes.io/component"] != "mine"
        assert "team" not in daemonset["spec"]["selector"]["matchLabels"]


def test_a_waiting_agent_is_not_ended(helm):
    agent = helm.template().agent()
    probed = {kind: agent[f"{kind}Probe"]["exec"]["command"] for kind in ("startup", "readiness", "liveness")}
    live, ready = (["tranche", "agent", f"--check={level}"] for level in ("live", "ready"))
    assert probed == {"startup": live, "readiness": ready, "liveness": live}


def test_digest_wins_over_the_tag(helm):
    digest = "sha256:" + "0" * 64
    assert helm.template({"image": {"digest": digest, "tag": "x"}}).agent()["image"] == f"tranche@{digest}"


@pytest.mark.parametrize(
    ("values", "release", "name"),
    [
        ({}, "gpu", "gpu-tranche"),
        ({}, "tranche", "tranche"),
        ({"nameOverride": "nvidia-device-plugin"}, "nvdp", "nvdp-nvidia-device-plugin"),
        ({"fullnameOverride": "x"}, "gpu", "x"),
        ({}, "r" * 53, "r" * 53 + "-tranche"),
        ({"nameOverride": "n" * 63}, "gpu", "gpu-" + "n" * 59),
    ],
)
def test_names(helm, values, release, name):
    rendered = helm.template({**values, "config": {"map": {"default": TIME_SLICING}}}, release=release)
    assert rendered.one("DaemonSet")["metadata"]["name"] == name
    assert all(len(o["metadata"]["name"]) <= 63 for o in rendered.objects)


NVIDIAS = {"compat": {"nvidiaNames": True}, "config": {"map": {"default": LIMITS, "steady": MPS}}}


def test_names_of_nvidias_chart(helm):
    """Names that scripts use, as in NVIDIA's chart v0.20 for release nvdp."""
    rendered = helm.template(NVIDIAS, release="nvdp")
    plugin = rendered.one("DaemonSet", "nvdp-nvidia-device-plugin")
    ours = {"app.kubernetes.io/name": "nvidia-device-plugin", "app.kubernetes.io/instance": "nvdp"}
    assert plugin["spec"]["selector"]["matchLabels"] == ours
    pod = plugin["spec"]["template"]["spec"]
    assert [c["name"] for c in pod["containers"]] == ["nvidia-device-plugin-ctr"]
    assert pod["serviceAccountName"] == "nvdp-nvidia-device-plugin-service-account"
    assert rendered.one("ServiceAccount", pod["serviceAccountName"])
    assert rendered.one("ConfigMap", "nvdp-nvidia-device-plugin-configs")
    daemons = rendered.one("DaemonSet", "nvdp-nvidia-device-plugin-mps-control-daemon")
    pod = daemons["spec"]["template"]["spec"]
    assert [c["name"] for c in pod["containers"]] == ["mps-control-daemon-ctr"]
    assert [c["name"] for c in pod["initContainers"]] == ["mps-control-daemon-mounts"]


@pytest.mark.difference("chart-mps")
def test_under_names_of_nvidias_chart_no_daemonset_counts_anothers_pods(helm):
    daemonsets = helm.template(NVIDIAS, release="nvdp").of("DaemonSet")
    assert len(daemonsets) == 3
    for one in daemonsets:
        selector = one["spec"]["selector"]["matchLabels"].items()
        counted = [d for d in daemonsets if selector <= d["spec"]["template"]["metadata"]["labels"].items()]
        assert counted == [one]


def test_network_policies_hold_every_pod_of_the_release(helm):
    values = NVIDIAS | {"limits": {"evict": True}}
    rendered = helm.template(values, release="nvdp")
    made = [o for kind in ("DaemonSet", "Deployment", "Job") for o in rendered.of(kind)]
    pods = [o["spec"]["template"]["metadata"]["labels"] for o in made]

    def holds(policy: dict, labels: dict) -> bool:
        selector = policy["spec"]["podSelector"]
        named = selector["matchLabels"].items() <= labels.items()
        return named and all(labels[e["key"]] in e["values"] for e in selector["matchExpressions"])

    assert len(pods) == 6
    for labels in pods:
        assert len([p for p in rendered.of("NetworkPolicy") if holds(p, labels)]) == 1, labels


def test_selector_labels_of_the_users(helm):
    rendered = helm.template({"selectorLabelsOverride": {"name": "nvidia-device-plugin-ds"}})
    spec = rendered.one("DaemonSet")["spec"]
    assert spec["selector"]["matchLabels"] == {"name": "nvidia-device-plugin-ds"}
    assert spec["template"]["metadata"]["labels"]["name"] == "nvidia-device-plugin-ds"


def test_namespace_override(helm):
    rendered = helm.template({"namespaceOverride": "gpu", "config": {"name": "c"}})
    assert {o["metadata"].get("namespace") for o in rendered.objects} == {"gpu", "default", None}
    assert 'system:serviceaccount:gpu:gpu-tranche-agent"' in json.dumps(
        rendered.one("ValidatingAdmissionPolicy")
    ).replace('\\"', '"')


def test_published_commands_find_the_operators_names(helm):
    rendered = helm.template(MODES["operator"], namespace="gpu-operator")
    daemonset = rendered.one("DaemonSet", "nvidia-device-plugin-daemonset")
    assert daemonset["metadata"]["namespace"] == "gpu-operator"
    assert daemonset["spec"]["template"]["metadata"]["labels"]["app"] == "nvidia-device-plugin-daemonset"
    assert rendered.one("CustomResourceDefinition", "clusterpolicies.nvidia.com")["metadata"][
        "annotations"
    ] == {"helm.sh/resource-policy": "keep"}
    assert (
        rendered.one("ClusterPolicy", "cluster-policy")["metadata"]["annotations"]["helm.sh/hook"]
        == "post-install,post-upgrade"
    )
    assert rendered.env()["CONFIG_MAP"] == "gpu-tranche-policy"
    assert rendered.env()["FALLBACK_STRATEGIES"] == "empty"
    assert (
        "--config-map-out=gpu-tranche-policy"
        in rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    )


def test_an_operators_name_and_data_make_that_config_map(helm):
    config = {
        "create": True,
        "name": "plugin-config",
        "default": "a",
        "data": {"a": TIME_SLICING, "b": TIME_SLICING},
    }
    rendered = helm.template({"devicePlugin": {"config": config}})
    assert sorted(rendered.one("ConfigMap", "plugin-config")["data"]) == ["a", "b"]
    assert (rendered.env()["CONFIG_MAP"], rendered.env()["DEFAULT_CONFIG"]) == ("plugin-config", "a")


@pytest.mark.parametrize("probes", [{}, {"startup": None, "liveness": None, "readiness": None}])
def test_cleanup_changes_the_container_that_there_is(helm, probes):
    rendered = helm.template({"probes": probes, "cleanup": {"timeoutSeconds": 30}})
    job = rendered.one("Job", "gpu-tranche-cleanup")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["tranche", "cleanup"]
    daemonset, patch, force, timeout = container["args"]
    assert force == "--force=false"
    assert (daemonset, timeout) == ("--daemonset=tranche/gpu-tranche", "--timeout=30s")
    assert job["spec"]["activeDeadlineSeconds"] > 30
    change = json.loads(patch.removeprefix("--patch="))["spec"]
    (changed,) = change["template"]["spec"]["containers"]
    assert changed["name"] == rendered.agent()["name"]
    assert changed["command"] == ["tranche", "cleanup", "--stay"]
    assert changed["readinessProbe"]["exec"]["command"] == ["tranche", "cleanup", "--check"]
    assert changed["startupProbe"] is None and changed["livenessProbe"] is None
    assert change["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": "100%", "maxSurge": 0}
    # It needs no GPU, so neither a missing runtime class nor a missing driver keeps it from
    # starting.
    assert change["template"]["spec"]["runtimeClassName"] is None
    assert changed["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]


def test_an_uninstall_asks_for_claims_unless_it_is_forced(helm):
    rule = "cluster list resourceclaims.resource.k8s.io"
    assert rule in helm.template().rules("gpu-tranche-cleanup")
    assert rule not in helm.template({}, "--kube-version", "1.33.0").rules("gpu-tranche-cleanup")
    forced = helm.template({"cleanup": {"force": True}})
    assert rule not in forced.rules("gpu-tranche-cleanup")
    (container,) = forced.one("Job", "gpu-tranche-cleanup")["spec"]["template"]["spec"]["containers"]
    assert "--force=true" in container["args"]
    assert '["tranche","cleanup","--stay","--force"]' in container["args"][1]


def test_an_image_that_cannot_be_pulled_ends_the_uninstall_soon(helm):
    rendered = helm.template()
    first, then = (rendered.one("Job", f"gpu-tranche-{name}") for name in ("cleanup-image", "cleanup"))
    assert weight(first) < weight(then)
    assert first["spec"]["activeDeadlineSeconds"] == 20
    pod = first["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False and "serviceAccountName" not in pod
    images = [job["spec"]["template"]["spec"]["containers"][0]["image"] for job in (first, then)]
    assert images[0] == images[1] == rendered.agent()["image"]
    # Only this job is left when it fails. Each removes itself.
    hooks = [o for o in rendered.objects if "helm.sh/hook" in o["metadata"].get("annotations", {})]
    assert all(weight(first) < weight(other) for other in hooks if other is not first)
    assert first["spec"]["ttlSecondsAfterFinished"] == 600
    assert then["spec"]["ttlSecondsAfterFinished"] == 3600


@pytest.mark.parametrize("priority", [None, "system-node-critical", "mine"])
def test_a_missing_class_of_priority_keeps_no_uninstall(helm, priority):
    """It kept the agents from being made; the job that reports that nothing ran, and cleaners, do
    without it."""
    rendered = helm.template({"priorityClassName": priority})
    for name in ("cleanup-image", "cleanup"):
        assert "priorityClassName" not in rendered.one("Job", f"gpu-tranche-{name}")["spec"]["template"]["spec"]
    (container,) = rendered.one("Job", "gpu-tranche-cleanup")["spec"]["template"]["spec"]["containers"]
    change = json.loads(container["args"][1].removeprefix("--patch="))["spec"]["template"]["spec"]
    assert change.get("priorityClassName", "kept") == ("kept" if priority == "system-node-critical" else None)


def weight(hook) -> int:
    return int(hook["metadata"]["annotations"]["helm.sh/hook-weight"])


def test_without_cleanup_no_hooks(helm):
    rendered = helm.template({"cleanup": {"enabled": False}})
    assert not [o for o in rendered.objects if "helm.sh/hook" in o["metadata"].get("annotations", {})]


def test_the_manifest_without_helm_is_updated_and_probed_as_the_chart(helm):
    """deploy/daemonset.yaml: the next agent starts next to the previous one, and is Ready when it
    can take over."""
    manifest = yaml.safe_load((ROOT / "deploy/daemonset.yaml").read_text())
    rendered = helm.template({}, namespace="tranche")
    assert manifest["spec"].get("updateStrategy") == rendered.one("DaemonSet")["spec"]["updateStrategy"]
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container.get(probe) == rendered.agent()[probe], probe
