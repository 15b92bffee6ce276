"""tranche controller and tranche cleanup on a real API server, with the chart's definition of
ClusterPolicy. Skipped where the lab's programs are not built (lab/build/build)."""

import json
import re
import sys
import time

import pytest
import yaml

from programs import ROOT, TRANCHE, Process, clean_environment, wait_until

sys.path.append(str(ROOT / "tests" / "chart"))
from api_server import Refused, running_server  # noqa: E402

NS = "gpu-operator"
OUT = "tranche-policy"
CRD = ROOT / "deploy/helm/tranche/templates/clusterpolicy-crd.yaml"
MERGE = "application/merge-patch+json"
SELECTOR = {"app": "nvidia-device-plugin-daemonset"}


def metadata(name: str, **more) -> dict:
    return {"name": name, "namespace": NS, **more}


def config_map(name: str, data: dict | None = None, labels: dict | None = None) -> dict:
    named = metadata(name, labels=labels or {})
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
    return made if data is None else {**made, "data": data}


def policy(spec: dict, name: str = "cluster-policy") -> dict:
    kind = {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def daemon_set(name: str, owners: list) -> dict:
    pod = {"containers": [{"name": "c", "image": "none"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(name, labels=SELECTOR, ownerReferences=owners),
        "spec": {
            "selector": {"matchLabels": SELECTOR},
            "template": {"metadata": {"labels": SELECTOR}, "spec": pod},
        },
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("server"), "--vmodule=trace=2") as server:
        server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
        # Its only template values are the chart's labels.
        definition = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "", CRD.read_text(), flags=re.S))
        # As strict as NVIDIA's own definition is about a status.
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        status = schema["properties"]["status"]
        status["required"] = ["state"]
        conditions = status["properties"]["conditions"]
        required = ["lastTransitionTime", "message", "reason", "status", "type"]
        conditions["items"]["required"] = required
        server.apply(definition)
        policies = "/apis/nvidia.com/v1/clusterpolicies"
        server.wait(lambda: server.request("GET", policies), "policies are served")
        yield server


@pytest.fixture
def start(server, tmp_path):
    processes = []

    def start_one(*arguments: object) -> Process:
        processes.append(
            Process(
                [TRANCHE, *arguments, f"--kubeconfig={server.kubeconfig()}"],
                tmp_path / f"log-{len(processes)}",
                clean_environment(POD_NAME=f"pod-{len(processes)}"),
            )
        )
        return processes[-1]

    yield start_one
    for process in processes:
        process.kill()
        print(f"-- {' '.join(process.command)}\n{process.output}{process.log}")


def controller(start, *more: object) -> Process:
    return start("controller", f"--namespace={NS}", f"--config-map-out={OUT}", *more)


def get(server, item: dict) -> dict:
    return server.request("GET", server.path(item))


def annotations(server, item: dict) -> dict:
    return get(server, item)["metadata"].get("annotations", {})


def delete(server, item: dict) -> None:
    try:
        server.request("DELETE", server.path(item))
    except Refused:
        pass


def applied(server, name: str = "cluster-policy") -> tuple:
    """Status and reason of TrancheApplied."""
    conditions = get(server, policy({}, name)).get("status", {}).get("conditions", [])
    found = [one for one in conditions if one["type"] == "TrancheApplied"]
    return (found[0]["status"], found[0]["reason"]) if found else ("", "")


def test_a_policy_takes_effect_and_the_operators_plugin_is_not_rivalled(server, start):
    out = config_map(OUT, labels={"app.kubernetes.io/managed-by": "Helm"})
    server.apply(out)
    both = {"a100-40gb": "version: v1\n", "tesla-t4": "version: v1\n"}
    server.apply(config_map("time-slicing-config", both))
    plugin = {"config": {"name": "time-slicing-config"}}
    made = server.apply(policy({"devicePlugin": plugin, "driver": {"enabled": True}}))
    process = controller(start, "--leader-elect")
    server.wait(lambda: applied(server) == ("True", "ConfigFollowed"), "the policy is applied")
    now = get(server, out)
    assert set(now["data"]) == {"a100-40gb", "tesla-t4"}
    assert now["metadata"]["annotations"]["tranche.dev/default-config"] == ""
    assert now["metadata"]["annotations"]["tranche.dev/fallback-strategies"] == "empty"
    assert now["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
    status = get(server, made)["status"]
    assert status["state"] == "ready"
    assert "driver.enabled" in str(status["conditions"])

    # The manual's merge patch: a default, and a MIG strategy; a key is removed.
    plugin = {"config": {"default": "a100-40gb"}}
    body = {"spec": {"devicePlugin": plugin, "mig": {"strategy": "mixed"}}}
    server.request("PATCH", server.path(made), body, kind=MERGE)
    server.wait(
        lambda: annotations(server, out).get("tranche.dev/mig-strategy") == "mixed",
        "the strategy arrives",
    )
    assert annotations(server, out)["tranche.dev/default-config"] == "a100-40gb"
    server.apply(config_map("time-slicing-config", {"tesla-t4": "version: v1\n"}))
    server.wait(lambda: applied(server) == ("False", "DefaultMissing"), "the missing default is told")
    assert set(get(server, out)["data"]) == {"a100-40gb", "tesla-t4"}, "nodes keep what they have"
    server.apply(config_map("time-slicing-config", {"a100-40gb": "version: v1\n# 2\n"}))
    server.wait(
        lambda: get(server, out)["data"] == {"a100-40gb": "version: v1\n# 2\n"},
        "the change arrives",
    )

    owner = {key: made[key] for key in ("apiVersion", "kind")}
    owner |= {"name": made["metadata"]["name"], "uid": made["metadata"]["uid"], "controller": True}
    server.apply(daemon_set("nvidia-device-plugin-daemonset", [owner]))
    server.wait(lambda: applied(server) == ("False", "OperatorServes"), "it withholds")
    why = annotations(server, out)["tranche.dev/withhold"]
    assert "kubectl patch clusterpolicies.nvidia.com/cluster-policy" in why
    # As the message says.
    [command] = re.findall(r"-p '(.*)'", why)
    server.request("PATCH", server.path(made), json.loads(command), kind=MERGE)
    server.wait(lambda: applied(server) == ("True", "ConfigFollowed"), "handed over")
    assert "tranche.dev/withhold" not in annotations(server, out)

    server.apply(policy({}, "second"))
    server.wait(lambda: applied(server, "second") == ("False", "Ignored"), "the second is told so")

    def told():
        events = server.request("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [
            (event["regarding"]["name"], event["reason"])
            for event in events
            if event["regarding"]["kind"] == "ClusterPolicy"
        ]

    # An Event is written after the status.
    server.wait(lambda: ("second", "Ignored") in told(), "an Event says so too")
    assert told().count(("cluster-policy", "OperatorServes")) == 1

    for item in (policy({}, "second"), policy({}), daemon_set("nvidia-device-plugin-daemonset", [])):
        delete(server, item)
    server.wait(lambda: not get(server, out).get("data"), "without a policy nothing is shared")
    assert process.stop() == 0, process.log
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/tranche-controller"
    assert server.request("GET", lease)["spec"]["holderIdentity"] == ""


def agents_on(server, *nodes: str) -> None:
    """The agents' DaemonSet as its controller and kubelets would show it: a ready Pod on each of these nodes."""
    item = daemon_set("tranche", [])
    server.apply(item)
    numbers = {
        "desiredNumberScheduled": len(nodes),
        "currentNumberScheduled": len(nodes),
        "numberReady": len(nodes),
        "numberMisscheduled": 0,
    }
    server.request("PATCH", server.path(item) + "/status", {"status": numbers}, kind=MERGE)
    for node in nodes:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata(f"agent-{node}", labels=SELECTOR),
            "spec": {
                "nodeName": node,
                "serviceAccountName": "default",
                "automountServiceAccountToken": False,
                "containers": [{"name": "c", "image": "x"}],
            },
        }
        server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata("default")})
        server.apply(pod)
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        server.request("PATCH", server.path(pod) + "/status", ready, kind=MERGE)


def serving(server, node: str, status: str, reason: str) -> None:
    item = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}
    server.apply(item)
    condition = {"type": "TrancheServing", "status": status, "reason": reason, "message": "of a test"}
    kind = "application/strategic-merge-patch+json"
    server.request("PATCH", server.path(item) + "/status", {"status": {"conditions": [condition]}}, kind=kind)


def test_a_policy_is_applied_where_nodes_serve(server, start):
    """The nodes' agents' view of kubelet's list counts, not that their Pods are ready."""
    made = server.apply(policy({}))
    for node in ("n1", "n2"):
        serving(server, node, "False", "AnotherPlugin")
    agents_on(server, "n1", "n2")
    process = controller(start, "--agents=tranche")

    def said() -> str:
        conditions = get(server, made).get("status", {}).get("conditions", [])
        return "".join(one["message"] for one in conditions if one["type"] == "TrancheApplied")

    server.wait(lambda: applied(server) == ("False", "NoNodeServes"), "no node serves")
    assert "0 of 2 nodes of DaemonSet gpu-operator/tranche serve: n1 (AnotherPlugin), n2 (AnotherPlugin)" in said()
    serving(server, "n1", "True", "Serving")
    server.wait(lambda: applied(server) == ("True", "NoConfigNamed"), "one serves")
    assert "; not on n2 (AnotherPlugin): condition TrancheServing" in said()
    assert process.stop() == 0, process.log
    for node in ("n1", "n2"):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata(f"agent-{node}")}
        server.request("DELETE", server.path(pod) + "?gracePeriodSeconds=0")
        delete(server, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    for item in (daemon_set("tranche", []), policy({})):
        delete(server, item)


def test_it_speaks_http_2(server, start):
    """According to the client, and to the API server, which logs requests that take longer than
    half a second. Reads come from its cache; writes have to reach the store."""

    def slow_requests() -> list:
        delete(server, config_map(OUT))  # to be written again
        with server.frozen_store():
            process = controller(start, "--log-level=debug")
            process.wait_log("following the ClusterPolicy")
            time.sleep(1)
        process.wait_log("API server https://.* answers over HTTP/2\n")
        assert process.stop() == 0, process.log
        lines = server.log().splitlines()
        return [line for line in lines if "user-agent:tranche-controller" in line and "protocol:" in line]

    told = server.wait(slow_requests, "the API server tells of a slow request")
    assert all("protocol:HTTP/2.0," in line for line in told), told


def test_one_of_two_controllers_leads_and_the_other_follows(server, start):
    server.apply(policy({}))
    first = controller(start, "--leader-elect")
    first.wait_log("pod-0 leads")
    second = controller(start, "--leader-elect")
    second.wait_log("pod-0 leads; waiting")
    assert first.stop() == 0, first.log
    second.wait_log("pod-1 leads")
    # Somebody takes its Lease.
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases/tranche-controller"
    body = {"spec": {"holderIdentity": "somebody"}}
    server.request("PATCH", lease, body, kind=MERGE)
    assert second.wait() == 1, second.log
    assert "the Lease is lost" in second.log
    assert server.request("GET", lease)["spec"]["holderIdentity"] == "somebody"
    server.request("DELETE", lease)


def test_cleanup_leaves_the_node_as_it_was(server, start, tmp_path):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"theirs": "x"}}}
    server.apply(node)
    ours = {**node, "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.count": "2"}}}
    path = server.path(node)
    apply = "application/apply-patch+yaml"
    server.request("PATCH", path + "?fieldManager=tranche-labels", ours, kind=apply)
    types = ("TrancheConfigured", "Ready")
    conditions = [{"type": one, "status": "True"} for one in types]
    kind = "application/strategic-merge-patch+json"
    server.request("PATCH", path + "/status", {"status": {"conditions": conditions}}, kind=kind)
    process = start(
        "cleanup",
        "--node-name=n1",
        "--config-map=gpu-operator/x",
        "--label-output=node",
        "--labels=on",
        f"--state-dir={tmp_path / 's'}",
        f"--output-file={tmp_path / 'f'}",
    )
    assert process.wait() == 0, process.log
    now = get(server, node)
    assert now["metadata"]["labels"] == {"theirs": "x"}
    assert [one["type"] for one in now["status"]["conditions"]] == ["Ready"]
    assert "removed label nvidia.com/gpu.count" in process.log
    assert "condition TrancheConfigured" in process.log
    delete(server, node)


def test_a_daemon_set_is_changed_and_waited_for(server, start):
    item = daemon_set("tranche", [])
    item["metadata"]["annotations"] = {"meta.helm.sh/release-name": "tranche"}
    item["spec"]["template"]["spec"]["containers"][0]["livenessProbe"] = {"exec": {"command": ["x"]}}
    server.apply(item)
    # Upgraded once: after a first installation whose Pods never ran there is nothing to clear.
    item["spec"]["template"]["metadata"]["annotations"] = {"upgraded": "once"}
    server.request("PATCH", server.path(item), {"spec": item["spec"]}, kind=MERGE)
    container = {"name": "c", "command": ["tranche", "cleanup", "--stay"], "livenessProbe": None}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    flags = (f"--daemonset={NS}/tranche", f"--patch={json.dumps(patch)}")
    process = start("cleanup", *flags, "--timeout=30s")
    process.wait_log("the change is not seen yet")
    changed = get(server, item)
    assert changed["spec"]["template"]["spec"]["containers"][0]["command"] == container["command"]
    assert "livenessProbe" not in changed["spec"]["template"]["spec"]["containers"][0]
    generation = changed["metadata"]["generation"]

    def status(ready: int) -> None:
        body = {
            "observedGeneration": generation,
            "desiredNumberScheduled": 2,
            "currentNumberScheduled": 2,
            "updatedNumberScheduled": 2,
            "numberReady": ready,
            "numberMisscheduled": 0,
        }
        path = server.path(item) + "/status"
        server.request("PATCH", path, {"status": body}, kind=MERGE)

    status(1)
    process.wait_log("1 of 2 nodes are done")
    status(2)
    assert process.wait() == 0, process.log
    status(0)
    late = start("cleanup", *flags, "--timeout=2s")
    assert late.wait() == 1
    assert "not done after 2 s: 2 nodes have no Pod of it" in late.log
    delete(server, item)
    gone = start("cleanup", *flags, "--timeout=2s")
    wait_until(lambda: not gone.running(), "it ends")
    assert gone.wait() == 0, gone.log
