"""Every mode's manifests for a real API server: nothing unknown, nothing invalid."""

import json

import pytest
from modes import MODES, namespace


def first(item: dict) -> bool:
    return item["kind"] != "CustomResourceDefinition"


@pytest.mark.parametrize("mode", MODES)
def test_the_api_server_takes_it(helm, server, mode):
    for item in sorted(helm.template(MODES[mode], namespace=namespace(mode)).objects, key=first):
        if item["kind"] == "CustomResourceDefinition":
            server.apply(item)
            group = f"/apis/{item['spec']['group']}/{item['spec']['versions'][0]['name']}"
            server.wait(lambda group=group: server.request("GET", group), f"{group} is served")
        server.apply(item, dry_run=True)


def test_the_small_definition_keeps_an_operators_policy_whole(helm, server):
    rendered = helm.template(MODES["operator"], namespace="gpu-operator")
    server.apply(rendered.one("CustomResourceDefinition", "clusterpolicies.nvidia.com"))
    server.wait(lambda: server.request("GET", "/apis/nvidia.com/v1"), "ClusterPolicies are served")
    spec = {
        "mig": {"strategy": "mixed"},
        "devicePlugin": {
            "enabled": True,
            "config": {"name": "device-plugin-config", "default": "default"},
            "env": [{"name": "A", "value": "b"}],
        },
        "driver": {"enabled": True, "rdma": {"enabled": False}},
    }
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": spec,
    }
    assert server.apply(policy)["spec"] == spec
    status = {
        "state": "ready",
        "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}],
    }
    path = "/apis/nvidia.com/v1/clusterpolicies/cluster-policy"
    change = {"status": status}
    assert (
        server.request("PATCH", f"{path}/status", change, kind="application/merge-patch+json")["status"]
        == status
    )
    server.request("DELETE", path)


def test_the_arbiter_gets_no_token(helm, server):
    """As the API server's admission makes the Pods: only the agent's gets a token."""
    rendered = helm.template(MODES["limits"])
    tokens = {}
    for component in ("agent", "arbiter"):
        account = server.apply(rendered.one("ServiceAccount", f"gpu-tranche-{component}"))
        metadata = {"name": "p", "namespace": "tranche"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": rendered.pod(component)}
        admitted = server.apply(pod, dry_run=True)["spec"]
        server.request("DELETE", server.path(account))
        tokens[component] = [v["name"] for v in admitted["volumes"] if "projected" in v]
        assert admitted.get("hostPID", False) == (component == "arbiter")
    assert len(tokens["agent"]) == 1 and tokens["arbiter"] == []


def cleanups_patch(rendered) -> str:
    (container,) = rendered.one("Job", "gpu-tranche-cleanup")["spec"]["template"]["spec"]["containers"]
    return container["args"][1].removeprefix("--patch=")


@pytest.mark.parametrize(
    "strategy",
    [
        {},
        {"updateStrategy": {"type": "OnDelete"}},
        {"updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
        {"limits": {"enabled": True}},
        {"runtimeClassName": "nosuch"},
    ],
)
@pytest.mark.parametrize("probes", [{}, {"probes": {"startup": None, "readiness": None, "liveness": None}}])
def test_the_cleanups_patch_makes_cleaners_of_the_agents(helm, server, strategy, probes):
    rendered = helm.template({**strategy, **probes, "config": {"name": "c"}})
    before = server.apply(rendered.one("DaemonSet"))
    path = server.path(before)
    try:
        after = server.request(
            "PATCH", path, json.loads(cleanups_patch(rendered)), kind="application/strategic-merge-patch+json"
        )
        assert after["spec"]["updateStrategy"] == {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "100%", "maxSurge": 0},
        }
        (old,) = before["spec"]["template"]["spec"]["containers"]
        (new,) = after["spec"]["template"]["spec"]["containers"]
        assert new["command"] == ["tranche", "cleanup", "--stay"]
        assert new["readinessProbe"]["exec"]["command"] == ["tranche", "cleanup", "--check"]
        assert "startupProbe" not in new and "livenessProbe" not in new
        env = [e for e in old["env"] if e["name"] != "NVIDIA_VISIBLE_DEVICES"]
        assert [e for e in new["env"] if e not in env] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
        assert "runtimeClassName" not in after["spec"]["template"]["spec"]
        same = ("volumeMounts", "securityContext", "image")
        assert {k: new[k] for k in same} == {k: old[k] for k in same}
        assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    finally:
        server.request("DELETE", path)
