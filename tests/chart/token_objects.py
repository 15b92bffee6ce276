"""What the agents and the controller write, in full: for test_token_fields.py."""

TIME = "2026-01-01T00:00:00.000000Z"
NAMESPACE = "tranche"


def node(name: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "first", "uid": "uid-first"}],
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {"example.org/of": "another"},
            "finalizers": ["example.org/hold"],
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], "podCIDR": ""},
        "status": {
            "capacity": {"nvidia.com/gpu": "1"},
            "allocatable": {"nvidia.com/gpu": "1"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "k"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        },
    }


def pod(name: str, namespace: str, account: str) -> dict:
    """On node a."""
    spec = {"nodeName": "a", "serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def of_node(name: str, uid: str) -> list[dict]:
    return [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]


def resource_slice(name: str, uid: str) -> dict:
    device = {
        "name": "gpu-0",
        "attributes": {"type": {"string": "gpu"}},
        "capacity": {"memory": {"value": "40Gi"}},
        "allowMultipleAllocations": True,
        "taints": [{"key": "tranche.dev/unhealthy", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-gpu.nvidia.com-00", "ownerReferences": of_node(name, uid)},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": name,
            "pool": {"name": f"gpu-{name}", "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }


def node_feature(name: str) -> dict:
    owners = [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "gpu-tranche", "uid": "uid-set", "controller": True},
        {"apiVersion": "v1", "kind": "Pod", "name": f"agent-{name}", "uid": "uid-pod"},
    ]
    return {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeature",
        "metadata": {
            "name": f"nvidia-features-for-{name}",
            "namespace": NAMESPACE,
            "labels": {"nfd.node.kubernetes.io/node-name": name},
            "ownerReferences": owners,
        },
        "spec": {
            "labels": {"nvidia.com/gpu.count": "1"},
            "features": {"flags": {}, "attributes": {}, "instances": {}},
        },
    }


def gpu_node(name: str, uid: str) -> dict:
    return {
        "apiVersion": "tranche.dev/v1alpha1",
        "kind": "GPUNode",
        "metadata": {"name": name, "ownerReferences": of_node(name, uid)},
    }


def event(reporter: str, instance: str, regarding: dict) -> dict:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "probe", "namespace": regarding.get("namespace", "default")},
        "eventTime": TIME,
        "series": {"count": 2, "lastObservedTime": TIME},
        "reportingController": reporter,
        "reportingInstance": instance,
        "action": "Limit",
        "reason": "Probe",
        "regarding": {"apiVersion": "v1", **regarding},
        "note": "n",
        "type": "Normal",
    }


def requests() -> dict:
    share = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu-share", "capacity": {"requests": {"memory": "1Gi", "compute": "50"}}},
    }
    return {"devices": {"requests": [share]}}


def claim(name: str, share_of: str = "") -> dict:
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": requests(),
    }
    if share_of:
        owner = {"apiVersion": "v1", "kind": "Pod", "name": share_of, "uid": "uid-pod", "controller": True}
        made["metadata"] |= {
            "labels": {"tranche.dev/gpu-share": "true"},
            "annotations": {"resource.kubernetes.io/pod-claim-name": "tranche-gpu"},
            "ownerReferences": [owner],
        }
    return made


def allocation(of_node: str) -> dict:
    """A claim's status when it has this node's GPU."""
    result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": f"gpu-{of_node}", "device": "gpu-0"}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [of_node]}]}
    # another driver's device, of the same claim
    other = {**result, "driver": "other.example.com", "pool": "o"}
    return {
        "allocation": {
            "devices": {"results": [result, other]},
            "nodeSelector": {"nodeSelectorTerms": [term]},
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
        "devices": [
            {"driver": "gpu.nvidia.com", "pool": f"gpu-{of_node}", "device": "gpu-0"},
            {"driver": "other.example.com", "pool": "o", "device": "gpu-0"},
        ],
    }


def claim_template() -> dict:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": "tranche-gpu-50",
            "namespace": "default",
            "labels": {"tranche.dev/gpu-share": "true"},
        },
        "spec": {"metadata": {"labels": {"tranche.dev/gpu-share": "true"}}, "spec": requests()},
    }


def quota() -> dict:
    owner = {"kind": "ValidatingWebhookConfiguration", "name": "gpu-tranche-webhook", "uid": "uid-w"}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {
            "name": "tranche-gpu-shares",
            "namespace": "default",
            "labels": {"tranche.dev/gpu-shares": "true"},
            "ownerReferences": [{"apiVersion": "admissionregistration.k8s.io/v1", **owner}],
        },
        "spec": {"hard": {"requests.nvidia.com/gpu": "3"}},
    }


def lease() -> dict:
    spec = {"holderIdentity": "c-1", "leaseDurationSeconds": 15, "acquireTime": TIME, "renewTime": TIME}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "tranche-controller", "namespace": NAMESPACE},
        "spec": {**spec, "leaseTransitions": 1},
    }


def config_map(name: str) -> dict:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"a": "b"},
    }


def secret(name: str) -> dict:
    head = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}}
    return {**head, "type": "Opaque", "data": {"a": "Yg=="}}


def eviction(pod: dict) -> dict:
    options = {"preconditions": {"uid": pod["metadata"]["uid"]}}
    metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}


def webhook_configuration(name: str) -> dict:
    client = {"service": {"name": name, "namespace": NAMESPACE, "path": "/fractions"}}
    webhook = {"name": "fractions.tranche.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{**webhook, "clientConfig": client, "failurePolicy": "Ignore"}],
    }


def cluster_policy() -> dict:
    return {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"}, "spec": {}}


def daemon_set(name: str) -> dict:
    labels = {"app": "agent"}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }
