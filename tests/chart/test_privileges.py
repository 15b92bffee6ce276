"""The rights of each mode on the node and in the cluster: no more than needed. The tables are the
documentation's."""

import pytest
from modes import LIMITS, MODES, namespace

ACCOUNT = {
    "operator": "nvidia-device-plugin",
    "nvidia-names": "gpu-nvidia-device-plugin-service-account",
}

READS_NODE = {"cluster get nodes", "cluster list nodes", "cluster watch nodes"}
# The condition and the Events about the configuration; Events about a Node are kept in "default".
REPORTS = {
    "cluster patch nodes/status",
    "default create events.events.k8s.io",
    "default patch events.events.k8s.io",
}


def reads_map(ns, name):
    return {f"{ns} {verb} configmaps/{name}" for verb in ("get", "list", "watch")}


def features(ns):
    return {
        f"{ns} {verb} nodefeatures.nfd.k8s-sigs.io"
        for verb in ("get", "list", "watch", "create", "update", "delete")
    } | {f"{ns} get pods"}


GPU_NODE = READS_NODE | REPORTS | {
    *(f"cluster {verb} gpunodes.tranche.dev" for verb in ("get", "create", "patch", "delete")),
    "cluster patch gpunodes/status.tranche.dev",
}
READS_PODS = {"cluster list pods", "cluster watch pods"}
READS_TIERS = {f"cluster {verb} gputiers.tranche.dev" for verb in ("get", "list", "watch")}
WITH_LIMITS = (
    READS_NODE
    | REPORTS
    | READS_PODS
    | reads_map("tranche", "gpu-tranche-configs")
    | {
        "cluster create events.events.k8s.io",
        "cluster patch events.events.k8s.io",
    }
)

# In addition to GPU_NODE, which all have except those that publish none.
RBAC = {
    "defaults": set(),
    "no-gpu-node": set(),
    "config-map": READS_NODE | REPORTS | reads_map("tranche", "gpu-tranche-configs"),
    "external-config": READS_NODE | REPORTS | reads_map("tranche", "time-slicing-config"),
    "operators-spelling": READS_NODE | REPORTS | reads_map("tranche", "time-slicing-config"),
    "labels-nodefeature": features("tranche"),
    "labels-node": READS_NODE | REPORTS | reads_map("tranche", "c") | {"cluster patch nodes"},
    "labels-file": set(),
    "labels-only": READS_NODE | REPORTS | {"cluster patch nodes"},
    "mig": set(),
    "mig-manager": READS_NODE | REPORTS | READS_PODS,
    "mig-pools": READS_NODE | REPORTS | READS_PODS,
    "cdi": set(),
    "volume-mounts": set(),
    "cpu-manager": set(),
    "limits": WITH_LIMITS,
    "limits-evict": WITH_LIMITS,
    "mps": READS_NODE
    | REPORTS
    | reads_map("tranche", "gpu-tranche-configs")
    | {"cluster patch nodes"},
    "fractions": set(),
    "metrics": READS_PODS | READS_TIERS,
    "web": READS_PODS | READS_TIERS,
    "nvidia-names": READS_NODE | REPORTS | reads_map("tranche", "gpu-nvidia-device-plugin-configs"),
    "operator": READS_NODE
    | REPORTS
    | reads_map("gpu-operator", "gpu-tranche-policy")
    | features("gpu-operator"),
}


NO_GPU_NODE = ("no-gpu-node", "labels-only")


def rbac(mode):
    return RBAC[mode] | (set() if mode in NO_GPU_NODE else GPU_NODE)


@pytest.mark.parametrize("mode", MODES)
def test_rules_of_the_agent(helm, mode):
    rendered = helm.template(MODES[mode], namespace=namespace(mode))
    account = rendered.pod()["serviceAccountName"]
    assert account == ACCOUNT.get(mode, "gpu-tranche-agent")
    assert rendered.one("ServiceAccount", account)
    assert rendered.rules(account) == rbac(mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_token_only_where_the_api_is_used(helm, mode):
    rendered = helm.template(MODES[mode], namespace=namespace(mode))
    assert rendered.pod()["automountServiceAccountToken"] == bool(rbac(mode))
    policies = [o["metadata"]["name"] for o in rendered.of("ValidatingAdmissionPolicy")]
    assert any("own-node" in name for name in policies) == bool(rbac(mode))


def test_rules_of_the_controller(helm):
    rendered = helm.template(MODES["operator"], namespace="gpu-operator")
    ns = "gpu-operator"
    assert rendered.rules("gpu-tranche-controller") == {
        *(f"cluster {verb} clusterpolicies.nvidia.com" for verb in ("get", "list", "watch")),
        *(f"cluster {verb} clusterpolicies/status.nvidia.com" for verb in ("update", "patch")),
        *(f"cluster {verb} daemonsets.apps/nvidia-device-plugin-daemonset" for verb in ("list", "watch")),
        *(f"{ns} {verb} daemonsets.apps/nvidia-device-plugin-daemonset" for verb in ("list", "watch")),
        *(f"cluster {verb} nodes" for verb in ("list", "watch")),
        f"{ns} list pods",
        *(f"{ns} {verb} configmaps" for verb in ("get", "list", "watch")),
        *(f"{ns} {verb} configmaps/gpu-tranche-policy" for verb in ("update", "patch")),
        *(
            f"{ns} {verb} leases.coordination.k8s.io/tranche-controller"
            for verb in ("get", "update", "patch")
        ),
        "default create events.events.k8s.io",
    }


def test_rules_of_the_controller_that_serves_the_page(helm):
    """It reads, asks the API server who reads and what they may see, and leads: nothing else."""
    read = "nodes", "pods", "namespaces", "gpunodes.tranche.dev", "gputiers.tranche.dev"
    claims = "resourceclaims.resource.k8s.io", "deviceclasses.resource.k8s.io"
    assert helm.template(MODES["web"]).rules("gpu-tranche-controller") == {
        *(f"cluster {verb} {kind}" for verb in ("list", "watch") for kind in (*read, *claims)),
        "cluster create tokenreviews.authentication.k8s.io",
        "cluster create subjectaccessreviews.authorization.k8s.io",
        *(
            f"tranche {verb} leases.coordination.k8s.io/tranche-controller"
            for verb in ("get", "update", "patch")
        ),
    }


def test_rules_of_the_mps_daemons(helm):
    """Their Pods are privileged: they have their own token, which changes no Node."""
    rendered = helm.template(MODES["mps"])
    spec = rendered.mps()["spec"]["template"]["spec"]
    account = spec["serviceAccountName"]
    assert account == "gpu-tranche-mps-control-daemon" != rendered.pod()["serviceAccountName"]
    assert rendered.rules(account) == READS_NODE | {"default create events.events.k8s.io"} | reads_map(
        "tranche", "gpu-tranche-configs"
    )
    assert spec["automountServiceAccountToken"] is True
    (condition,) = rendered.one("ValidatingAdmissionPolicy")["spec"]["matchConditions"]
    assert f'"system:serviceaccount:tranche:{account}"' in condition["expression"]


def test_without_a_config_map_the_mps_daemons_have_no_token(helm):
    rendered = helm.template({"mps": {"enabled": True}, "gfd": {"enabled": True}})
    spec = rendered.mps()["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert rendered.rules(spec["serviceAccountName"]) == set()


def terms(affinity: dict) -> list[dict]:
    found = affinity["preferredDuringSchedulingIgnoredDuringExecution"]
    return found[0]["preference"]["matchExpressions"]


def test_the_controller_is_elsewhere_than_on_gpu_nodes_where_it_can(helm):
    """Each label by which an agent finds its nodes keeps the controller away, but does not forbid
    it."""
    rendered = helm.template(MODES["operator"], namespace="gpu-operator")
    pod = rendered.one("Deployment")["spec"]["template"]["spec"]
    affinity = pod["affinity"]["nodeAffinity"]
    assert "requiredDuringSchedulingIgnoredDuringExecution" not in affinity
    away = {(e["key"], e["operator"], *e["values"]) for e in terms(affinity)}
    agents = rendered.pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    here = [term["matchExpressions"][0] for term in agents["nodeSelectorTerms"]]
    assert away == {(e["key"], "NotIn", *e["values"]) for e in here}
    # All nodes may be GPU nodes, and these often have taints.
    assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in pod["tolerations"]


def test_rules_of_a_controller_that_evicts(helm):
    """It follows no policy: it cannot."""
    rendered = helm.template(MODES["limits-evict"], namespace="tranche")
    assert rendered.rules("gpu-tranche-controller") == {
        "cluster list nodes",
        "cluster watch nodes",
        "cluster get pods",
        "cluster create pods/eviction",
        "cluster create events.events.k8s.io",
        *(
            f"tranche {verb} leases.coordination.k8s.io/tranche-controller"
            for verb in ("get", "update", "patch")
        ),
    }
    assert not helm.template(MODES["limits"], namespace="tranche").of("Deployment")


def test_rules_of_a_controller_that_drains_for_mig(helm):
    rendered = helm.template(MODES["mig-manager"], namespace="tranche")
    assert rendered.rules("gpu-tranche-controller") == {
        *(f"cluster {verb} nodes" for verb in ("get", "list", "watch", "patch")),
        *(f"cluster {verb} pods" for verb in ("list", "watch")),
        "cluster create pods/eviction",
        *(f"cluster {verb} events.events.k8s.io" for verb in ("create", "patch")),
        *(
            f"tranche {verb} leases.coordination.k8s.io/tranche-controller"
            for verb in ("get", "update", "patch")
        ),
    }


def test_rules_of_a_controller_with_pools(helm):
    rules = {mode: helm.template(MODES[mode]).rules("gpu-tranche-controller") for mode in MODES if "mig-" in mode}
    assert rules["mig-pools"] - rules["mig-manager"] == {
        *(f"tranche {verb} configmaps/gpu-tranche-mig-pools" for verb in ("get", "list", "watch")),
        *(f"tranche {verb} configmaps/gpu-tranche-mig-pools-status" for verb in ("get", "patch")),
    }
    assert rules["mig-manager"] <= rules["mig-pools"]


def test_rules_of_a_controller_that_admits_fractions(helm):
    """It reads Secrets of one name, and makes none."""
    rendered = helm.template({"fractions": {"enabled": True, "quota": {"enabled": False}}})
    assert rendered.rules("gpu-tranche-controller") == {
        *(f"cluster {verb} nodes" for verb in ("list", "watch")),
        *(f"cluster {verb} pods" for verb in ("list", "watch")),
        *(
            f"cluster {verb} resourceclaimtemplates.resource.k8s.io"
            for verb in ("get", "list", "watch", "create", "delete")
        ),
        *(f"cluster {verb} resourceclaims.resource.k8s.io" for verb in ("get", "create", "delete")),
        *(f"cluster {verb} events.events.k8s.io" for verb in ("create", "patch")),
        *(f"cluster {verb} resourceslices.resource.k8s.io" for verb in ("list", "watch")),
        "cluster list replicationcontrollers",
        *(f"cluster list {kind}.apps" for kind in ("deployments", "replicasets", "statefulsets", "daemonsets")),
        *(f"cluster list {kind}.batch" for kind in ("jobs", "cronjobs")),
        *(
            f"cluster {verb} mutatingwebhookconfigurations.admissionregistration.k8s.io/gpu-tranche-webhook"
            for verb in ("get", "list", "watch", "patch")
        ),
        *(f"tranche {verb} secrets/gpu-tranche-webhook" for verb in ("get", "list", "watch", "patch")),
        *(
            f"tranche {verb} leases.coordination.k8s.io/tranche-controller"
            for verb in ("get", "update", "patch")
        ),
    }


def test_rules_of_a_controller_that_counts_shares(helm):
    """It reads every claim and quota, and writes quotas of one name."""
    values = {"fractions": {"enabled": True, "quota": {"enabled": False}}}
    without = helm.template(values).rules("gpu-tranche-controller")
    rules = helm.template(MODES["fractions"]).rules("gpu-tranche-controller")
    webhook = "validatingwebhookconfigurations.admissionregistration.k8s.io/gpu-tranche-webhook"
    assert without < rules
    assert rules - without == {
        *(f"cluster {verb} resourceclaims.resource.k8s.io" for verb in ("list", "watch")),
        *(f"cluster {verb} resourcequotas" for verb in ("list", "watch", "create")),
        *(f"cluster {verb} resourcequotas/tranche-gpu-shares" for verb in ("get", "update", "delete")),
        "cluster update resourcequotas/status/tranche-gpu-shares",
        *(f"cluster {verb} {webhook}" for verb in ("get", "list", "watch", "patch")),
    }


def test_no_job_of_the_cleanup_stays(helm):
    """Where Helm is told to leave hooks out nobody else removes them."""
    jobs = helm.template().of("Job")
    assert len(jobs) == 2
    assert all(job["spec"].get("ttlSecondsAfterFinished") for job in jobs), [one["metadata"]["name"] for one in jobs]


def test_rules_of_the_cleanup(helm):
    rendered = helm.template()
    assert rendered.rules("gpu-tranche-cleanup") == {
        *(f"tranche {verb} daemonsets.apps/gpu-tranche" for verb in ("get", "patch")),
        *(f"tranche {verb} pods" for verb in ("get", "list")),
        "cluster list resourceclaims.resource.k8s.io",
    }
    for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ServiceAccount"):
        assert (
            rendered.one(kind, "gpu-tranche-cleanup")["metadata"]["annotations"]["helm.sh/hook"]
            == "pre-delete"
        )


NONE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsUser": 0,
    "seccompProfile": {"type": "RuntimeDefault"},
}
ADMIN = {
    "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
    "readOnlyRootFilesystem": True,
    "runAsUser": 0,
    "seccompProfile": {"type": "RuntimeDefault"},
}


# For who has a GPU open that is to be reset: /proc/PID/fd of the node's processes.
SEES_ALL = {
    **ADMIN,
    "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH"]},
    "appArmorProfile": {"type": "Unconfined"},
}
PRIVILEGES = {
    "mig": ADMIN,
    "mig-manager": SEES_ALL,
    "mig-pools": SEES_ALL,
    "cpu-manager": {"privileged": True, "runAsUser": 0},
}


@pytest.mark.parametrize("mode", MODES)
def test_privileges_of_the_container(helm, mode):
    wanted = PRIVILEGES.get(mode, NONE)
    rendered = helm.template(MODES[mode], namespace=namespace(mode))
    assert rendered.agent()["securityContext"] == wanted
    assert not rendered.pod().get("hostNetwork")
    assert rendered.pod().get("hostPID", False) == (wanted == SEES_ALL or mode in ("metrics", "web"))
    assert (rendered.arbiter() is None) != mode.startswith("limits")


def test_an_agent_that_changes_layouts_need_not_see_the_nodes_processes(helm):
    manager = {**MODES["mig-manager"]["migManager"], "enableHostPID": False}
    rendered = helm.template({**MODES["mig-manager"], "migManager": manager}, namespace="tranche")
    assert rendered.agent()["securityContext"] == ADMIN
    assert "hostPID" not in rendered.pod()


ARBITER = {
    "/var/lib/tranche/tenants": "/var/lib/tranche/tenants",
    "/run/tranche-arbiter": "/run/tranche-arbiter",
}


def test_the_arbiter_has_its_two_folders_and_nothing_else(helm):
    rendered = helm.template(MODES["limits"])
    arbiter = rendered.arbiter()
    assert arbiter["name"] == "arbiter"
    assert arbiter["securityContext"] == NONE
    # Nothing of the agent's: no kubelet, no grants.
    assert rendered.mounts(arbiter) == ARBITER
    assert rendered.env(arbiter) == {
        "TRANCHE_TENANTS": "/var/lib/tranche/tenants",
        "TRANCHE_ARBITER_STATE_DIR": "/run/tranche-arbiter",
        "TRANCHE_LOG_LEVEL": "info",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "utility",
        "TRANCHE_STALL_AFTER": "10s",
    }
    assert "ports" not in arbiter


def test_the_arbiters_pod_sees_processes_and_has_no_token(helm):
    """And the agent's the other way round: root that sees the node's processes could end them."""
    rendered = helm.template(MODES["limits"])
    pod = rendered.pod("arbiter")
    assert pod["hostPID"] and not pod.get("hostNetwork")
    assert pod["serviceAccountName"] == "gpu-tranche-arbiter"
    assert pod["automountServiceAccountToken"] is False
    assert rendered.rules("gpu-tranche-arbiter") == set()
    assert rendered.one("ServiceAccount", "gpu-tranche-arbiter")["automountServiceAccountToken"] is False
    assert rendered.pod()["automountServiceAccountToken"] is True and "hostPID" not in rendered.pod()


def test_the_arbiters_pods_are_where_the_agents_are(helm):
    values = {
        "runtimeClassName": "nvidia",
        "imagePullSecrets": [{"name": "s"}],
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"operator": "Exists"}],
        "podSecurityContext": {"fsGroup": 0},
        "devicePlugin": {"enableHostNetwork": True},
    }
    rendered = helm.template(MODES["limits"] | values)
    agent, arbiter = rendered.pod(), rendered.pod("arbiter")
    same = ("runtimeClassName", "imagePullSecrets", "nodeSelector", "affinity", "tolerations")
    same += ("priorityClassName", "securityContext")
    assert {k: arbiter[k] for k in same} == {k: agent[k] for k in same}
    assert "hostNetwork" not in arbiter
    # Neither DaemonSet selects the other's Pods.
    sets = {o["metadata"]["name"]: o["spec"] for o in rendered.of("DaemonSet")}
    for one in sets.values():
        selector = one["selector"]["matchLabels"].items()
        matched = [o for o in sets.values() if selector <= o["template"]["metadata"]["labels"].items()]
        assert matched == [one]


def test_the_next_arbiter_starts_before_the_one_before_ends(helm):
    rendered = helm.template(MODES["limits"])
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    strategy = rendered.one("DaemonSet", "gpu-tranche-arbiter")["spec"]["updateStrategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": rolling}
    # Only one of the two could have a port of the node.
    assert "ports" not in rendered.arbiter()


KERNEL_GENERAL = LIMITS + "    kernelLimits: true\n"
KERNEL_ENTRY = LIMITS + "    resources:\n    - {name: nvidia.com/gpu, kernelLimits: true}\n"


@pytest.mark.parametrize(
    "values",
    [
        {"config": {"map": {"default": "version: v1\n", "l20": KERNEL_GENERAL}}},
        {"config": {"map": {"default": KERNEL_ENTRY}}},
        {"config": {"name": "elsewhere"}, "limits": {"enabled": True, "kernelLimits": True}},
    ],
    ids=["general", "entry", "external"],
)
def test_for_kernel_limits_the_arbiter_is_admin_and_sees_the_control_groups(helm, values):
    rendered = helm.template(values)
    assert rendered.arbiter()["securityContext"] == ADMIN
    assert rendered.mounts(rendered.arbiter())["/sys/fs/cgroup"] == "/sys/fs/cgroup"
    # The agent has no more than before.
    assert rendered.agent()["securityContext"] == NONE
    assert "/sys/fs/cgroup" not in rendered.mounts(rendered.agent())


@pytest.mark.parametrize(
    "values",
    [
        {"config": {"map": {"default": LIMITS + "    kernelLimits: false\n"}}},
        {"config": {"map": {"default": KERNEL_GENERAL}}, "limits": {"kernelLimits": False}},
    ],
    ids=["written", "value"],
)
def test_without_kernel_limits_it_is_not(helm, values):
    rendered = helm.template(values)
    assert rendered.arbiter()["securityContext"] == NONE
    assert "/sys/fs/cgroup" not in rendered.mounts(rendered.arbiter())


@pytest.mark.parametrize(
    ("mps", "mounted"),
    [
        ({"enabled": True}, "/run/nvidia/mps ro"),
        ({"enabled": True, "root": "/srv/mps"}, "/srv/mps ro"),
        ({"enabled": False}, None),
        ({}, None),
    ],
    ids=["enabled", "elsewhere", "off", "not wanted"],
)
def test_by_the_folder_of_the_mps_daemons_the_arbiter_knows_their_pod(helm, mps, mounted):
    """It compares their containers' mounts with its own, so both must have the same folder of the
    node."""
    rendered = helm.template({"config": {"map": {"default": LIMITS}}, "mps": mps})
    assert rendered.mounts(rendered.arbiter()).get("/mps") == mounted
    if mounted:
        [container] = rendered.mps()["spec"]["template"]["spec"]["containers"]
        assert "/mps" in {mount["mountPath"] for mount in container["volumeMounts"]}




@pytest.mark.parametrize(
    "values",
    [
        {"config": {"map": {"default": LIMITS + "    runtimeHook: true\n"}}},
        {"config": {"map": {"default": LIMITS + "    resources:\n    - {name: gpu, runtimeHook: true}\n"}}},
        {"config": {"name": "elsewhere"}, "limits": {"enabled": True, "runtimeHook": True}},
    ],
    ids=["general", "entry", "external"],
)
def test_for_the_runtimes_hook_the_agent_writes_cdi_specifications(helm, values):
    with_hook = helm.template(values)
    without = helm.template({**values, "limits": {**values.get("limits", {}), "runtimeHook": False}})
    assert with_hook.mounts(with_hook.agent()) == without.mounts(without.agent())
    assert with_hook.agent()["securityContext"] == NONE
    assert with_hook.mounts(with_hook.arbiter()) == without.mounts(without.arbiter())
    assert with_hook.arbiter()["securityContext"] == NONE


def test_the_arbiter_reads_gpus_as_the_agent_does(helm):
    driver = {"nvidiaDriverRoot": "/run/nvidia/driver", "limits": {"enabled": True}}
    rendered = helm.template(driver)
    assert rendered.mounts(rendered.arbiter()) == ARBITER | {"/driver-root": "/run/nvidia/driver ro"}
    rendered = helm.template(MODES["volume-mounts"] | {"limits": {"enabled": True}})
    devices = "/var/run/nvidia-container-devices"
    assert rendered.mounts(rendered.arbiter()) == ARBITER | {f"{devices}/all": "/dev/null"}
    assert rendered.env(rendered.arbiter())["NVIDIA_VISIBLE_DEVICES"] == devices
    rendered = helm.template(MODES["cpu-manager"] | {"limits": {"enabled": True}})
    assert rendered.arbiter()["securityContext"] == {"privileged": True, "runAsUser": 0}


STATE = {"/var/lib/tranche": "/var/lib/tranche"}
# For claims, also those of before claims were not served any more.
CLAIMS = {
    "/var/lib/kubelet/plugins_registry": "/var/lib/kubelet/plugins_registry",
    "/var/lib/kubelet/plugins/gpu.nvidia.com": "/var/lib/kubelet/plugins/gpu.nvidia.com",
    "/var/run/cdi": "/var/run/cdi",
}
PLUGIN = (
    STATE
    | CLAIMS
    | {
        "/var/lib/kubelet/device-plugins": "/var/lib/kubelet/device-plugins",
        "/var/lib/kubelet/pod-resources": "/var/lib/kubelet/pod-resources ro",
    }
)
FEATURES = "/etc/kubernetes/node-feature-discovery/features.d"
# The arbiter's findings, read-only.
FINDINGS = {"/run/tranche-arbiter": "/run/tranche-arbiter ro"}
SCRAPED = {"/metrics-tls": "Secret metrics-cert ro", "/metrics-token": "Secret scrape ro"}
MOUNTS = {
    "limits": PLUGIN | FINDINGS,
    "limits-evict": PLUGIN | FINDINGS,
    "labels-file": PLUGIN | {FEATURES: FEATURES},
    "labels-only": STATE | CLAIMS | {"/var/lib/kubelet/device-plugins": "(empty)"},
    "cdi": PLUGIN | {"/driver-root": "/run/nvidia/driver ro"},
    "volume-mounts": PLUGIN | {"/var/run/nvidia-container-devices/all": "/dev/null"},
    "mig-manager": PLUGIN | {"/mig-parted-config": "ConfigMap layouts ro"},
    "mps": PLUGIN | {"/mps": "/run/nvidia/mps ro"},
    "metrics": PLUGIN | SCRAPED,
    "web": PLUGIN | SCRAPED,
}


@pytest.mark.parametrize("mode", MODES)
def test_folders_of_the_node(helm, mode):
    assert helm.template(MODES[mode], namespace=namespace(mode)).mounts() == MOUNTS.get(mode, PLUGIN)


def test_where_claims_are_served_the_agent_tells_the_daemons_of_mps(helm):
    assert helm.template(MODES["mps"] | {"dra": {"enabled": True}}).mounts()["/mps"] == "/run/nvidia/mps"


MIG_CONFIG = "version: v1\nflags:\n  migStrategy: single\n"
CDI_CONFIG = "version: v1\nflags:\n  plugin:\n    deviceListStrategy: [envvar, cdi-cri]\n"


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"config": {"map": {"default": MIG_CONFIG}}}, True),
        ({"config": {"map": {"default": MIG_CONFIG}}, "migStrategy": "none"}, False),
        ({"config": {"map": {"default": MIG_CONFIG}}, "mig": {"monitor": False}}, False),
        ({"config": {"name": "x"}}, False),
        ({"config": {"name": "x"}, "mig": {"monitor": True}}, True),
        ({"migStrategy": "single"}, True),
        ({"migStrategy": "none"}, False),
    ],
)
@pytest.mark.difference("chart-sys-admin")
def test_mig_monitor(helm, values, wanted):
    rendered = helm.template(values)
    assert (rendered.env().get("NVIDIA_MIG_MONITOR_DEVICES") == "all") == wanted
    assert rendered.agent()["securityContext"] == (ADMIN if wanted else NONE)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({"config": {"map": {"default": CDI_CONFIG}}}, True),
        ({"config": {"map": {"default": CDI_CONFIG}}, "deviceListStrategy": "envvar"}, False),
        ({"config": {"name": "x"}}, False),
        ({"config": {"name": "x"}, "cdi": {"enabled": True}}, True),
        ({"deviceListStrategy": "envvar,cdi-annotations"}, True),
        ({"deviceListStrategy": ["cdi-cri"], "cdi": {"enabled": False}}, False),
    ],
)
@pytest.mark.difference("chart-cdi-folder")
def test_cdi_folders(helm, values, wanted):
    mounts = helm.template(values).mounts()
    assert mounts["/var/run/cdi"] == "/var/run/cdi"
    assert mounts.get("/driver-root") == ("/ ro" if wanted else None)


def test_a_vgpus_host_is_seen_only_with_sys_admin(helm):
    assert helm.template({"gfd": {"enabled": True, "vgpu": True}}).agent()["securityContext"] == ADMIN
    assert helm.template({"gfd": {"enabled": False, "vgpu": True}}).agent()["securityContext"] == NONE


def test_a_security_context_of_the_users_replaces_ours(helm):
    rendered = helm.template({"securityContext": {"privileged": True}, "migStrategy": "mixed"})
    assert rendered.agent()["securityContext"] == {"privileged": True}


@pytest.mark.parametrize(
    ("kind", "name"), [("Deployment", "gpu-tranche-controller"), ("Job", "gpu-tranche-cleanup")]
)
def test_others_need_nothing_of_the_node(helm, kind, name):
    pod = helm.template(MODES["operator"], namespace="gpu-operator").one(kind, name)["spec"]["template"][
        "spec"
    ]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert "volumes" not in pod
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
